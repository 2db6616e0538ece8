# SPDX-License-Identifier: Apache-2.0
"""The proxy as a whole over real sockets: one mode, from start to end."""

import asyncio
import json
import socket
import threading

import pytest
from wire_kit import answer, completion, read_response, request

from simulators.admission import MemoryAdmission
from simulators.recordings import MemoryRecordings
from truegreen.core.admission import Again
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.exchange import End
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.visit import Visit

DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def echo(upstream):
    """An upstream that answers every request on a connection."""
    return upstream(lambda call: call.send(answer()) or True)


def _ask(client, proxy, sent=None):
    conn = client(proxy.port)
    conn.sendall(sent or request())
    return read_response(conn)


def _parts(data: bytes):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rows = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
    return int(first.split()[1]), headers, body


def test_live_passes_bytes_as_they_are(echo, serve, client):
    """Without limits the answer is the upstream's, byte for byte, and so is what the upstream was asked."""
    proxy = serve(Mode.LIVE, echo.url)
    assert answer() == _ask(client, proxy)
    assert "POST /v1/chat/completions HTTP/1.1" == echo.calls[0].line
    assert f"127.0.0.1:{echo.port}" == echo.calls[0].header("host")
    proxy.close()
    tally = proxy.tally()
    assert (1, 1, 0, False) == (tally.requests, tally.upstream_calls, tally.retries, tally.is_red)
    assert [(End.COMPLETE, "served-1")] == [(one.end, one.model_served) for one in proxy.exchanges()]


def test_what_was_recorded_is_replayed_without_the_upstream(echo, serve, client):
    """Record once, take the upstream away, and get the same answer with the mark of a replay."""
    recordings = MemoryRecordings()
    recorder = serve(Mode.RECORD, echo.url, recordings=recordings)
    assert answer() == _ask(client, recorder)
    recorder.close()
    assert 1 == recorder.tally().kept
    replay = serve(Mode.REPLAY, DEAD, recordings=recordings.rewound())
    status, headers, body = _parts(_ask(client, replay))
    assert (200, completion()) == (status, json.loads(body))
    assert "replayed" == headers["x-truegreen-answer"]
    replay.close()
    tally = replay.tally()
    assert (1, 1, (), 0, False) == (
        tally.requests,
        tally.hits,
        tally.misses,
        tally.upstream_calls,
        tally.is_red,
    )
    assert ["served-1"] == [one.model_served for one in replay.exchanges()]


def test_a_miss_is_an_answer_that_nobody_repeats_and_stays_in_the_tally(echo, serve, client):
    """The client gets 424 with the difference named; the upstream gets nothing; the session is red."""
    proxy = serve(Mode.REPLAY, echo.url, recordings=MemoryRecordings())
    status, headers, body = _parts(_ask(client, proxy))
    assert (424, "false") == (status, headers["x-should-retry"])
    error = json.loads(body)["error"]
    assert ("cassette-missing", "$.messages[0].content") == (error["code"], error["param"])
    proxy.close()
    assert (0, True) == (len(echo.calls), proxy.tally().is_red)
    assert ["cassette-missing"] == [miss.code for miss in proxy.tally().misses]


def test_a_miss_of_an_anthropic_request_has_its_vendors_shape(serve, client):
    """The SDK reads ``error.message``; no body is sent for HEAD."""
    proxy = serve(Mode.REPLAY, DEAD, recordings=MemoryRecordings())
    document = json.loads(_parts(_ask(client, proxy, request("/v1/messages")))[2])
    assert ("error", "invalid_request_error") == (document["type"], document["error"]["type"])
    assert "no recording answers POST /v1/v1/messages [cassette-missing]" == document["error"]["message"]


def test_identical_requests_get_their_answers_in_order(upstream, serve, client):
    """a, b, then a miss: never the last one again."""
    texts = iter(("a", "b"))
    source = upstream(lambda call: call.send(answer(json.dumps(completion(next(texts))).encode())) or True)
    recordings = MemoryRecordings()
    recorder = serve(Mode.RECORD, source.url, recordings=recordings)
    for _ in range(2):
        _ask(client, recorder)
    recorder.close()
    replay = serve(Mode.REPLAY, DEAD, recordings=recordings.rewound())
    said = [_parts(_ask(client, replay)) for _ in range(3)]
    contents = [json.loads(body)["choices"][0]["message"]["content"] for _, _, body in said[:2]]
    assert (["a", "b"], 424) == (contents, said[2][0])


