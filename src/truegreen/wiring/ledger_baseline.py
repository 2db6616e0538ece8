# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen ledger baseline``: what judges now, written down for a reviewer to agree on.

What it decides: each lane's entry in ``truegreen.baseline.json``. What it leaves: comparing it with what judges,
to the gate, which recomputes every digest.

- Ids are collected twice, under two hash seeds: one that differs is refused before anybody agrees on it.
- Files that cases name come from the collection, and the digest is taken with them in place.
- ``previous`` is the base's ruler, so that the file's own diff says from, to and why.
- The file holds no rates. It is written for eyes: one name a line, in a fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from truegreen.core.baseline import SCHEMA, Baseline, LaneBaseline, read_baseline
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.lane_digests import Components, blobs_to_digest, lane_digests, moved
from truegreen.core.policy import BASELINE_FILE
from truegreen.forges.git import GitRepository
from truegreen.sampling.engines.messages import Found
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.ledger import read_ledger
from truegreen.wiring.sample_ground import KIND, SampleGround, read_ground, read_worktree_policy
from truegreen.wiring.sample_request import SampleRequest
from truegreen.wiring.sample_suite import collected_once

HASH_SEEDS = ("0", "1")


@dataclass(frozen=True, kw_only=True)
class BaselineRequest:
    """The command line of ``truegreen ledger baseline``."""

    cwd: Path
    """Folder in which it was called."""
    lane: str | None
    """One lane; None for every sampled one."""
    reason: str | None
    """Why it changes."""
    ledgers: tuple[Path, ...]
    """Ledgers that say which endpoint and models are agreed on."""
    base: str | None
    """Branch that the change goes into."""
    is_check: bool
    """Whether only to say what would change."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One lane's entry before and after."""

    lane: str
    """The lane."""
    before: LaneBaseline | None
    """The entry that lies there."""
    after: LaneBaseline
    """The entry that fits."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What differs, for people; empty if nothing does."""
        before, after = self.before, self.after
        if before is None:
            return (f"lane {self.lane}: new, {len(after.case_ids)} cases, ruler {after.ruler}",)
        told = []
        if before.ruler != after.ruler:
            what = ", ".join(moved(before.components, after.components)) or "its digest"
            told.append(f"lane {self.lane}: the ruler changed ({what}), {before.ruler} to {after.ruler}")
        for sign, ids in (
            ("+", set(after.case_ids) - set(before.case_ids)),
            ("-", set(before.case_ids) - set(after.case_ids)),
        ):
            told += [f"lane {self.lane}: {sign} {name}" for name in sorted(ids)]
        for name in ("inputs", "prompts", "endpoint", "models_served"):
            if getattr(before, name) != getattr(after, name):
                told.append(f"lane {self.lane}: {name} {getattr(before, name)} to {getattr(after, name)}")
        return tuple(told)


def baseline(request: BaselineRequest, environment: Mapping[str, str]) -> tuple[Path, tuple[Change, ...]]:
    """The file's path and each lane's change; the file is written unless only checked.

    Raises: TruegreenProblem of every family.
    """
    top = next((one for one in (request.cwd, *request.cwd.parents) if (one / ".git").exists()), request.cwd)
    with GitRepository(top, environment) as git:
        if git.root is None:
            raise UsageProblem("no-working-folder", "a bare clone has no working folder to test")
        policy = read_worktree_policy(git.root)
        names = [lane.name for lane in policy.lanes if lane.kind == KIND]
        chosen = names if request.lane is None else [request.lane]
        path = git.root / BASELINE_FILE
        lying = read_baseline(path.read_bytes()) if path.is_file() else Baseline(schema=SCHEMA, lanes={})
        ledgers = _ledgers(request.ledgers)
        changes = tuple(_change(request, git, name, lying, ledgers, environment) for name in chosen)
        if not request.is_check and any(change.lines for change in changes):
            entries = {**lying.lanes, **{change.lane: change.after for change in changes if change.lines}}
            write_atomic(path, file_bytes(Baseline(schema=SCHEMA, lanes=entries)))
    return path, changes


