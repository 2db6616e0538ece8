# SPDX-License-Identifier: Apache-2.0
"""Responses are read beside their bytes, in any pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_kit import LAST_CHUNK, STREAM_HEAD, answer, chunk, event, piece

from truegreen.proxy.response import ResponseReader


def _reader(method="POST", *, closes=False):
    return ResponseReader(method=method, closes=closes, is_answer=True)


def _state(raw, cuts=(), *, closed=True, **options):
    reader = _reader(**options)
    edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    for a, b in itertools.pairwise(edges):
        reader.feed(raw[a:b])
    if closed:
        reader.feed(b"")
    reader.close()
    body = reader.body
    return (
        reader.status,
        reader.ended,
        reader.malformed,
        reader.has_excess,
        body.sha256,
        body.size,
        body.unread,
        body.facts.model,
        body.facts.end_mark,
    )


STREAM = STREAM_HEAD + chunk(piece("é")) + chunk(piece(finish="stop")) + chunk(event("[DONE]")) + LAST_CHUNK
SAMPLES = [
    answer(),
    STREAM,
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(),
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
    answer()[:-2],
    STREAM[:-9],
    STREAM.replace(b"\r\n\r\n", b"\r\n\r\nzz", 1),
    answer() + b"excess",
    b"not http",
    b"HTTP/1.1 999999 x\r\n\r\n",
    b"",
]


@given(st.sampled_from(SAMPLES), st.lists(st.integers(0, 900), max_size=10))
def test_pieces_change_nothing(raw, cuts):
    """Status, end, faults, digest and facts are those of the whole."""
    assert _state(raw) == _state(raw, cuts) == _state(raw, range(len(raw)))


@given(st.binary(max_size=80).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail), st.lists(st.integers(0, 90)))
def test_hostile_bytes_raise_nothing(raw, cuts):
    """Whatever comes, there is a state."""
    assert 9 == len(_state(raw, cuts))


@pytest.mark.parametrize(
    ("raw", "options", "keeps"),
    [
        (answer(), {}, True),
        (STREAM, {}, True),
        (answer(), {"closes": True}, False),
        (answer(headers=["Connection: close"]), {}, False),
        (answer() + b"x", {}, False),
        (answer()[:-1], {}, False),
        (answer().replace(b"HTTP/1.1", b"HTTP/1.0"), {}, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", {"method": "HEAD"}, True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", {}, True),
    ],
)
def test_when_a_connection_may_go_on(raw, options, keeps):
    """Only after an end that both sides agree on."""
    reader = _reader(**options)
    reader.feed(raw)
    assert keeps is reader.keeps_connection


@pytest.mark.parametrize(
    ("headers", "request_id", "retry_after"),
    [
        (["x-request-id: a", "request-id: b"], "a", None),
        (["Request-Id: b", "Retry-After: 3"], "b", "3"),
        (["apim-request-id: c", "retry-after-ms: 250"], "c", "250ms"),
        (
            ["retry-after-ms: 250", "retry-after: Wed, 21 Oct 2026 07:28:00 GMT"],
            None,
            "Wed, 21 Oct 2026 07:28:00 GMT",
        ),
        ([], None, None),
    ],
)
def test_ids_and_waits_are_kept_as_they_came(headers, request_id, retry_after):
    """No parsing, no rounding: what it means is for whoever waits."""
    reader = _reader()
    reader.feed(answer(headers=headers))
    assert (request_id, retry_after) == (reader.request_id, reader.retry_after)


def test_marks_of_a_cache_are_read_from_the_head():
    """Each with its value, so that a reader can check it."""
    reader = _reader()
    reader.feed(answer(headers=["X-Cache: HIT from edge", "Age: 12", "CF-Cache-Status: DYNAMIC"]))
    assert ("age: 12", "x-cache: HIT from edge") == reader.cache_marks


def test_an_answer_after_nothing_but_its_close_has_no_status():
    """A connection that closes before a status has none, and is not malformed."""
    reader = _reader()
    reader.feed(b"")
    reader.close()
    assert (None, False, False) == (reader.status, reader.ended, reader.malformed)