@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD])
def test_a_mode_without_recordings_is_refused(mode):
    """There is nothing to fall back to."""
    with pytest.raises(UsageProblem) as caught:
        ModelProxy(mode, DEAD)
    assert "recordings-needed" == caught.value.code


def test_live_with_recordings_is_refused():
    """A setting that does nothing is an error."""
    with pytest.raises(UsageProblem) as caught:
        ModelProxy(Mode.LIVE, DEAD, recordings=MemoryRecordings())
    assert "recordings-not-used" == caught.value.code


def test_replay_takes_no_leave_and_live_and_record_read_no_recording(echo, serve, client):
    """Each mode touches only what is its own."""
    recordings, admission = MemoryRecordings(), MemoryAdmission()
    recorder = serve(Mode.RECORD, echo.url, recordings=recordings, admission=admission)
    _ask(client, recorder)
    recorder.close()
    assert ([], 1) == (recordings.asked, len(admission.asks))
    replay = serve(Mode.REPLAY, echo.url, recordings=recordings, admission=admission)
    _ask(client, replay)
    replay.close()
    assert (1, 1, 0) == (len(admission.asks), len(echo.calls), replay.tally().upstream_calls)


def test_record_and_live_never_answer_from_a_recording(serve, client, upstream):
    """An upstream that is gone is a 502, although a recording is there."""
    echo = upstream(lambda call: call.send(answer()) or True)
    recordings = MemoryRecordings()
    first = serve(Mode.RECORD, echo.url, recordings=recordings)
    _ask(client, first)
    first.close()
    again = serve(Mode.RECORD, _closed_port(), recordings=recordings)
    status, headers, body = _parts(_ask(client, again))
    assert (502, "upstream-refused") == (status, json.loads(body)["error"]["code"])
    assert "false" == headers["x-should-retry"]
    again.close()
    assert [("cut", 1)] == list(again.tally().not_kept)


def _closed_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_a_recording_that_cannot_be_kept_alters_no_answer_and_turns_the_session_red(echo, serve, client):
    """The client is served; the run fails."""
    recordings = MemoryRecordings(refuses=EvidenceProblem("not-clean", "a secret cannot be cleaned out"))
    proxy = serve(Mode.RECORD, echo.url, recordings=recordings)
    assert answer() == _ask(client, proxy)
    proxy.close()
    assert (["not-clean"], True) == ([one.code for one in proxy.tally().troubles], proxy.tally().is_red)


def test_the_canary_holds_a_proxy_that_would_answer(echo):
    """A replay whose recordings answer anything at all does not start."""

    class Forthcoming(MemoryRecordings):
        def play(self, asked):
            return self.kept[0][1]

    recordings = Forthcoming()
    with (
        ModelProxy(Mode.RECORD, echo.url, recordings=recordings) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as conn,
    ):
        conn.sendall(request())
        read_response(conn)
    with pytest.raises(ReachProblem) as caught:
        ModelProxy(Mode.REPLAY, DEAD, recordings=recordings).start()
    assert "canary-not-held" == caught.value.code


def test_the_canary_holds_a_proxy_that_would_forward(echo, monkeypatch):
    """If replay ever forwarded, nothing would run: the canary meets the upstream's answer and says so."""
    from truegreen.proxy import visit

    async def forwards(self, whole, *, is_canary):
        from truegreen.proxy.call import Call
        from truegreen.proxy.uplink import Uplink

        uplink = Uplink(self._shared.upstream, limit_s=10)
        try:
            return await Call(whole, shared=self._shared, uplink=uplink, out=self._out).run()
        finally:
            uplink.drop()

    monkeypatch.setattr(visit.Visit, "_play", forwards)
    with pytest.raises(ReachProblem) as caught:
        ModelProxy(Mode.REPLAY, echo.url, recordings=MemoryRecordings()).start()
    assert "canary-not-held" == caught.value.code


def test_the_canary_is_no_miss(serve):
    """A session that nobody used is green, and its canary was asked."""
    recordings = MemoryRecordings()
    proxy = serve(Mode.REPLAY, DEAD, recordings=recordings)
    proxy.close()
    assert (1, 0, False) == (len(recordings.asked), proxy.tally().requests, proxy.tally().is_red)


