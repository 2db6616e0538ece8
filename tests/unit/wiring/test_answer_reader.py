# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself, through the port."""

import json

import httpx2
import pytest

from truegreen.wiring.answer_reader import reader_of

JSON = {"Content-Type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}


def read(headers, *pieces):
    """Error, end and tokens of an answer."""
    reader = reader_of(httpx2.Headers(headers))
    for piece in pieces:
        reader.feed(piece)
    reader.close(is_whole=True)
    return reader.error, reader.is_at_end, reader.used_tokens


def event(**document):
    """One event of a stream."""
    return f"data: {json.dumps(document)}\n\n".encode()


@pytest.mark.parametrize(
    ("document", "error", "tokens"),
    [
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}, None, 7),
        ({"usage": {"input_tokens": 3, "output_tokens": 5}}, None, 8),
        ({"usage": {"input_tokens": 3}}, None, 3),
        ({}, None, None),
        ({"error": {"type": "tokens", "message": "per day"}}, ("tokens", "per day"), None),
        ({"error": "rate_limited"}, ("rate_limited", "rate_limited"), None),
        ({"error": {"code": "insufficient_quota"}}, ("insufficient_quota", ""), None),
    ],
)
def test_an_answer_tells_error_and_tokens(document, error, tokens):
    """By any vendor's names."""
    assert (error, tokens) == read(JSON, json.dumps(document).encode())[::2]


def test_a_stream_is_at_its_end_where_it_says_so():
    """[DONE], or a finish reason for every choice; not where it merely stops."""
    piece = event(choices=[{"delta": {"content": "x"}, "finish_reason": None}])
    assert (None, False, None) == read(EVENTS, piece)
    assert read(EVENTS, piece, b"data: [DONE]\n\n")[1]
    assert read(EVENTS, event(choices=[{"delta": {}, "finish_reason": "stop"}]))[1]
    assert not read(EVENTS)[1]


def test_what_cannot_be_read_is_not_called_cut():
    """A coding that nobody decodes here."""
    assert read({**EVENTS, "content-encoding": "br"}, b"\x00")[1]
