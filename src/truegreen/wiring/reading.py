# SPDX-License-Identifier: Apache-2.0
"""Files that a verb was pointed at: read as files and as nothing else, and no further than a reader looks.

- A pipe or device is no file: reading it could wait for ever.
- A huge file is never held in memory; its reader refuses it by its length.
"""

from __future__ import annotations

from pathlib import Path

from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import ReplaySession, read_session

SESSION_BYTES = 64 << 20
"""Longest account of a replay that is read, in bytes."""


def beginning_of(path: Path, limit_bytes: int) -> bytes | None:
    """Up to ``limit_bytes`` of a file, or None if there is no file of that name.

    Raises: ReachProblem ``file-unreadable``.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(limit_bytes)
    except OSError as err:
        raise ReachProblem("file-unreadable", f"{path} cannot be read: {err.strerror}") from err


def session_at(path: Path) -> ReplaySession:
    """The account of a replay in a file; a problem with it names the file.

    Raises: ReachProblem ``file-unreadable``; EvidenceProblem ``session-unreadable``.
    """
    data = bytes_of(path, SESSION_BYTES)
    try:
        return read_session(data)
    except EvidenceProblem as err:
        raise EvidenceProblem(
            "session-unreadable",
            f"{quoted(str(path))} is no account of a replay: {err.message} ({err.code})",
            hint="truegreen proxy run --mode replay --session FILE -- CMD writes one",
            contradictory=err.contradictory,
        ) from err


def bytes_of(path: Path, limit_bytes: int) -> bytes:
    """As ``beginning_of``, for a file that has to be there.

    Raises: ReachProblem ``file-unreadable``.
    """
    data = beginning_of(path, limit_bytes)
    if data is None:
        found = "it is no plain file" if path.exists() else "there is no file of that name"
        raise ReachProblem("file-unreadable", f"{quoted(str(path))} cannot be read: {found}")
    return data
