# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen cassette check``: a folder of recordings, checked offline, and the record of its replay.

What it decides: which files are read, what counts as a pass, and what the record is about. What it leaves: what is
wrong with a recording, to ``cassettes.check``; what a replay proves, to the gate.

- Nothing is asked of any endpoint, and nothing that lies there runs.
- The record is about the tree of the files as they lie there, under the policy of the base, like a ledger. Whoever
  replays hands in its sessions; without one the record says that there was no replay.
- Links are not followed: what is no regular file is unreadable.
- Exit 0 if nothing stands against it, 1 if something fails, 3 if something cannot be told. With sessions the replay's
  own faults count as well, as far as they need no forge.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from truegreen import version
from truegreen.cassettes.check import checked
from truegreen.cassettes.contract_check import SCHEMA, Checked, ContractCheckBody, Finding, Made
from truegreen.core.digest import H1, h1_of_files
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.lane_digests import Components
from truegreen.core.outcome import Exit
from truegreen.core.policy import Lane
from truegreen.core.quoted import quoted
from truegreen.core.record import Envelope, Producer, file_name, write_record
from truegreen.core.replay_session import ReplaySession, is_weaker, joined, refuse_doubled
from truegreen.forges.git import GitRepository
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.reading import bytes_of, session_at
from truegreen.wiring.sample import ARTIFACTS, make_folder, top_of
from truegreen.wiring.sample_ground import SampleGround, read_ground
from truegreen.wiring.sample_request import SampleRequest

MOST_BYTES = 128 << 20
"""Largest file of a folder that is read, in bytes."""


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The command line of ``truegreen cassette check``."""

    cwd: Path
    """Folder in which it was called."""
    folder: Path | None
    """Folder of recordings; None for the lane's."""
    lane: str | None
    """The lane that the record is of."""
    sessions: tuple[Path, ...]
    """What the replay left."""
    record: Path | None
    """File that the record goes to; None for its usual place, if there are sessions."""
    subject_from: str | None
    """``github``, ``git``, or None to tell by the environment."""
    base: str | None
    """Base branch for ``git``."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What the check came to."""

    folder: str
    """The folder, as it was named."""
    checked: Checked
    """Recordings and findings."""
    replay: tuple[Finding, ...]
    """What is wrong with the replay."""
    session: ReplaySession | None
    """The replay."""
    record: Path | None
    """Where the record lies."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything, the replay's own first."""
        return (*self.replay, *self.checked.findings)

    @property
    def code(self) -> Exit:
        """A fail before what cannot be told."""
        weights = {finding.weight for finding in self.findings}
        return Exit.BLOCK if "fails" in weights else Exit.HOLD if "unknown" in weights else Exit.DONE


def check(request: CheckRequest, environment: Mapping[str, str]) -> CheckResult:
    """Check a folder, and write the record that was asked for.

    Raises: TruegreenProblem of every family.
    """
    sessions = tuple(session_at(path) for path in request.sessions)
    refuse_doubled(sessions)
    session = joined(sessions) if sessions else None
    if request.record is None and not sessions:
        folder = request.cwd / (request.folder or Path("cassettes"))
        return _result(str(request.folder or "cassettes"), folder, session, None, None)
    with GitRepository(top_of(request.cwd), environment) as git:
        ground = _ground(request, git, environment)
        lane = ground.lane
        if session is not None:
            _refuse_other_commit(session, git.resolve("HEAD"))
        folder = ground.root / lane.cassettes
        if request.folder is not None and (request.cwd / request.folder).resolve() != folder.resolve():
            raise UsageProblem(
                "other-folder",
                f"{quoted(str(request.folder))} is given, the lane {lane.name} has its recordings in {lane.cassettes}",
                hint="leave the folder out, or name the lane's own",
            )
        files = folder_files(folder)
        found = checked(files)
        return _result(
            lane.cassettes, folder, session, lane, _written(request, ground, found, session), found
        )


def _refuse_other_commit(session: ReplaySession, checked_out: str | None) -> None:
    """A replay of other code, or of nobody knows which, proves nothing about this one.

    Raises: EvidenceProblem ``replay-of-other-commit``.
    """
    if session.commit != checked_out:
        ran = f"commit {session.commit[:12]}" if session.commit else "no commit that git could name"
        raise EvidenceProblem(
            "replay-of-other-commit",
            f"the replay ran on {ran}, {str(checked_out)[:12]} is checked out",
            hint="replay again: truegreen proxy run --mode replay --help",
        )


