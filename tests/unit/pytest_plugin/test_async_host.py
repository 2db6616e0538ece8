# SPDX-License-Identifier: Apache-2.0
"""Many questions at once in one process."""

import pytest

WAYS = (
    "together",
    "together",
    "together",
    "in_threads",
    "in_threads",
    "hangs",
    "hangs_in_a_thread",
    "leaves",
    "skips",
)
HOOK = """
import asyncio
import os
import threading
import time

BARRIER = asyncio.Barrier(3)
THREADS = threading.Barrier(2)


async def together():
    await BARRIER.wait()
    return "yes"


def in_threads():
    THREADS.wait(20)
    return "yes"


async def hangs():
    await asyncio.sleep(600)


def hangs_in_a_thread():
    time.sleep(600)


def leaves():
    raise SystemExit(3)


def skips():
    import pytest

    pytest.skip("no")


def dies():
    os._exit(9)


def pytest_truegreen_answer(case):
    return globals()[case.id.rpartition("-")[2]]()
"""


@pytest.fixture
def hooked(suite):
    """A case for each way to answer."""

    def make(*ways):
        root = suite({"tests/text.txt": "text", "tests/conftest.py": HOOK})
        cases = [
            f"- id: c{number}-{way}\n  input: text.txt\n  expect: {{format: text, enum: ['yes']}}\n"
            for number, way in enumerate(ways)
        ]
        (root / "tests" / "cases.yaml").write_text("".join(cases))
        return root

    return make


def test_samples_run_at_once_and_end_alone(hooked, drive):
    """Coroutines on one loop, plain functions in threads, a limit for both, and no end that ends others."""
    _, ends = drive(hooked(*WAYS), "--truegreen-cases=tests", engine="async", slots=len(WAYS), timeout_s=4.0)
    assert ["passed"] * 5 + ["time-limit"] * 2 + ["failed", "skipped"] == [end.status for end in ends]


def test_plain_tests_are_refused_one_by_one(suite, drive):
    """Nobody runs them in a process that is shared."""
    _, ends = drive(suite(test_one="def test_one():\n    pass\n"), engine="async")
    assert [("left-early", "no-case-file")] == [(end.status, end.reason) for end in ends]


def test_beside_forks_a_process_that_dies_costs_the_samples_in_it(hooked, drive):
    """The plain test goes on, and so does the next question."""
    root = hooked("dies", "dies")
    (root / "tests" / "test_plain.py").write_text("def test_plain():\n    pass\n")
    found, ends = drive(root, "--truegreen-cases=tests", engine="fork+async", runs=2)
    told = {}
    for end in ends:
        told.setdefault(found.cases[end.index].kind, set()).add((end.status, end.reason))
    assert {"python": {("passed", "")}, "yaml": {("crashed", "exit-9")}} == told
    assert 6 == len(ends)
