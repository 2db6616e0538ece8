# SPDX-License-Identifier: Apache-2.0
"""One status out of every report of a sample."""

import pytest

from truegreen.pytest_plugin.account import class_names, digest_of, status_of


class SubReport(pytest.TestReport):
    """A report of a part of a test, as the subtests plugin makes them."""


def _report(when, outcome="passed", kind=pytest.TestReport, keywords=(), **more):
    return kind(
        nodeid="t",
        location=("t", 0, "t"),
        keywords=dict.fromkeys(keywords, 1),
        outcome=outcome,
        longrepr="text" if outcome != "passed" else None,
        when=when,
        **more,
    )


PASSED = [_report("setup"), _report("call"), _report("teardown")]


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (PASSED, "passed"),
        ([_report("setup"), _report("call", "failed"), _report("teardown")], "failed"),
        ([_report("setup", "failed"), _report("teardown")], "setup-error"),
        ([_report("setup"), _report("call"), _report("teardown", "failed")], "teardown-error"),
        ([_report("setup"), _report("call", "failed"), _report("teardown", "failed")], "failed"),
        ([_report("setup", "skipped"), _report("teardown")], "skipped"),
        ([_report("setup"), _report("call", "skipped"), _report("teardown")], "skipped"),
        ([_report("setup"), _report("call", "rerun"), *PASSED], "rerun"),
        ([_report("setup"), _report("call", "retried"), _report("teardown")], "rerun"),
        ([*PASSED, *PASSED], "rerun"),
        ([_report("setup"), _report("call", "skipped", wasxfail="no"), _report("teardown")], "xfail"),
        ([_report("setup"), _report("call", "failed", keywords=["xfail"]), _report("teardown")], "xfail"),
        ([_report("setup"), _report("call", "failed", SubReport), *PASSED[1:]], "failed"),
        ([_report("setup"), _report("call", "skipped", SubReport), *PASSED[1:]], "skipped"),
        ([_report("setup"), _report("call")], "left-early"),
        ([], "left-early"),
    ],
)
def test_the_worst_of_all_phases_is_the_status(reports, expected):
    """A rerun counts as what it hid; a phase that is not reported is no pass."""
    assert expected == status_of(reports)[0]


def test_the_text_is_the_failing_one():
    """Whatever passed says nothing."""
    assert ("failed", "text") == status_of([_report("setup"), _report("call", "failed"), _report("teardown")])
    assert ("left-early", "phases that were reported: none") == status_of([])


def test_an_exception_is_known_by_its_ancestors_and_causes():
    """A connection error behind an application's own exception is seen, one that is merely its context is not."""
    inner, outer = ConnectionResetError(), KeyError()
    outer.__cause__ = inner
    names = class_names(outer)
    assert names[:2] == ("builtins.KeyError", "builtins.LookupError")
    assert "builtins.ConnectionError" in names
    alone = KeyError()
    alone.__context__ = inner
    assert "builtins.ConnectionError" not in class_names(alone)
    inner.__cause__ = outer
    assert len(class_names(outer)) == len(set(class_names(outer)))


def test_a_judged_text_has_one_digest_whatever_it_holds():
    """Half of a surrogate pair is text that a model can give."""
    assert digest_of("\ud83d").startswith("sha256:")
    assert digest_of("a") != digest_of("b")
