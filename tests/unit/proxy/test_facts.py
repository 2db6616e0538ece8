# SPDX-License-Identifier: Apache-2.0
"""What answers of different vendors say about themselves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.exchange import Usage
from truegreen.proxy.facts import MAX_CHOICES, Facts
from truegreen.proxy.sse import Event


def _whole(document):
    facts = Facts()
    facts.read_document(document)
    return facts


def _stream(*documents):
    facts = Facts()
    for document in documents:
        name = ""
        if isinstance(document, tuple):
            name, document = document  # noqa: PLW2901 - a pair is name and data
        facts.read_event(
            Event(name=name, data=document if isinstance(document, str) else json.dumps(document))
        )
    return facts


def _choice(finish, index=0, **parts):
    return {"index": index, "finish_reason": finish, **parts}


@pytest.mark.parametrize(
    ("reasons", "worst", "is_length", "is_refusal"),
    [
        (["stop"], "stop", False, False),
        (["stop", "tool_calls"], "tool_calls", False, False),
        (["stop", "content_filter", "tool_calls"], "content_filter", False, True),
        (["content_filter", "length", "stop"], "length", True, True),
        ([None], None, False, False),
        ([7], None, False, False),
        ([""], None, False, False),
    ],
)
def test_the_worst_finish_reason_of_all_choices_counts(reasons, worst, is_length, is_refusal):
    """One choice of several that ended at the limit spoils the answer, wherever it stands."""
    facts = _whole({"choices": [_choice(reason, index) for index, reason in enumerate(reasons)]})
    assert (worst, is_length, is_refusal) == (facts.finish_reason, facts.is_length_stop, facts.is_refusal)


def test_a_refusal_of_the_model_is_seen_in_message_and_delta():
    """An empty or absent refusal is none."""
    assert _whole({"choices": [_choice("stop", message={"refusal": "I can't"})]}).is_refusal
    assert _stream({"choices": [_choice(None, delta={"refusal": "I"})]}).is_refusal
    assert not _whole({"choices": [_choice("stop", message={"refusal": None})]}).is_refusal
    assert not _whole({"choices": [_choice("stop", message={"refusal": ""})]}).is_refusal


def test_a_stream_ends_when_every_choice_has_its_reason():
    """A choice that was begun and not finished keeps the stream open, unless [DONE] says otherwise."""
    open_one = {"choices": [_choice(None), _choice(None, 1)]}
    assert not _stream(open_one).end_mark
    assert not _stream(open_one, {"choices": [_choice("stop")]}).end_mark
    assert _stream(open_one, {"choices": [_choice("stop")]}, {"choices": [_choice("stop", 1)]}).end_mark
    assert _stream(open_one, "[DONE]").end_mark
    assert _stream({"choices": [_choice("stop")]}, {"choices": [], "usage": {"total_tokens": 3}}).end_mark
    assert not _stream().end_mark


def test_more_choices_than_anyone_asks_for_never_end():
    """The table of open choices is bounded, and what was not kept is not taken for finished."""
    facts = _stream(*({"choices": [_choice("stop", index)]} for index in range(MAX_CHOICES + 5)))
    assert not facts.end_mark
    assert len(facts._open) + len(facts._reasons) <= MAX_CHOICES + 2


def test_a_message_stream_of_the_other_big_vendor():
    """Model and prompt tokens stand at the start, the stop reason and the rest at the end."""
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "c-1",
            "stop_reason": None,
            "usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 3},
        },
    }
    delta = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}}
    facts = _stream(("message_start", start), ("message_delta", delta))
    assert ("msg_1", "c-1", "max_tokens", True) == (
        facts.response_id,
        facts.model,
        facts.finish_reason,
        facts.is_length_stop,
    )
    assert Usage(prompt_tokens=8, completion_tokens=9, cached_tokens=3) == facts.usage
    assert _stream(start, {"type": "message_stop"}).end_mark
    assert not _stream(start).end_mark
    refused = _whole({"type": "message", "model": "c-1", "stop_reason": "refusal"})
    assert refused.is_refusal


def test_a_responses_stream():
    """The answer stands inside its events; incomplete says why."""
    done = {
        "id": "resp_1",
        "object": "response",
        "model": "o-1",
        "status": "completed",
        "usage": {
            "input_tokens": 2,
            "output_tokens": 3,
            "total_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0},
        },
    }
    facts = _stream({"type": "response.completed", "response": done})
    assert ("resp_1", "o-1", "completed", True) == (
        facts.response_id,
        facts.model,
        facts.finish_reason,
        facts.end_mark,
    )
    assert Usage(prompt_tokens=2, completion_tokens=3, total_tokens=5, cached_tokens=0) == facts.usage
    cut = {**done, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert _whole(cut).is_length_stop
    assert "incomplete" == _whole({**done, "status": "incomplete", "incomplete_details": None}).finish_reason
    assert _whole({**done, "output": [{"content": [{"type": "refusal", "refusal": "no"}]}]}).is_refusal
    assert not _whole({**done, "output": [{"content": [{"type": "output_text"}]}, {}, 1]}).is_refusal
    assert _stream({"type": "response.refusal.delta", "delta": "I"}).is_refusal
    begun = {"type": "response.created", "response": {**done, "status": "in_progress"}}
    assert not _stream(begun).end_mark


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"error": {"type": "server_error", "code": "x"}}, "server_error"),
        ({"error": {"type": "error", "code": "overloaded"}}, "overloaded"),
        ({"error": {}}, "error"),
        ({"error": "broken"}, "broken"),
        ({"error": 7}, "error"),
        ({"type": "error", "code": "rate_limit"}, "rate_limit"),
        (("error", {"message": "x"}), "error"),
        (("error", {"error": {"type": "overloaded_error"}}), "overloaded_error"),
        ({"error": None}, None),
    ],
)
def test_an_error_inside_a_stream_is_named(event, expected):
    """By its type, else its code, else by the bare fact."""
    assert expected == _stream(event).error_type


def test_an_event_that_is_no_json_is_said():
    """Neither [DONE] with white space nor a JSON value that is no object is broken; half an object is."""
    assert _stream(' {"choices": [').not_json
    assert _stream("[" * 100_000).not_json
    assert not _stream("[DONE] ", "7", "[]").not_json


NAMES = st.sampled_from(
    [
        "id",
        "model",
        "choices",
        "index",
        "finish_reason",
        "delta",
        "message",
        "refusal",
        "usage",
        "prompt_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "error",
        "type",
        "code",
        "response",
        "object",
        "status",
        "incomplete_details",
        "reason",
        "output",
        "content",
        "stop_reason",
        "system_fingerprint",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(st.dictionaries(NAMES, JSON))
def test_no_shape_of_an_answer_breaks_the_reader(document):
    """Values of any type where texts, counts and lists are documented are read as absent."""
    facts = _whole(document)
    for text in (
        facts.response_id,
        facts.model,
        facts.system_fingerprint,
        facts.finish_reason,
        facts.error_type,
    ):
        assert text is None or (isinstance(text, str) and 0 < len(text) <= 200)
    for count in (facts.usage.prompt_tokens, facts.usage.cached_tokens):
        assert count is None or (type(count) is int and count >= 0)
