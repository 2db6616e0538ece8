# SPDX-License-Identifier: Apache-2.0
"""The run index of a working copy: one run, one attempt, every lane's job started and ended.

It lets a person see at home what the gate would say. Its decision says ``local`` and never counts in CI.
"""

from __future__ import annotations

from collections.abc import Iterable

from truegreen.core.event import EventFacts
from truegreen.core.index import SCHEMA, Attempt, Job, Run, RunIndex
from truegreen.core.policy import Lane
from truegreen.gate.model import Kind


def local_index(facts: EventFacts, lanes: Iterable[tuple[Lane, Kind]], now: str) -> RunIndex:
    """The one-run index of a working copy."""
    names = {lane.job.replace("{part}", part) for lane, kind in lanes for part in kind.parts}
    jobs = tuple(
        Job(name=name, status="completed", conclusion="success", started_at=now) for name in sorted(names)
    )
    attempt = Attempt(
        attempt=facts.run_attempt,
        started_at=now,
        status="completed",
        conclusion="success",
        jobs=jobs,
        artifacts=(),
        jobs_complete=True,
        artifacts_complete=True,
    )
    run = Run(
        run_id=facts.run_id,
        workflow=facts.workflow,
        event=facts.event,
        head_sha=facts.head_sha,
        head_repo=facts.head_repo,
        attempts=(attempt,),
    )
    return RunIndex(
        schema=SCHEMA,
        forge="git",
        repo=facts.repo,
        fetched_at=now,
        head_sha=facts.head_sha,
        pull_requests=(),
        earlier_heads=(),
        complete=True,
        runs=(run,),
    )
