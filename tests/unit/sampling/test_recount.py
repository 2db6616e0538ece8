# SPDX-License-Identifier: Apache-2.0
"""A ledger is counted again from its own samples, whatever it claims."""

import msgspec
import pytest

from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.sampling.ledger import (
    Case,
    CaseSamples,
    Components,
    Endpoint,
    LedgerBody,
    Link,
    RuleUsed,
    Sample,
    Wire,
)
from truegreen.sampling.recount import (
    NOT_SAMPLED,
    attempts_of,
    claimed_states,
    ended_why,
    lost_of,
    recounted,
    rule_used,
    suite_of,
)
from truegreen.sampling.walk import Cause

DIGEST = "sha256:" + "0" * 64


def samples(text, first=1, **more):
    """``"ppf"`` as numbered samples."""
    bucket = {"p": "pass", "f": "fail", "t": "transport", "i": "invalid"}
    return tuple(Sample(n=first + at, bucket=bucket[letter], **more) for at, letter in enumerate(text))


def case(name, taken, lost=()):
    """One row of a ledger."""
    return Case(
        id=name,
        blast_radius="normal",
        owner=None,
        feature=None,
        golden=False,
        samples=taken,
        lost=lost,
        state="",
        why="",
    )


def ledger(*cases, chain=(), rule=None, ended="measured"):
    """A ledger with these rows."""
    return LedgerBody(
        policy_digest=DIGEST,
        ruler=Components(digest=DIGEST, components={}),
        subject=Components(digest=DIGEST, components={}),
        rule=rule or RuleUsed(name="smoke", samples=0, cap=33, j=1),
        engine="serial",
        interpreter="CPython 3.11.7",
        endpoint=Endpoint(host="127.0.0.1", models_asked=(), models_served=(), fingerprints=()),
        wire=Wire(calls=0, attributed=0, unattributed=0, transport=0, prompt_tokens=0, completion_tokens=0),
        started_at="2026-01-01T00:00:00Z",
        wall_ms=0,
        ended=ended,
        planned=tuple(one.id for one in cases),
        cases=cases,
        chain=chain,
        undeclared_inputs=(),
    )


def link(standing, *rows, attempt=1):
    """An earlier attempt."""
    return Link(
        run_id=7,
        run_attempt=attempt,
        head_sha="a" * 40,
        standing=standing,
        digest=None if standing == "left-none" else DIGEST,
        cases=rows,
    )


def test_the_states_come_from_the_samples():
    """Six passes certify under the first share of alpha, five do not, and nothing is not a pass."""
    body = ledger(case("a", samples("pppppp")), case("b", samples("ppppp")), case("c", ()))
    assert {"a": "stable-pass", "b": "inconclusive", "c": NOT_SAMPLED} == claimed_states(body)


def test_earlier_attempts_come_first_in_the_sequence():
    """What an earlier attempt left undecided is continued, not restarted."""
    body = ledger(
        case("a", samples("ppp", first=4)),
        chain=(link("samples", CaseSamples(id="a", samples=samples("ppp"), lost=samples("t"))),),
    )
    assert [samples("ppp"), samples("ppp", first=4)] == attempts_of(body, "a")
    assert samples("t") == lost_of(body, "a")
    assert {"a": "stable-pass"} == claimed_states(body)


def test_samples_of_another_key_are_not_part_of_the_sequence():
    """Only links that stand as samples count."""
    body = ledger(case("a", samples("ppp")), chain=(link("other-key"), link("left-none", attempt=2)))
    assert [samples("ppp")] == attempts_of(body, "a")


def test_a_later_sequence_asks_for_more():
    """The second fresh sequence of a pull request spends a smaller share of alpha."""
    body = ledger(case("a", samples("pppppp")))
    states = [recounted(body, rule_used(body), j=j)["a"].state.value for j in (1, 2)]
    assert ["stable-pass", "inconclusive"] == states


def test_one_answer_given_to_two_cases_counts_once():
    """A repeated request id is a copy, across the whole suite."""
    body = ledger(
        case("a", samples("p", request_ids=("r1",))),
        case("b", samples("p", request_ids=("r1",))),
    )
    taken = suite_of(body, rule_used(body))
    assert ["pass", "invalid"] == [taken["a"][0].bucket, taken["b"][0].bucket]


def test_a_number_that_stands_twice_contradicts():
    """Two attempts cannot both have sample 1."""
    body = ledger(
        case("a", samples("p")), chain=(link("samples", CaseSamples(id="a", samples=samples("f"), lost=())),)
    )
    with pytest.raises(EvidenceProblem) as caught:
        claimed_states(body)
    assert caught.value.contradictory


@pytest.mark.parametrize(
    ("ended", "cause"),
    [
        ("measured", Cause.NONE),
        ("interrupted", Cause.MISSING),
        ("cap-calls", Cause.BUDGET),
        ("cap-minutes", Cause.BUDGET),
        ("no-redraws-left", Cause.TRANSPORT),
        ("something else", Cause.MISSING),
    ],
)
def test_how_sampling_ended_names_the_cause(ended, cause):
    """An ending that nobody knows reads as missing samples, never as measured."""
    assert cause == ended_why(ledger(case("a", ()), ended=ended))


def test_the_fixed_rule_reads_n_of_n():
    """Five of five is stable, four of five is not."""
    rule = RuleUsed(name="fixed", samples=5, cap=0, j=None)
    body = ledger(case("a", samples("ppppp")), case("b", samples("ppfpp")), rule=rule)
    assert {"a": "stable-pass", "b": "flaky-mostly-passing"} == claimed_states(body)


def test_a_rule_that_does_not_exist_is_refused():
    """A ledger cannot bring its own rule."""
    body = msgspec.structs.replace(
        ledger(case("a", samples("p"))), rule=RuleUsed(name="lenient", samples=0, cap=3, j=1)
    )
    with pytest.raises(UsageProblem):
        rule_used(body)
