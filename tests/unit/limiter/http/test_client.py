# SPDX-License-Identifier: Apache-2.0
"""The ledger as a client sees it: threads and tasks against a real service, and services that are not there."""

import asyncio
import hashlib
import socket
import threading
import time

import pytest

from simulators.limiter_service import Running, running
from truegreen.core.admission import Ask, Pressure
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter.http.client import AsyncHttpLimiter, HttpLimiter
from truegreen.limiter.http.talk import Address
from truegreen.limiter.http.tokens import Tokens
from truegreen.limiter.limits import Limits, checked

TOKEN = "one-" + "a" * 32
NOTHING = Pressure()


@pytest.fixture
def service():
    """One place."""
    with running({"in_flight": 1}) as it:
        yield it


@pytest.fixture
def opened():
    """Makes ledgers, and closes them after the test."""
    made = []

    def make(url, *, patience_s=0.0, **given):
        made.append(HttpLimiter(Address(url=url, patience_s=patience_s, **given)))
        return made[-1]

    yield make
    for ledger in made:
        ledger.close()


def test_leave_is_given_and_handed_back(service, opened):
    """With what was asked; handing back twice is harmless."""
    ledger = opened(service.url)
    ask = Ask(holder="job", prompt_tokens=3)
    leave = ledger.enter(ask)
    assert (1, "job", 3) == (leave.ticket, leave.ask.holder, leave.ask.prompt_tokens)
    assert 1 == len(service.numbers()["in_flight"])
    ledger.give_back(leave, used_tokens=5, pressure=NOTHING)
    ledger.give_back(leave, used_tokens=5, pressure=NOTHING)
    assert [] == service.numbers()["in_flight"]


def test_threads_leave_one_after_another_in_the_order_of_asking(service, opened):
    """Never two at once, by ticket."""
    ledger = opened(service.url)
    inside, most, tickets = [], [], []

    def call():
        leave = ledger.enter(Ask())
        inside.append(1)
        most.append(len(inside))
        tickets.append(leave.ticket)
        inside.pop()
        ledger.give_back(leave, used_tokens=None, pressure=NOTHING)

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (1, sorted(tickets), 12) == (max(most), tickets, len(tickets))


def test_a_pause_of_one_is_a_pause_of_all(service, opened):
    """What one client was told by the endpoint holds the other."""
    one, other = opened(service.url), opened(service.url)
    one.give_back(one.enter(Ask()), used_tokens=None, pressure=Pressure(pause_s=20, is_overload=True))
    with pytest.raises(ReachProblem, match="leave would take") as caught:
        other.enter(Ask(wait_s=1))
    assert "leave-refused" == caught.value.code


def test_a_task_that_is_cancelled_gives_its_place_in_the_queue_back(service):
    """The next one leaves, and nothing stays in flight."""

    async def story():
        ledger = AsyncHttpLimiter(Address(url=service.url, patience_s=0.0))
        first = await ledger.enter(Ask())
        waiting = asyncio.create_task(ledger.enter(Ask()))
        for _ in range(1000):
            if service.numbers()["waiting"] == 1:
                break
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await ledger.give_back(first, used_tokens=None, pressure=NOTHING)
        last = await ledger.enter(Ask(wait_s=5))
        await ledger.give_back(last, used_tokens=None, pressure=NOTHING)
        await ledger.aclose()
        return last.ticket

    assert 3 == asyncio.run(story())
    assert [] == service.numbers()["in_flight"]


def test_a_call_longer_than_its_lease_keeps_its_place(opened):
    """Signs of life come by themselves, from threads and from tasks."""
    with running({"in_flight": 1, "lease_ns": 300_000_000}) as service:
        ledger = opened(service.url)
        leave = ledger.enter(Ask())
        time.sleep(0.8)
        assert (1, 0) == (len(service.numbers()["in_flight"]), service.numbers()["counts"]["expired"])
        ledger.give_back(leave, used_tokens=None, pressure=NOTHING)

        async def story():
            tasks = AsyncHttpLimiter(Address(url=service.url))
            leave = await tasks.enter(Ask())
            await asyncio.sleep(0.8)
            counted = service.numbers()["counts"]["expired"]
            await tasks.give_back(leave, used_tokens=None, pressure=NOTHING)
            await tasks.aclose()
            return counted

        assert 0 == asyncio.run(story())


