# SPDX-License-Identifier: Apache-2.0
"""Both transports: what they refuse, what they keep, and that a replay cannot send."""

import asyncio

import httpx2
import pytest

from simulators.recordings import MemoryRecordings
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.proxy.async_transport import AsyncModelTransport
from truegreen.proxy.modes import Mode, Options, Pace
from truegreen.proxy.transport import ModelTransport

URL = "https://api.example.test/v1"
BODY = b'{"model": "m"}'
SSE = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def _ask(transport, *, url=f"{URL}/chat/completions", reads=True, method="POST", **more):
    """Status, headers, body of one request through either kind; ``reads`` false leaves the stream early."""

    async def twin():
        async with (
            httpx2.AsyncClient(transport=transport) as client,
            client.stream(method, url, content=BODY, **more) as response,
        ):
            pieces = [piece async for piece in response.aiter_raw()] if reads else []
            return response.status_code, response.headers, b"".join(pieces)

    if isinstance(transport, AsyncModelTransport):
        return asyncio.run(twin())
    with (
        httpx2.Client(transport=transport) as client,
        client.stream(method, url, content=BODY, **more) as response,
    ):
        pieces = list(response.iter_raw()) if reads else []
        return response.status_code, response.headers, b"".join(pieces)


def _inner(kind, *, status=200, body=b"{}", headers=(), breaks=False):
    """A transport inside that answers in two pieces, or breaks off after the first."""

    def pieces():
        yield body[: len(body) // 2]
        if breaks:
            raise httpx2.ReadError("of the test")
        yield body[len(body) // 2 :]

    async def twin():
        for piece in pieces():
            yield piece

    def answer(request):
        made = {"content-type": "application/json", **dict(headers)}
        return httpx2.Response(
            status, headers=made, content=twin() if kind is AsyncModelTransport else pieces()
        )

    return httpx2.MockTransport(answer)


KINDS = [ModelTransport, AsyncModelTransport]
kinds = pytest.mark.parametrize("kind", KINDS)


def _recordings(*chunks, headers=()):
    recordings = MemoryRecordings()
    recordings.keep(
        Asked(method="POST", path="/v1/chat/completions", body=BODY),
        Answered(status=200, headers=headers, chunks=tuple(Chunk(after_s=0.001, data=one) for one in chunks)),
    )
    return recordings


@kinds
def test_recorded_pieces_are_played_as_pieces(kind):
    """At the recorded pace with its pauses, at once without; both give every byte."""
    for pace in Pace:
        replay = kind(Mode.REPLAY, URL, recordings=_recordings(b"a", b"", b"b"), options=Options(pace=pace))
        status, headers, body = _ask(replay)
        assert (200, "replayed", b"ab") == (status, headers["x-truegreen-answer"], body)
        assert (1, False) == (replay.tally().hits, replay.tally().is_red)


@kinds
def test_a_miss_is_an_answer_and_not_an_exception(kind):
    """An exception would be repeated as a lost connection."""
    replay = kind(Mode.REPLAY, URL, recordings=MemoryRecordings())
    status, headers, body = _ask(replay)
    assert (424, "false", True) == (status, headers["x-should-retry"], b"cassette-missing" in body)
    assert replay.tally().is_red
    assert b"" == _ask(kind(Mode.REPLAY, URL, recordings=MemoryRecordings()), method="HEAD")[2]


@kinds
@pytest.mark.parametrize(
    "url",
    ["https://other.test/v1/x", "http://api.example.test/v1/x", "https://api.example.test:8443/v1/x"],
)
@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD])
def test_another_endpoint_is_refused_in_every_mode(kind, url, mode):
    """The same body at endpoint B never gets A's answer, and is not sent either."""
    inner = {} if mode is Mode.REPLAY else {"inner": httpx2.MockTransport(lambda _: pytest.fail("sent"))}
    transport = kind(mode, URL, recordings=_recordings(b"a"), **inner)
    assert 424 == _ask(transport, url=url)[0]
    assert (["foreign-endpoint"], 0) == (
        [one.code for one in transport.tally().troubles],
        transport.tally().upstream_calls,
    )


@kinds
@pytest.mark.parametrize("mode", [Mode.RECORD, Mode.LIVE])
def test_what_names_the_template_does_not_go_on(kind, mode):
    """The recording knows it, the endpoint never hears of it."""
    sent, within = [], _inner(kind)

    def answer(request):
        sent.extend(name.lower() for name in request.headers)
        return within.handler(request)

    recordings = {"recordings": MemoryRecordings()} if mode is Mode.RECORD else {}
    transport = kind(mode, URL, inner=httpx2.MockTransport(answer), **recordings)
    _ask(transport, headers={"X-TrueGreen-Template": "plan", "x-truegreen-template-version": "4", "x-a": "1"})
    assert (True, False) == ("x-a" in sent, any("truegreen" in name for name in sent))
    for asked, _ in recordings["recordings"].kept if recordings else ():
        assert "x-truegreen-template" in {name.lower() for name, _ in asked.headers}


