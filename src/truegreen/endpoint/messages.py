# SPDX-License-Identifier: Apache-2.0
"""Anthropic's messages, as JSON: requests read, answers, stream events and errors written.

What it decides: the shape of every document and the order of the events. What it leaves: what is answered, to
``draw``; bytes and faults, to ``reply``.

- ``input_tokens`` leaves out what a cache served, as this API counts: the prompt is the sum of both.
- A length stop is ``max_tokens``, a refusal ``refusal`` with the text that was said.
- An error's type follows from its status.

Source: docs.anthropic.com/en/api/messages, …/messages-streaming, …/errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from truegreen.endpoint.api import (
    Answer,
    ApiError,
    Event,
    Said,
    Streamed,
    Wanted,
    as_json,
    cut,
    model_of,
    read_object,
    texts,
)

NAME: Final = "messages"
ID_PREFIX: Final = "msg_"
REQUEST_ID: Final = "request-id"
ROLES: Final = ("user", "assistant", "system")
TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
SERVER_ERROR: Final = 500


def read(body: bytes) -> Wanted:
    """The request in a body. Raises: ApiError 400."""
    asked = read_object(body)
    model = model_of(asked)
    most = asked.get("max_tokens")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ApiError(400, "max_tokens: is not a whole number of at least 1.", param="max_tokens")
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages: is not a list of at least one message.", param="messages")
    system = asked.get("system")
    return Wanted(
        model=model,
        messages=(system, *messages),
        prompt="\n".join([*texts(system, ("text",), "system"), *_texts(messages)]),
        is_stream=asked.get("stream") is True,
    )


def document(answer: Answer) -> dict[str, Any]:
    """The answer as one document."""
    said = answer.choices[0]
    content = [{"type": "text", "text": _words(said)}]
    return {**_begun(answer), "content": content, "stop_reason": _stop(said), "usage": usage(answer)}


def stream(answer: Answer, *, piece_chars: int, wants_usage: bool) -> Streamed:  # noqa: ARG001 - as all APIs
    """The answer as events: its end are ``message_delta`` with the stop reason, and ``message_stop``."""
    said = answer.choices[0]
    parts = [
        _event("message_start", message=_begun(answer)),
        _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        _event("ping"),
        *(
            _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
            for piece in cut(_words(said), piece_chars)
        ),
        _event("content_block_stop", index=0),
    ]
    end = (
        _event(
            "message_delta",
            delta={"stop_reason": _stop(said), "stop_sequence": None},
            usage={"output_tokens": answer.said_tokens},
        ),
        _event("message_stop"),
    )
    return Streamed(parts=tuple(parts), end=end)


def usage(answer: Answer) -> dict[str, Any]:
    """Tokens of an answer."""
    return {
        "input_tokens": answer.prompt_tokens - answer.warm_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.warm_tokens,
        "output_tokens": answer.said_tokens,
    }


def error(problem: ApiError) -> dict[str, Any]:
    """An error as one document."""
    kind = TYPES.get(problem.status, "api_error" if problem.status >= SERVER_ERROR else TYPES[400])
    return {"type": "error", "error": {"type": kind, "message": problem.message}}


def error_event(problem: ApiError) -> Event:
    """An error in the middle of a stream."""
    return Event(name="error", data=as_json(error(problem)))


def _texts(messages: list[Any]) -> Iterator[str]:
    for place, message in enumerate(messages):
        where = f"messages.{place}"
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise ApiError(400, f"{where}: has none of the roles {', '.join(ROLES)}.", param=where)
        if message.get("content") is None:
            raise ApiError(400, f"{where}: has no content.", param=where)
        yield from texts(message["content"], ("text",), where)


def _begun(answer: Answer) -> dict[str, Any]:
    """The message before anything is said; one token of the answer is counted already, as on the real wire."""
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage(answer), "output_tokens": 1},
    }


def _words(said: Said) -> str:
    return said.text if said.text is not None else said.refusal or ""


def _stop(said: Said) -> str:
    if said.refusal is not None:
        return "refusal"
    return "max_tokens" if said.finish == "length" else "end_turn"


def _event(name: str, **fields: Any) -> Event:
    return Event(name=name, data=as_json({"type": name, **fields}))
