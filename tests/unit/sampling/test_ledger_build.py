# SPDX-License-Identifier: Apache-2.0
"""From what was measured to a ledger that does not contradict itself."""

import msgspec
import pytest
from exchange_kit import exchange

from truegreen.core.digest import sha256_of
from truegreen.core.exchange import Usage
from truegreen.sampling.engines.messages import Found
from truegreen.sampling.ledger import Sample
from truegreen.sampling.ledger_build import Facts, components, ledger_body, own_samples, rule_said
from truegreen.sampling.schedule import Start
from truegreen.sampling.sequential import fixed, smoke

DIGEST = sha256_of(b"")


def _facts(**more):
    fields = {
        "policy_digest": DIGEST,
        "ruler": components(DIGEST, {"tests": "h1:a"}),
        "subject": components(DIGEST, {}),
        "rule": fixed(3),
        "j": 1,
        "engine": "fork",
        "interpreter": "CPython 3.11.7",
        "host": "example.invalid",
        "started_at": "2026-11-29T17:00:00Z",
        "wall_ms": 5,
        "ended": "measured",
        **more,
    }
    return Facts(**fields)


def _found(*names, **more):
    return [Found(id=name, nodeid=name, kind="python", **more) for name in names]


def _samples(*buckets):
    return [Sample(n=n, bucket=bucket) for n, bucket in enumerate(buckets, 1)]


def _body(samples, *, lost=None, missing=(), exchanges=(), claimed=(), **facts):
    return ledger_body(
        _facts(**facts),
        cases=_found(*samples),
        samples=lambda case: samples[case],
        lost=lambda case: (lost or {}).get(case, ()),
        missing=missing,
        exchanges=exchanges,
        claimed=claimed,
        chain=(),
    )


def test_every_case_has_its_row_in_order_with_its_state():
    """Also one that was never sampled."""
    body = _body({"b": _samples("pass", "pass", "pass"), "a": [], "c": _samples("fail", "fail", "fail")})
    assert ("a", "b", "c") == body.planned == tuple(case.id for case in body.cases)
    assert ["not-sampled", "stable-pass", "never-passed"] == [case.state for case in body.cases]


def test_what_started_and_never_ended_is_there():
    """In its place by number, with the losses before it."""
    body = _body(
        {"a": [Sample(n=1, bucket="pass"), Sample(n=3, bucket="pass")]},
        missing=[Start(case="a", n=2, draw=3)],
        ended="interrupted",
    )
    assert [(1, "pass", ""), (2, "invalid", "missing"), (3, "pass", "")] == [
        (one.n, one.bucket, one.reason) for one in body.cases[0].samples
    ]
    assert 2 == body.cases[0].samples[1].replaces
    assert "inconclusive" == body.cases[0].state


@pytest.mark.parametrize(
    ("buckets", "ended", "expected"),
    [
        (("pass", "transport", "pass"), "measured", "no-redraws-left"),
        (("pass", "transport", "pass"), "cap-calls", "cap-calls"),
        (("pass", "pass", "pass"), "measured", "measured"),
        (("pass", "invalid", "pass"), "measured", "measured"),
    ],
)
def test_a_case_that_the_endpoint_lost_ends_the_run_as_such(buckets, ended, expected):
    """Unless something else ended it before."""
    assert expected == _body({"a": _samples(*buckets)}, ended=ended).ended


def test_calls_are_counted_by_exchange_beside_the_samples():
    """And who answered is what the wire says."""
    seen = [
        exchange(id=1, usage=Usage(prompt_tokens=3, completion_tokens=2), system_fingerprint="fp"),
        exchange(id=2, model_served="other", usage=Usage(prompt_tokens=1)),
        msgspec.structs.replace(exchange(id=3, status=503), model_served=None),
    ]
    body = _body({"a": _samples("pass")}, exchanges=seen, claimed={1, 2, 9})
    wire = body.wire
    assert (3, 2, 1, 1) == (wire.calls, wire.attributed, wire.unattributed, wire.transport)
    assert (4, 2) == (wire.prompt_tokens, wire.completion_tokens)
    assert (("asked",), ("other", "served"), ("fp",)) == (
        body.endpoint.models_asked,
        body.endpoint.models_served,
        body.endpoint.fingerprints,
    )


def test_rules_are_named_as_a_ledger_names_them():
    """The fixed one with n, the sequential one with its cap."""
    assert ("fixed", 3, 0, 2) == _rule(fixed(3), 2)
    assert ("smoke", 0, smoke().cap, None) == _rule(smoke(), None)


def _rule(rule, j):
    said = rule_said(rule, j)
    return said.name, said.samples, said.cap, said.j


def test_a_later_ledger_repeats_samples_and_losses():
    """Nothing else."""
    body = _body({"a": _samples("pass")}, lost={"a": _samples("transport")})
    (own,) = own_samples(body)
    assert ("a", body.cases[0].samples, body.cases[0].lost) == (own.id, own.samples, own.lost)
