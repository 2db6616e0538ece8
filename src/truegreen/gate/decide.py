# SPDX-License-Identifier: Apache-2.0
"""One decision from everything that bind, verify and complete found.

What it decides: the word, the exit code, and the order in which causes are told. What it leaves: the words of
the line, to ``report``; printing, to the doors.

- block > hold > admit. Within a word, the event and the policy speak first, then files, then missing
  members, then cases.
- Stale records beside a full set are notes; alone they leave a member missing, which holds.
- What the reader refuses holds even beside a full set.
- Advisory lanes and lanes that base lacks change nothing.
- Observe exits 0 whatever the word, except where nothing in CI may count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from truegreen.core.decision import SCHEMA, About, Cause, Decision, LaneRow, SeenFile
from truegreen.core.digest import sha256_of
from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import EXIT_OF_WORD, Exit, Outcome, Word, heavier
from truegreen.core.policy import KindFacts, Lane
from truegreen.core.record import read_record
from truegreen.gate.bind import CHECKS as BIND_CHECKS
from truegreen.gate.bind import Asked, BindCheck, Bound, bind
from truegreen.gate.complete import CHECKS as COMPLETE_CHECKS
from truegreen.gate.complete import PlaceCheck, complete
from truegreen.gate.ground import Ground, Unreachable
from truegreen.gate.intake import Evidence
from truegreen.gate.kinds import KINDS, LATER
from truegreen.gate.model import Judged, Kind, LaneEvidence
from truegreen.gate.replay_record import speaking_kind
from truegreen.gate.verify import CHECKS as VERIFY_CHECKS
from truegreen.gate.verify import Check, Reader, Verified, verify
from truegreen.report.line import line_of

NEVER_GREEN = frozenset({"policy-in-worktree", "local-in-ci"})
"""Holds that keep their exit code in observe mode: what they say about CI is worth nothing."""


ECHO = "job-not-successful"
"""A job that failed says nothing more where the record already says why: it is told only where nothing else is."""
REFUSED = {"evidence-missing": "evidence-missing"}
"""Refusals of the intake with a reason code of their own."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The tables and checks that the flow runs by; tests take some away."""

    kinds: Mapping[str, Kind]
    """Record kinds."""
    verify: tuple[Check, ...] = VERIFY_CHECKS
    """Checks of one record."""
    complete: tuple[PlaceCheck, ...] = COMPLETE_CHECKS
    """Checks of one lane's part."""
    bind: tuple[BindCheck, ...] = BIND_CHECKS
    """Checks of the event and the base."""
    read: Reader = read_record
    """The strict reader."""
    unknown_holds: bool = True
    """Whether a lane that does not hold, without anything said against it, holds: the last catch."""

    def facts(self) -> dict[str, KindFacts]:
        """What a policy must know of kinds: the built ones and those of later versions."""
        built = {k.name: KindFacts(model_backed=k.model_backed, built=True) for k in self.kinds.values()}
        return {**LATER, **built}


RULES = Rules(kinds=KINDS)
"""The rules of this version."""


def decide(asked: Asked, evidence: Evidence, rules: Rules = RULES) -> Decision:
    """The decision on ``evidence``.

    Raises: UsageProblem for a policy that cannot be read or an unknown ``--lane``: no decision is issued.
    """
    bound = bind(asked, rules.kinds, rules.facts(), checks=rules.bind)
    causes, notes = list(bound.causes), list(bound.notes)
    rows: list[LaneRow] = []
    files: tuple[SeenFile, ...] = ()
    for refusal in evidence.refusals:
        word = Word.BLOCK if refusal.contradictory else Word.HOLD
        other = "archive-contradicts" if refusal.contradictory else "archive-refused"
        told = {"problem": refusal.message, "error": refusal.code}
        causes.append(
            _about_file(REFUSED.get(refusal.code, other), word, refusal.container, refusal.name, told)
        )
    if bound.ground is not None:
        verified = verify(evidence, bound.ground, rules.kinds, checks=rules.verify, read=rules.read)
        files = verified.files
        _tell_findings(verified, causes, notes)
        for lane in _lanes(bound.ground, asked.only_lane):
            is_told_only = lane.role == "advisory" and asked.only_lane is None
            one = _advisory if is_told_only else _lane
            judged = one(lane, rules, verified, bound.ground)
            causes.extend(judged.causes)
            notes.extend(judged.notes)
            rows.append(judged.row)
    if asked.only_lane is not None:
        causes = [cause for cause in causes if cause.lane in (None, asked.only_lane)]
    return _made(asked, bound, rules, tuple(causes), tuple(notes), tuple(rows), files)


