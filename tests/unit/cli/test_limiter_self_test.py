# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter self-test`` as a hook calls it."""

import json

from truegreen.cli import main
from truegreen.wiring import limiter_self_test
from truegreen.wiring.limiter_self_test import Fact


def run(capsys, *arguments):
    """Exit code and standard output."""
    code = main.run(["limiter", "self-test", *arguments])
    return code, capsys.readouterr().out


def test_four_facts_hold_and_it_exits_0(capsys):
    """A line each."""
    code, out = run(capsys)
    assert (0, 4) == (code, sum(line.startswith("holds  ") for line in out.splitlines()))


def test_a_fact_that_fails_exits_1(capsys, monkeypatch):
    """In words and as JSON."""
    broken = (Fact(name="a-fact", holds=False, detail="3, asked 2"),)
    monkeypatch.setattr(limiter_self_test, "facts", lambda: broken)
    assert (1, "FAILS  a-fact: 3, asked 2\n") == run(capsys)
    code, out = run(capsys, "--format", "json")
    assert (1, {"holds": False, "facts": [{"name": "a-fact", "holds": False, "detail": "3, asked 2"}]}) == (
        code,
        json.loads(out),
    )
