# SPDX-License-Identifier: Apache-2.0
"""What is changed on an honest stage to fool the gate: one function a trick.

What it decides: the hostile or mistaken input. What it leaves: which answer is asked for, to ``ways``; trying
it through the real gate, to ``run``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import msgspec

from truegreen.core.digest import sha256_of
from truegreen.core.index import Run, RunIndex
from truegreen.core.policy import BASELINE_FILE, QUARANTINE_FILE
from truegreen.core.record import Envelope, artifact_name, write_record
from truegreen.sampling.ledger import Case, CaseSamples, LedgerBody, Link, Sample
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import WORKFLOW, Actors

OTHER = "b" * 40
"""A commit that nobody has."""


def _path(actors: Actors, attempt: int = 1) -> str:
    return on.evidence_path(actors.lane.name, "all", attempt)


def _record(actors: Actors) -> Envelope:
    found: Envelope = actors.stage.ledgers[_path(actors)]
    return found


def _body(record: Envelope) -> LedgerBody:
    return msgspec.convert(record.body, LedgerBody)


def _put(actors: Actors, record: Envelope | bytes) -> on.Stage:
    return actors.stage.with_evidence(_path(actors), record)


def subject(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its subject."""
    record = _record(actors)
    subject = msgspec.structs.replace(record.subject, **changes)
    return _put(actors, msgspec.structs.replace(record, subject=subject))