def _lanes(ground: Ground, only: str | None) -> tuple[Lane, ...]:
    if only is None:
        return ground.policy.lanes
    lane = ground.policy.lane(only)
    if lane is None:
        known = ", ".join(lane.name for lane in ground.policy.lanes)
        raise UsageProblem(
            "unknown-lane-asked",
            f"the policy has no lane {only!r}, it has {known}",
            hint="truegreen policy show",
        )
    return (lane,)


def _tell_findings(verified: Verified, causes: list[Cause], notes: list[Cause]) -> None:
    """Refused and blocked files weigh by themselves; stale ones are told without weight."""
    for seen, finding, lane in verified.findings:
        weight = finding.word if finding.standing in ("blocked", "refused") else None
        cause = _about_file(finding.code, weight, seen.container, seen.name, finding.facts, lane)
        (notes if weight is None else causes).append(cause)


def _about_file(  # noqa: PLR0913, PLR0917 - a cause about a file is made of these
    code: str,
    word: Word | None,
    container: str,
    name: str,
    facts: Mapping[str, str | int],
    lane: str | None = None,
) -> Cause:
    return Cause(code=code, word=word, lane=lane, facts={**facts, "file": name, "container": container})


def _lane(lane: Lane, rules: Rules, verified: Verified, ground: Ground) -> Judged:
    """One lane's row with everything said about it."""
    kind = rules.kinds[speaking_kind(lane, ground.facts)]
    done = complete(lane, kind, verified, ground, checks=rules.complete)
    judged = _judge(kind, done.evidence, ground)
    causes: tuple[Cause, ...] = (*done.causes, *judged.causes)
    causes = tuple(cause for cause in causes if cause.code != ECHO) or causes
    if rules.unknown_holds:
        causes += _last_catch(lane, judged.row.outcome, causes)
    outcome = judged.row.outcome
    if causes:
        is_blocked = any(cause.word is Word.BLOCK for cause in causes)
        outcome = Outcome.FAILS if is_blocked else Outcome.UNKNOWN
    code = _ordered(causes)[0].code if causes else "holds"
    row = _with(judged.row, outcome=outcome, code=code, members=done.members)
    return Judged(row=row, causes=causes, notes=(*done.notes, *judged.notes))