def file_bytes(found: Baseline) -> bytes:
    """The file for people to review: sorted, indented, one name a line."""
    text = json.dumps(msgspec.to_builtins(found), indent=2, sort_keys=True, ensure_ascii=False)
    return f"{text}\n".encode()


def _change(  # noqa: PLR0913, PLR0917 - one lane's entry depends on these
    request: BaselineRequest,
    git: GitRepository,
    name: str,
    lying: Baseline,
    ledgers: Mapping[str, tuple[str, tuple[str, ...]]],
    environment: Mapping[str, str],
) -> Change:
    ground = read_ground(SampleRequest(cwd=request.cwd, lane=name, base=request.base), git, environment)
    cases = _collected(ground, environment)
    before = lying.lanes.get(name)
    base = _at_base(ground)
    endpoint, models = ledgers.get(name) or (
        (before.endpoint, before.models_served) if before else (None, ())
    )
    draft = LaneBaseline(
        ruler=ground.digests.ruler.digest,
        components={},
        case_ids=tuple(sorted(case.id for case in cases if not case.golden)),
        inputs=tuple(sorted({path for case in cases for path in case.inputs})),
        prompts=tuple(sorted({path for case in cases for path in case.prompts})),
        endpoint=endpoint,
        models_served=models,
        previous=None,
        reason=(request.reason or "").strip() or (before.reason if before else "checked"),
    )
    ruler = _ruler(ground, draft)
    after = msgspec.structs.replace(
        draft,
        ruler=ruler.digest,
        components=ruler.components,
        previous=base.previous if base and base.ruler == ruler.digest else base.ruler if base else None,
    )
    same = before is not None and msgspec.structs.replace(after, reason=before.reason) == before
    return Change(lane=name, before=before, after=before if same and before else after)


def _ruler(ground: SampleGround, draft: LaneBaseline) -> Components:
    """The ruler as it is once the files that cases name are agreed on."""
    lanes = {**(ground.baseline.lanes if ground.baseline else {}), ground.lane.name: draft}
    git, entries = ground.git, ground.entries
    digests = git.blob_digests(sorted(blobs_to_digest(entries)))
    agreed = Baseline(schema=SCHEMA, lanes=lanes)
    return lane_digests(entries, ground.policy, ground.lane, agreed, digests, git.blob).ruler


def _collected(ground: SampleGround, environment: Mapping[str, str]) -> tuple[Found, ...]:
    """The lane's cases, if two collections agree on them.

    Raises: EvidenceProblem ``unstable-id``, besides what collecting raises.
    """
    first, second = (
        collected_once(ground, {**environment, "PYTHONHASHSEED": seed}).cases for seed in HASH_SEEDS
    )
    differing = sorted({case.id for case in first} ^ {case.id for case in second})
    if differing:
        raise EvidenceProblem(
            "unstable-id",
            f"two collections of the suite differ in {len(differing)} ids, the first is {differing[0]}",
            hint="give each parameter an explicit id that does not change from run to run",
        )
    return first


def _at_base(ground: SampleGround) -> LaneBaseline | None:
    git = ground.git
    entries = git.entries(git.tree_of(ground.subject.base_sha))
    found = next((entry for entry in entries if entry.path == BASELINE_FILE), None)
    return read_baseline(git.blob(found.oid)).lanes.get(ground.lane.name) if found else None


def _ledgers(paths: tuple[Path, ...]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Lane to host and models of the newest ledger that was given."""
    newest: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    for path in paths:
        envelope, body = read_ledger(path)
        row = (envelope.issued_at, body.endpoint.host, body.endpoint.models_served)
        newest[envelope.lane] = max(newest.get(envelope.lane, row), row)
    return {lane: (host, models) for lane, (_, host, models) in newest.items()}
