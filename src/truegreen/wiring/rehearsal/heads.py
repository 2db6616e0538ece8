# SPDX-License-Identifier: Apache-2.0
"""Other commits: what a change does to files that judge, to announcements and to bases.

What it decides: trees that are honest about themselves and still may not count. What it leaves: which answer is
asked for, to ``ways``.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, QUARANTINE_FILE
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.clone import Files
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.tricks import body_of, path_of, put, record_of, subject

EXPIRED = "2025-12-31"
"""A day that has passed when the rehearsal takes place."""


def with_head(actors: Actors, files: Files, parent: str = "") -> Actors:
    """The same actors with another head commit that holds ``files``, and honest evidence about it."""
    git = actors.stage.git
    head = git.commit(files, (parent or actors.base,), actors.setting.branch("change"))
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    listed = actors.stage.index
    if listed is not None:
        runs = tuple(msgspec.structs.replace(run, head_sha=head) for run in listed.runs)
        listed = msgspec.structs.replace(listed, head_sha=head, runs=runs)
    moved = replace(actors, stage=replace(actors.stage, facts=facts, index=listed), files=files)
    return moved.with_honest_evidence()


def older_head(actors: Actors, **claims: object) -> on.Stage:
    """Honest evidence of the commit before, offered for a newer head."""
    newer = with_head(actors, {**actors.files, actors.setting.program: "ANSWER = 3\n"})
    record = record_of(actors)
    about = msgspec.structs.replace(record.subject, **claims)
    return newer.stage.with_evidence(path_of(actors), msgspec.structs.replace(record, subject=about))


def base_off_branch(actors: Actors) -> on.Stage:
    """The record's base is a commit of the change itself."""
    side = actors.stage.git.commit(actors.files, (actors.base,), actors.setting.branch("side"))
    return subject(actors, base_sha=side)


def base_tested(actors: Actors) -> on.Stage:
    """What was really tested is the base; the digests are honest about that."""
    record = record_of(actors)
    tree = actors.tree_of(actors.base)
    ruler, judged = actors.digests_of(tree)
    body = msgspec.structs.replace(body_of(record), ruler=ruler, subject=judged)
    told = msgspec.structs.replace(record.subject, tested_tree=tree)
    return put(actors, msgspec.structs.replace(record, subject=told, body=msgspec.to_builtins(body)))


def old_base(actors: Actors) -> on.Stage:
    """A case of the base is deleted, and the record says that it was tested against a base without any case."""
    kept = {
        path: text for path, text in actors.files.items() if path not in (BASELINE_FILE, actors.cast.files[0])
    }
    with actors.stage.git.asking() as port:
        first = port.parents(actors.base)[0]
    tree = actors.stage.git.tree(kept)
    ids = tuple(name for name in actors.cast.ids if not name.startswith(actors.cast.files[0]))
    lanes = actors.baselines(tree)
    agreed = {**lanes, actors.lane.name: msgspec.structs.replace(lanes[actors.lane.name], case_ids=ids)}
    newer = with_head(actors, {**kept, BASELINE_FILE: records.baseline_text(agreed)})
    taken = records.samples(actors.cast.passing())
    record = newer.ledger_of(tuple(records.case_row(name, taken) for name in ids), base=first)
    return put(newer, record)


def edited_ruler(actors: Actors) -> on.Stage:
    """A case file is edited and nobody announces it."""
    return with_head(actors, _edited(actors)).stage


def _edited(actors: Actors) -> dict[str, str | bytes]:
    return {**actors.files, actors.cast.files[-1]: "id: tone\nexpect: {}\n"}


def harness_beside_code(actors: Actors) -> on.Stage:
    """The workflow that gates is edited together with code."""
    return with_head(actors, {**actors.files, actors.policy.check.workflow: "on: push\n"}).stage


def unreadable_new_policy(actors: Actors) -> on.Stage:
    """The change breaks the policy and touches nothing else."""
    before = {**actors.files, actors.setting.program: "ANSWER = 1\n"}
    return with_head(actors, {**before, POLICY_FILE: "schema = 1\n"}).stage


def unlisted_base(actors: Actors) -> on.Stage:
    """The pull request is retargeted to a branch that nobody guards."""
    weak = actors.setting.branch("weak")
    actors.stage.git.branch(weak, actors.base)
    moved = replace(
        actors,
        stage=replace(actors.stage, facts=msgspec.structs.replace(actors.stage.facts, base_ref=weak)),
    )
    return moved.with_honest_evidence().stage


def no_baseline(actors: Actors) -> on.Stage:
    """The committed baseline is deleted by the change."""
    kept = {path: text for path, text in actors.files.items() if path != BASELINE_FILE}
    return with_head(actors, kept).stage


def baseline_of_nowhere(actors: Actors) -> on.Stage:
    """A case is edited, and the new baseline does not say which one it replaces."""
    edited = _edited(actors)
    agreed = records.baseline_text(actors.baselines(actors.stage.git.tree(edited)))
    return with_head(actors, {**edited, BASELINE_FILE: agreed}).stage


def expired_quarantine(actors: Actors) -> on.Stage:
    """The base has an entry whose date has passed, and the change keeps it."""
    entry = (
        'schema = "truegreen/quarantine/v1"\n\n[[entry]]\n'
        f'id = {_toml(actors.cast.ids[0])}\nlane = {_toml(actors.lane.name)}\nowner = "@owner"\n'
        f'reason = "answers vary"\nticket = "T-1"\nsince = 2025-12-30\nexpires = {EXPIRED}\n'
    )
    files = {**actors.files, QUARANTINE_FILE: entry}
    before = {**files, actors.setting.program: "ANSWER = 1\n"}
    base = actors.stage.git.commit(before, (actors.base,), actors.setting.base_ref)
    return with_head(replace(actors, base=base), files).stage


def _toml(text: str) -> str:
    return msgspec.json.encode(text).decode()
