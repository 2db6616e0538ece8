# SPDX-License-Identifier: Apache-2.0
"""A bundle holds everything that a decision was made from, and says where a second making differs."""

import json

import pytest

from truegreen.core.errors import EvidenceProblem
from truegreen.gate.bundle import difference, read_bundle, write_bundle
from truegreen.gate.decide import decide
from truegreen.gate.intake import Evidence, EvidenceFile, Refusal
from truegreen.wiring.gate import decision_record

EVIDENCE = Evidence(
    files=(EvidenceFile(container="one", name="a.truegreen.json", data=b"\xff\x00"),),
    refusals=(Refusal(container="two", name="b.zip", code="archive-cut", message="cut"),),
)


@pytest.fixture
def bundle(asked):
    """A bundle of what was asked, with a log of git's answers that a test can recognize."""
    with_policy = asked(worktree_policy=b"mode = 1\n", only_lane="model-tests")
    return write_bundle(with_policy, EVIDENCE, {"log": 1}, b'{"word":"hold"}')


def test_everything_comes_back(bundle, asked):
    """Event, clock, index, evidence as received, git's answers, decision."""
    made, evidence, decision = read_bundle(bundle, lambda log: log)
    honest = asked()
    assert (EVIDENCE.files, EVIDENCE.refusals, b'{"word":"hold"}') == (
        evidence.files,
        evidence.refusals,
        decision,
    )
    assert (honest.facts, honest.now, honest.index, True, {"log": 1}) == (
        made.facts,
        made.now,
        made.index,
        made.in_ci,
        made.git,
    )
    assert (b"mode = 1\n", "model-tests") == (made.worktree_policy, made.only_lane)


def test_what_was_not_there_stays_absent(asked):
    """No index is no empty index."""
    made, _, _ = read_bundle(write_bundle(asked(), Evidence(), {}, b"{}"), lambda log: log)
    assert made.worktree_policy is None
    assert made.only_lane is None


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "truegreen/bundle/v2"},
        {"files": [{"container": "a", "name": "b", "data": "not base64"}]},
        {"index": "?"},
        {"decision": "?"},
        {"aside": 1},
        {"git": ["no", "log"]},
        {"now": 1},
        {"facts": {}},
    ],
)
def test_what_is_no_bundle_is_refused(bundle, change):
    """Unknown fields, other types, text that is no base64, another schema."""
    broken = json.dumps(json.loads(bundle) | change).encode()
    with pytest.raises(EvidenceProblem) as caught:
        read_bundle(broken, lambda log: log)
    assert "bad-bundle" == caught.value.code


def test_a_bundle_about_an_event_that_nobody_decides_on_is_refused(bundle):
    """One line, and no guess at what it means."""
    whole = json.loads(bundle)
    whole["facts"]["event"] = "schedule"
    with pytest.raises(EvidenceProblem, match=r'is about "schedule", asked one of .* \[bad-bundle\]'):
        read_bundle(json.dumps(whole).encode(), lambda log: log)


def test_the_first_place_that_differs_is_named():
    """By its path; another spelling of one value differs in its bytes."""
    one, two = b'{"a":{"b":1,"c":2}}', b'{"a":{"b":1,"c":3}}'
    found = [difference(one, other) for other in (one, two, b'{"a": {"b":1,"c":2}}', b"[]")]
    assert ["", "/a/c differs", "the bytes differs", "the bytes differs"] == [
        text.partition(":")[0] for text in found
    ]


def test_a_decision_made_again_is_the_same_record(actors, asked):
    """The same evidence, policy, tip and clock: the same bytes."""
    with actors.stage.git.asking() as git:
        records = [decision_record(decide(asked(git=git), EVIDENCE), "1") for _ in range(2)]
    assert "" == difference(*records)
