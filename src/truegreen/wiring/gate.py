# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen gate``: the event, the clone, the clock and the evidence go in, one decision comes out.

- In CI the event comes from the forge's payload and the run index from the step before; at home from git.
- With ``--bundle`` every answer of git is kept, so that ``--replay`` makes the same bytes without the clone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from truegreen.cassettes.contract_check import Checked
from truegreen.core.canonical import DEFAULT
from truegreen.core.decision import Decision
from truegreen.core.errors import EvidenceProblem
from truegreen.core.event import EventFacts
from truegreen.core.policy import POLICY_FILE
from truegreen.core.ports import GitPort
from truegreen.core.record import Envelope, Producer, write_record
from truegreen.core.subject import CommitId, Subject, TreeId
from truegreen.forges.git import GitRepository
from truegreen.forges.git_log import GitLog, recording, replay
from truegreen.gate.bind import Asked
from truegreen.gate.decide import RULES, Rules, decide
from truegreen.gate.intake import Evidence, read_evidence
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.event import event_facts, is_ci
from truegreen.wiring.reading import bytes_of


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked."""

    evidence: tuple[Path, ...]
    """Folders and zips."""
    repository: Path
    """The clone."""
    run_index: Path | None
    """The stored run index."""
    subject_from: str | None
    """``github``, ``git``, or None to tell by the environment."""
    policy_from: str
    """``base`` or ``worktree``."""
    only_lane: str | None
    """One lane alone."""
    base: str | None
    """Base branch for ``--subject-from git``."""
    bundle: Path | None
    """Where to write the bundle."""
    decision: Path | None
    """Where to write the decision record."""


def decided(
    request: Request, environment: Mapping[str, str], version: str, rules: Rules = RULES
) -> tuple[Decision, bytes]:
    """The decision and its record's bytes; files that were asked for are written.

    Raises: TruegreenProblem of every family.
    """
    with _repository(request.repository, environment) as git:
        facts = event_facts(request.subject_from, request.base, git, environment)
        port, log = recording(git)
        asked = _asked(request, facts, port, environment, version)
        evidence = read_evidence(request.evidence)
        decision = decide(asked, evidence, rules)
        record = decision_record(decision, version)
        if request.bundle is not None or request.decision is not None:
            _write(request, asked, evidence, log, record)
    return decision, record


def replayed(path: Path, version: str, rules: Rules = RULES) -> tuple[Decision, bytes]:
    """The decision of a bundle, made again, and its record's bytes.

    Raises: EvidenceProblem ``replay-differs`` (contradictory) if it is not the stored one, byte for byte.
    """
    from truegreen.gate.bundle import LIMITS, difference, read_bundle  # noqa: PLC0415 - only a replay needs it

    asked, evidence, stored = read_bundle(bytes_of(path, LIMITS.max_bytes + 1), replay)
    asked = msgspec.structs.replace(asked, check_recordings=check_recordings)
    decision = decide(asked, evidence, rules)
    record = decision_record(decision, asked.version)
    where = difference(record, stored)
    if where:
        other = "" if asked.version == version else f"; it was made by {asked.version}, this is {version}"
        raise EvidenceProblem(
            "replay-differs",
            f"the bundle gives another decision than it stores: {where}{other}",
            contradictory=True,
        )
    return decision, record


def _write(request: Request, asked: Asked, evidence: Evidence, log: GitLog, record: bytes) -> None:
    # What only these files need is imported here: the gate's line should come soon.
    from truegreen.gate.bundle import write_bundle  # noqa: PLC0415 - see above
    from truegreen.wiring.atomic import write_atomic  # noqa: PLC0415 - see above

    if request.bundle is not None:
        write_atomic(request.bundle, write_bundle(asked, evidence, log, record))
    if request.decision is not None:
        write_atomic(request.decision, record)


def decision_record(decision: Decision, version: str) -> bytes:
    """Canonical bytes of the record that holds a decision."""
    about = decision.about
    nothing = "0" * 40
    subject = Subject(
        repo=about.repo,
        head_repo=about.head_repo,
        pull_request=about.pull_request,
        head_sha=CommitId(about.head_sha),
        base_ref=about.base_ref,
        base_sha=CommitId(about.base_tip or nothing),
        head_tree=TreeId(about.head_tree or nothing),
        tested_tree=TreeId(about.head_tree or nothing),
        run_id=about.run_id,
        run_attempt=about.run_attempt,
        workflow=about.workflow,
        event=about.event,
    )
    return write_record(
        Envelope(
            schema=decision.schema,
            lane="decision",
            part="all",
            subject=subject,
            producer=Producer(name="truegreen", version=version, verb="gate"),
            issued_at=decision.now,
            body=msgspec.to_builtins(decision),
        )
    )


def check_recordings(files: Mapping[str, bytes | None]) -> Checked:
    """What a folder of recordings holds and what is wrong with it."""
    from truegreen.cassettes.check import checked  # noqa: PLC0415 - only lanes that replay need it

    return checked(files)


@contextmanager
def _repository(path: Path, environment: Mapping[str, str]) -> Iterator[GitRepository]:
    git = GitRepository(path, environment)
    try:
        yield git
    finally:
        git.close()


def _asked(
    request: Request, facts: EventFacts, git: GitPort, environment: Mapping[str, str], version: str
) -> Asked:
    in_worktree = request.policy_from == "worktree"
    return Asked(
        facts=facts,
        git=git,
        index=None if request.run_index is None else bytes_of(request.run_index, DEFAULT.max_bytes + 1),
        now=SystemClock().now(),
        in_ci=is_ci(environment),
        version=version,
        only_lane=request.only_lane,
        check_recordings=check_recordings,
        worktree_policy=_worktree_policy(request.repository) if in_worktree else None,
    )


def _worktree_policy(repository: Path) -> bytes:
    """The working copy's policy.

    Raises: UsageProblem ``no-policy``; ReachProblem ``file-unreadable``.
    """
    from truegreen.wiring.policy import file_bytes  # noqa: PLC0415 - only --policy-from worktree needs it

    return file_bytes(repository / POLICY_FILE)
