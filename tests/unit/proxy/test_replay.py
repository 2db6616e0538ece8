# SPDX-License-Identifier: Apache-2.0
"""A recorded answer as bytes on the wire, read back by h11."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Answered, Chunk
from truegreen.proxy.modes import Pace
from truegreen.proxy.replay import Played, cut
from truegreen.proxy.request import Head


def _head(method="POST", version=b"1.1", headers=()):
    return Head(token=None, method=method, target="/x", version=version, headers=tuple(headers))


def _answered(*pieces, status=200, headers=(("Content-Type", "text/event-stream"),), after_s=0.5):
    chunks = tuple(Chunk(after_s=after_s, data=piece) for piece in pieces)
    return Answered(status=status, headers=tuple(headers), chunks=chunks, head_after_s=2.0)


def _read(played, method="POST"):
    """Status, headers and pieces as an independent reader sees them."""
    conn = h11.Connection(h11.CLIENT)
    conn.send(h11.Request(method=method, target="/x", headers=[("Host", "a")]))
    conn.send(h11.EndOfMessage())
    conn.receive_data(played.head)
    response = conn.next_event()
    pieces = []
    for _, piece in played.pieces():
        conn.receive_data(piece)
        while isinstance(event := conn.next_event(), h11.Data):
            pieces.append(bytes(event.data))
        ended = isinstance(event, h11.EndOfMessage)
    if played.closes:
        conn.receive_data(b"")
        ended = isinstance(conn.next_event(), h11.EndOfMessage)
    return response, pieces, ended if pieces else True


def test_pieces_stay_pieces():
    """A client meets the boundaries that the recorder met."""
    response, pieces, ended = _read(
        Played(_answered(b"data: a\n\n", b"data: b"), head=_head(), pace=Pace.AT_ONCE)
    )
    assert ([b"data: a\n\n", b"data: b"], True, 200) == (pieces, ended, response.status_code)


def test_pauses_are_those_of_the_recording_only_where_asked():
    """At once means without any."""
    answered = _answered(b"a", b"b")
    slow = Played(answered, head=_head(), pace=Pace.RECORDED)
    assert (2.0, [0.5, 0.5, 0.0]) == (slow.head_after_s, [wait for wait, _ in slow.pieces()])
    quick = Played(answered, head=_head(), pace=Pace.AT_ONCE)
    assert (0.0, {0.0}) == (quick.head_after_s, {wait for wait, _ in quick.pieces()})


def test_a_true_length_is_kept_and_a_false_one_is_not_sent():
    """A body that was cleaned has another length than the recorded header says."""
    right = Played(_answered(b"{}", headers=(("Content-Length", "2"),)), head=_head(), pace=Pace.AT_ONCE)
    wrong = Played(_answered(b"{}", headers=(("content-length", "9"),)), head=_head(), pace=Pace.AT_ONCE)
    assert b"Content-Length: 2\r\n" in right.head
    assert (b"content-length" in wrong.head, b"Transfer-Encoding: chunked" in wrong.head) == (False, True)
    assert [[b"{}"], [b"{}"]] == [_read(right)[1], _read(wrong)[1]]


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_answers_without_a_body_have_none(method, status):
    """The recorded length of a HEAD stays; nothing follows it."""
    played = Played(
        _answered(b"", status=status, headers=(("Content-Length", "9"),)),
        head=_head(method),
        pace=Pace.AT_ONCE,
    )
    assert ([], False) == (list(played.pieces()), played.closes)
    assert b"Content-Length: 9" in played.head


def test_an_old_client_gets_the_close_as_end():
    """HTTP/1.0 knows no chunks."""
    played = Played(_answered(b"a", b"b"), head=_head(version=b"1.0"), pace=Pace.AT_ONCE)
    assert (True, b"ab") == (played.closes, b"".join(piece for _, piece in played.pieces()))
    assert b"chunked" not in played.head


def test_headers_of_the_recorded_connection_are_not_played():
    """What Connection names goes with it; everything else stays in order, twice where it stood twice."""
    headers = (("Set-Cookie", "a=1"), ("Connection", "close, X-Hop"), ("x-hop", "1"), ("Keep-Alive", "5"))
    played = Played(
        _answered(b"a", headers=(*headers, ("Set-Cookie", "b=2"))), head=_head(), pace=Pace.AT_ONCE
    )
    lines = played.head.decode().split("\r\n")
    assert ["Set-Cookie: a=1", "Set-Cookie: b=2", "x-truegreen-answer: replayed"] == lines[1:4]


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\0", "\u20ac"])
def test_a_header_that_no_header_can_be_is_refused(value):
    """An edited recording mints no second header and no second answer."""
    with pytest.raises(EvidenceProblem) as caught:
        Played(_answered(b"a", headers=(("x", value),)), head=_head(), pace=Pace.AT_ONCE)
    assert "recording-unsendable" == caught.value.code


def test_a_status_without_a_phrase_is_played():
    """529 is a vendor's own."""
    assert Played(_answered(b"", status=529), head=_head(), pace=Pace.AT_ONCE).head.startswith(
        b"HTTP/1.1 529 "
    )


def test_adversarial_cuts_are_where_readers_break():
    """Inside a character, inside ``data:``, between CR and LF, between the two ends of an event."""
    assert (b"da", b"ta: \xc3", b"\xa9\n", b"\nda", b"ta: x\r", b"\n\r", b"\n") == cut(
        b"data: \xc3\xa9\n\ndata: x\r\n\r\n", is_opaque=False
    )


@pytest.mark.parametrize("size", [1, 70_000])
def test_batches_are_the_head_and_the_pieces(size):
    """Few writes, and not one byte or chunk that the pieces do not have."""
    played = Played(_answered(b"a" * size, b"b" * size), head=_head(), pace=Pace.AT_ONCE)
    batches = list(played.batches())
    assert played.head + b"".join(piece for _, piece in played.pieces()) == b"".join(batches)
    assert (1 if size == 1 else 3) == len(batches)


def test_a_body_of_known_length_ends_with_its_last_batch():
    """Nothing is written after it, and an empty piece is no piece."""
    body = b"a" * 70_000
    answered = _answered(b"", body, headers=(("Content-Length", "70000"),))
    played = Played(answered, head=_head(), pace=Pace.AT_ONCE)
    assert [played.head + body] == list(played.batches())


@given(st.binary(), st.booleans())
def test_cut_pieces_join_to_the_body(body, is_opaque):
    """No byte is lost, none is added, none is empty, and the same body is cut the same way."""
    pieces = cut(body, is_opaque=is_opaque)
    assert (body, True) == (b"".join(pieces), all(pieces))
    assert pieces == cut(body, is_opaque=is_opaque)


@given(st.lists(st.binary(min_size=1), max_size=5), st.sampled_from(Pace), st.sampled_from([b"1.0", b"1.1"]))
def test_any_recorded_body_is_read_back(pieces, pace, version):
    """Whatever the framing, an independent reader gets the recorded bytes."""
    played = Played(_answered(*pieces), head=_head(version=version), pace=pace)
    assert b"".join(pieces) == b"".join(_read(played)[1])
