# SPDX-License-Identifier: Apache-2.0
"""Recordings in a folder, opened to be played or to be written, and their keys proved.

What it decides: who may record, and which exit code a proof has. What it leaves: everything about recordings, to
``cassettes``.

- Recording refuses where ``CI`` is set to anything but an empty text, ``0`` or ``false``: evidence comes from
  committed bytes.
- What ``rules.toml`` in the folder adds holds for recording and for playing alike.
- A folder without recordings proves nothing: exit 3.
- All processes of one recording share the instant in ``TRUEGREEN_RECORDING_SINCE``, where it is set.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from truegreen.cassettes import rules_file
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.cassettes.verify_key import Proof, prove
from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem
from truegreen.core.instants import is_instant
from truegreen.core.outcome import Exit
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.core.toml import MAX_BYTES
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.reading import beginning_of

SINCE: Final = "TRUEGREEN_RECORDING_SINCE"
"""Variable with the instant at which a recording of several processes began."""
FOLDER: Final = "cassettes"
"""Where recordings stand if nobody says otherwise."""
_NOT_SET: Final = frozenset({"", "0", "false"})


def rules_in(folder: Path | None, rules: KeyRules) -> KeyRules:
    """The rules with what ``rules.toml`` in the folder adds; added twice it is added once.

    Raises: UsageProblem ``bad-toml``, ``bad-cassette-rules``; ReachProblem ``file-unreadable``.
    """
    data = beginning_of(folder / rules_file.FILE, MAX_BYTES + 1) if folder else None
    return rules if data is None else rules_file.extended(rules, data, name=rules_file.FILE)


def replaying(folder: Path, rules: KeyRules) -> Store:
    """The recordings of a folder, to be played; nothing is ever written.

    Raises: as ``rules_in``.
    """
    return Store(Folder(folder, write_atomic), rules_in(folder, rules))


def recording(
    folder: Path, rules: KeyRules, clock: Clock, environment: Mapping[str, str], *, keeps_errors: bool = False
) -> Store:
    """The recordings of a folder, to be played and written.

    Raises: UsageProblem ``recording-in-ci``, ``bad-recording-since``, and as ``rules_in``.
    """
    if is_ci(environment):
        raise UsageProblem(
            "recording-in-ci",
            f"CI is set to {quoted(environment['CI'])}, and recordings are made on a developer's machine and committed",
            hint="record locally, look at the difference, commit it",
        )
    shared = environment.get(SINCE)
    since = shared or clock.now()
    if not is_instant(since):
        raise UsageProblem(
            "bad-recording-since", f"{SINCE} is {quoted(since)}, a time such as {clock.now()} is asked"
        )
    since_ns = None if shared else time.time_ns()
    recorder = Recorder(now=clock.now, since=since, since_ns=since_ns, keeps_errors=keeps_errors)
    return Store(Folder(folder, write_atomic), rules_in(folder, rules), recorder)


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether this process runs in CI."""
    return environment.get("CI", "").strip().lower() not in _NOT_SET


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What came of proving the keys of a folder."""

    proofs: tuple[Proof, ...]
    """One for each recording that was read."""
    problems: tuple[TruegreenProblem, ...]
    """Why others were not."""

    @property
    def values(self) -> int:
        """Values that were changed."""
        return sum(one.values for one in self.proofs)

    @property
    def changes(self) -> int:
        """Changes that were tried."""
        return sum(one.changes for one in self.proofs)

    @property
    def exit_code(self) -> Exit:
        """1 for a key that does not move or a contradiction, 3 for a file that cannot be read, 0 else."""
        is_contradiction = any(getattr(one, "contradictory", False) for one in self.problems)
        if is_contradiction or any(one.unmoved for one in self.proofs):
            return Exit.BLOCK
        return Exit.HOLD if self.problems else Exit.DONE

    @property
    def as_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "schema": "truegreen/key-proof/v1",
            "recordings": [msgspec.to_builtins(one) for one in self.proofs],
            "problems": [{"code": one.code, "message": one.message} for one in self.problems],
            "values": self.values,
            "changes": self.changes,
        }


def verify_keys(folder: Path) -> Verified:
    """Prove the keys of every recording in a folder.

    Raises: EvidenceProblem ``no-recordings``; ReachProblem ``file-unreadable``.
    """
    found = Folder(folder, write_atomic)
    names = found.names()
    if not names:
        raise EvidenceProblem(
            "no-recordings",
            f"{quoted(str(folder))} holds no recording, so nothing was proved",
            hint="truegreen cassette verify-key FOLDER",
        )
    proofs: list[Proof] = []
    problems: list[TruegreenProblem] = []
    for name in names:
        try:
            proofs.append(prove(read_cassette(found.read(name) or b"", name), name))
        except TruegreenProblem as err:
            problems.append(err)
    return Verified(proofs=tuple(proofs), problems=tuple(problems))
