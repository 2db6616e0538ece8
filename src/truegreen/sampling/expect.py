# SPDX-License-Identifier: Apache-2.0
"""Judging one answer by the expectations of its case.

What it decides: passed, failed or invalid, with every reason and the facts behind it. What it leaves: what may
be expected, to ``expectations``; decoding, to ``decoded``; buckets, to the engines.

- An answer that the model did not finish is no sample: a length stop is invalid, or a failure where the lane
  says so; a refusal is a failure; an unknown end is invalid.
- Values are judged decoded. A required key whose value is null is absent unless the schema allows null there;
  an empty list or text is a value.
- An empty answer passes nothing, and one that decodes to nothing passes no negative expectation.
- Items are items of lists: a text or an object under a key that is counted fails.
- Length is counted in Unicode code points of the raw answer, and the limit itself is allowed.
- Forbidden text is sought in the raw answer and in every decoded text and key (see ``decoded``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.sampling.decoded import decode, folded, is_blank, second_key, texts
from truegreen.sampling.expectations import Expect
from truegreen.sampling.linear import pattern_matcher, violations

PASSED = "passed"
FAILED = "failed"
INVALID = "invalid"

FINISHED = frozenset(
    {
        "stop",
        "end_turn",
        "stop_sequence",
        "tool_use",
        "tool_calls",
        "function_call",
        "eos",
        "eos_token",
        "end",
    }
    | {"completed", "complete"}
)
"""How providers say that an answer is whole, in lower case."""
CUT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "incomplete",
        "model_context_window_exceeded",
    }
)
"""How providers say that an answer was cut at its length limit."""
REFUSED = frozenset(
    {
        "content_filter",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "guardrail_intervened",
    }
)
"""How providers say that they would not answer."""

SCHEMA_REASONS = 5
"""Most violations of a schema that are told."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which an answer misses its expectations."""

    code: str
    """Kebab-case code."""
    where: str
    """Key, or place of a text, in words; empty for the whole answer."""
    detail: str
    """Expected and got, with foreign text defused and bounded."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one answer."""

    outcome: str
    """``passed``, ``failed`` or ``invalid``."""
    reasons: tuple[Reason, ...]
    """Every reason, most basic first; empty for a pass."""
    facts: Mapping[str, Any]
    """What was measured: sizes, keys, missing and null keys, where forbidden text was."""


def judge(
    expect: Expect, output: str, *, finish_reason: str | None = None, truncated: str = INVALID
) -> Judgement:
    """The judgement of one answer.

    ``finish_reason`` is the provider's word for how the answer ended, None if there was none; ``truncated`` says
    what a length stop is, ``invalid`` or ``fail``.
    """
    facts: dict[str, Any] = {
        "code_points": len(output),
        "utf16_units": len(output.encode("utf-16-le", "surrogatepass")) // 2,
        "utf8_bytes": len(output.encode("utf-8", "surrogatepass")),
    }
    if finish_reason is not None:
        facts["finish_reason"] = finish_reason
        ended = _ended(finish_reason.lower(), finish_reason, truncated)
        if ended:
            outcome, reason = ended
            return Judgement(outcome=outcome, reasons=(reason,), facts=facts)
    reasons = tuple(_reasons(expect, output, facts))
    return Judgement(outcome=FAILED if reasons else PASSED, reasons=reasons, facts=facts)


def _ended(word: str, given: str, truncated: str) -> tuple[str, Reason] | None:
    """Outcome and reason of an answer that did not end as a whole answer does."""
    if word in FINISHED:
        return None
    detail = f"the answer ended with {quoted(given, 40)}"
    if word in CUT:
        outcome = FAILED if truncated == "fail" else INVALID
        return outcome, Reason(code="finish-reason-length", where="", detail=detail)
    if word in REFUSED:
        return FAILED, Reason(code="refusal", where="", detail=detail)
    return INVALID, Reason(code="finish-reason-unknown", where="", detail=detail)


