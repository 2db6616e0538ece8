# SPDX-License-Identifier: Apache-2.0
"""Folders, sessions and logs on a real disk."""

import json
import multiprocessing

import pytest

from factories.cassettes import CHAT, answered, asked, folder, recorder
from factories.sessions import hit, session
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.replay_session import write_session
from truegreen.wiring.cassette_upkeep import counted, listed, logged, pruned, shown


@pytest.fixture
def cassettes(tmp_path):
    """A folder with two recordings."""
    path = tmp_path / "cassettes"
    store = recorder(path)
    for seed in range(2):
        store.keep(asked(CHAT | {"seed": seed}), answered("4"))
    return path


def _write(path, one):
    path.write_bytes(write_session(one))
    return path


def test_a_folder_that_is_not_there_is_no_folder_without_recordings(tmp_path):
    """A typing mistake is not an empty answer."""
    for path in (tmp_path / "none", tmp_path / "file"):
        (tmp_path / "file").write_text("x")
        with pytest.raises(ReachProblem) as caught:
            listed(path, "text")
        assert "file-unreadable" == caught.value.code


def test_links_and_folders_are_not_followed(cassettes, tmp_path):
    """Only plain files count."""
    (cassettes / "link.json").symlink_to(tmp_path / "cassettes" / folder(cassettes).names()[0])
    (cassettes / "folder.json").mkdir()
    assert "2 recordings" == listed(cassettes, "text")[-1]


def _log_one(path, log, root):
    logged([path], log, root)


def test_eight_processes_log_eight_runs(tmp_path):
    """None is lost, none is torn, each stands once though it is given twice."""
    log = tmp_path / "runs.jsonl"
    paths = [
        _write(tmp_path / f"{n}.json", session(ended_at=f"2026-11-23T10:{10 + n}:00Z")) for n in range(8)
    ]
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_log_one, args=(path, log, tmp_path)) for path in paths * 2]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = log.read_text().splitlines()
    assert (8, 8) == (len(lines), len({json.loads(line)["session"] for line in lines}))


def test_the_log_stands_beside_the_folder_and_stats_read_it(cassettes, tmp_path):
    """Not in it: a log is no recording, and the folder's digest stays."""
    before = sorted(path.name for path in cassettes.iterdir())
    path, is_new = logged([_write(tmp_path / "s.json", session())], None, tmp_path)
    assert (tmp_path / "cassettes.runs.jsonl", True) == (path, is_new)
    assert before == sorted(path.name for path in cassettes.iterdir())
    assert any("2026-W48" in line for line in counted(cassettes, None, "text"))
    document = json.loads("\n".join(counted(cassettes, None, "json")))
    assert (2, [False]) == (document["recordings"], [week["churns"] for week in document["weeks"]])


def test_a_log_that_is_a_link_or_a_folder_is_not_written(tmp_path):
    """Whatever it points to stays as it is."""
    target = tmp_path / "target"
    target.write_text("")
    (tmp_path / "link").symlink_to(target)
    for name in ("link", "."):
        with pytest.raises(ReachProblem) as caught:
            logged([_write(tmp_path / "s.json", session())], tmp_path / name, tmp_path)
        assert "not-written" == caught.value.code
    assert "" == target.read_text()


def test_pruning_removes_only_when_told_to(cassettes, tmp_path):
    """And then just what the run did not play."""
    used, other = folder(cassettes).names()
    key = read_cassette(folder(cassettes).read(used), used).key
    path = _write(tmp_path / "s.json", session(hits=(hit(used, key),), unused=(other,)))
    assert (other,) == pruned(cassettes, [path], 1, is_real=False)
    assert (used, other) == folder(cassettes).names()
    assert (other,) == pruned(cassettes, [path], 1, is_real=True)
    assert (used,) == folder(cassettes).names()
    with pytest.raises(EvidenceProblem, match="not in the folder any more"):
        pruned(cassettes, [path], 1, is_real=True)


def test_a_session_that_is_given_twice_is_neither_logged_nor_pruned_by(cassettes, tmp_path):
    """It would count twice in the week, and stand in for a shard whose recordings would then go."""
    names = sorted(path.name for path in cassettes.glob("*.json"))
    path = _write(tmp_path / "s.json", session(hits=(hit(names[0], "sha256:" + "1" * 64),)))
    for doubled in (
        lambda: logged([path, path], None, tmp_path),
        lambda: pruned(cassettes, [path, path], 2, is_real=True),
    ):
        with pytest.raises(EvidenceProblem) as caught:
            doubled()
        assert "session-twice" == caught.value.code
    assert names == sorted(path.name for path in cassettes.glob("*.json"))
    assert [] == list(tmp_path.glob("*.jsonl"))


def test_a_recording_that_is_not_there_is_told_with_the_way_to_its_name(cassettes):
    """A key without folder and suffix is no file."""
    with pytest.raises(ReachProblem) as caught:
        shown(cassettes / "a5b4aeae8135", "text")
    assert ("file-unreadable", True) == (caught.value.code, "cassette list" in caught.value.hint)
