# SPDX-License-Identifier: Apache-2.0
"""The answers inside a body, of each API, whole and streamed."""

import json

import pytest

from truegreen.cassettes.replies import Reply, replies

STREAM = "text/event-stream; charset=utf-8"
TOOL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "plan", "arguments": '{"a":1}'}}


def told(reply):
    """A reply as plain values."""
    return reply.text, [(call.name, call.arguments) for call in reply.calls.values()], reply.finish


def of(body, content_type="application/json"):
    """Every reply of a JSON body, or of these events."""
    if isinstance(body, list):
        text = "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in body)
        return [told(one) for one in replies(text.encode(), STREAM)]
    return [told(one) for one in replies(json.dumps(body).encode(), content_type)]


def chunk(delta, index=0, finish=None):
    """A piece of a streamed chat completion."""
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def test_every_choice_is_a_reply():
    """Text, calls of tools and end of each, apart."""
    body = {
        "choices": [
            {"message": {"content": "one"}, "finish_reason": "stop"},
            {"message": {"content": None, "tool_calls": [TOOL]}, "finish_reason": "tool_calls"},
            {"text": "old", "finish_reason": "length"},
        ]
    }
    assert [("one", [], "stop"), ("", [("plan", '{"a":1}')], "tool_calls"), ("old", [], "length")] == of(body)


def test_a_message_of_parts_is_joined():
    """Some endpoints give the text in parts."""
    body = {
        "choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]
    }
    assert [("ab", [], None)] == of(body)


def test_a_streamed_choice_is_put_together():
    """Pieces of text and of arguments, by choice, whatever comes between."""
    first = {"index": 0, "function": {"name": "plan", "arguments": '{"a"'}}
    later = {"index": 0, "function": {"arguments": ":1}"}}
    stream = [
        chunk({"role": "assistant", "content": "o"}),
        chunk({"content": "x"}, index=1),
        chunk({"content": "ne"}),
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [later]}, finish="tool_calls"),
        chunk({}, index=1, finish="length"),
        {"choices": [{"index": 1, "text": "y"}]},
        "[DONE]",
    ]
    assert [("one", [("plan", '{"a":1}')], "tool_calls"), ("xy", [], "length")] == of(stream)


def test_a_response_is_one_reply():
    """Text of every output part, calls, and why it is incomplete."""
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "one"}]},
        {"type": "function_call", "name": "plan", "arguments": "{}"},
    ]
    assert [("one", [("plan", "{}")], "completed")] == of(
        {"object": "response", "status": "completed", "output": output}
    )
    cut = {
        "object": "response",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    assert [("", [], "max_output_tokens")] == of(cut)


def test_a_streamed_response_is_its_last_event():
    """The whole response stands in it."""
    done = {"object": "response", "status": "completed", "output": [{"content": [{"text": "one"}]}]}
    stream = [
        {"type": "response.output_text.delta", "delta": "on"},
        {"type": "response.completed", "response": done},
    ]
    assert [("one", [], "completed")] == of(stream)


def test_a_message_of_blocks_is_one_reply():
    """Text and uses of tools, with why it stopped."""
    body = {
        "type": "message",
        "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "one"}, {"type": "tool_use", "name": "plan", "input": {"a": 1}}],
    }
    assert [("one", [("plan", '{"a": 1}')], "tool_use")] == of(body)


def test_a_streamed_message_is_put_together():
    """Blocks begin, grow and end; the end stands in an event of its own."""
    stream = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "one"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "name": "plan", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ":1}"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    assert [("one", [("plan", '{"a":1}')], "end_turn")] == of(stream)


@pytest.mark.parametrize("body", [b"", b"plain", b"[1]", b'{"other": 1}', b"\xff\xfe", b"[" * 100_000])
def test_what_has_no_known_form_is_its_own_text(body):
    """One reply whose text is the body, never none."""
    assert [Reply(text=body.decode("utf-8", "replace"))] == list(replies(body, "application/json"))


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": [1, {"message": 2, "finish_reason": 3}]},
        {"choices": [{"message": {"content": 1, "tool_calls": [{"function": 1}]}}]},
        {"output": [{"content": [{"text": 1}]}], "status": 2, "incomplete_details": 3},
        {"type": "message", "content": [{"type": "tool_use"}], "stop_reason": []},
    ],
)
def test_odd_types_never_raise(odd):
    """Whatever a provider sends, somebody can be told about it."""
    assert 1 == len(of(odd))
    assert of([odd, {"type": "content_block_delta", "delta": 1}, {"type": "response.completed"}])
