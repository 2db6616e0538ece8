# SPDX-License-Identifier: Apache-2.0
"""Folders of recordings, files of sessions and the log of runs, read and written for the verbs of ``cassette``.

What it decides: which files are read, and how a file is removed or a line appended. What it leaves: every judgement,
to ``cassettes.upkeep``.

- A folder that is not there is an error, not a folder without recordings.
- The log is appended to under a lock on itself, one write a line, forced to the disk.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.folder import MAX_BYTES, Folder
from truegreen.cassettes.upkeep import screens
from truegreen.cassettes.upkeep.listing import rows, seen, sums
from truegreen.cassettes.upkeep.migration import CURRENT, OTHER_BYTES, OTHER_KEY, standing, versions
from truegreen.cassettes.upkeep.pruning import unused
from truegreen.cassettes.upkeep.reading import differences, readable
from truegreen.cassettes.upkeep.run_log import Log, appended, read_log, run_of, weeks
from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Exit
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import joined, refuse_doubled
from truegreen.report.as_json import shown_json
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.reading import beginning_of, bytes_of, session_at

FORMATS: Final = ("text", "json")
MOST_LOG_BYTES: Final = 64 << 20


def listed(folder: Path, form: str) -> list[str]:
    """The recordings of a folder, a line each.

    Raises: ReachProblem ``file-unreadable``.
    """
    found = rows(seen(files_of(folder)))
    return (
        as_json_lines([msgspec.to_builtins(row) for row in found])
        if form == "json"
        else list(screens.table(found))
    )


def shown(file: Path, form: str) -> list[str]:
    """One recording, its bodies decoded.

    Raises: ReachProblem ``file-unreadable``; EvidenceProblem as ``read_cassette``.
    """
    value = readable(_cassette(file))
    return as_json_lines(value) if form == "json" else list(screens.page(file.name, value))


def compared(old: Path, new: Path, form: str) -> tuple[list[str], bool]:
    """What differs between two recordings, and whether anything does.

    Raises: as ``shown``.
    """
    found = differences(_cassette(old), _cassette(new))
    lines = (
        as_json_lines([msgspec.to_builtins(one) for one in found])
        if form == "json"
        else list(screens.changes(found))
    )
    return lines, bool(found)


def counted(folder: Path, log: Path | None, form: str) -> list[str]:
    """A folder in numbers, and the misses of each week if its log is there.

    Raises: ReachProblem ``file-unreadable``.
    """
    files = files_of(folder)
    found = sums(seen(files), sum(len(data or b"") for data in files.values()))
    read = _log_of(log or log_path(folder))
    if form == "json":
        by_week = [
            {**msgspec.to_builtins(week), "churns": week.churns}
            for week in (weeks(read.runs) if read else ())
        ]
        unreadable = read.unreadable if read else 0
        return as_json_lines(
            {**msgspec.to_builtins(found), "weeks": by_week, "unreadable_log_lines": unreadable}
        )
    return [*screens.numbers(found), *(screens.log_lines(read) if read else ())]


def log_path(folder: Path) -> Path:
    """Where the log of a folder's runs stands by default: beside the folder, not in it."""
    return folder.with_name(f"{folder.name}.runs.jsonl")


def logged(sessions: Sequence[Path], log: Path | None, root: Path) -> tuple[Path, bool]:
    """Append the run that these session files are the parts of; whether it was not there before.

    Raises: ReachProblem ``file-unreadable``, ``not-written``; EvidenceProblem ``session-twice`` and as ``session_at`` and ``joined``.
    """
    parts = [session_at(path) for path in sessions]
    refuse_doubled(parts)
    run = run_of(joined(parts))
    path = log or log_path(root / run.cassettes)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o666)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            more = appended(file.read(MOST_LOG_BYTES) or b"", run)
            if more:
                file.write(more)
                os.fsync(file.fileno())
    except OSError as err:
        raise ReachProblem("not-written", f"{quoted(str(path))} was not written: {err.strerror}") from err
    return path, bool(more)


def pruned(folder: Path, sessions: Sequence[Path], parts: int, *, is_real: bool) -> tuple[str, ...]:
    """Recordings that a whole run did not play; removed only if ``is_real``.

    Raises: ReachProblem ``file-unreadable``, ``not-written``; EvidenceProblem as ``pruning.unused``.
    """
    opened = Folder(folder, write_atomic)
    with opened.locked():
        found = unused([session_at(path) for path in sessions], parts, seen(files_of(folder)))
        for name in found if is_real else ():
            try:
                (folder / name).unlink()
            except OSError as err:
                raise ReachProblem(
                    "not-written", f"{quoted(str(folder / name))} was not removed: {err.strerror}"
                ) from err
    return found


def migration(folder: Path) -> tuple[list[str], Exit]:
    """What this version would change in a folder: lines, and 0 for nothing, 1 for something, 3 for what cannot be read.

    Raises: ReachProblem ``file-unreadable``.
    """
    files = files_of(folder)
    found = standing((one, files[one.file] or b"") for one in seen(files))
    other = [one for one in found if one.state != CURRENT]
    broken = [one for one in other if one.state not in (OTHER_BYTES, OTHER_KEY)]
    lines = [f"{one.file}: {one.state}: {one.message}" for one in other]
    lines.append(
        f"{len(found) - len(other)} of {len(found)} recordings are current under {' and '.join(versions())}"
    )
    return lines, Exit.HOLD if broken else Exit.BLOCK if other else Exit.DONE


def files_of(folder: Path) -> dict[str, bytes | None]:
    """The recordings of a folder, by name.

    Raises: ReachProblem ``file-unreadable``.
    """
    if not folder.is_dir():
        raise ReachProblem(
            "file-unreadable",
            f"{quoted(str(folder))} is no folder, a folder of recordings is asked",
            hint="truegreen cassette list FOLDER",
        )
    opened = Folder(folder, write_atomic)
    return {name: opened.read(name) for name in opened.names()}


def every_file_of(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder, by its path from it; None for a link, which is not followed.

    Raises: ReachProblem ``file-unreadable``.
    """
    found: dict[str, bytes | None] = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_symlink() or path.is_file():
            name = path.relative_to(folder).as_posix()
            found[name] = None if path.is_symlink() else beginning_of(path, MAX_BYTES)
    return found


def _cassette(file: Path) -> Cassette:
    if not file.exists():
        raise ReachProblem(
            "file-unreadable",
            f"{quoted(str(file))} cannot be read: there is no file of that name",
            hint="truegreen cassette list FOLDER names the files; give FOLDER/NAME.json",
        )
    return read_cassette(bytes_of(file, MAX_BYTES), "")


def _log_of(path: Path) -> Log | None:
    return read_log(bytes_of(path, MOST_LOG_BYTES)) if path.exists() else None


def as_json_lines(value: Any) -> list[str]:
    """A value as JSON, in lines that neither a terminal nor a runner obeys."""
    return shown_json(value).splitlines()
