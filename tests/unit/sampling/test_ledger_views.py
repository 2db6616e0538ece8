# SPDX-License-Identifier: Apache-2.0
"""Ledgers as other forms: counted again, and in the article's fields."""

import msgspec
from test_ledger_build import DIGEST, _body, _samples

from truegreen.sampling.ledger import CaseSamples, Link
from truegreen.sampling.ledger_views import article_view, recount_view
from truegreen.sampling.sequential import smoke

SUITE = {
    "a": _samples("pass", "pass", "pass"),
    "b": _samples("pass", "fail", "pass"),
    "c": _samples("fail", "fail", "fail"),
    "d": _samples("pass", "invalid", "invalid"),
    "e": [],
}


def test_every_field_of_the_article_s_ledger_is_derived():
    """Nothing falls out of the denominator: a set-up error is a run that did not pass."""
    told = article_view(_body(SUITE))
    assert ["fixture_digest", "runs_per_case", "flaky", "cases"] == list(told)
    assert (DIGEST[7:19], 3, ["b"]) == (told["fixture_digest"], told["runs_per_case"], told["flaky"])
    assert {
        "a": {"passes": 3, "runs": 3, "pass_rate": 1.0, "state": "stable-pass"},
        "b": {"passes": 2, "runs": 3, "pass_rate": 0.67, "state": "flaky"},
        "c": {"passes": 0, "runs": 3, "pass_rate": 0.0, "state": "stable-fail"},
        "d": {"passes": 1, "runs": 3, "pass_rate": 0.33, "state": "inconclusive"},
        "e": {"passes": 0, "runs": 0, "pass_rate": 0.0, "state": "not-sampled"},
    } == told["cases"]


def test_an_empty_ledger_has_the_fields_too():
    """And no case."""
    assert {"fixture_digest": DIGEST[7:19], "runs_per_case": 0, "flaky": [], "cases": {}} == article_view(
        _body({})
    )


def test_a_recount_says_what_its_n_proves():
    """Three of three prove no more than 36 %; what the producer claims is not repeated."""
    body = _body({"a": _samples("pass", "pass", "pass")})
    lying = msgspec.structs.replace(
        body, cases=(msgspec.structs.replace(body.cases[0], state="never-passed"),)
    )
    told = recount_view(lying)["cases"]["a"]
    assert ("stable-pass", 0.36, 1.0) == (told["state"], told["low"], told["high"])
    assert "works at least 36 % of the time (95 % sure)" == told["proves"]
    assert 3 == told["tally"]["passed"]
    assert "not sampled" == recount_view(_body({"a": []}))["cases"]["a"]["proves"]


def test_earlier_attempts_count():
    """Their samples stand before this attempt's."""
    body = _body(
        {"a": [msgspec.structs.replace(one, n=one.n + 3) for one in _samples("pass", "pass", "pass")]},
        rule=smoke(),
    )
    link = Link(
        run_id=1,
        run_attempt=1,
        head_sha="0" * 40,
        standing="samples",
        digest=DIGEST,
        cases=(CaseSamples(id="a", samples=tuple(_samples("pass", "pass", "pass")), lost=()),),
    )
    pooled = msgspec.structs.replace(body, chain=(link,))
    assert (6, 2) == (recount_view(pooled)["cases"]["a"]["tally"]["passed"], recount_view(pooled)["attempts"])
    assert {"passes": 6, "runs": 6, "pass_rate": 1.0, "state": "stable-pass"} == article_view(pooled)[
        "cases"
    ]["a"]