def _last_catch(lane: Lane, outcome: Outcome, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """A lane that does not hold although nothing was said against it, or that fails and only holds were said."""
    facts: dict[str, str | int] = {"outcome": outcome.value}
    if outcome is Outcome.FAILS and not any(cause.word is Word.BLOCK for cause in causes):
        return (Cause(code="lane-not-holding", word=Word.BLOCK, lane=lane.name, facts=facts),)
    if outcome is not Outcome.HOLDS and not causes:
        return (Cause(code="lane-not-holding", word=Word.HOLD, lane=lane.name, facts=facts),)
    return ()


def _judge(kind: Kind, evidence: LaneEvidence, ground: Ground) -> Judged:
    """The kind's own word; a recomputation that has no result holds."""
    lane = evidence.lane
    empty = LaneRow(
        lane=lane.name,
        kind=kind.name,
        role=lane.role,
        seal=lane.seal,
        outcome=Outcome.UNKNOWN,
        code="",
        owner=lane.owner,
    )
    if not evidence.newest:
        return Judged(row=empty, causes=(), notes=())
    try:
        return kind.judge(evidence, ground)
    except Unreachable as err:
        cause = Cause(code=err.code, word=Word.HOLD, lane=lane.name, facts=dict(err.facts))
        return Judged(row=empty, causes=(cause,), notes=())


def _advisory(lane: Lane, rules: Rules, verified: Verified, ground: Ground) -> Judged:
    """An advisory lane: whatever is there is told, and weighs nothing."""
    kind = rules.kinds[speaking_kind(lane, ground.facts)]
    mine = tuple(c for c in verified.accepted if c.lane.name == lane.name)
    newest = max(mine, key=lambda c: (c.envelope.issued_at, c.identity), default=None)
    evidence = LaneEvidence(
        lane=lane, newest=(newest,) if newest else (), older=(), j=1, is_complete=newest is not None
    )
    judged = _judge(kind, evidence, ground)
    notes = [Cause(code=c.code, word=None, lane=c.lane, case=c.case, facts=c.facts) for c in judged.causes]
    outcome = judged.row.outcome if newest else Outcome.NOT_ASKED
    row = _with(judged.row, outcome=outcome, code=judged.row.code or "advisory")
    return Judged(row=row, causes=(), notes=(*notes, *judged.notes))


def _with(row: LaneRow, **changes: Any) -> LaneRow:
    return LaneRow(**{name: changes.get(name, getattr(row, name)) for name in row.__struct_fields__})


def _ordered(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Heaviest first; otherwise in the order in which they were found."""
    return tuple(sorted(causes, key=lambda cause: -(cause.word.weight if cause.word else 0)))


def _made(  # noqa: PLR0913, PLR0917 - a decision is made of these
    asked: Asked,
    bound: Bound,
    rules: Rules,
    causes: tuple[Cause, ...],
    notes: tuple[Cause, ...],
    rows: tuple[LaneRow, ...],
    files: tuple[SeenFile, ...],
) -> Decision:
    word = Word.ADMIT
    for cause in causes:
        word = heavier(word, cause.word or Word.ADMIT)
    told = _ordered(causes)
    draft = Decision(
        schema=SCHEMA,
        word=word,
        exit_code=int(_exit(bound, word, told)),
        mode=bound.mode,
        line="",
        code=told[0].code if told else "all-lanes-hold",
        only_lane=asked.only_lane,
        topology=bound.topology,
        about=_about(asked, bound),
        causes=told,
        notes=notes,
        lanes=rows,
        files=files,
        embedded=_embedded(asked, bound, rules),
        now=asked.now,
    )
    return Decision(**{**{n: getattr(draft, n) for n in draft.__struct_fields__}, "line": line_of(draft)})


def _exit(bound: Bound, word: Word, causes: tuple[Cause, ...]) -> Exit:
    """The exit code: in observe mode 0, unless the result could pass for CI's."""
    if any(cause.code in NEVER_GREEN and cause.word is not None for cause in causes):
        return EXIT_OF_WORD[word]
    if bound.mode == "observe":
        return Exit.DONE
    return EXIT_OF_WORD[word]


def _about(asked: Asked, bound: Bound) -> About:
    facts = asked.facts
    return About(
        repo=facts.repo,
        head_repo=facts.head_repo,
        pull_request=facts.pull_request,
        event=facts.event,
        head_sha=facts.head_sha,
        head_tree=bound.head_tree,
        base_ref=facts.base_ref,
        base_tip=bound.tip,
        default_branch=facts.default_branch,
        run_id=facts.run_id,
        run_attempt=facts.run_attempt,
        workflow=facts.workflow,
        local=facts.local,
    )


TEXTS = ("policy", "default_policy", "quarantine", "quarantine_of_head", "baseline", "removed")
"""Names of the texts that a decision embeds."""


def _embedded(asked: Asked, bound: Bound, rules: Rules) -> dict[str, Any]:
    """Texts and digests that the decision was made from."""
    return {
        **{name: bound.texts.get(name) for name in TEXTS},
        "tables": {kind.name: kind.table for kind in rules.kinds.values() if kind.table is not None},
        "run_index": None if asked.index is None else sha256_of(asked.index),
        "version": asked.version,
        "in_ci": asked.in_ci,
    }
