# SPDX-License-Identifier: Apache-2.0
"""A recorded conversation answers the same again, and nothing else."""

import contextlib
import os

import pytest

from simulators.disk_git import DiskGit
from simulators.git import SimulatedGit
from truegreen.core.canonical import read_json, write_json
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.forges.git import GitRepository
from truegreen.forges.git_log import recording, replay

NOWHERE = "f" * 40


@pytest.fixture(params=["simulated", "disk"])
def made(request, tmp_path):
    """A repository with two sides of a history, and its port."""
    repo = SimulatedGit() if request.param == "simulated" else DiskGit(tmp_path / "repo")
    one = repo.commit({"a": b"1\n", "b": b"\xff\0", "c": b"1\n"})
    base = repo.commit({"a": b"2\n", "b": b"\xff\0", "c": b"2\n"}, parents=[one], branch="main")
    head = repo.commit({"a": b"1\n", "b": b"\xff\0", "d": ("100755", b"")}, parents=[one])
    if request.param == "simulated":
        yield repo, (one, base, head)
    else:
        with GitRepository(repo.path, os.environ) as port:
            yield port, (one, base, head)


def _conversation(port, one, base, head):
    """Every question once, problems included, with the answers."""
    entries = port.entries(port.tree_of(base))
    answers = [
        port.resolve("main"),
        port.resolve("nobody"),
        port.fetched_tip("main"),
        port.fetched_tip("nobody"),
        port.parents(head),
        entries,
        port.blob(entries[1].oid),
        dict(port.blob_digests(entry.oid for entry in entries)),
        port.merge_tree(one, base),
        port.merge_tree(head, base),
        port.is_ancestor(one, head),
        port.is_ancestor(head, one),
        port.merge_base(base, head),
        port.commits_between(one, base),
        port.changes_between(base, head, "d"),
        port.changes_between(base, head, "nowhere"),
    ]
    for ask in (lambda: port.blob(NOWHERE), lambda: port.blob_digests([NOWHERE, entries[0].oid])):
        with pytest.raises(ReachProblem) as caught:
            ask()
        answers.append((caught.value.code, caught.value.message, caught.value.hint))
    return answers


def test_a_replay_answers_exactly_what_was_answered(made):
    """Through JSON and back, problems with their words included."""
    port, commits = made
    recorder, log = recording(port)
    expected = _conversation(recorder, *commits)
    assert _conversation(port, *commits) == expected
    stored = write_json(log)
    assert expected == _conversation(replay(read_json(stored)), *commits)
    again, second = recording(replay(log))
    _conversation(again, *commits)
    assert stored == write_json(second)


def test_a_question_is_asked_once(made):
    """Objects do not change, and a decision sees one state of the branches."""

    class Counted:
        asked = 0

        def resolve(self, ref):
            self.asked += 1
            return f"{ref} {self.asked}"

    port = Counted()
    recorder, _ = recording(port)
    assert ["main 1", "main 1", "next 2"] == [recorder.resolve(ref) for ref in ("main", "main", "next")]


QUESTIONS = {
    "resolve": lambda port: port.resolve("main"),
    "fetched_tip": lambda port: port.fetched_tip("main"),
    "tree_of": lambda port: port.tree_of(NOWHERE),
    "parents": lambda port: port.parents(NOWHERE),
    "entries": lambda port: port.entries(NOWHERE),
    "blob": lambda port: port.blob(NOWHERE),
    "blob_digests": lambda port: port.blob_digests([NOWHERE]),
    "merge_tree": lambda port: port.merge_tree(NOWHERE, NOWHERE),
    "is_ancestor": lambda port: port.is_ancestor(NOWHERE, NOWHERE),
    "merge_base": lambda port: port.merge_base(NOWHERE, NOWHERE),
    "commits_between": lambda port: port.commits_between(NOWHERE, NOWHERE),
    "changes_between": lambda port: port.changes_between(NOWHERE, NOWHERE, "d"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_was_not_asked_has_no_answer(question):
    """Not even that there is no such name."""
    with pytest.raises(EvidenceProblem) as caught:
        QUESTIONS[question](replay({}))
    assert "not-in-bundle" == caught.value.code


@pytest.mark.parametrize(
    "stored",
    [
        None,
        7,
        [],
        "x",
        {},
        {"is": {"a": 1}},
        {"problem": 1},
        {"problem": ["a"]},
        {"problem": []},
        {"problem": ["new-code", "m", "h"]},
    ],
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_of_another_shape_is_none(question, stored):
    """A log that somebody edited is refused, never half believed."""
    recorder, log = recording(SimulatedGit())
    with contextlib.suppress(ReachProblem):
        QUESTIONS[question](recorder)
    spoiled = dict.fromkeys(log, stored)
    if question == "blob_digests":
        spoiled |= {f"digest {NOWHERE}": stored if stored != "x" else None}
    with pytest.raises(EvidenceProblem) as caught:
        QUESTIONS[question](replay(spoiled))
    assert "not-in-bundle" == caught.value.code


@pytest.mark.parametrize("code", ["missing-object", "git-failed", "git-too-old", "object-too-large"])
def test_a_problem_is_raised_again_with_its_words(code):
    """What git could not say then, the replay does not say either."""
    log = {f"blob {NOWHERE}": {"problem": [code, "a sentence", "a hint"]}}
    with pytest.raises(ReachProblem) as caught:
        replay(log).blob(NOWHERE)
    assert (code, "a sentence", "a hint") == (caught.value.code, caught.value.message, caught.value.hint)
