# SPDX-License-Identifier: Apache-2.0
"""The whole summary as a person reads it."""

import msgspec
from test_ledger_build import _body, _samples

from truegreen.sampling.ledger import Sample
from truegreen.sampling.sequential import smoke
from truegreen.sampling.summary import lines


def test_the_whole_summary():
    """Worst first, each with k of n, words and the bound; then what it took."""
    body = _body(
        {
            "t::bad": [
                Sample(n=1, bucket="fail", reason="assertion", detail="got\x1b[31m 'no'\nmore"),
                *_samples("", "fail")[1:],
            ],
            "t::good": _samples("pass", "pass", "pass", "pass", "pass", "pass"),
            "t::none": [],
            "t::lost": [Sample(n=1, bucket="transport", reason="status-503")],
            "t::half": _samples("pass", "fail", "pass", "fail", "pass", "fail", "fail"),
        },
        lost={"t::good": [Sample(n=2, bucket="transport", reason="status-429")]},
        rule=smoke(),
        wall_ms=1250,
    )
    assert [
        "   0/2  t::bad  never passed: works at most 89 % of the time (95 % sure)",
        "          sample 1 fail (assertion): got\\x1b[31m 'no'",
        "   3/6  t::half  unsteady, mostly failing: works at most 90 % of the time (95 % sure)",
        "          sample 2 fail ()",
        "   0/1  t::lost  undecided (the endpoint lost samples): may work always, never or anything between · 1 transport",
        "          sample 1 transport (status-503)",
        "   6/6  t::good  passes: works at least 57 % of the time (95 % sure) · 1 redrawn",
        "   -    t::none  not sampled",
        "5 cases · 0 calls, 0 tokens, 1.2 s · no model named itself at example.invalid · engine fork",
    ] == list(lines(body))


def test_a_golden_case_is_for_people():
    """It says so in place of a count."""
    body = _body({"t::a": []})
    golden = msgspec.structs.replace(body, cases=(msgspec.structs.replace(body.cases[0], golden=True),))
    assert "   -    t::a  golden: for people, never gated" == next(lines(golden))
