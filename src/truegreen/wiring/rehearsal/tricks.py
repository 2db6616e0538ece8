# SPDX-License-Identifier: Apache-2.0
"""What is changed in one record or in the forge's account of one run: a function a trick.

What it decides: the hostile or mistaken input. What it leaves: later attempts, to ``chains``; other commits, to
``heads``; other kinds of event, to ``events``; which answer is asked for, to ``ways``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.digest import sha256_of
from truegreen.core.index import Run, RunIndex
from truegreen.core.record import Envelope, artifact_name, write_record
from truegreen.sampling.ledger import Case, Components, LedgerBody, Sample
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.setting import Cast

PUSH_RUN = 998
"""A run that a push started."""


def path_of(actors: Actors, attempt: int = 1) -> str:
    """Where the record of the lane that is fooled lies."""
    return on.evidence_path(actors.lane.name, "all", attempt)


def record_of(actors: Actors) -> Envelope:
    """The honest record of the lane that is fooled."""
    found: Envelope = actors.stage.ledgers[path_of(actors)]
    return found


def body_of(record: Envelope) -> LedgerBody:
    """A record's ledger."""
    return msgspec.convert(record.body, LedgerBody)


def put(actors: Actors, record: Envelope | bytes) -> on.Stage:
    """The stage with another record in the honest one's place."""
    return actors.stage.with_evidence(path_of(actors), record)