def _reasons(expect: Expect, output: str, facts: dict[str, Any]) -> Iterator[Reason]:
    if is_blank(output):
        yield Reason(code="empty-output", where="", detail=f"nothing visible in {len(output)} characters")
        return
    value, problem = _decoded(expect, output)
    if problem and (expect.is_json or problem.code == "not-utf8"):
        code = "empty-output" if problem.code == "empty" else problem.code
        yield Reason(code=code, where="", detail=problem.message)
        if problem.code == "duplicate-key":
            facts["key"] = second_key(output)
    yield from _length(expect, output, facts)
    yield from _forbidden(expect, output, None if problem else value, facts)
    if not problem or problem.code != "not-utf8":
        yield from _whole(expect, output.strip(), output)
    if expect.is_json and not problem:
        yield from _decoded_value(expect, value, facts)


def _decoded(expect: Expect, output: str) -> tuple[Any, EvidenceProblem | None]:
    try:
        return decode(output, may_be_fenced=expect.format == "fenced-json"), None
    except EvidenceProblem as err:
        return None, err


def _length(expect: Expect, output: str, facts: dict[str, Any]) -> Iterator[Reason]:
    limit = expect.max_output_chars
    if limit is None:
        return
    facts["limit"] = limit
    if len(output) > limit:
        yield Reason(code="too-long", where="", detail=f"at most {limit} characters, got {len(output)}")


def _forbidden(expect: Expect, output: str, value: Any, facts: dict[str, Any]) -> Iterator[Reason]:
    if not expect.forbid_substrings:
        return
    raw = folded(output)
    decoded = [(place, folded(text)) for place, text in texts(value)]
    facts |= {"raw_contains": False, "decoded_contains": False}
    for forbidden in expect.forbid_substrings:
        sought = folded(forbidden)
        places = [place for place, text in decoded if sought in text]
        facts["raw_contains"] |= sought in raw
        facts["decoded_contains"] |= bool(places)
        if places or sought in raw:
            where = places[0] if places else "raw text"
            yield Reason(code="forbidden-substring", where=where, detail=f"got {quoted(forbidden)}")


def _whole(expect: Expect, text: str, raw: str) -> Iterator[Reason]:
    """Closed lists and patterns about the whole answer as text; white space around it is never judged by a list."""
    for one in expect.enums:
        if one.key is None and not expect.is_json and text not in one.values:
            yield _not_listed("", one.values, text)
    for pattern in expect.patterns:
        if pattern.key is None and not pattern_matcher(pattern.regex)(raw):
            yield Reason(code="no-match", where="", detail=f"no match of {quoted(pattern.regex)}")


def _decoded_value(expect: Expect, value: Any, facts: dict[str, Any]) -> Iterator[Reason]:
    if isinstance(value, dict):
        facts["keys"] = sorted(value)
    if not value and value not in (0, False) and expect.is_only_negative:
        yield Reason(
            code="empty-output", where="", detail="the answer decodes to nothing, and nothing was asked of it"
        )
    if expect.is_about_keys:
        yield from _object(expect, value, facts)
    for one in expect.enums:
        if one.key is None and not _is_listed(value, one.values):
            yield _not_listed("", one.values, value)
    for span in expect.ranges:
        if span.key is None:
            yield from _in_range(span.low, span.high, "", value)
    if expect.json_schema is not None:
        for where, message in islice(violations(expect.json_schema, value), SCHEMA_REASONS):
            yield Reason(code="schema-violation", where=where, detail=quoted(message, 160))