@kinds
def test_record_keeps_the_pieces_that_passed(kind):
    """Boundaries, content coding and spelling of headers stay; the client gets the same bytes."""
    recordings = MemoryRecordings()
    inner = _inner(kind, body=b"not gzip at all", headers={"Content-Encoding": "gzip", "X-A": "1"})
    transport = kind(Mode.RECORD, URL, recordings=recordings, inner=inner)
    assert b"not gzip at all" == _ask(transport)[2]
    (asked, answered) = recordings.kept[0]
    assert ("/v1/chat/completions", "a=1", BODY) == (asked.path, asked.query or "a=1", asked.body)
    assert [b"not gzi", b"p at all"] == [chunk.data for chunk in answered.chunks]
    assert ("X-A", "1") in answered.headers
    assert 1 == transport.tally().kept


@kinds
@pytest.mark.parametrize(
    ("inner", "reads", "kept"),
    [
        ({"status": 500}, True, (("status-500", 1),)),
        ({}, False, (("cut", 1),)),
        ({"body": SSE, "headers": {"content-type": "text/event-stream"}}, True, ()),
        ({"body": SSE[:40], "headers": {"content-type": "text/event-stream"}}, True, (("no-end-mark", 1),)),
        ({"body": b'{"error": {"type": "x"}}'}, True, (("error-in-answer", 1),)),
    ],
)
def test_only_whole_answers_without_an_error_are_kept(kind, inner, reads, kept):
    """As at the proxy."""
    transport = kind(Mode.RECORD, URL, recordings=MemoryRecordings(), inner=_inner(kind, **inner))
    _ask(transport, reads=reads)
    assert (kept, 0 if kept else 1) == (transport.tally().not_kept, transport.tally().kept)


@kinds
def test_an_answer_that_breaks_off_is_an_error_and_not_kept(kind):
    """The client meets what it would have met."""
    transport = kind(Mode.RECORD, URL, recordings=MemoryRecordings(), inner=_inner(kind, breaks=True))
    with pytest.raises(httpx2.ReadError):
        _ask(transport)
    assert (("cut", 1),) == transport.tally().not_kept


@kinds
def test_an_answer_above_the_limit_passes_and_is_not_kept(kind):
    """Memory is bounded."""
    options = Options(kept_bytes=3)
    transport = kind(
        Mode.RECORD, URL, recordings=MemoryRecordings(), inner=_inner(kind, body=b"[1,2]"), options=options
    )
    assert (b"[1,2]", (("too-large", 1),)) == (_ask(transport)[2], transport.tally().not_kept)


@kinds
def test_what_cannot_be_kept_is_red_and_passes(kind):
    """The answer is not altered."""
    refuses = EvidenceProblem("not-clean", "a secret")
    transport = kind(Mode.RECORD, URL, recordings=MemoryRecordings(refuses=refuses), inner=_inner(kind))
    assert (b"{}", True) == (_ask(transport)[2], transport.tally().is_red)


@kinds
def test_live_passes_on_and_keeps_nothing(kind):
    """It only counts."""
    transport = kind(Mode.LIVE, URL, inner=_inner(kind))
    assert (b"{}", 1) == (_ask(transport)[2], transport.tally().upstream_calls)


@kinds
def test_a_replay_that_could_send_is_refused(kind):
    """So are modes without recordings and recordings without a mode for them."""
    for mode, parts, code in (
        (Mode.REPLAY, {"recordings": MemoryRecordings(), "inner": _inner(kind)}, "inner-not-used"),
        (Mode.REPLAY, {}, "recordings-needed"),
        (Mode.LIVE, {"recordings": MemoryRecordings()}, "recordings-not-used"),
    ):
        with pytest.raises(UsageProblem) as caught:
            kind(mode, URL, **parts)
        assert code == caught.value.code


@kinds
def test_a_damaged_recording_is_told_and_red(kind):
    """Neither a miss nor an answer."""
    replay = kind(Mode.REPLAY, URL, recordings=_recordings(b"a", headers=(("x", "a\r\nb"),)))
    assert b"recording-unsendable" in _ask(replay)[2]
    assert ["recording-unsendable"] == [one.code for one in replay.tally().troubles]
