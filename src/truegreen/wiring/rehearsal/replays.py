# SPDX-License-Identifier: Apache-2.0
"""Recordings and replays as honest producers write them.

What it decides: one recording with its contract, and a whole replay of whatever a folder holds. What it leaves: what
is wrong with them, to the rows that change them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from truegreen.cassettes.check import checked
from truegreen.cassettes.contract_check import SCHEMA, ContractCheckBody, Made
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.digest import h1_of_files
from truegreen.core.policy import Lane, Policy
from truegreen.core.record import Envelope, Producer
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.core.replay_session import GUARDS, Played, ReplaySession
from truegreen.core.replay_session import SCHEMA as SESSION_SCHEMA
from truegreen.core.subject import Subject
from truegreen.sampling.ledger import Components
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.rehearsal.stage import ISSUED_AT, STARTED_AT

MODEL = "model-2026-01-01"
TEMPLATE = "labels"
CONTRACTS = f"""schema = "truegreen/contracts/v1"

[template.{TEMPLATE}]
version = 1
owner = "@owner"
model = "{MODEL}"
schema = "contracts/labels.json"
"""
LABELS = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}},
    "required": ["label"],
    "additionalProperties": False,
}


def request(prompt: str = "is it?", *, version: str = "1", model: str = MODEL) -> Asked:
    """A request of the template."""
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    headers = (("x-truegreen-template", TEMPLATE), ("x-truegreen-template-version", version))
    return Asked(method="POST", path="/v1/chat/completions", headers=headers, body=json.dumps(body).encode())


def answer(text: str = '{"label": "yes"}', finish: str = "stop") -> Answered:
    """An answer with this text."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    body = json.dumps({"model": MODEL, "choices": [choice]}).encode()
    headers = (("content-type", "application/json"),)
    return Answered(status=200, headers=headers, chunks=(Chunk(after_s=0.0, data=body),))


def recordings(
    scratch: Path, exchanges: tuple[tuple[Asked, Answered], ...] = ((request(), answer()),)
) -> dict[str, bytes]:
    """A folder with these exchanges and the contract of their template, by path; made below ``scratch``."""
    folder = Folder(scratch, write_atomic)
    store = Store(folder, KeyRules(host="models"), Recorder(now=lambda: STARTED_AT, since=STARTED_AT))
    for asked, answered in exchanges:
        store.keep(asked, answered)
    return {
        "contracts.toml": CONTRACTS.encode(),
        "contracts/labels.json": json.dumps(LABELS).encode(),
        **{name: folder.read(name) or b"" for name in folder.names()},
    }


def replay(lane: Lane, folder: Mapping[str, bytes], **changes: Any) -> ReplaySession:
    """A whole replay that played every answer of a folder once."""
    hits = tuple(
        Played(file=one.file, key=one.key, count=max(1, one.answers))
        for one in checked(dict(folder)).recordings
        if one.key is not None
    )
    said: dict[str, Any] = {
        "schema": SESSION_SCHEMA,
        "cassettes": lane.cassettes,
        "guard": GUARDS[-1],
        "started_at": STARTED_AT,
        "ended_at": ISSUED_AT,
        "command_exit": 0,
        "complete": True,
        "incomplete_because": "",
        "hits": hits,
        "misses": (),
        "unused": (),
        "upstream_calls": 0,
        "guard_stops": 0,
        "before": (found := h1_of_files(folder)),
        "after": found,
    }
    return ReplaySession(**(said | changes))


def envelope(  # noqa: PLR0913, PLR0917 - a record is made of these
    lane: Lane,
    subject: Subject,
    policy: Policy,
    digests: tuple[Components, Components],
    session: ReplaySession | None,
    folder: Mapping[str, bytes],
) -> Envelope:
    """The record of a replay."""
    ruler, judged = (Made(digest=one.digest, components=one.components) for one in digests)
    found = checked(dict(folder))
    body = ContractCheckBody(
        policy_digest=policy.digest,
        ruler=ruler,
        subject=judged,
        folder=lane.cassettes,
        recordings=found.recordings,
        findings=found.findings,
        session=session,
    )
    return Envelope(
        schema=SCHEMA,
        lane=lane.name,
        part="all",
        subject=subject,
        producer=Producer(name="truegreen", version="0", verb="cassette check"),
        issued_at=ISSUED_AT,
        body=msgspec.to_builtins(body),
    )