def test_a_service_that_is_not_there_is_named_and_nothing_is_called(opened):
    """Fail closed: an error, not leave."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ReachProblem, match=url) as caught:
            opened(url).enter(Ask())
    assert "limiter-unreachable" == caught.value.code


def test_whoever_does_not_wait_is_not_kept_by_a_service_that_is_away(opened, monkeypatch):
    """Threads and tasks: the ask and the word that it is over are each said once, with no pause between."""
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ReachProblem, match="cannot be reached"):
            opened(url, patience_s=60).enter(Ask(wait_s=0))

        async def ask():
            ledger = AsyncHttpLimiter(Address(url=url, patience_s=60))
            try:
                async with asyncio.timeout(30):
                    await ledger.enter(Ask(wait_s=0))
            finally:
                await ledger.aclose()

        with pytest.raises(ReachProblem, match="cannot be reached"):
            asyncio.run(ask())
    assert [] == pauses


def test_a_service_that_comes_back_within_patience_is_found(opened):
    """A restart does not fail the jobs that ask meanwhile."""
    service = Running(checked(Limits(in_flight=1)))
    ledger = opened(service.url, patience_s=20)
    later = threading.Timer(0.3, service.start)
    later.start()
    leave = ledger.enter(Ask())
    ledger.give_back(leave, used_tokens=None, pressure=NOTHING)
    service.stop()
    service.join()


def test_the_token_goes_along_and_is_never_shown(opened):
    """Without it: token-refused; with it: leave. No text holds it."""
    tokens = Tokens(((hashlib.sha256(TOKEN.encode()).digest(), "team-a"),))
    with running({"in_flight": 1}, tokens=tokens) as service:
        ledger = opened(service.url, token=TOKEN)
        ledger.give_back(ledger.enter(Ask()), used_tokens=None, pressure=NOTHING)
        with pytest.raises(ReachProblem) as caught:
            opened(service.url, token="two-" + "b" * 32).enter(Ask())
    assert "token-refused" == caught.value.code
    assert TOKEN not in f"{Address(url=service.url, token=TOKEN)!r}{caught.value}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", "not what was asked"),
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\n<html", "status 502"),
        (b'HTTP/1.1 500 X\r\ncontent-length: 25\r\n\r\n{"code":"x","message":"y"}', "x: y"),
    ],
)
def test_anything_but_an_answer_of_the_limiter_is_no_leave(answer, told, opened):
    """Another program on that port, or something between us and the limiter."""
    answer = answer.replace(b"25\r\n", b"26\r\n")
    with socket.create_server(("127.0.0.1", 0)) as other:

        def speak():  # the ask, and what takes it back
            for _ in range(2):
                connection, _ = other.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=speak)
        thread.start()
        ledger = opened(f"http://127.0.0.1:{other.getsockname()[1]}")
        with pytest.raises(ReachProblem, match=told) as caught:
            ledger.enter(Ask())
        thread.join(10)
        assert "limiter-answered-otherwise" == caught.value.code


@pytest.mark.parametrize(
    "url",
    [
        *("", "redis://x", "http://", "http://user:pw@h:1", "http://h:1/?a=b", "127.0.0.1:1"),
        *("http://127.0.0.1:1:2", "http://[::1", "https://h:99999", "http://h:0", "http://h:x"),
    ],
)
def test_an_address_of_another_kind_is_a_usage_error(url):
    """And a password in it is not shown."""
    with pytest.raises(UsageProblem) as caught:
        HttpLimiter(Address(url=url))
    assert ("bad-limiter-address", False) == (caught.value.code, "pw" in str(caught.value))


@pytest.mark.parametrize("kind", [HttpLimiter, AsyncHttpLimiter])
@pytest.mark.parametrize("token", ["se\ncret", "sécret", "se cret", "secret\r\nx-a: b", "secret\x00"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(kind, token):
    """Neither in the message nor in the hint; a library's own message would hold all of it."""
    with pytest.raises(UsageProblem) as caught:
        kind(Address(url="http://127.0.0.1:1", token=token))
    told = f"{caught.value.message}{caught.value.hint}{caught.value.__cause__}"
    assert ("bad-limiter-token", False) == (caught.value.code, "cret" in told)
