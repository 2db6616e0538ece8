# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself: model, finish reason, tokens, and its text.

What it decides: which words of the common APIs mean these. What it leaves: judging them.

- Read from chat completions, completions, responses, messages and generateContent, whole or as an event stream.
- Nothing is guessed: what an answer does not say is None.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from truegreen.core.exchange import Usage


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What was read."""

    model: str | None = None
    """Model that answered."""
    finish_reason: str | None = None
    """Why it stopped, in the vendor's word; of several choices the first that is not an ordinary end."""
    usage: Usage | None = None
    """Tokens as reported."""
    text: str | None = None
    """The answer's text, pieces of a stream joined; choices one after another."""


_ORDINARY = frozenset({"stop", "end_turn", "completed", "STOP", "tool_calls", "tool_use", "stop_sequence"})


def facts(body: bytes, content_type: str) -> Facts:
    """The facts of a body whose content coding is undone."""
    documents = list(_documents(body, content_type))
    models = [_text(one.get("model") or one.get("modelVersion")) for one in documents]
    ends = [end for one in documents for end in _ends(one) if end]
    texts = [text for one in documents for text in _texts(one)]
    return Facts(
        model=next(filter(None, models), None),
        finish_reason=next((end for end in ends if end not in _ORDINARY), ends[-1] if ends else None),
        usage=_usage(documents),
        text="".join(texts) if texts else None,
    )


def events(text: str) -> Iterator[str]:
    """The data of each event of a stream, lines joined."""
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines.clear()


def _documents(body: bytes, content_type: str) -> Iterator[dict[str, Any]]:
    text = body.decode("utf-8", "replace")
    is_stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
    for piece in events(text) if is_stream else (text,):
        try:
            value = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield from _unwrapped(value)


def _unwrapped(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An event, and the message or response that it wraps at the start or the end of a stream."""
    for name in ("message", "response"):
        inner = value.get(name)
        if isinstance(inner, dict) and isinstance(value.get("type"), str):
            yield {key: item for key, item in inner.items() if key not in ("output", "content")}
    yield value


def _ends(one: dict[str, Any]) -> Iterator[str | None]:
    for choice in _objects(one.get("choices")):
        yield _text(choice.get("finish_reason"))
    for candidate in _objects(one.get("candidates")):
        yield _text(candidate.get("finishReason"))
    yield _text(one.get("stop_reason"))
    if isinstance(one.get("delta"), dict):
        yield _text(one["delta"].get("stop_reason"))
    if one.get("object") == "response":
        details = one.get("incomplete_details")
        reason = _text(details.get("reason")) if isinstance(details, dict) else None
        status = _text(one.get("status"))
        yield reason or (status if status != "in_progress" else None)


def _texts(one: dict[str, Any]) -> Iterator[str]:
    for choice in _objects(one.get("choices")):
        for part in (choice.get("message"), choice.get("delta"), choice):
            if isinstance(part, dict):
                yield from filter(None, [_text(part.get("content")), _text(part.get("text"))])
    for candidate in _objects(one.get("candidates")):
        content = candidate.get("content")
        yield from _parts(content.get("parts") if isinstance(content, dict) else None)
    yield from _parts(one.get("content"))
    for item in _objects(one.get("output")):
        yield from _parts(item.get("content"))
    delta = one.get("delta")
    if one.get("type") == "response.output_text.delta" and isinstance(delta, str):
        yield delta
    if isinstance(delta, dict):
        yield from filter(None, [_text(delta.get("text")), _text(delta.get("partial_json"))])


def _parts(content: Any) -> Iterator[str]:
    for part in _objects(content):
        text = _text(part.get("text"))
        if text:
            yield text


def _usage(documents: list[dict[str, Any]]) -> Usage | None:
    merged: dict[str, Any] = {}
    for one in documents:
        for name in ("usage", "usageMetadata"):
            found = one.get(name)
            merged |= (
                {key: item for key, item in found.items() if item is not None}
                if isinstance(found, dict)
                else {}
            )
    if not merged:
        return None
    details = merged.get("prompt_tokens_details") or merged.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt = _count(merged, "prompt_tokens", "input_tokens", "promptTokenCount")
    if prompt is not None:  # messages count what a cache served or stored beside the input, not in it
        beside = ("cache_read_input_tokens", "cache_creation_input_tokens")
        prompt += sum(_count(merged, name) or 0 for name in beside)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_count(merged, "completion_tokens", "output_tokens", "candidatesTokenCount"),
        total_tokens=_count(merged, "total_tokens", "totalTokenCount"),
        cached_tokens=cached
        if type(cached) is int
        else _count(merged, "cache_read_input_tokens", "cachedContentTokenCount"),
    )


def _count(usage: dict[str, Any], *names: str) -> int | None:
    return next((usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0), None)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
