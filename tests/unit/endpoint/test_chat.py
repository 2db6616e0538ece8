# SPDX-License-Identifier: Apache-2.0
"""Requests are checked as OpenAI's would be, and answers have its shape."""

import json

import pytest
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from truegreen.endpoint.api import Answer, ApiError, Said, tokens
from truegreen.endpoint.chat import document, error, error_event, model_list, pieces, read, stream, usage

USER = {"role": "user", "content": "hello"}
ANSWER = Answer(
    id="chatcmpl-1",
    model="m",
    fingerprint="fp",
    choices=(
        Said(text="añb" * 3, refusal=None, finish="stop"),
        Said(text=None, refusal="no", finish="stop"),
        Said(text="", refusal=None, finish="length"),
    ),
    prompt_tokens=9,
    cached_tokens=4,
)


def _read(**changes):
    return read(json.dumps({"model": "m", "messages": [USER], **changes}).encode())


def test_what_an_answer_depends_on_is_read():
    """Texts of all messages make the prompt; parts that are no text do not."""
    asked = _read(
        messages=[
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, 7]},
            {"role": "assistant", "content": None, "tool_calls": []},
        ],
        n=2,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.3,
    )
    assert ("m", "be brief\na", 2, True, True) == (
        asked.model,
        asked.prompt,
        asked.n,
        asked.is_stream,
        asked.wants_usage,
    )
    assert (1, False, False) == (_read().n, _read().is_stream, _read().wants_usage)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"{", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b"[]", None),
        (b"{}", "model"),
        (b'{"model": 3, "messages": []}', "model"),
        (b'{"model": "", "messages": []}', "model"),
        (b'{"model": "m"}', "messages"),
        (b'{"model": "m", "messages": []}', "messages"),
        (b'{"model": "m", "messages": {}}', "messages"),
        (b'{"model": "m", "messages": [3]}', "messages[0]"),
        (b'{"model": "m", "messages": [{"content": "x"}]}', "messages[0]"),
        (b'{"model": "m", "messages": [{"role": "user", "content": 3}]}', "messages[0]"),
        (b'{"model": "m", "messages": [{"role": "user"}], "n": 0}', "n"),
        (b'{"model": "m", "messages": [{"role": "user"}], "n": true}', "n"),
        (b'{"model": "m", "messages": [{"role": "user"}], "n": 17}', "n"),
    ],
)
def test_requests_that_are_none_are_refused(body, param):
    """With status 400 and the parameter's name."""
    with pytest.raises(ApiError) as caught:
        read(body)
    told = error(caught.value)["error"]
    assert (400, param, "invalid_request_error") == (caught.value.status, told["param"], told["type"])


def test_documents_have_the_shape_that_the_sdk_reads():
    """Validated by the SDK's own types, which refuse missing fields."""
    whole = ChatCompletion.model_validate(document(ANSWER), strict=True)
    assert ["stop", "stop", "length"] == [choice.finish_reason for choice in whole.choices]
    assert ["añbañbañb", None, ""] == [choice.message.content for choice in whole.choices]
    assert [None, "no", None] == [choice.message.refusal for choice in whole.choices]
    assert ("fp", 4) == (whole.system_fingerprint, whole.usage.prompt_tokens_details.cached_tokens)
    listed = model_list(["a"])["data"]
    assert "a" == Model.model_validate(listed[0]).id


@pytest.mark.parametrize("piece_chars", [1, 4, 100])
@pytest.mark.parametrize("wants_usage", [False, True])
def test_the_pieces_of_a_stream_make_the_whole(piece_chars, wants_usage):
    """Joined by index they are the document's texts; usage comes once and last, if it was asked for."""
    events = [
        ChatCompletionChunk.model_validate(event)
        for event in pieces(ANSWER, piece_chars, wants_usage=wants_usage)
    ]
    texts, refusals, reasons = {}, {}, {}
    for event in events:
        for choice in event.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
            refusals[choice.index] = refusals.get(choice.index, "") + (choice.delta.refusal or "")
            reasons[choice.index] = choice.finish_reason or reasons.get(choice.index)
    assert {0: "añbañbañb", 1: "", 2: ""} == texts
    assert {0: "", 1: "no", 2: ""} == refusals
    assert {0: "stop", 1: "stop", 2: "length"} == reasons
    assert [event.usage for event in events[:-1]] == [None] * (len(events) - 1)
    assert (usage(ANSWER)["total_tokens"] if wants_usage else None) == (
        events[-1].usage.total_tokens if events[-1].usage else None
    )


def test_tokens_add_up_and_caching_stays_within_the_prompt():
    """Reported figures contradict each other nowhere."""
    assert [0, 1, 1, 2] == [tokens("x" * n) for n in (0, 1, 4, 5)]
    figures = usage(ANSWER)
    assert figures["total_tokens"] == figures["prompt_tokens"] + figures["completion_tokens"]
    small = usage(Answer(id="", model="m", fingerprint=None, choices=(), prompt_tokens=3, cached_tokens=64))
    assert 3 == small["prompt_tokens_details"]["cached_tokens"]


def test_an_answer_without_fingerprint_has_none():
    """Absent, as from servers that know none."""
    plain = Answer(id="", model="m", fingerprint=None, choices=(), prompt_tokens=1, cached_tokens=0)
    assert "system_fingerprint" not in document(plain)


@pytest.mark.parametrize("wants_usage", [False, True])
def test_without_its_end_a_stream_is_not_whole(wants_usage):
    """The last finish reason, usage and the mark are missing then; the mark alone is no document."""
    made = stream(ANSWER, piece_chars=4, wants_usage=wants_usage)
    assert (2 + wants_usage, "[DONE]") == (len(made.end), made.end[-1].data)
    reasons = [json.loads(event.data)["choices"][0]["finish_reason"] for event in made.parts]
    assert ["stop", "stop"] == [reason for reason in reasons if reason]
    assert {""} == {event.name for event in (*made.parts, *made.end)}


def test_an_error_in_a_stream_is_the_error_document():
    """Without a name, as the SDK looks for it."""
    problem = ApiError(429, "slow down", kind="requests", code="rate_limit_exceeded")
    assert ("", error(problem)) == (error_event(problem).name, json.loads(error_event(problem).data))
    assert {
        "message": "slow down",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    } == error(problem)["error"]
