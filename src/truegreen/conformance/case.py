# SPDX-License-Identifier: Apache-2.0
"""One case file: an input, and the answer that is right.

What it decides: which bytes are a case. What it leaves: answering, to the shapes; comparing, to ``agreement``.

- Fields: id, title, part, source, what_happened, input, right_answer (verdict, expect, why), trap, verified_by.
  Only id, input and the right verdict are needed; a field that nobody knows is refused.
- Values are read as YAML 1.2 means them; a key twice, a tag or a second document is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.plain_yaml import Limits, read_yaml
from truegreen.core.quoted import quoted

FIELDS = frozenset(
    {"id", "title", "part", "source", "what_happened", "input", "right_answer", "trap", "verified_by"}
)
VERDICTS = ("admit", "hold", "block", "retry")
LIMITS = Limits(max_bytes=4 * 1024 * 1024, max_depth=64, max_values=200_000, max_digits=400)
"""How much one case file may hold: inputs carry whole patches and records."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case."""

    id: str
    """Its id, for people; no answer may depend on it."""
    part: str
    """Part that it belongs to, for the summary; empty if it says none."""
    input: Mapping[str, Any]
    """What is to be judged."""
    verdict: str
    """The right verdict: one of ``VERDICTS``."""
    expect: Mapping[str, Any]
    """Further facts that are right."""


def read_case(data: bytes, *, name: str) -> Case:
    """The case in a file; ``name`` is what messages call it.

    Raises: UsageProblem ``bad-conformance-case``, and what ``read_yaml`` raises.
    """
    documents = read_yaml(data, name=name, limits=LIMITS, is_strict=False)
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        raise _bad(name, f"{len(documents)} documents, one mapping is asked")
    given = documents[0].value
    for key in given:
        if key not in FIELDS:
            raise _bad(name, f"unknown field {quoted(key)}")
    right = given.get("right_answer")
    if not isinstance(right, Mapping) or right.get("verdict") not in VERDICTS:
        raise _bad(name, f"right_answer has no verdict out of {', '.join(VERDICTS)}")
    expect = right.get("expect", {})
    if not isinstance(given.get("input"), Mapping) or not isinstance(expect, Mapping):
        raise _bad(name, "input and right_answer.expect are mappings")
    if not isinstance(given.get("id"), str) or not given["id"]:
        raise _bad(name, "id is a text")
    return Case(
        id=given["id"],
        part=str(given.get("part", "")),
        input=given["input"],
        verdict=right["verdict"],
        expect=expect,
    )


def _bad(name: str, sentence: str) -> UsageProblem:
    return UsageProblem("bad-conformance-case", f"{name}: {sentence}")
