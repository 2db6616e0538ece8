# SPDX-License-Identifier: Apache-2.0
"""Recordings in a folder, opened to be played or to be written.

What it decides: who may record. What it leaves: everything about recordings, to ``cassettes``.

- Recording refuses where ``CI`` is set to anything but an empty text, ``0`` or ``false``: evidence comes from
  committed bytes.
- All processes of one recording share the instant in ``TRUEGREEN_RECORDING_SINCE``, where it is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.errors import UsageProblem
from truegreen.core.instants import is_instant
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.wiring.atomic import write_atomic

SINCE: Final = "TRUEGREEN_RECORDING_SINCE"
"""Variable with the instant at which a recording of several processes began."""
_NOT_SET: Final = frozenset({"", "0", "false"})


def replaying(folder: Path, rules: KeyRules) -> Store:
    """The recordings of a folder, to be played; nothing is ever written."""
    return Store(Folder(folder, write_atomic), rules)


def recording(
    folder: Path, rules: KeyRules, clock: Clock, environment: Mapping[str, str], *, keeps_errors: bool = False
) -> Store:
    """The recordings of a folder, to be played and written.

    Raises: UsageProblem ``recording-in-ci``, ``bad-recording-since``.
    """
    if is_ci(environment):
        raise UsageProblem(
            "recording-in-ci",
            f"CI is set to {quoted(environment['CI'])}, and recordings are made on a developer's machine and committed",
            hint="record locally, look at the difference, commit it",
        )
    since = environment.get(SINCE) or clock.now()
    if not is_instant(since):
        raise UsageProblem(
            "bad-recording-since", f"{SINCE} is {quoted(since)}, a time such as {clock.now()} is asked"
        )
    recorder = Recorder(now=clock.now, since=since, keeps_errors=keeps_errors)
    return Store(Folder(folder, write_atomic), rules, recorder)


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether this process runs in CI."""
    return environment.get("CI", "").strip().lower() not in _NOT_SET
