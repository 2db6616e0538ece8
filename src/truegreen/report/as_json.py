# SPDX-License-Identifier: Apache-2.0
"""A decision as JSON: its record, read and written.

What it decides: what a decision's record is when it is read back. What it leaves: making the record, to the gate;
strict reading, to core.

- The JSON that people and tools get is the record itself: canonical and versioned. Only characters that a terminal
  or a runner would obey stand as JSON escapes, so that its value is the record's and its text is safe in a log.
- A file of another kind, another version or another form is refused with what was found.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from truegreen.core.decision import SCHEMA, Decision
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.record import read_record
from truegreen.core.schema import validate

HINT = "truegreen gate --help"


_OBEYED = re.compile(r"(?<=##)\[")
"""Where the older syntax of workflow commands begins; in JSON it can stand in a string only."""


def json_of(record: bytes) -> str:
    """Canonical JSON as one line of text, with escapes for what would be obeyed."""
    text = _OBEYED.sub(r"\\u005b", record.decode())
    return "".join(char if char.isprintable() else _escape(char) for char in text) + "\n"


def shown_json(value: Any) -> str:
    """JSON for people and tools, indented, with the same escapes; ended by LF."""
    text = _OBEYED.sub(r"\\u005b", json.dumps(value, indent=2, ensure_ascii=False))
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text) + "\n"


def read_decision(data: bytes) -> tuple[Decision, Sha256]:
    """The decision in a record, and the digest of the bytes.

    Raises: EvidenceProblem ``not-a-decision`` for another schema or another form of body, besides what the strict
    reader raises.
    """
    envelope, digest = read_record(data)
    if envelope.schema != SCHEMA:
        raise EvidenceProblem(
            "not-a-decision", f"the record says {quoted(envelope.schema)}, asked {quoted(SCHEMA)}", hint=HINT
        )
    try:
        validate("decision.v1", envelope.body)
    except EvidenceProblem as err:
        raise EvidenceProblem(
            "not-a-decision", f"the record's body is no decision: {err.message}", hint=HINT
        ) from err
    return msgspec.convert(envelope.body, Decision, strict=True), digest


def _escape(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
