# SPDX-License-Identifier: Apache-2.0
"""Where the worlds are written, and what was decided about how many of them."""

from collections import Counter

import pytest

COUNTS: dict[str, Counter] = {}
"""Decisions by family, for the summary."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder that holds the evidence of one world at a time."""
    return tmp_path_factory.mktemp("world")


@pytest.fixture(scope="session")
def counted():
    """Counts decisions under a name; they are shown when all tests are over."""

    def count(name, decision):
        COUNTS.setdefault(name, Counter())[decision] += 1
        return COUNTS[name]

    return count


def pytest_terminal_summary(terminalreporter):
    """How often each word was said, family by family: a set of worlds that all end alike proves nothing."""
    if not COUNTS:
        return
    terminalreporter.section("worlds decided by the gate")
    terminalreporter.write_line(f"{'family':<28} {'admit':>7} {'hold':>7} {'block':>7}")
    for name, count in [*COUNTS.items(), ("all", sum(COUNTS.values(), Counter()))]:
        row = " ".join(f"{count[word]:>7}" for word in ("admit", "hold", "block"))
        terminalreporter.write_line(f"{name:<28} {row}")
