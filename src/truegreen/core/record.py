# SPDX-License-Identifier: Apache-2.0
"""The envelope that every record shares, and its wire form.

What it decides: the seven keys of a record, how they are written and how bytes become an envelope. What it
leaves: the body, to the kind that owns it; belief, to the gate.

- A record is written once as canonical JSON (RFC 8785) and is known by the SHA-256 of the bytes received.
- ``schema`` names kind and version: ``truegreen/<kind>/v<number>``.
- Unknown keys are refused, in the envelope as in the body.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

import re
from typing import Any

import msgspec

from truegreen.core.canonical import read_json, write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.instants import is_instant
from truegreen.core.subject import EVENTS, Subject, is_object_id

RECORD_SUFFIX = ".truegreen.json"
SCHEMA = re.compile(r"truegreen/(?P<kind>[a-z][a-z0-9-]{0,40})/v(?P<version>[1-9][0-9]{0,3})")
LANE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Producer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which program wrote the record, by its own words: a claim, never a proof."""

    name: str
    """Name of the program, such as ``truegreen``."""
    version: str
    """Its version."""
    verb: str
    """The verb that wrote the record, such as ``sample``."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record as received; ``body`` is still untyped."""

    schema: str
    """``truegreen/<kind>/v<number>``."""
    lane: str
    """Name of the lane in the policy."""
    part: str
    """Name of the part; lanes of one part call it ``all``."""
    subject: Subject
    """What the evidence is about, by the record's claim."""
    producer: Producer
    """Who wrote it."""
    issued_at: str
    """When it was written, UTC RFC 3339 in whole seconds."""
    body: dict[str, Any]
    """The kind's own part."""


def kind_of(schema: str) -> tuple[str, int] | None:
    """Kind and version named by a schema, or None if it is not one of ours."""
    found = SCHEMA.fullmatch(schema)
    return (found["kind"], int(found["version"])) if found else None


def file_name(lane: str, part: str, run_attempt: int) -> str:
    """The name under which a record is stored: ``<lane>.<part>.<attempt>.truegreen.json``."""
    return f"{lane}.{part}.{run_attempt}{RECORD_SUFFIX}"


def artifact_name(lane: str, part: str, run_attempt: int) -> str:
    """The name of the artifact that carries a record; it holds the attempt because artifacts outlive it."""
    return f"truegreen.{lane}.{part}.{run_attempt}"


def write_record(envelope: Envelope) -> bytes:
    """Canonical bytes of a record."""
    return write_json(msgspec.to_builtins(envelope))


def read_record(data: bytes) -> tuple[Envelope, Sha256]:
    """The envelope in ``data`` and the digest of the bytes received.

    Raises: EvidenceProblem ``not-a-record`` if a key is missing, unknown or of another type, besides what
    the strict reader raises.
    """
    value = read_json(data)
    try:
        envelope = msgspec.convert(value, Envelope, strict=True)
    except msgspec.ValidationError as err:
        raise EvidenceProblem("not-a-record", f"the file is not a record: {_lower(str(err))}") from err
    _check_texts(envelope)
    return envelope, sha256_of(data)


def _check_texts(envelope: Envelope) -> None:
    subject = envelope.subject
    wrong = [
        name
        for name in ("head_sha", "base_sha", "head_tree", "tested_tree")
        if not is_object_id(getattr(subject, name))
    ]
    if wrong:
        raise EvidenceProblem(
            "not-a-record", f"{wrong[0]} is {getattr(subject, wrong[0])[:80]!r}, not a whole object id"
        )
    if subject.event not in EVENTS:
        raise EvidenceProblem(
            "not-a-record", f"event is {subject.event[:40]!r}, not one of {', '.join(EVENTS)}"
        )
    if subject.run_id < 0 or subject.run_attempt < 1:
        raise EvidenceProblem(
            "not-a-record",
            f"run {subject.run_id} attempt {subject.run_attempt} cannot exist: attempts count from 1",
        )
    if not is_instant(envelope.issued_at):
        raise EvidenceProblem(
            "not-a-record", f"issued_at is {envelope.issued_at[:40]!r}, not UTC RFC 3339 seconds"
        )
    for name in ("lane", "part"):
        text = getattr(envelope, name)
        if not LANE_NAME.fullmatch(text):
            raise EvidenceProblem("not-a-record", f"{name} is {text[:80]!r}, not a lower-case name")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
