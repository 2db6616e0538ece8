# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen quarantine``: the file, the policy's limits and the clock go in.

- The limits are those of the working copy's policy, the case ids those of its baseline; without a policy the defaults
  count, without a baseline no id is looked up.
- An import changes nothing unless it is asked to write, and then replaces the file whole.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from truegreen.core.baseline import read_baseline
from truegreen.core.canonical import DEFAULT
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, QUARANTINE_FILE
from truegreen.core.policy_keys import KEYS
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import Clock
from truegreen.core.toml import MAX_BYTES
from truegreen.quarantine.entries import quarantine_problems, read_quarantine
from truegreen.quarantine.flakes import Imported, imported, read_flakes
from truegreen.quarantine.live import Limits
from truegreen.quarantine.overview import Overview, overview
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.policy import file_bytes, known_kinds
from truegreen.wiring.reading import beginning_of


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a check."""

    problems: tuple[EvidenceProblem, ...]
    """What is wrong with the file; then there is no overview."""
    overview: Overview | None
    """How its entries stand."""
    limits: Limits
    """The limits that counted."""


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be imported, and where to."""

    repository: Path
    """Folder of the quarantine file."""
    file: Path
    """The list."""
    lane: str | None
    """Lane of every row that names none."""
    ticket: str | None
    """Ticket of every row that names none."""
    is_written: bool
    """Whether the file is changed."""


def check(repository: Path, file: Path | None, clock: Clock | None = None) -> Checked:
    """How the entries of a file stand now; the default is the quarantine of ``repository``.

    Raises: UsageProblem ``no-quarantine`` if there is no such file, or any of the policy's reader; EvidenceProblem
    ``bad-baseline``.
    """
    path = file or repository / QUARANTINE_FILE
    data = _bytes(path, hint="truegreen quarantine import FLAKES.YAML")
    limits = limits_of(repository)
    problems = quarantine_problems(data, name=str(path))
    now = (clock or SystemClock()).now()
    ids = None if problems else _case_ids(repository)
    found = None if problems else overview(read_quarantine(data), limits, now, ids)
    return Checked(problems=problems, overview=found, limits=limits)


def import_flakes(asked: Import, clock: Clock | None = None) -> Imported:
    """The quarantine with the rows of a list added; written if that was asked.

    Raises: UsageProblem and EvidenceProblem of the readers; ReachProblem of the disk.
    """
    target = asked.repository / QUARANTINE_FILE
    existing = beginning_of(target, MAX_BYTES + 1)
    flakes = read_flakes(_bytes(asked.file, hint="truegreen quarantine import --help"), name=str(asked.file))
    now = (clock or SystemClock()).now()
    made = imported(flakes, existing, now, lane=asked.lane, ticket=asked.ticket)
    if asked.is_written and made.added:
        write_atomic(target, made.text.encode())
    return made


def limits_of(repository: Path) -> Limits:
    """What the working copy's policy allows, or the defaults if it has none."""
    path = repository / POLICY_FILE
    if not path.is_file():
        return Limits(
            max_quarantined=KEYS["max_quarantined",].default,
            max_quarantine_days=KEYS["max_quarantine_days",].default,
        )
    policy = read_policy(file_bytes(path), kinds=known_kinds())
    return Limits(max_quarantined=policy.max_quarantined, max_quarantine_days=policy.max_quarantine_days)


def _case_ids(repository: Path) -> dict[str, frozenset[str]] | None:
    """The ids that the working copy agrees on, by lane, or None if it has no baseline."""
    data = beginning_of(repository / BASELINE_FILE, DEFAULT.max_bytes + 1)
    if data is None:
        return None
    return {name: frozenset(lane.case_ids) for name, lane in read_baseline(data).lanes.items()}


def _bytes(path: Path, *, hint: str) -> bytes:
    data = beginning_of(path, MAX_BYTES + 1)
    if data is None:
        raise UsageProblem("no-quarantine", f"there is no file {path}", hint=hint)
    return data
