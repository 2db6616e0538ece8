# SPDX-License-Identifier: Apache-2.0
"""How a sampling run shows its progress: a live line on a terminal, plain lines anywhere else.

- Progress goes to the error stream: what a program reads from standard output is the summary alone.
- Plain lines say how a case stands whenever its reading ends, and nothing in between: logs stay short.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from truegreen.cli.problems import in_one_line
from truegreen.sampling.ledger import Sample
from truegreen.sampling.schedule import Progress

EVERY_S = 0.1
"""Shortest time between two refreshes of the live line."""
SHOWN = 3
"""Open cases that the live line names, the latest first."""


class PlainScreen:
    """A line when sampling begins and one for each case that needs no more samples."""

    def __init__(self) -> None:
        """Nothing shown yet."""
        self._open: set[str] = set()

    def planned(self, ids: tuple[str, ...], notices: tuple[str, ...], *, engine: str) -> None:
        """Sampling begins."""
        for notice in notices:
            self._say(f"note: {notice}")
        self._say(f"sampling {len(ids)} cases (engine {engine})")
        self._open = set(ids)

    def ended(self, case_id: str, sample: Sample, progress: Progress) -> None:
        """One sample has ended."""
        del sample
        if not progress.is_open and case_id in self._open:
            self._open.discard(case_id)
            self._say(f"{progress.passed}/{progress.read} {case_id} ({len(self._open)} cases open)")

    def _say(self, text: str) -> None:
        print(in_one_line(text), file=sys.stderr, flush=True)


class LiveScreen(PlainScreen):
    """On a terminal: one status line that is kept up to date, and a line for each case that is done."""

    def __init__(self, console: Any, status: Any) -> None:
        """``console`` and ``status`` are rich's."""
        super().__init__()
        self._console = console
        self._status = status
        self._shown_at = 0.0
        self._samples = 0
        self._stand: dict[str, Progress] = {}

    def ended(self, case_id: str, sample: Sample, progress: Progress) -> None:
        """One sample has ended."""
        self._samples += 1
        self._stand.pop(case_id, None)
        if progress.is_open:
            self._stand[case_id] = progress  # the latest comes last
        super().ended(case_id, sample, progress)
        now = time.monotonic()
        if now - self._shown_at >= EVERY_S:
            self._shown_at = now
            self._status.update(in_one_line(self._text()))

    def _text(self) -> str:
        latest = [f"{one.passed}/{one.read} {_last(name)}" for name, one in [*self._stand.items()][-SHOWN:]]
        return " · ".join([f"{self._samples} samples, {len(self._open)} cases open", *reversed(latest)])

    def _say(self, text: str) -> None:
        self._console.print(in_one_line(text), markup=False, highlight=False)


def _last(case_id: str) -> str:
    return case_id.rpartition("::")[2]


@contextmanager
def screen() -> Iterator[PlainScreen]:
    """The screen for where the error stream goes."""
    if not sys.stderr.isatty():
        yield PlainScreen()
        return
    from rich.console import Console  # noqa: PLC0415 - terminals only

    console = Console(stderr=True)
    with console.status("collecting") as status:
        yield LiveScreen(console, status)
