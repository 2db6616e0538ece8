# SPDX-License-Identifier: Apache-2.0
"""OpenAI's chat completions, as JSON: requests read, answers, stream pieces and errors written.

What it decides: the shape of every document on the wire. What it leaves: what is answered, to ``draw``; bytes
and faults, to ``reply``.

- A request is checked as far as an answer depends on it; settings of sampling are accepted and ignored.
- ``created`` is a constant: an answer is a function of the scenario and the request, byte for byte.

Source: platform.openai.com/docs/api-reference/chat (create, streaming), …/models/list, …/guides/error-codes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

CREATED: Final = 1_700_000_000
MOST_CHOICES: Final = 16
CHARS_PER_TOKEN: Final = 4
"""Rough length of a token, code points; counts only have to be stable."""
REFUSAL: Final = "I can't help with that."
DONE: Final = "[DONE]"


class ApiError(Exception):
    """An error that a client sees: status and OpenAI's error object."""

    def __init__(
        self, status: int, message: str, *, kind: str, code: str | None = None, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {
            "error": {"message": message, "type": kind, "param": param, "code": code}
        }


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What of a request an answer depends on."""

    model: str
    """The model that was asked."""
    messages: tuple[dict[str, Any], ...]
    """The messages as they came."""
    prompt: str
    """All texts of the messages, joined by line feeds: what rules are matched with."""
    n: int
    """How many choices."""
    is_stream: bool
    """Whether events were asked for."""
    wants_usage: bool
    """Whether a stream ends with a usage event."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One choice of an answer."""

    text: str | None
    """Its text; none for a refusal."""
    refusal: str | None
    """The refusal, if it is one."""
    finish: str
    """Its finish reason."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer."""

    id: str
    """Id in the body."""
    model: str
    """The model that it names."""
    fingerprint: str | None
    """``system_fingerprint``."""
    choices: tuple[Said, ...]
    """By index."""
    prompt_tokens: int
    """Tokens of the prompt."""
    cached_tokens: int
    """Those of them that a prefix cache served."""


def read_chat(body: bytes) -> ChatRequest:
    """The request in a body. Raises: ApiError 400."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as err:
        raise _bad("We could not parse the JSON body of your request.") from err
    if not isinstance(document, dict):
        raise _bad("The body of the request is not a JSON object.")
    model = document.get("model")
    if not isinstance(model, str) or not model:
        raise _bad("You must provide a model parameter.", "model")
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _bad("'messages' is not a list of at least one message.", "messages")
    options = document.get("stream_options")
    return ChatRequest(
        model=model,
        messages=tuple(messages),
        prompt="\n".join(_texts(messages)),
        n=_choices(document.get("n", 1)),
        is_stream=document.get("stream") is True,
        wants_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _texts(messages: Sequence[Any]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise _bad(f"'messages[{place}]' has no role.", f"messages[{place}]")
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (part["text"] for part in content if _is_text(part))
        elif content is not None:
            raise _bad(f"'messages[{place}].content' is neither a text nor a list.", f"messages[{place}]")


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _choices(n: Any) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST_CHOICES:
        raise _bad(f"'n' is not a whole number from 1 to {MOST_CHOICES}.", "n")
    return n


def _bad(message: str, param: str | None = None) -> ApiError:
    return ApiError(400, message, kind="invalid_request_error", param=param)


def completion(answer: Answer) -> dict[str, Any]:
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


def pieces(answer: Answer, *, piece_chars: int, wants_usage: bool) -> list[dict[str, Any]]:
    """The answer as stream events, without the ``[DONE]`` at its end."""
    head = _head(answer, "chat.completion.chunk") | ({"usage": None} if wants_usage else {})
    events = []
    for index, said in enumerate(answer.choices):
        deltas = [{"role": "assistant", "content": "" if said.refusal is None else None}]
        name, text = ("content", said.text) if said.refusal is None else ("refusal", said.refusal)
        cut = text or ""
        deltas += [{name: cut[at : at + piece_chars]} for at in range(0, len(cut), piece_chars)]
        events += [{**head, "choices": [_delta(index, delta, None)]} for delta in deltas]
        events.append({**head, "choices": [_delta(index, {}, said.finish)]})
    if wants_usage:
        events.append({**head, "choices": [], "usage": usage(answer)})
    return events


def usage(answer: Answer) -> dict[str, Any]:
    """Tokens of an answer."""
    said = sum(tokens((choice.text or "") + (choice.refusal or "")) for choice in answer.choices)
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": said,
        "total_tokens": answer.prompt_tokens + said,
        "prompt_tokens_details": {"cached_tokens": min(answer.cached_tokens, answer.prompt_tokens)},
    }


def tokens(text: str) -> int:
    """A stable count for a text; 0 only for an empty one."""
    return -(-len(text) // CHARS_PER_TOKEN)


def model_list(models: Sequence[str]) -> dict[str, Any]:
    """``/v1/models``."""
    return {
        "object": "list",
        "data": [
            {"id": model, "object": "model", "created": CREATED, "owned_by": "truegreen"} for model in models
        ],
    }


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    head: Mapping[str, Any] = {"id": answer.id, "object": kind, "created": CREATED, "model": answer.model}
    return {**head, **({"system_fingerprint": answer.fingerprint} if answer.fingerprint else {})}


def _delta(index: int, delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
