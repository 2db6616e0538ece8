# SPDX-License-Identifier: Apache-2.0
"""What is kept of an answer that passes, and what is not worth keeping."""

import pytest
from wire_kit import LAST_CHUNK, answer, chunk, piece

from truegreen.core.recording import Chunk
from truegreen.proxy.response import ResponseReader
from truegreen.proxy.taken import Taken


class Ticks:
    """A clock that is set by the test."""

    now = 10.0

    def __call__(self):
        """Seconds."""
        return self.now


def _passed(*steps, limit=1000):
    """Feed ``(seconds, bytes)`` and give what was taken."""
    clock = Ticks()
    taken = Taken(clock=clock, limit_bytes=limit)
    response = ResponseReader(method="POST", closes=False, is_answer=True, on_data=taken.data)
    for seconds, raw in steps:
        clock.now += seconds
        response.feed(raw)
        if response.status is not None:
            taken.head()
    return taken, taken.answered(status=response.status, headers=response.raw_headers)


HEAD = (
    b"HTTP/1.1 200 OK\r\nX-Kept: 1\r\nx-kept: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def test_pieces_and_pauses_are_those_of_the_wire():
    """A boundary is where bytes arrived apart, and the pause before each is kept."""
    _, answered = _passed((2.0, HEAD), (0.5, chunk(b"ab") + chunk(b"c")), (0.25, chunk(b"d") + LAST_CHUNK))
    assert (Chunk(after_s=0.5, data=b"abc"), Chunk(after_s=0.25, data=b"d")) == answered.chunks
    assert (200, 2.0) == (answered.status, answered.head_after_s)


def test_headers_keep_their_spelling_and_those_of_the_connection_go():
    """What stands twice stands twice."""
    _, answered = _passed((0.0, HEAD + LAST_CHUNK))
    assert (("X-Kept", "1"), ("x-kept", "2")) == answered.headers


def test_an_answer_above_the_limit_is_not_held():
    """Memory stays bounded while the client is served."""
    taken, answered = _passed((0.0, HEAD), (0.0, chunk(b"x" * 11) + chunk(b"y")), limit=10)
    assert (True, ()) == (taken.is_too_large, answered.chunks)


ENDLESS = answer(piece("x"), content_type="text/event-stream")
HALF_EVENT = answer(piece("x", finish="stop")[:50], content_type="text/event-stream")
FOREIGN_CODING = answer(b"\x00", content_type="text/event-stream", headers=("Content-Encoding: unknown",))
ERROR_EVENT = answer(
    piece("x", finish="stop") + b'event: error\ndata: {"error": {"type": "server_error"}}\n\n',
    content_type="text/event-stream",
)


@pytest.mark.parametrize(
    ("sent", "keeps_errors", "kept"),
    [
        (answer(), False, ()),
        (answer(status="201 Created"), False, ()),
        (answer(b"{}", status="500 Oops"), False, (("status-500", 1),)),
        (answer(b"{}", status="429 Slow"), False, (("status-429", 1),)),
        (answer(b"{}", status="302 Found"), False, (("status-302", 1),)),
        (answer(b"{}", status="500 Oops"), True, ()),
        (answer()[:-1], False, (("cut", 1),)),
        (answer()[:-1], True, (("cut", 1),)),
        (ENDLESS, False, (("no-end-mark", 1),)),
        (ENDLESS, True, (("no-end-mark", 1),)),
        (HALF_EVENT, False, (("no-end-mark", 1),)),
        (FOREIGN_CODING, False, ()),
        (ERROR_EVENT, False, (("error-in-answer", 1),)),
        (ERROR_EVENT, True, ()),
    ],
)
def test_only_whole_final_answers_are_kept(upstream, record_one, sent, keeps_errors, kept):
    """An error is kept where it is asked for; what was cut never is."""
    recordings, tally = record_one(upstream(lambda call: call.send(sent)), keeps_errors=keeps_errors)
    assert (kept, 0 if kept else 1) == (tally.not_kept, len(recordings.kept))
    assert not tally.is_red
