# SPDX-License-Identifier: Apache-2.0
"""Requests are checked as the messages API does, and answers have its shape."""

import json

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from truegreen.endpoint.api import Answer, ApiError, Said
from truegreen.endpoint.messages import document, error, error_event, read, stream

SAID = {
    "text": (Said(text="añb" * 3, refusal=None, finish="stop"), "end_turn"),
    "refusal": (Said(text=None, refusal="no", finish="stop"), "refusal"),
    "length": (Said(text="half", refusal=None, finish="length"), "max_tokens"),
    "empty": (Said(text="", refusal=None, finish="stop"), "end_turn"),
}
EVENT = TypeAdapter(RawMessageStreamEvent)
USER = {"role": "user", "content": "hello"}


def _answer(said):
    return Answer(id="msg_1", model="m", fingerprint=None, choices=(said,), prompt_tokens=9, cached_tokens=4)


def _read(**changes):
    return read(json.dumps({"model": "m", "max_tokens": 9, "messages": [USER], **changes}).encode())


def test_what_an_answer_depends_on_is_read():
    """The system's text comes first; parts that are no text are not in the prompt."""
    parts = [{"type": "text", "text": "b"}, {"type": "image"}, {"type": "tool_result", "content": "c"}]
    asked = _read(
        system=[{"type": "text", "text": "be brief"}],
        messages=[USER, {"role": "user", "content": parts}],
        stream=True,
    )
    assert ("m", "be brief\nhello\nb", 1, True) == (asked.model, asked.prompt, asked.n, asked.is_stream)
    assert "be brief\nhello" == _read(system="be brief").prompt
    assert _read(system="x").messages != _read().messages


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"model": ""}, "model"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": "x"}, "messages"),
        ({"messages": [3]}, "messages.0"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "user"}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages.0"),
        ({"system": 3}, "system"),
    ],
)
def test_requests_that_are_none_are_refused(changes, param):
    """With the place."""
    with pytest.raises(ApiError) as caught:
        _read(**changes)
    assert (400, param) == (caught.value.status, caught.value.param)


@pytest.mark.parametrize("name", SAID)
def test_documents_have_the_shape_that_the_sdk_reads(name):
    """Validated by the SDK's own types; cached tokens are counted beside the input, not in it."""
    said, stop = SAID[name]
    whole = Message.model_validate(document(_answer(said)))
    assert (stop, said.refusal or said.text) == (whole.stop_reason, whole.content[0].text)
    assert (5, 4) == (whole.usage.input_tokens, whole.usage.cache_read_input_tokens)


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("piece_chars", [1, 4, 100])
def test_the_events_of_a_stream_are_the_real_sequence(name, piece_chars):
    """In order and of the SDK's own types; the deltas join to the whole."""
    said, stop = SAID[name]
    made = stream(_answer(said), piece_chars=piece_chars, wants_usage=True)
    events = [json.loads(event.data) for event in (*made.parts, *made.end)]
    for event in events:
        if event["type"] != "ping":
            assert event["type"] == EVENT.validate_python(event).type
    names = [event["type"] for event in events]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert [
        "message_start",
        "content_block_start",
        "ping",
        *["content_block_delta"] * len(deltas),
        "content_block_stop",
        "message_delta",
        "message_stop",
    ] == names
    assert names == [event.name for event in (*made.parts, *made.end)]
    assert (said.refusal or said.text) == "".join(deltas)
    assert stop == events[-2]["delta"]["stop_reason"]
    assert ["message_delta", "message_stop"] == [event.name for event in made.end]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_an_errors_type_follows_from_its_status(status, kind):
    """In a document and in a stream alike."""
    problem = ApiError(status, "broken")
    assert {"type": "error", "error": {"type": kind, "message": "broken"}} == error(problem)
    assert ("error", error(problem)) == (error_event(problem).name, json.loads(error_event(problem).data))
