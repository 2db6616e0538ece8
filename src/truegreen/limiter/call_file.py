# SPDX-License-Identifier: Apache-2.0
"""The call log as a file that several jobs append to, and the retry budget that they share through it.

What it decides: which repetitions a run's jobs are granted. What it leaves: a line's form, to ``core.call_log``; the
counting, to ``budget``.

- A line is one write to a file opened for appending: writers at once do not mix lines, and the order of lines is the
  order in which repetitions were asked for.
- Whoever wants a repetition appends its attempt, then reads the file up to that line: no lock, and two jobs that ask
  at the same moment do not both get the last token. Each byte is read once.
- A line that a kill cut is no line; the next writer begins on a line of its own.
- Without a file the budget is that of this process alone. A log that cannot be written is an error, never a budget of
  its own.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Final

from truegreen.core.call_log import LONGEST_NAME, CallEntry, entry_of, line_of
from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted
from truegreen.limiter.budget import DEFAULT, Budget, BudgetRule, with_entry

_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_PIECE: Final = 1 << 20


class CallLog:
    """Takes the attempts of this process down and says what the run's budget has left; may be used by any thread."""

    def __init__(self, path: Path | None = None, *, run: str = "", rule: BudgetRule = DEFAULT) -> None:
        """``run`` is the pipeline run that this process belongs to; ``path`` None keeps everything in memory.

        Raises: ReachProblem ``call-log-failed`` if the file cannot be opened.
        """
        self._path, self._run, self._rule = path, run[:LONGEST_NAME], rule
        self._lock = threading.Lock()
        self._budget = Budget()
        self._rest = b""
        self._at = 0
        self._process = os.getpid()
        self._file = None if path is None else self._opened(path)

    @property
    def run(self) -> str:
        """The pipeline run."""
        return self._run

    @property
    def rule(self) -> BudgetRule:
        """How much may be repeated."""
        return self._rule

    def add(self, entry: CallEntry) -> bool:
        """Take an attempt down; whether the repetition that it wants is granted (False if it wants none).

        ``entry.run`` is set by the log. Raises: ReachProblem ``call-log-failed``.
        """
        line = line_of(entry, run=self._run)
        with self._lock:
            if self._path is None:
                return self._count(line)
            try:
                end = self._append(line)
                return self._read_to(end) if entry.wants_again else False
            except OSError as err:
                raise self._problem(err) from err

    def budget(self) -> Budget:
        """What the whole run has asked and repeated, now. Raises: ReachProblem ``call-log-failed``."""
        with self._lock:
            if self._path is not None:
                try:
                    self._read_to(os.fstat(self._own_file()).st_size)
                except OSError as err:
                    raise self._problem(err) from err
            return self._budget

    def close(self) -> None:
        """Give the file up; harmless if called again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _append(self, line: bytes) -> int:
        """Write a line; the offset behind it."""
        file = self._own_file()
        size = os.fstat(file).st_size
        if size and _read_at(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(file, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.lseek(file, 0, os.SEEK_CUR)

    def _own_file(self) -> int:
        """The open file; after a fork a new one, for a shared one has one offset for both processes."""
        if self._file is None or self._path is None:
            raise OSError(errno.EBADF, "it was closed")
        if self._process != os.getpid():
            self._file, self._process = self._opened(self._path), os.getpid()
        return self._file

    def _read_to(self, end: int) -> bool:
        """Count every line up to an offset; whether the last one of them was granted its repetition."""
        file, granted = self._own_file(), False
        while self._at < end:
            piece = _read_at(file, min(_PIECE, end - self._at), self._at)
            if not piece:
                break
            self._at += len(piece)
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                granted = self._count(line)
        return granted

    def _count(self, line: bytes) -> bool:
        entry = entry_of(line.decode("utf-8", "replace"))
        if entry is None or entry.run != self._run:
            return False
        before = self._budget
        self._budget = with_entry(before, entry, self._rule)
        return self._budget.repeated > before.repeated

    def _opened(self, path: Path) -> int:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(path, _APPEND, 0o666)
        except OSError as err:
            raise self._problem(err) from err

    def _problem(self, err: OSError) -> ReachProblem:
        return ReachProblem(
            "call-log-failed",
            f"the call log {quoted(str(self._path))} cannot be kept: {err.strerror or err}",
            hint="name a file that every job of the run can write",
        )


def _read_at(file: int, most: int, offset: int) -> bytes:
    """Bytes at an offset; moving it does no harm, for writes go to the end wherever it is."""
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, most)
