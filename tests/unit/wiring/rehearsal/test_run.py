# SPDX-License-Identifier: Apache-2.0
"""Every row gets its asked answer, under whatever policy the checkout has."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulators.disk_git import DiskGit
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.wiring.rehearsal import run
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.run import HONEST, Tried, rehearse, try_trick, ways_under
from truegreen.wiring.rehearsal.setting import setting
from truegreen.wiring.rehearsal.tricks import without_evidence
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
HEAD = 'schema = "truegreen/policy/v1"\n'
FIXED = (
    'schema = "truegreen/policy/v1"\nmode = "enforce"\n[lanes.replies]\ntests = "evals/replies"\n'
    'rule = "fixed"\nsamples = 3\ntree = "head"\nruns = "this"\n'
)
POLICIES = {
    "replayed": '[lanes.a]\ntests = "evals"\nno_secrets = "replay"\n[lanes.b]\nkind = "contract-check"\ntests = "replays"\n',
    "one-sample": 'mode = "observe"\n[lanes.a]\ntests = "a"\nrule = "fixed"\nsamples = 1\nbase = "tip"\n',
    "other-branches": (
        '[check]\nbranches = ["release", "next"]\nworkflow = ".github/workflows/ci.yml"\n'
        '[lanes.a]\ntests = "a"\njob = "evals ({part})"\n'
    ),
    "several-lanes": (
        'mode = "enforce"\nmax_quarantined = 0\n'
        '[lanes.advice]\ntests = "a"\nrole = "advisory"\njob = "evals"\n'
        '[lanes.second]\ntests = "b"\nrole = "consulted"\njob = "evals"\n'
        '[lanes.first]\ntests = "c"\njob = "evals"\nirrelevant = ["docs/**", "**/*.md"]\n'
        '[lanes.third]\ntests = "c/inner"\nworkflow = ".github/workflows/night.yml"\nallow_removed = 2\n'
    ),
}


def rehearsed(text, folder):
    """Rows that did not get their answer, under a policy."""
    policy = read_policy(text.encode(), kinds=RULES.facts())
    actors = honest_under(setting(policy, "main", "here"), folder, ENVIRONMENT)
    with actors.stage.git.asking():
        found = {name: try_trick(trick, actors, folder / name) for name, (_, trick) in HONEST.items()}
        wrong = [
            (name, made.word.value, made.code)
            for name, made in found.items()
            if made.code != "all-lanes-hold"
        ]
        for way in ways_under(actors):
            made = try_trick(way.trick, actors, folder / way.id)
            if (made.word, made.code) != (way.word, way.code):
                wrong.append((way.id, made.word.value, made.code))
    return wrong


@pytest.mark.parametrize("name", POLICIES)
def test_every_row_gets_its_answer_under_every_policy(name, tmp_path):
    """The rows speak of the gate, not of one policy; what a policy allows is left out."""
    assert [] == rehearsed(HEAD + POLICIES[name], tmp_path)


LANE = st.fixed_dictionaries(
    {},
    optional={
        "rule": st.sampled_from(["smoke", "fixed"]),
        "samples": st.integers(1, 6),
        "cap": st.integers(6, 40),
        "tree": st.sampled_from(["merge", "head"]),
        "base": st.sampled_from(["ancestor", "tip"]),
        "runs": st.sampled_from(["same-tree", "this"]),
        "allow_removed": st.integers(0, 3),
        "job": st.sampled_from(["evals", "evals {part}"]),
        "irrelevant": st.sampled_from([["docs/**"], ["*.md", "**/*.yaml.bak"]]),
        "owner": st.just("@ana"),
    },
)


@st.composite
def policies(draw):
    """Policies of up to three lanes."""
    lines = ['schema = "truegreen/policy/v1"', f'mode = "{draw(st.sampled_from(["observe", "enforce"]))}"']
    lines.append(f"max_quarantined = {draw(st.integers(0, 2))}")
    lines += ["[check]", f"branches = {draw(st.sampled_from([['main'], ['release'], ['main', 'next']]))}"]
    roles = draw(st.lists(st.sampled_from(["required", "consulted", "advisory"]), max_size=2))
    for at, role in enumerate([*roles, "required"]):
        lines += [f"[lanes.lane-{at}]", f'tests = "evals/{at}"', f'role = "{role}"']
        lines += [f"{key} = {value!r}" for key, value in draw(LANE).items()]
    return "\n".join(lines).replace("'", '"') + "\n"


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=policies())
def test_every_row_gets_its_answer_under_any_policy(text, tmp_path_factory):
    """As above, with policies that nobody thought of."""
    assert [] == rehearsed(text, tmp_path_factory.mktemp("any"))


def test_a_checkout_is_rehearsed_under_its_own_policy(tmp_path):
    """The first row says which; the rows that the policy leaves are all there."""
    disk = DiskGit(tmp_path / "clone.git")
    disk.commit({"truegreen.toml": FIXED.encode()}, branch="main")
    rows = list(rehearse(ENVIRONMENT, disk.path))
    assert "an honest pull request, under main:truegreen.toml" == rows[0].words
    assert [] == [row for row in rows if not row.is_fine]
    left_out = {way.id for way in WAYS} - {row.id for row in rows}
    assert {"borrowed-passes", "empty-commit", "pushed-instead", "pushed-too", "queue-other-tree"} == left_out


def test_a_row_with_another_answer_is_not_fine(monkeypatch):
    """It names what was asked and what was found."""
    monkeypatch.setattr(run, "WAYS", ())
    monkeypatch.setattr(run, "REPLAY_WAYS", ())
    monkeypatch.setattr(run, "HONEST", {"broken": ("nothing left its record", without_evidence)})
    [row] = rehearse(ENVIRONMENT)
    asked = "admit all-lanes-hold"
    assert (Tried(id="broken", words=row.words, asked=asked, found="hold missing-record"), False) == (
        row,
        row.is_fine,
    )
