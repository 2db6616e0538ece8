# SPDX-License-Identifier: Apache-2.0
"""Records that hold a decision."""

import msgspec

from factories.decisions import TREE
from truegreen.core.decision import Decision
from truegreen.core.record import Envelope, Producer, write_record
from truegreen.core.subject import CommitId, Subject, TreeId


def record_of(decision: Decision) -> bytes:
    """Canonical bytes of the record that a gate writes for a decision."""
    about = decision.about
    subject = Subject(
        repo=about.repo,
        head_repo=about.head_repo,
        pull_request=about.pull_request,
        head_sha=CommitId(about.head_sha),
        base_ref=about.base_ref,
        base_sha=CommitId(about.base_tip),
        head_tree=TreeId(about.head_tree),
        tested_tree=TreeId(TREE),
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
            producer=Producer(name="truegreen", version="0.1.0", verb="gate"),
            issued_at=decision.now,
            body=msgspec.to_builtins(decision),
        )
    )
