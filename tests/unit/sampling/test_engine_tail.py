# SPDX-License-Identifier: Apache-2.0
"""What is told of a test process that ended without a word."""

import pytest

from truegreen.sampling.engines.child import TAIL_LINES, tail_of

BANNER = "=== test session starts ===\nplatform linux\nrootdir: /r\ncollected 0 items\n"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("", ""),
        (
            BANNER + "ERROR: not found: /r/t.py::nope\n(no match)\n",
            "ERROR: not found: /r/t.py::nope | (no match)",
        ),
        (
            "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --x\n  inifile: /r/pytest.ini\n  rootdir: /r\n",
            "pytest: error: unrecognized arguments: --x",
        ),
        ("one\n\ntwo\n", "one | two"),
        ("x\n" * 40, " | ".join(["x"] * TAIL_LINES)),
    ],
)
def test_an_error_of_pytest_is_told_without_what_stands_around_it(log, told):
    """Its banner and where it is say nothing of the cause; without an error the last lines are told."""
    assert told == tail_of(log)
