# SPDX-License-Identifier: Apache-2.0
"""OpenAI's chat completions, as JSON: requests read, answers, stream events and errors written.

What it decides: the shape of every document on the wire. What it leaves: what is answered, to ``draw``; bytes
and faults, to ``reply``.

Source: platform.openai.com/docs/api-reference/chat (create, streaming), …/models/list, …/guides/error-codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from truegreen.endpoint.api import (
    CREATED,
    Answer,
    ApiError,
    Event,
    Streamed,
    Wanted,
    as_json,
    cut,
    model_of,
    read_object,
    texts,
)

NAME: Final = "chat"
ID_PREFIX: Final = "chatcmpl-"
REQUEST_ID: Final = "x-request-id"
MOST_CHOICES: Final = 16
DONE: Final = "[DONE]"


def read(body: bytes) -> Wanted:
    """The request in a body. Raises: ApiError 400."""
    document = read_object(body)
    model = model_of(document)
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "'messages' is not a list of at least one message.", param="messages")
    options = document.get("stream_options")
    return Wanted(
        model=model,
        messages=tuple(messages),
        prompt="\n".join(_texts(messages)),
        n=_choices(document.get("n", 1)),
        is_stream=document.get("stream") is True,
        wants_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def document(answer: Answer) -> dict[str, Any]:
    """The answer as one document."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": said.text, "refusal": said.refusal},
            "logprobs": None,
            "finish_reason": said.finish,
        }
        for index, said in enumerate(answer.choices)
    ]
    return {**_head(answer, "chat.completion"), "choices": choices, "usage": usage(answer)}


def stream(answer: Answer, *, piece_chars: int, wants_usage: bool) -> Streamed:
    """The answer as events: its end are the last choice's finish reason, perhaps usage, and ``[DONE]``."""
    events = [Event(data=as_json(piece)) for piece in pieces(answer, piece_chars, wants_usage=wants_usage)]
    kept = len(events) - 1 - wants_usage
    return Streamed(parts=tuple(events[:kept]), end=(*events[kept:], Event(data=DONE)))


def pieces(answer: Answer, piece_chars: int, *, wants_usage: bool) -> list[dict[str, Any]]:
    """The documents of a stream, without the ``[DONE]`` at its end."""
    head = _head(answer, "chat.completion.chunk") | ({"usage": None} if wants_usage else {})
    events = []
    for index, said in enumerate(answer.choices):
        deltas = [{"role": "assistant", "content": "" if said.refusal is None else None}]
        name, text = ("content", said.text) if said.refusal is None else ("refusal", said.refusal)
        deltas += [{name: piece} for piece in cut(text or "", piece_chars)]
        events += [{**head, "choices": [_delta(index, delta, None)]} for delta in deltas]
        events.append({**head, "choices": [_delta(index, {}, said.finish)]})
    if wants_usage:
        events.append({**head, "choices": [], "usage": usage(answer)})
    return events


def usage(answer: Answer) -> dict[str, Any]:
    """Tokens of an answer."""
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.said_tokens,
        "total_tokens": answer.prompt_tokens + answer.said_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.warm_tokens},
    }


def error(problem: ApiError) -> dict[str, Any]:
    """An error as one document."""
    return {
        "error": {
            "message": problem.message,
            "type": problem.kind,
            "param": problem.param,
            "code": problem.code,
        }
    }


def error_event(problem: ApiError) -> Event:
    """An error in the middle of a stream: the document of it, as servers that imitate this API send it."""
    return Event(data=as_json(error(problem)))


def model_list(models: Sequence[str]) -> dict[str, Any]:
    """``/v1/models``."""
    return {
        "object": "list",
        "data": [
            {"id": model, "object": "model", "created": CREATED, "owned_by": "truegreen"} for model in models
        ],
    }


def _texts(messages: Sequence[Any]) -> Iterator[str]:
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ApiError(400, f"'{where}' has no role.", param=where)
        yield from texts(message.get("content"), ("text",), where)


def _choices(n: Any) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST_CHOICES:
        raise ApiError(400, f"'n' is not a whole number from 1 to {MOST_CHOICES}.", param="n")
    return n


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    head: Mapping[str, Any] = {"id": answer.id, "object": kind, "created": CREATED, "model": answer.model}
    return {**head, **({"system_fingerprint": answer.fingerprint} if answer.fingerprint else {})}


def _delta(index: int, delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
