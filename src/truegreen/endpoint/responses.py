# SPDX-License-Identifier: Apache-2.0
"""OpenAI's responses, as JSON: requests read, answers, stream events and errors written.

What it decides: the shape of every document and the order of the events. What it leaves: what is answered, to
``draw``; bytes and faults, to ``reply``.

- An answer is one message with one part: a text or a refusal. A length stop is ``incomplete`` with
  ``max_output_tokens``.
- Nothing is stored: ``previous_response_id`` is not found, as it would be anywhere else.
- Its errors are those of chat completions.

Source: platform.openai.com/docs/api-reference/responses (create, object) and …/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from truegreen.endpoint import chat
from truegreen.endpoint.api import (
    CREATED,
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

NAME: Final = "responses"
ID_PREFIX: Final = "resp_"
REQUEST_ID: Final = chat.REQUEST_ID
TEXT_PARTS: Final = ("input_text", "output_text", "text")


def read(body: bytes) -> Wanted:
    """The request in a body. Raises: ApiError 400, 404 for a response that is to be continued."""
    asked = read_object(body)
    model = model_of(asked)
    instructions = asked.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise ApiError(400, "'instructions' is no text.", param="instructions")
    previous = asked.get("previous_response_id")
    if previous is not None:
        raise ApiError(
            404,
            f"Previous response with id '{str(previous)[:100]}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    given = asked.get("input")
    said = [instructions] if instructions else []
    return Wanted(
        model=model,
        messages=(instructions, given),
        prompt="\n".join([*said, *_texts(given)]),
        is_stream=asked.get("stream") is True,
    )


def document(answer: Answer) -> dict[str, Any]:
    """The answer as one document."""
    said = answer.choices[0]
    status = "incomplete" if said.finish == "length" else "completed"
    return {
        **_response(answer, status, [_message(answer, status, [_part(said)])]),
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "usage": usage(answer),
    }


def stream(answer: Answer, *, piece_chars: int, wants_usage: bool) -> Streamed:  # noqa: ARG001 - as all APIs
    """The answer as events: its end is ``response.completed`` or ``response.incomplete``."""
    whole = document(answer)
    begun = _response(answer, "in_progress", [])
    made: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": _message(answer, "in_progress", [])}),
        *_part_events(answer, piece_chars),
        ("response.output_item.done", {"output_index": 0, "item": whole["output"][0]}),
        (f"response.{whole['status']}", {"response": whole}),
    ]
    events = [_event(name, number, fields) for number, (name, fields) in enumerate(made)]
    return Streamed(parts=tuple(events[:-1]), end=(events[-1],))


def usage(answer: Answer) -> dict[str, Any]:
    """Tokens of an answer."""
    return {
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {"cached_tokens": answer.warm_tokens, "cache_write_tokens": 0},
        "output_tokens": answer.said_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.prompt_tokens + answer.said_tokens,
    }


def error(problem: ApiError) -> dict[str, Any]:
    """An error as one document."""
    return chat.error(problem)


def error_event(problem: ApiError) -> Event:
    """An error in the middle of a stream."""
    fields = {"code": problem.code or problem.kind, "message": problem.message, "param": problem.param}
    return _event("error", 0, fields)


def _texts(given: Any) -> Iterator[str]:
    if isinstance(given, str) and given:
        yield given
        return
    if not isinstance(given, list) or not given:
        raise ApiError(400, "'input' is neither a text nor a list of at least one item.", param="input")
    for place, item in enumerate(given):
        where = f"input[{place}]"
        if not isinstance(item, dict):
            raise ApiError(400, f"'{where}' is no item.", param=where)
        if item.get("type", "message") == "message" and not isinstance(item.get("role"), str):
            raise ApiError(400, f"'{where}' has no role.", param=where)
        yield from texts(item.get("content"), TEXT_PARTS, where)
        if isinstance(item.get("output"), str):  # what a tool said
            yield item["output"]


def _part(said: Said) -> dict[str, Any]:
    if said.refusal is not None:
        return {"type": "refusal", "refusal": said.refusal}
    return {"type": "output_text", "text": said.text or "", "annotations": [], "logprobs": []}


def _part_events(answer: Answer, piece_chars: int) -> list[tuple[str, dict[str, Any]]]:
    said = answer.choices[0]
    kind, key = ("output_text", "text") if said.refusal is None else ("refusal", "refusal")
    logprobs: dict[str, Any] = {"logprobs": []} if said.refusal is None else {}
    whole = _part(said)
    place = {"item_id": _message_id(answer), "output_index": 0, "content_index": 0}
    return [
        ("response.content_part.added", {**place, "part": {**whole, key: ""}}),
        *(
            (f"response.{kind}.delta", {**place, "delta": piece, **logprobs})
            for piece in cut(whole[key], piece_chars)
        ),
        (f"response.{kind}.done", {**place, key: whole[key], **logprobs}),
        ("response.content_part.done", {**place, "part": whole}),
    ]


def _response(answer: Answer, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": answer.id,
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _message(answer: Answer, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": _message_id(answer),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _message_id(answer: Answer) -> str:
    return f"msg_{answer.id.removeprefix(ID_PREFIX)}"


def _event(name: str, number: int, fields: dict[str, Any]) -> Event:
    return Event(name=name, data=as_json({"type": name, "sequence_number": number, **fields}))
