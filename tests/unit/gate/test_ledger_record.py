# SPDX-License-Identifier: Apache-2.0
"""A ledger that contradicts itself blocks, whatever it is about."""

import msgspec
import pytest

from truegreen.core.errors import EvidenceProblem
from truegreen.gate.ledger_record import check, decode, links, own_samples
from truegreen.sampling.ledger import CaseSamples, Link
from truegreen.wiring.rehearsal.records import case_row, samples

OTHER = "sha256:" + "5" * 64


@pytest.fixture
def told(candidate):
    """What is told against a body with other values, as (code, what)."""

    def found(**changes):
        honest = candidate()
        body = msgspec.structs.replace(honest.body, **changes)
        made = msgspec.structs.replace(honest, body=body)
        return [(one.code, one.facts.get("what")) for one in check(made, None)]

    return found


def link(actors, standing="samples", digest=OTHER, cases=(), attempt=1):
    """How a ledger names an earlier attempt."""
    return Link(
        run_id=1001,
        run_attempt=attempt,
        head_sha=actors.stage.facts.head_sha,
        standing=standing,
        digest=digest,
        cases=cases,
    )


def taken(actors, text="p", first=1):
    """Samples of every case."""
    return tuple(CaseSamples(id=name, samples=samples(text, first), lost=()) for name in actors.cast.ids)


def test_nothing_speaks_against_an_honest_ledger(told):
    """Its arithmetic is right."""
    assert [] == told()


def test_a_body_of_another_shape_is_refused(candidate):
    """The kind's schema says what it may hold."""
    body = msgspec.to_builtins(candidate().body)
    for broken in ({}, {**body, "aside": 1}, {**body, "ended": "well"}, {**body, "planned": ["a", "a"]}):
        with pytest.raises(EvidenceProblem) as caught:
            decode(broken)
        assert "schema-refused" == caught.value.code


@pytest.mark.parametrize("change", ["unsorted", "twice", "missing", "more", "reordered"])
def test_every_planned_id_has_its_row_once(change, told, candidate):
    """The universe is the planned ids, sorted, and the rows stand in their order."""
    body = candidate().body
    first, second = body.cases
    changes = {
        "unsorted": {"planned": body.planned[::-1], "cases": (second, first)},
        "twice": {"planned": (first.id, first.id)},
        "missing": {"cases": (first,)},
        "more": {"planned": (first.id,)},
        "reordered": {"cases": (second, first)},
    }[change]
    what = "the planned ids" if change in ("unsorted", "twice") else "the rows"
    assert ("ledger-contradicts", what) == told(**changes)[0]


@pytest.mark.parametrize("change", ["attributed", "unattributed"])
def test_the_observer_s_count_is_the_sum(change, told, candidate):
    """Over the samples, and over what nobody claims."""
    wire = candidate().body.wire
    assert [("calls-contradict", None)] == told(
        wire=msgspec.structs.replace(wire, **{change: getattr(wire, change) + 1})
    )


def test_redrawn_losses_are_calls_too(told, candidate):
    """Each of them was an exchange."""
    first, second = candidate().body.cases
    lost = msgspec.structs.replace(first, lost=samples("t"))
    assert ("calls-contradict", None) in told(cases=(lost, second))


def test_a_chain_names_each_attempt_once_and_only_samples_carry_samples(told, actors):
    """And only what left nothing has no digest."""
    stranger = (CaseSamples(id="elsewhere::x", samples=samples("p"), lost=()),)
    chains = {
        "the chain": (link(actors, "left-none", None), link(actors, "left-none", None)),
        "an earlier attempt's cases": (link(actors, cases=stranger),),
        "an earlier attempt": (link(actors, "other-key", cases=taken(actors)),),
        "an earlier attempt's digest": (link(actors, "left-none"),),
    }
    assert {what: [("ledger-contradicts", what)] for what in chains} == {
        what: [one for one in told(chain=chain) if one[1] == what] for what, chain in chains.items()
    }


def test_states_are_the_ones_that_the_samples_give(told, candidate):
    """The first that differs is named."""
    first, second = candidate().body.cases
    claimed = (
        case_row(first.id, samples("f" * 6), "stable-pass"),
        case_row(second.id, samples("f" * 6), "stable-pass"),
    )
    assert [("ledger-contradicts", f"the state of {first.id}")] == told(cases=claimed)


def test_numbers_stand_once(told, actors):
    """A sample of an earlier attempt is not drawn again under its number."""
    assert ("ledger-contradicts", "the samples") in told(chain=(link(actors, cases=taken(actors)),))


@pytest.mark.parametrize("change", [{"cap": 0}, {"cap": 501}, {"name": "fixed", "samples": 0}])
def test_the_rule_is_one_that_exists(change, told, candidate):
    """Nobody samples 501 times, or never."""
    rule = msgspec.structs.replace(candidate().body.rule, **change)
    assert [("ledger-contradicts", "the rule")] == told(rule=rule)


def test_what_a_later_ledger_embeds_is_compared_by_value(candidate, actors):
    """Ids, samples and redrawn losses."""
    body = msgspec.structs.replace(candidate().body, chain=(link(actors, cases=taken(actors, "pp")),))
    [named] = links(body)
    assert ((1001, 1), "samples", OTHER) == ((named.run_id, named.run_attempt), named.standing, named.digest)
    assert tuple((name, samples("pp"), ()) for name in actors.cast.ids) == named.samples
    assert own_samples(body) == tuple((case.id, case.samples, ()) for case in body.cases)
