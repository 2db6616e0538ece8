# SPDX-License-Identifier: Apache-2.0
"""Requests are checked as the responses API does, and answers have its shape."""

import json

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from truegreen.endpoint.api import Answer, ApiError, Said
from truegreen.endpoint.responses import document, error, error_event, read, stream, usage

SAID = {
    "text": Said(text="añb" * 3, refusal=None, finish="stop"),
    "refusal": Said(text=None, refusal="no", finish="stop"),
    "length": Said(text="half", refusal=None, finish="length"),
    "empty": Said(text="", refusal=None, finish="stop"),
}
EVENT = TypeAdapter(ResponseStreamEvent)


def _answer(said):
    return Answer(id="resp_1", model="m", fingerprint=None, choices=(said,), prompt_tokens=9, cached_tokens=4)


def _read(**changes):
    return read(json.dumps({"model": "m", "input": "hello", **changes}).encode())


def test_what_an_answer_depends_on_is_read():
    """Instructions, messages and what tools said make the prompt; images do not."""
    items = [
        {"role": "user", "content": "a"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "b"}, {"type": "input_image"}],
        },
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "d"},
    ]
    asked = _read(input=items, instructions="be brief", stream=True, temperature=0)
    assert ("m", "be brief\na\nb\nd", 1, True) == (asked.model, asked.prompt, asked.n, asked.is_stream)
    assert ("hello", False) == (_read().prompt, _read().is_stream)
    assert _read(instructions="x").messages != _read().messages


@pytest.mark.parametrize(
    ("changes", "status", "param"),
    [
        ({"model": None}, 400, "model"),
        ({"input": None}, 400, "input"),
        ({"input": ""}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": {}}, 400, "input"),
        ({"input": [3]}, 400, "input[0]"),
        ({"input": [{"content": "x"}]}, 400, "input[0]"),
        ({"input": [{"role": "user", "content": 3}]}, 400, "input[0]"),
        ({"instructions": ["x"]}, 400, "instructions"),
        ({"previous_response_id": "resp_0"}, 404, "previous_response_id"),
    ],
)
def test_requests_that_are_none_are_refused(changes, status, param):
    """With the parameter's name; nothing is stored that could be continued."""
    with pytest.raises(ApiError) as caught:
        _read(**changes)
    assert (status, param) == (caught.value.status, error(caught.value)["error"]["param"])


@pytest.mark.parametrize("name", SAID)
def test_documents_have_the_shape_that_the_sdk_reads(name):
    """Validated by the SDK's own types, which refuse missing fields."""
    whole = Response.model_validate(document(_answer(SAID[name])))
    expected = ("incomplete", "max_output_tokens") if name == "length" else ("completed", None)
    reason = whole.incomplete_details.reason if whole.incomplete_details else None
    assert expected == (whole.status, reason)
    part = whole.output[0].content[0]
    assert (SAID[name].refusal or SAID[name].text) == (part.refusal if name == "refusal" else part.text)
    assert (9, 4, whole.usage.input_tokens + whole.usage.output_tokens) == (
        whole.usage.input_tokens,
        whole.usage.input_tokens_details.cached_tokens,
        whole.usage.total_tokens,
    )


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("piece_chars", [1, 4, 100])
def test_the_events_of_a_stream_are_the_real_sequence(name, piece_chars):
    """In order, numbered, each of the SDK's own types; the deltas join to the whole."""
    made = stream(_answer(SAID[name]), piece_chars=piece_chars, wants_usage=False)
    events = [EVENT.validate_python(json.loads(event.data)) for event in (*made.parts, *made.end)]
    kind = "refusal" if name == "refusal" else "output_text"
    names = [event.type for event in events]
    deltas = [event.delta for event in events if event.type.endswith(".delta")]
    assert [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *[f"response.{kind}.delta"] * len(deltas),
        f"response.{kind}.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.incomplete" if name == "length" else "response.completed",
    ] == names
    assert names == [event.name for event in (*made.parts, *made.end)]
    assert list(range(len(events))) == [event.sequence_number for event in events]
    assert (SAID[name].refusal or SAID[name].text) == "".join(deltas)
    assert document(_answer(SAID[name])) == json.loads(made.end[0].data)["response"]
    assert 1 == len(made.end)


def test_an_error_in_a_stream_is_an_event_of_its_own():
    """Flat, as this API has it."""
    told = json.loads(error_event(ApiError(500, "broken", kind="server_error")).data)
    assert ("error", "server_error", "broken") == (told["type"], told["code"], told["message"])
    assert "error" == EVENT.validate_python(told).type


def test_usage_adds_up():
    """Prompt and answer."""
    figures = usage(_answer(SAID["text"]))
    assert figures["total_tokens"] == figures["input_tokens"] + figures["output_tokens"]