def test_attempts_enter_send_leave_and_come_again(upstream, serve, client):
    """429 is held back, repeated after the wait, and the client sees only the answer that stands."""
    answers = iter((answer(b"{}", status="429 Too Many", headers=("Retry-After: 1",)), answer()))
    source = upstream(lambda call: call.send(next(answers)) or True)
    admission = MemoryAdmission(Again(wait_s=0, reason="429-told"))
    proxy = serve(Mode.LIVE, source.url, admission=admission)
    assert answer() == _ask(client, proxy)
    proxy.close()
    assert [(429, ("1",)), (200, ())] == [(one.status, one.retry_after) for one in admission.ended]
    assert [0, 1] == [len(earlier) for earlier in admission.earlier]
    tally = proxy.tally()
    assert (1, 2, 1, 0.5) == (tally.requests, tally.upstream_calls, tally.retries, tally.waited_s)
    assert 0 == admission.inside


def test_it_leaves_no_thread(echo, serve, client):
    """After ``close`` nothing runs on."""
    before = threading.active_count()
    proxy = serve(Mode.RECORD, echo.url, recordings=MemoryRecordings())
    _ask(client, proxy)
    proxy.close()
    proxy.close()
    while threading.active_count() > before:
        pass
    assert before == threading.active_count()


def test_a_port_that_is_taken_is_one_clear_error(echo):
    """Not a traceback of asyncio."""
    with pytest.raises(ReachProblem) as caught:
        ModelProxy(Mode.LIVE, echo.url, options=Options(port=echo.port)).start()
    assert "proxy-failed" == caught.value.code


def test_a_proxy_starts_once(echo, serve):
    """Its counts begin at one start."""
    proxy = serve(Mode.LIVE, echo.url)
    with pytest.raises(UsageProblem) as caught:
        proxy.start()
    assert "proxy-started" == caught.value.code


def test_a_sample_has_an_address_of_its_own(upstream, serve, client):
    """Its token is seen in the exchange, and the upstream gets its number only where that was asked for."""
    source = upstream(lambda call: call.send(answer()) or True)
    options = Options(forwards_sample=True)
    proxy = serve(Mode.LIVE, source.url, options=options)
    assert f"http://127.0.0.1:{proxy.port}/s/4-2" == proxy.base_url("4-2")
    _ask(client, proxy, request("/s/4-2/chat/completions"))
    assert ("POST /v1/chat/completions HTTP/1.1", "2") == (
        source.calls[0].line,
        source.calls[0].header("x-truegreen-sample"),
    )
    proxy.close()
    assert ["4-2"] == [one.token for one in proxy.exchanges()]
    with pytest.raises(UsageProblem) as caught:
        proxy.base_url("a/b")
    assert "bad-token" == caught.value.code


def test_an_error_inside_is_raised_at_the_end(echo, client):
    """A recorder that breaks in a way that nobody planned is no green run."""

    class Broken(MemoryRecordings):
        def keep(self, asked, answered):
            raise ZeroDivisionError("of the test")

    proxy = ModelProxy(Mode.RECORD, echo.url, recordings=Broken()).start()
    assert answer() == _ask(client, proxy)
    with pytest.raises(ReachProblem, match="ZeroDivisionError") as caught:
        proxy.close()
    assert "proxy-failed" == caught.value.code


def test_the_end_is_awaited_in_the_proxys_own_loop(echo):
    """Whatever was made in it can be closed in it."""
    ended = []

    async def at_end():
        ended.append(asyncio.get_running_loop())

    with ModelProxy(Mode.LIVE, echo.url, options=Options(at_end=at_end)) as proxy:
        assert (Mode.LIVE, f"127.0.0.1:{echo.port}") == (proxy.mode, proxy.host)
    assert [proxy._listener.loop] == ended


def test_a_proxy_that_answers_for_another_mode_does_not_start(echo, monkeypatch):
    """The canary asks before anybody else does."""
    monkeypatch.setattr(Visit, "_say_health", _says_live)
    with pytest.raises(ReachProblem, match="'replay'") as caught:
        ModelProxy(Mode.REPLAY, echo.url, recordings=MemoryRecordings()).start()
    assert "canary-not-held" == caught.value.code


async def _says_live(self, _whole):
    await self._send(b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"mode": "live"}')
    return True


def test_a_proxy_that_does_not_answer_does_not_start(echo, monkeypatch):
    """A close instead of an answer is not a mode."""

    async def hangs_up(self, _whole):
        return False

    monkeypatch.setattr(Visit, "_say_health", hangs_up)
    with pytest.raises(ReachProblem) as caught:
        ModelProxy(Mode.LIVE, echo.url).start()
    assert "canary-not-held" == caught.value.code