def _object(expect: Expect, value: Any, facts: dict[str, Any]) -> Iterator[Reason]:
    if not isinstance(value, dict):
        yield Reason(code="not-an-object", where="", detail=f"an object was asked, got {_kind(value)}")
        return
    missing = [key for key in expect.required_keys if key not in value]
    null = [
        key
        for key in expect.required_keys
        if key in value and value[key] is None and not _schema_allows_null(expect.json_schema, key)
    ]
    facts |= {
        "missing": missing,
        "null": null,
        "empty_ok": [key for key in expect.required_keys if value.get(key) in ([], {}, "")],
    }
    yield from (Reason(code="missing-key", where=key, detail="the key is not there") for key in missing)
    yield from (Reason(code="null-value", where=key, detail="the value is null") for key in null)
    yield from _items(expect, {key: inner for key, inner in value.items() if key not in null})
    yield from _keyed(expect, value, frozenset(missing))


def _items(expect: Expect, value: Mapping[str, Any]) -> Iterator[Reason]:
    """Lists are counted under the required keys, or under every key where none is required, and wherever else one is."""
    low, high = expect.min_items_per_key, expect.max_items_per_key
    if low is None and high is None:
        return
    for key, inner in value.items():
        if not isinstance(inner, list):
            if not expect.required_keys or key in expect.required_keys:
                yield Reason(code="not-a-list", where=key, detail=f"items were asked, got {_kind(inner)}")
        elif high is not None and len(inner) > high:
            yield Reason(code="too-many-items", where=key, detail=f"at most {high} items, got {len(inner)}")
        elif low is not None and len(inner) < low:
            yield Reason(code="too-few-items", where=key, detail=f"at least {low} items, got {len(inner)}")


def _keyed(expect: Expect, value: Mapping[str, Any], reported: frozenset[str]) -> Iterator[Reason]:
    for key in expect.keys_asked:
        if key not in value and key not in reported:
            yield Reason(code="missing-key", where=key, detail="the key is not there")
    for one in expect.enums:
        if one.key is not None and one.key in value and not _is_listed(value[one.key], one.values):
            yield _not_listed(one.key, one.values, value[one.key])
    for span in expect.ranges:
        if span.key is not None and span.key in value:
            yield from _in_range(span.low, span.high, span.key, value[span.key])
    for pattern in expect.patterns:
        if pattern.key is not None and pattern.key in value:
            yield from _matches(pattern.regex, pattern.key, value[pattern.key])


def _matches(regex: str, key: str, value: Any) -> Iterator[Reason]:
    if not isinstance(value, str):
        yield Reason(code="not-a-text", where=key, detail=f"a text was asked, got {_kind(value)}")
    elif not pattern_matcher(regex)(value):
        yield Reason(code="no-match", where=key, detail=f"no match of {quoted(regex)} in {quoted(value)}")


def _in_range(low: float | None, high: float | None, where: str, value: Any) -> Iterator[Reason]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Reason(code="not-a-number", where=where, detail=f"a number was asked, got {_kind(value)}")
    elif (low is not None and value < low) or (high is not None and value > high):
        asked = f"{'' if low is None else low} to {'' if high is None else high}"
        yield Reason(code="out-of-range", where=where, detail=f"{asked} was asked, got {str(value)[:40]}")


def _is_listed(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether a decoded value is one of the listed; a boolean is no number, and 1 is 1.0."""
    return any(isinstance(value, bool) is isinstance(one, bool) and value == one for one in values)


def _not_listed(where: str, values: tuple[Any, ...], value: Any) -> Reason:
    listed = ", ".join(str(one) for one in values[:8])
    got = quoted(value) if isinstance(value, str) else _kind(value)
    return Reason(code="not-listed", where=where, detail=f"one of {quoted(listed, 120)} was asked, got {got}")


def _schema_allows_null(schema: Any, key: str) -> bool:
    """Whether the schema says of this key, by name, that null is a value there."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    named = properties.get(key) if isinstance(properties, Mapping) else None
    if not isinstance(named, Mapping) or not named:
        return False
    # Definitions come along, so that a reference to them still resolves.
    shared = {name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema}
    return not any(violations({**shared, "properties": {key: named}}, {key: None}))


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return f"the text {quoted(value, 40)}"
        case list():
            return f"a list of {len(value)}"
    return f"an object of {len(value)}"