def folder_files(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder, by its path from it with ``/``; None for what is no regular file.

    Raises: ReachProblem ``file-unreadable`` if the folder or a file of it cannot be read.
    """
    try:
        return dict(_files(folder, folder))
    except OSError as err:
        raise ReachProblem(
            "file-unreadable",
            f"{quoted(str(folder))} cannot be read: {err.strerror}",
            hint="truegreen cassette check FOLDER",
        ) from err


def _files(folder: Path, root: Path) -> Iterator[tuple[str, bytes | None]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            name = Path(entry.path).relative_to(root).as_posix()
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), root)
            elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                yield name, bytes_of(Path(entry.path), MOST_BYTES)
            else:
                yield name, None


def _result(  # noqa: PLR0913, PLR0917 - a result is made of these
    shown: str,
    folder: Path,
    session: ReplaySession | None,
    lane: Lane | None,
    record: Path | None,
    found: Checked | None = None,
) -> CheckResult:
    files = folder_files(folder)
    return CheckResult(
        folder=shown,
        checked=found or checked(files),
        replay=tuple(_replay(session, lane, h1_of_files(files))) if session else (),
        session=session,
        record=record,
    )


def _replay(session: ReplaySession, lane: Lane | None, there: H1 | None) -> Iterator[Finding]:
    """Faults of the replay itself, in the gate's words and weights."""
    for miss in session.misses if session.complete else ():
        nearest = f"; the nearest, {miss.nearest}, differs at {miss.differs_at}" if miss.nearest else ""
        yield _finding(
            "recording-missing", "fails", f"a request has no recording{nearest}", miss.template or ""
        )
    if not session.complete or session.command_exit is None:
        yield _finding(
            "replay-incomplete", "unknown", session.incomplete_because or "the command did not end"
        )
    if session.upstream_calls or session.guard_stops:
        told = f"{session.upstream_calls} calls upstream, {session.guard_stops} stopped by the guard"
        yield _finding("replay-reached-out", "fails", told)
    if not session.before == session.after == there:
        told = f"replayed were {session.before}, then {session.after}; {there} lie there"
        yield _finding("recordings-changed", "fails", told)
    if lane is not None and lane.guard is not None and is_weaker(session.guard, lane.guard):
        told = f"the guard was {session.guard}, {lane.guard} is demanded"
        yield _finding("guard-too-weak", "unknown", told)
    if session.complete and session.command_exit and not session.misses:
        yield _finding("replay-failed", "fails", f"the command ended with {session.command_exit}")
    if session.complete and not session.hits and not session.misses:
        yield _finding("nothing-replayed", "unknown", "no recording answered anything")
    for file in session.unused if session.complete else ():
        yield Finding(code="recordings-unused", weight="unknown", file=file, problem="nothing played it")


def _finding(code: str, weight: str, problem: str, template: str = "") -> Finding:
    return Finding(code=code, weight=weight, file="", template=template, problem=problem)


def _ground(request: CheckRequest, git: GitRepository, environment: Mapping[str, str]) -> SampleGround:
    asked = SampleRequest(
        cwd=request.cwd, paths=(), lane=request.lane, subject_from=request.subject_from, base=request.base
    )
    return read_ground(asked, git, environment, is_ours=lambda lane: lane.replays, what="replayed")


def _written(
    request: CheckRequest, ground: SampleGround, found: Checked, session: ReplaySession | None
) -> Path:
    lane, subject = ground.lane, ground.subject
    body = ContractCheckBody(
        policy_digest=ground.policy.digest,
        ruler=_made(ground.digests.ruler),
        subject=_made(ground.digests.subject),
        folder=lane.cassettes,
        recordings=found.recordings,
        findings=found.findings,
        session=session,
    )
    envelope = Envelope(
        schema=SCHEMA,
        lane=lane.name,
        part="all",
        subject=subject,
        producer=Producer(name="truegreen", version=version(), verb="cassette check"),
        issued_at=SystemClock().now(),
        body=msgspec.to_builtins(body),
    )
    usual = ground.root / ARTIFACTS / file_name(lane.name, "all", subject.run_attempt)
    path = usual if request.record is None else request.cwd / request.record
    make_folder(path.parent, ground.root)
    write_atomic(path, write_record(envelope))
    return path


def _made(one: Components) -> Made:
    return Made(digest=one.digest, components=one.components)
