# SPDX-License-Identifier: Apache-2.0
"""The answers inside one recorded body, choice by choice, as values that a contract can be asked about.

What it decides: which words of the common APIs are an answer's text, its calls of tools and its end, whole or as an
event stream. What it leaves: whether that is what a contract asks, to ``kept``.

- Chat completions and completions have choices; a response and a message are one answer.
- A stream is put together as its client would: pieces joined by choice, by content block, by call of a tool.
- What has none of these forms is one answer whose text is the decoded body.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from truegreen.cassettes.answer import events


class Call(msgspec.Struct, kw_only=True):
    """One call of a tool."""

    name: str = ""
    """Name of the tool."""
    arguments: str = ""
    """Its arguments as JSON text."""


class Reply(msgspec.Struct, kw_only=True):
    """One answer."""

    text: str = ""
    """Its text."""
    calls: dict[Any, Call] = msgspec.field(default_factory=dict)
    """Its calls of tools, in their order, by the place that the API gives them."""
    finish: str | None = None
    """Why it ended, in the vendor's word."""

    def call(self, place: Any, name: Any = None, arguments: Any = None) -> None:
        """Add to a call; the name comes once, the arguments in pieces."""
        call = self.calls.setdefault(place, Call())
        call.name = call.name or _text(name)
        call.arguments += arguments if isinstance(arguments, str) else ""


def replies(body: bytes, content_type: str) -> tuple[Reply, ...]:
    """Every answer of a body whose content coding is undone."""
    text = body.decode("utf-8", "replace")
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        found = _of_stream(_documents(events(text)))
    else:
        found = [reply for one in _documents((text,)) for reply in _of_document(one)]
    return tuple(found) or (Reply(text=text),)


def _documents(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    for text in texts:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _of_document(one: dict[str, Any]) -> Iterator[Reply]:
    for choice in _objects(one.get("choices")):
        reply = Reply(finish=_word(choice.get("finish_reason")))
        _add_message(reply, choice.get("message"))
        reply.text += _text(choice.get("text"))
        yield reply
    if one.get("object") == "response" or isinstance(one.get("output"), list):
        yield _of_response(one)
    elif one.get("type") == "message" or isinstance(one.get("content"), list):
        reply = Reply(finish=_word(one.get("stop_reason")))
        for place, block in enumerate(_objects(one.get("content"))):
            _add_block(reply, place, block)
        yield reply


def _of_response(one: dict[str, Any]) -> Reply:
    details = one.get("incomplete_details")
    reason = _word(details.get("reason")) if isinstance(details, dict) else None
    reply = Reply(finish=reason or _word(one.get("status")))
    for place, item in enumerate(_objects(one.get("output"))):
        if item.get("type") == "function_call":
            reply.call(place, item.get("name"), item.get("arguments"))
        for part in _objects(item.get("content")):
            reply.text += _text(part.get("text"))
    return reply


def _of_stream(events_: Iterable[dict[str, Any]]) -> list[Reply]:
    choices: dict[Any, Reply] = {}
    whole: Reply | None = None
    for one in events_:
        for choice in _objects(one.get("choices")):
            reply = choices.setdefault(choice.get("index", 0), Reply())
            _add_message(reply, choice.get("delta"))
            reply.text += _text(choice.get("text"))
            reply.finish = _word(choice.get("finish_reason")) or reply.finish
        kind = _text(one.get("type"))
        response = one.get("response")
        if kind in ("response.completed", "response.incomplete", "response.failed") and isinstance(
            response, dict
        ):
            whole = _of_response(response)
        elif kind.startswith(("content_block_", "message_")):
            _add_event(choices.setdefault("message", Reply()), kind, one)
    return [whole] if whole is not None else list(choices.values())


def _add_message(reply: Reply, message: Any) -> None:
    """A chat message, or a piece of one."""
    if not isinstance(message, dict):
        return
    content = message.get("content")
    reply.text += _text(content)
    for part in _objects(content):
        reply.text += _text(part.get("text"))
    for place, call in enumerate(_objects(message.get("tool_calls"))):
        function = call.get("function")
        if isinstance(function, dict):
            reply.call(call.get("index", place), function.get("name"), function.get("arguments"))


def _add_block(reply: Reply, place: Any, block: dict[str, Any]) -> None:
    """A content block of a message."""
    reply.text += _text(block.get("text"))
    if block.get("type") == "tool_use":
        given = block.get("input")
        reply.call(place, block.get("name"), json.dumps(given) if given else "")


def _add_event(reply: Reply, kind: str, one: dict[str, Any]) -> None:
    """An event of a streamed message."""
    place, delta, block = one.get("index", 0), one.get("delta"), one.get("content_block")
    if kind == "content_block_start" and isinstance(block, dict):
        _add_block(reply, place, block)
    elif kind == "content_block_delta" and isinstance(delta, dict):
        reply.text += _text(delta.get("text"))
        if "partial_json" in delta:
            reply.call(place, None, delta["partial_json"])
    elif kind == "message_delta" and isinstance(delta, dict):
        reply.finish = _word(delta.get("stop_reason")) or reply.finish


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
