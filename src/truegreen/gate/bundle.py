# SPDX-License-Identifier: Apache-2.0
"""A bundle: one file from which a decision can be made again, byte for byte, on any machine.

What it decides: the form. What it leaves: recording git's answers, to the git adapter.

- It holds the event, the clock, the run index, every evidence file as received, every answer that git gave,
  and the decision record.
- A bundle made again under the same version gives the same bytes; otherwise somebody changed something, and
  the first place that differs is named.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import msgspec

from truegreen.core.canonical import Limits, read_json, write_json
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.event import EventFacts
from truegreen.core.ports import GitPort
from truegreen.core.quoted import quoted
from truegreen.core.subject import EVENTS
from truegreen.gate.bind import Asked
from truegreen.gate.intake import Evidence, EvidenceFile, Refusal

SCHEMA = "truegreen/bundle/v1"
LIMITS = Limits(max_bytes=1 << 30, max_depth=64)
"""A bundle carries all evidence of a decision: at most 1 GiB."""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    container: str
    name: str
    data: str


class _Bundle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: str
    version: str
    now: str
    in_ci: bool
    only_lane: str | None
    facts: EventFacts
    index: str | None
    worktree_policy: str | None
    git: dict[str, Any]
    files: tuple[_File, ...]
    refusals: tuple[Refusal, ...]
    decision: str


def write_bundle(asked: Asked, evidence: Evidence, git_log: Any, decision: bytes) -> bytes:
    """Canonical bytes of a bundle; ``git_log`` is what the recording port kept, as a JSON value."""
    bundle = _Bundle(
        schema=SCHEMA,
        version=asked.version,
        now=asked.now,
        in_ci=asked.in_ci,
        only_lane=asked.only_lane,
        facts=asked.facts,
        index=_text(asked.index),
        worktree_policy=_text(asked.worktree_policy),
        git=git_log,
        files=tuple(
            _File(container=f.container, name=f.name, data=b64encode(f.data).decode()) for f in evidence.files
        ),
        refusals=evidence.refusals,
        decision=b64encode(decision).decode(),
    )
    return write_json(msgspec.to_builtins(bundle))


def read_bundle(data: bytes, replay: Callable[[Any], GitPort]) -> tuple[Asked, Evidence, bytes]:
    """What was asked, the evidence, and the decision record that was made then.

    Raises: EvidenceProblem ``bad-bundle`` if the file is none, besides what the strict reader raises.
    """
    try:
        bundle = msgspec.convert(read_json(data, LIMITS), _Bundle, strict=True)
        files = tuple(
            EvidenceFile(container=f.container, name=f.name, data=b64decode(f.data, validate=True))
            for f in bundle.files
        )
        asked = Asked(
            facts=bundle.facts,
            git=replay(bundle.git),
            index=_bytes(bundle.index),
            now=bundle.now,
            in_ci=bundle.in_ci,
            version=bundle.version,
            only_lane=bundle.only_lane,
            worktree_policy=_bytes(bundle.worktree_policy),
        )
        decision = b64decode(bundle.decision, validate=True)
    except (msgspec.ValidationError, ValueError) as err:
        raise EvidenceProblem(
            "bad-bundle", f"the bundle cannot be read: {err}", hint="truegreen gate --bundle FILE"
        ) from err
    if bundle.schema != SCHEMA:
        raise EvidenceProblem("bad-bundle", f"the bundle says {bundle.schema[:60]!r}, asked {SCHEMA!r}")
    if bundle.facts.event not in EVENTS:
        raise EvidenceProblem(
            "bad-bundle",
            f"the bundle is about {quoted(bundle.facts.event)}, asked one of {', '.join(EVENTS)}",
        )
    return asked, Evidence(files=files, refusals=bundle.refusals), decision


def difference(made: bytes, stored: bytes) -> str:
    """Where two decision records first differ, in words; empty if they are the same bytes."""
    if made == stored:
        return ""
    here, there = read_json(made), read_json(stored)
    path = _first_difference(here, there, "")
    return f"{path or 'the bytes'} differs: made {sha256_of(made)}, stored {sha256_of(stored)}"


def _first_difference(here: Any, there: Any, path: str) -> str:
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted({*here, *there}):
            if here.get(key) != there.get(key):
                return _first_difference(here.get(key), there.get(key), f"{path}/{key}")
    return path


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)