def subject(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its subject."""
    record = record_of(actors)
    claimed = msgspec.structs.replace(record.subject, **changes)
    return put(actors, msgspec.structs.replace(record, subject=claimed))


def with_body(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its body."""
    record = record_of(actors)
    body = msgspec.structs.replace(body_of(record), **changes)
    return put(actors, msgspec.structs.replace(record, body=msgspec.to_builtins(body)))


def envelope(actors: Actors, **changes: object) -> on.Stage:
    """The honest record with another claim in its envelope."""
    return put(actors, msgspec.structs.replace(record_of(actors), **changes))


def index(actors: Actors, change: Callable[[RunIndex], RunIndex]) -> on.Stage:
    """The stage with its run index told otherwise."""
    listed = actors.stage.index
    return replace(actors.stage, index=change(listed) if listed else None)


def own_run(actors: Actors, change: Callable[[Run], Run]) -> on.Stage:
    """The stage with the run of the lane that is fooled told otherwise."""
    workflow = actors.lane.workflow

    def told(listed: RunIndex) -> RunIndex:
        runs = tuple(change(run) if run.workflow == workflow else run for run in listed.runs)
        return msgspec.structs.replace(listed, runs=runs)

    return index(actors, told)


def one_job(actors: Actors, **changes: object) -> on.Stage:
    """The stage with the job of the lane that is fooled told otherwise."""
    name = on.job_of(actors.lane)

    def told(run: Run) -> Run:
        first = run.attempts[0]
        jobs = tuple(msgspec.structs.replace(j, **changes) if j.name == name else j for j in first.jobs)
        return msgspec.structs.replace(
            run, attempts=(msgspec.structs.replace(first, jobs=jobs), *run.attempts[1:])
        )

    return own_run(actors, told)


def without_evidence(actors: Actors, stage: on.Stage | None = None) -> on.Stage:
    """The lane left nothing, nor did another lane whose records the same job writes."""
    gone = {on.evidence_path(cast.lane.name, "all", 1) for cast in sharing(actors)}
    return without(stage or actors.stage, gone)


def without(stage: on.Stage, gone: set[str]) -> on.Stage:
    """The stage without these files."""
    return replace(stage, ledgers={path: one for path, one in stage.ledgers.items() if path not in gone})


def renamed_job(actors: Actors) -> on.Stage:
    """The lane's job is called something else."""
    return without_evidence(actors, one_job(actors, name=f"{on.job_of(actors.lane)} (old)"))


def second_job(actors: Actors) -> on.Stage:
    """The lane's job name stands twice in the run."""

    def told(run: Run) -> Run:
        first = run.attempts[0]
        doubled = msgspec.structs.replace(first, jobs=(*first.jobs, *first.jobs))
        return msgspec.structs.replace(run, attempts=(doubled,))

    return own_run(actors, told)


def every_case(actors: Actors, outcomes: str, state: str = "") -> on.Stage:
    """Every case with these outcomes, told honestly unless a state is given."""
    return put(actors, actors.ledger(outcomes, state))


def rows(actors: Actors, taken: tuple[Case, ...]) -> on.Stage:
    """A ledger with these rows, told honestly."""
    return put(actors, actors.ledger_of(taken))


def sharing(actors: Actors) -> list[Cast]:
    """The lanes whose records the same job writes, the fooled one among them."""
    asked = (actors.lane.workflow, on.job_of(actors.lane))
    return [c for c in actors.setting.casts if (c.lane.workflow, on.job_of(c.lane)) == asked]


def forged(actors: Actors, component: str) -> on.Stage:
    """The ruler or subject is that of other files, and its digest is right for those."""
    told = getattr(body_of(record_of(actors)), component)
    made_up = dict.fromkeys(told.components, "sha256:" + "1" * 64)
    return with_body(
        actors,
        **{component: Components(digest=sha256_of(write_json(made_up)), components=made_up)},
    )


def made_up_components(actors: Actors) -> on.Stage:
    """The ruler's digest is right and the components that it is said to be made of are not."""
    told = body_of(record_of(actors)).ruler
    made_up = dict.fromkeys(told.components, "sha256:" + "1" * 64)
    return with_body(actors, ruler=msgspec.structs.replace(told, components=made_up))


def pushed_too(actors: Actors) -> on.Stage:
    """The lane also ran on a push of the same commit, before the pull request's run."""
    return _with_push(actors, on.EARLIER_AT)


def pushed_instead(actors: Actors) -> on.Stage:
    """The lane ran on a push alone, and its record claims to be the pull request's."""
    skipped = one_job(actors, conclusion="skipped", started_at=None)
    stage = _with_push(replace(actors, stage=skipped), on.STARTED_AT)
    for cast in sharing(actors):
        path = on.evidence_path(cast.lane.name, "all", 1)
        record = stage.ledgers[path]
        about = msgspec.structs.replace(record.subject, run_id=PUSH_RUN, event="push")
        stage = stage.with_evidence(path, msgspec.structs.replace(record, subject=about))
    return stage


def _with_push(actors: Actors, started_at: str) -> on.Stage:
    """The stage with a run of the lane's workflow that a push of the head started."""
    jobs = (on.job(on.job_of(actors.lane), started_at=started_at),)
    names = tuple(artifact_name(cast.lane.name, "all", 1) for cast in sharing(actors))
    attempt = on.attempt(1, jobs, names, started_at)
    head, workflow = actors.stage.facts.head_sha, actors.lane.workflow
    run = on.run(PUSH_RUN, head, (attempt,), workflow=workflow, event="push")
    return index(actors, lambda listed: msgspec.structs.replace(listed, runs=(run, *listed.runs)))


def fewer_cases(actors: Actors) -> on.Stage:
    """One of base's cases is simply not asked any more."""
    taken = records.samples(actors.cast.passing())
    return rows(actors, (records.case_row(actors.cast.ids[0], taken),))


def more_cases(actors: Actors) -> on.Stage:
    """A case that the committed baseline does not list is sampled, with the files unchanged."""
    ids = (*actors.cast.ids, f"{actors.cast.files[-1]}::zz-new")
    taken = records.samples(actors.cast.passing())
    return rows(actors, tuple(records.case_row(name, taken) for name in sorted(ids)))


def twice(actors: Actors) -> on.Stage:
    """Two ledgers for one attempt: one that failed, one that passes."""
    other = msgspec.structs.replace(record_of(actors), issued_at=on.STARTED_AT)
    return actors.stage.with_evidence(f"again/{path_of(actors).rpartition('/')[2]}", other)


def two_keys(actors: Actors) -> on.Stage:
    """A state that stands twice: one reader sees the failure, another the pass."""
    text = write_record(record_of(actors))
    return put(actors, text.replace(b'"lane":', b'"lane":"other","lane":', 1))


def truncated(actors: Actors) -> on.Stage:
    """The record was cut before its end."""
    return put(actors, write_record(record_of(actors))[:-2])


def flat_ledger(actors: Actors) -> on.Stage:
    """The record is dropped and an unbound flat file shipped in its place."""
    return without_evidence(actors).with_evidence(
        "model-ledger/model-ledger.json", b'{"flaky": [], "cases": {}}'
    )


def zip_slip(actors: Actors) -> on.Stage:
    """An archive whose member climbs out of the evidence folder."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(f"../{path_of(actors)}", write_record(record_of(actors)))
    return without_evidence(actors).with_evidence("evidence.zip", buffer.getvalue())


def calls(actors: Actors) -> on.Stage:
    """The observer is said to have seen fewer calls than the samples made."""
    wire = msgspec.structs.replace(body_of(record_of(actors)).wire, calls=0, attributed=0)
    return with_body(actors, wire=wire)


def golden_case(actors: Actors) -> on.Stage:
    """A case of the base fails and is called golden, which is never gated."""
    failing = records.case_row(actors.cast.ids[0], records.samples(actors.cast.failing()))
    passing = records.case_row(actors.cast.ids[1], records.samples(actors.cast.passing()))
    return rows(actors, (msgspec.structs.replace(failing, golden=True), passing))


def skipped_case(actors: Actors) -> on.Stage:
    """A case of the base answers with skips alone."""
    skips = tuple(Sample(n=n, bucket="invalid", reason="skip") for n in range(1, 4))
    taken = records.samples(actors.cast.passing())
    return rows(
        actors,
        (records.case_row(actors.cast.ids[0], taken), records.case_row(actors.cast.ids[1], skips)),
    )