def with_body(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its body."""
    record = _record(actors)
    body = msgspec.structs.replace(_body(record), **changes)
    return _put(actors, msgspec.structs.replace(record, body=msgspec.to_builtins(body)))


def index(actors: Actors, change: Callable[[RunIndex], RunIndex]) -> on.Stage:
    """The stage with its run index told otherwise."""
    listed = actors.stage.index
    return replace(actors.stage, index=change(listed) if listed else None)


def one_run(actors: Actors, change: Callable[[Run], Run]) -> on.Stage:
    """The stage with the one run of its index told otherwise."""
    return index(actors, lambda index: msgspec.structs.replace(index, runs=tuple(map(change, index.runs))))


def one_job(actors: Actors, **changes: object) -> on.Stage:
    """The stage with the lane's one job told otherwise."""

    def told(run: Run) -> Run:
        first = run.attempts[0]
        jobs = tuple(msgspec.structs.replace(job, **changes) for job in first.jobs)
        return msgspec.structs.replace(
            run, attempts=(msgspec.structs.replace(first, jobs=jobs), *run.attempts[1:])
        )

    return one_run(actors, told)


def without_evidence(stage: on.Stage) -> on.Stage:
    """The lane left nothing."""
    return replace(stage, ledgers={})


def second_attempt(actors: Actors, chain: tuple[Link, ...], outcomes: str = "p" * on.PASSES) -> on.Stage:
    """A re-run: attempt 1 left an artifact and failed, attempt 2 passes and says ``chain`` about attempt 1."""
    lane = actors.lane
    first = on.attempt(
        1,
        (on.job(lane.job, started_at=on.EARLIER_AT, conclusion="failure"),),
        (artifact_name(lane.name, "all", 1),),
        on.EARLIER_AT,
    )
    second = on.attempt(2, (on.job(lane.job),), (artifact_name(lane.name, "all", 2),))
    run = on.run(on.RUN_ID, actors.stage.facts.head_sha, (first, second), workflow=lane.workflow)
    stage = replace(actors.stage, index=on.run_index(actors.stage.facts.head_sha, (run,)), ledgers={})
    stage = replace(stage, facts=msgspec.structs.replace(stage.facts, run_attempt=2))
    rows = tuple(on.case_row(name, on.samples(outcomes), "stable-pass") for name in on.CASES)
    record = actors.ledger_of(rows, attempt=2)
    body = msgspec.structs.replace(_body(record), chain=chain)
    return stage.with_evidence(
        _path(actors, 2), msgspec.structs.replace(record, body=msgspec.to_builtins(body))
    )


def _failed_before(actors: Actors) -> Envelope:
    """The ledger that attempt 1 really left: every sample failed."""
    rows = tuple(on.case_row(name, on.samples("ffff"), "never-passed") for name in on.CASES)
    return actors.ledger_of(rows, attempt=1)


def link(actors: Actors, standing: str, **more: object) -> Link:
    """How attempt 2 names attempt 1."""
    values: dict[str, object] = {
        "run_id": on.RUN_ID,
        "run_attempt": 1,
        "head_sha": actors.stage.facts.head_sha,
        "standing": standing,
        "digest": None,
        "cases": (),
        **more,
    }
    return Link(**values)  # type: ignore[arg-type] # one dictionary of differently typed values


def rewritten_chain(actors: Actors) -> on.Stage:
    """Attempt 2 embeds passes in place of the failures that attempt 1 left."""
    earlier = _failed_before(actors)
    passes = tuple(CaseSamples(id=name, samples=on.samples("ppp"), lost=()) for name in on.CASES)
    named = link(actors, "samples", digest=sha256_of(write_record(earlier)), cases=passes)
    stage = second_attempt(actors, (named,))
    rows = tuple(on.case_row(name, on.samples("ppp", first=4), "stable-pass") for name in on.CASES)
    record = actors.ledger_of(rows, attempt=2)
    body = msgspec.structs.replace(_body(record), chain=(named,))
    stage = stage.with_evidence(
        _path(actors, 2), msgspec.structs.replace(record, body=msgspec.to_builtins(body))
    )
    return stage.with_evidence(_path(actors), earlier)


def other_key(actors: Actors) -> on.Stage:
    """Attempt 2 says that attempt 1 judged something else, which its record beside denies."""
    earlier = _failed_before(actors)
    named = link(actors, "other-key", digest=sha256_of(write_record(earlier)))
    return second_attempt(actors, (named,)).with_evidence(_path(actors), earlier)


def _head(actors: Actors, files: Mapping[str, str | bytes], parent: str = "") -> Actors:
    """The same actors with another head commit that holds ``files``; its ledger is honest about it."""
    head = actors.stage.git.commit(files, (parent or actors.base,), "change")
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    index = actors.stage.index
    if index is not None:
        runs = tuple(msgspec.structs.replace(run, head_sha=head) for run in index.runs)
        index = msgspec.structs.replace(index, head_sha=head, runs=runs)
    moved = replace(actors, stage=replace(actors.stage, facts=facts, index=index, ledgers={}), files=files)
    return replace(moved, stage=moved.stage.with_evidence(_path(moved), moved.ledger()))


def older_head(actors: Actors) -> on.Stage:
    """Honest evidence of the commit before, offered for a newer head."""
    newer = _head(actors, {**actors.files, "src/app.py": "ANSWER = 3\n"})
    return newer.stage.with_evidence(_path(actors), _record(actors))


def every_case(actors: Actors, text: str, state: str) -> on.Stage:
    """Every case with these outcomes, told honestly."""
    return _put(actors, actors.ledger(text, state))


def rows(actors: Actors, taken: tuple[Case, ...]) -> on.Stage:
    """A ledger with these rows, told honestly."""
    return _put(actors, actors.ledger_of(taken))


def envelope(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its envelope."""
    return _put(actors, msgspec.structs.replace(_record(actors), **changes))


def second_job(actors: Actors) -> on.Stage:
    """The lane's job name stands twice in the run."""

    def told(run: Run) -> Run:
        first = run.attempts[0]
        doubled = msgspec.structs.replace(first, jobs=(*first.jobs, *first.jobs))
        return msgspec.structs.replace(run, attempts=(doubled,))

    return one_run(actors, told)


def base_off_branch(actors: Actors) -> on.Stage:
    """The record's base is a commit of the change itself."""
    side = actors.stage.git.commit(actors.files, (actors.base,), "side")
    return subject(actors, base_sha=side)


def base_tested(actors: Actors) -> on.Stage:
    """What was really tested is the base; the digests are honest about that."""
    record = _record(actors)
    tree = actors.stage.git.run("rev-parse", f"{actors.base}^{{tree}}")
    ruler, judged = actors.digests_of(tree)
    body = msgspec.structs.replace(_body(record), ruler=ruler, subject=judged)
    told = msgspec.structs.replace(record.subject, tested_tree=tree)
    return _put(actors, msgspec.structs.replace(record, subject=told, body=msgspec.to_builtins(body)))


def forged_ruler(actors: Actors) -> on.Stage:
    """The ruler digest is another one."""
    body = _body(_record(actors))
    return with_body(actors, ruler=msgspec.structs.replace(body.ruler, digest="sha256:" + "1" * 64))


def forged_subject(actors: Actors) -> on.Stage:
    """The subject digest is another one."""
    body = _body(_record(actors))
    return with_body(actors, subject=msgspec.structs.replace(body.subject, digest="sha256:" + "1" * 64))


def invented_attempt(actors: Actors) -> on.Stage:
    """The sequence starts with passes of a run that nobody lists."""
    passes = tuple(CaseSamples(id=name, samples=on.samples("pppp"), lost=()) for name in on.CASES)
    made_up = link(actors, "samples", run_id=4711, digest="sha256:" + "2" * 64, cases=passes)
    taken = tuple(on.case_row(name, on.samples("pp", first=5), "stable-pass") for name in on.CASES)
    body = msgspec.structs.replace(_body(actors.ledger_of(taken)), chain=(made_up,))
    return _put(actors, msgspec.structs.replace(_record(actors), body=msgspec.to_builtins(body)))


def empty_commit(actors: Actors) -> on.Stage:
    """The head before had the same files and failed; a new commit without a change is green."""
    before = actors.stage.facts.head_sha
    newer = _head(actors, actors.files, parent=before)
    lane = actors.lane
    earlier = on.attempt(
        1, (on.job(lane.job, started_at=on.EARLIER_AT),), (artifact_name(lane.name, "all", 1),), on.EARLIER_AT
    )
    run = on.run(on.RUN_ID - 1, before, (earlier,), workflow=lane.workflow)
    return index(
        newer,
        lambda listed: msgspec.structs.replace(listed, earlier_heads=(before,), runs=(run, *listed.runs)),
    )


def fewer_cases(actors: Actors) -> on.Stage:
    """One of base's cases is simply not asked any more."""
    kept = (on.case_row(on.CASES[0], on.samples("p" * on.PASSES), "stable-pass"),)
    return _put(actors, actors.ledger_of(kept))


def edited_ruler(actors: Actors) -> on.Stage:
    """A case file is edited and nobody announces it."""
    return _head(actors, {**actors.files, "tests/llm/cases/tone.yaml": "id: tone\nexpect: {}\n"}).stage


def harness_beside_code(actors: Actors) -> on.Stage:
    """The workflow that gates is edited together with code."""
    return _head(actors, {**actors.files, WORKFLOW: "on: push\n"}).stage


def unlisted_base(actors: Actors) -> on.Stage:
    """The pull request is retargeted to a branch that nobody guards."""
    actors.stage.git.run("update-ref", "refs/heads/weak", actors.base)
    facts = msgspec.structs.replace(actors.stage.facts, base_ref="weak")
    record = _record(actors)
    subject = msgspec.structs.replace(record.subject, base_ref="weak")
    stage = replace(actors.stage, facts=facts)
    return stage.with_evidence(_path(actors), msgspec.structs.replace(record, subject=subject))


def twice(actors: Actors) -> on.Stage:
    """Two ledgers for one attempt: one that failed, one that passes."""
    other = msgspec.structs.replace(_record(actors), issued_at=on.STARTED_AT)
    return actors.stage.with_evidence(f"again/{_path(actors).rpartition('/')[2]}", other)


def two_keys(actors: Actors) -> on.Stage:
    """A state that stands twice: one reader sees the failure, another the pass."""
    text = write_record(_record(actors))
    return _put(actors, text.replace(b'"lane":', b'"lane":"other","lane":', 1))


def truncated(actors: Actors) -> on.Stage:
    """The record was cut before its end."""
    return _put(actors, write_record(_record(actors))[:-2])


def flat_ledger(actors: Actors) -> on.Stage:
    """The record is dropped and an unbound flat file shipped in its place."""
    return replace(actors.stage, ledgers={"model-ledger/model-ledger.json": b'{"flaky": [], "cases": {}}'})


def zip_slip(actors: Actors) -> on.Stage:
    """An archive whose member climbs out of the evidence folder."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(f"../{_path(actors)}", write_record(_record(actors)))
    return replace(actors.stage, ledgers={"evidence.zip": buffer.getvalue()})


def behind(actors: Actors) -> on.Stage:
    """The forge still runs a newer attempt of the lane."""
    return one_job(actors, status="in_progress", conclusion=None)


def calls(actors: Actors) -> on.Stage:
    """The observer is said to have seen one call."""
    wire = msgspec.structs.replace(_body(_record(actors)).wire, calls=1, attributed=1)
    return with_body(actors, wire=wire)


def claimed(actors: Actors) -> on.Stage:
    """Failing samples under a state that says pass."""
    return _put(actors, actors.ledger("ffff", "stable-pass"))


def skipped_case(actors: Actors) -> on.Stage:
    """A case of the base answers with skips alone."""
    skips = tuple(Sample(n=n, bucket="invalid", reason="skip") for n in range(1, 4))
    taken = (
        on.case_row(on.CASES[0], on.samples("p" * on.PASSES), "stable-pass"),
        on.case_row(on.CASES[1], skips, "inconclusive"),
    )
    return rows(actors, taken)


def no_baseline(actors: Actors) -> on.Stage:
    """The committed baseline is deleted by the change."""
    return _head(actors, {path: text for path, text in actors.files.items() if path != BASELINE_FILE}).stage


def baseline_of_nowhere(actors: Actors) -> on.Stage:
    """A case is edited, and the new baseline does not say which one it replaces."""
    edited = {**actors.files, "tests/llm/cases/tone.yaml": "id: tone\nexpect: {}\n"}
    ruler, _ = actors.digests_of(_tree(actors, edited))
    return _head(actors, {**edited, BASELINE_FILE: on.baseline_text(actors.lane.name, ruler, on.CASES)}).stage


def expired_quarantine(actors: Actors) -> on.Stage:
    """The base has an entry whose date has passed, and the change keeps it."""
    entry = (
        'schema = "truegreen/quarantine/v1"\n\n[[entry]]\n'
        f'id = "{on.CASES[0]}"\nlane = "{actors.lane.name}"\nowner = "@owner"\nreason = "answers vary"\n'
        'ticket = "T-1"\nsince = 2025-12-10\nexpires = 2025-12-31\n'
    )
    git, files = actors.stage.git, {**actors.files, QUARANTINE_FILE: entry}
    before = {**files, "src/app.py": "ANSWER = 1\n"}
    base = git.commit(before, (actors.base,), "main")
    return _head(replace(actors, base=base), files).stage


def _tree(actors: Actors, files: Mapping[str, str | bytes]) -> str:
    """The tree that holds ``files``."""
    return actors.stage.git.run("rev-parse", f"{actors.stage.git.commit(files, (), 'scratch')}^{{tree}}")
