# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself, in every common API."""

import json

import pytest

from truegreen.cassettes.answer import events, facts
from truegreen.core.exchange import Usage

CHAT = {
    "model": "m-1",
    "choices": [
        {"finish_reason": "stop", "message": {"content": "a"}},
        {"finish_reason": "length", "message": {"content": "b"}},
    ],
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "total_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 1},
    },
}
RESPONSE = {
    "object": "response",
    "model": "m-1",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [{"content": [{"type": "output_text", "text": "ab"}]}],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_tokens_details": {"cached_tokens": 1},
    },
}
MESSAGE = {
    "type": "message",
    "model": "m-1",
    "stop_reason": "max_tokens",
    "content": [{"type": "text", "text": "a"}, {"type": "tool_use"}, {"type": "text", "text": "b"}],
    "usage": {"input_tokens": 0, "output_tokens": 2, "cache_read_input_tokens": 1},
}
GENERATED = {
    "modelVersion": "m-1",
    "candidates": [{"finishReason": "MAX_TOKENS", "content": {"parts": [{"text": "ab"}]}}],
    "usageMetadata": {
        "promptTokenCount": 1,
        "candidatesTokenCount": 2,
        "totalTokenCount": 3,
        "cachedContentTokenCount": 1,
    },
}
STREAMS = {
    "chat": [
        {"model": "m-1", "choices": [{"delta": {"content": "a"}, "finish_reason": None}]},
        {"model": "m-1", "choices": [{"delta": {"content": "b"}, "finish_reason": "length"}], "usage": None},
        {"model": "m-1", "choices": [], "usage": CHAT["usage"]},
        "[DONE]",
    ],
    "responses": [
        {
            "type": "response.created",
            "response": {"object": "response", "model": "m-1", "status": "in_progress"},
        },
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.output_text.delta", "delta": "b"},
        {"type": "response.incomplete", "response": RESPONSE},
    ],
    "messages": [
        {
            "type": "message_start",
            "message": {"model": "m-1", "content": [], "usage": {"input_tokens": 0, "output_tokens": 1}},
        },
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "b"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 2, "cache_read_input_tokens": 1},
        },
        {"type": "message_stop"},
    ],
}
ENDS = {
    "chat": "length",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
    "generated": "MAX_TOKENS",
}


@pytest.mark.parametrize(
    ("name", "body"),
    [("chat", CHAT), ("responses", RESPONSE), ("messages", MESSAGE), ("generated", GENERATED)],
)
def test_a_whole_answer_is_read(name, body):
    """Model, finish reason, tokens, text."""
    found = facts(json.dumps(body).encode(), "application/json")
    assert ("m-1", ENDS[name], "ab") == (found.model, found.finish_reason, found.text)
    assert (1, 2, 1) == (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.cached_tokens)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_read(name):
    """The same, put together from its events."""
    stream = "".join(
        f"event: x\ndata: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in STREAMS[name]
    )
    found = facts(stream.encode(), "text/event-stream; charset=utf-8")
    assert ("m-1", ENDS[name], "ab") == (found.model, found.finish_reason, found.text)
    assert (1, 2, 1) == (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.cached_tokens)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b"\xff",
        b"x",
        b'{"choices": 3, "usage": [], "delta": 3, "model": 4, "candidates": [{"content": 1}], "output": [1]}',
    ],
)
def test_what_an_answer_does_not_say_is_none(body):
    """Nothing is guessed, whatever it holds."""
    found = facts(body, "application/json")
    assert (None, None, None, None) == (found.model, found.finish_reason, found.usage, found.text)


def test_a_count_is_a_whole_number():
    """A truth value or a negative number is none."""
    body = {
        "usage": {
            "prompt_tokens": True,
            "completion_tokens": -1,
            "total_tokens": 3,
            "prompt_tokens_details": 1,
        }
    }
    assert Usage(total_tokens=3) == facts(json.dumps(body).encode(), "").usage


def test_events_end_at_blank_lines_in_every_style():
    """Also the last one, without a blank line behind it."""
    assert ["a\nb", "c", "d"] == list(events("\ufeffdata: a\r\ndata:b\r\n\r\n: x\rdata: c\r\rdata: d"))
