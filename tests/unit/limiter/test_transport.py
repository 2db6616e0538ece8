# SPDX-License-Identifier: Apache-2.0
"""Transports that ask for leave and repeat what may be repeated, against a real endpoint on loopback."""

import asyncio
import gc
import threading

import anthropic
import httpx2
import openai
import pytest

from simulators.limited import TIMEOUT_S, Limited
from truegreen.core.errors import ReachProblem
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Latency, Rule, Scenario
from truegreen.limiter.budget import BudgetRule
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.retry import RetryLimits

ANSWER = "a rather long answer that comes in several pieces"
CHAT = [{"role": "user", "content": "x"}]


def endpoint(*faults, latency=None):
    """An endpoint with these faults."""
    rule = Rule(id="all", answer=ANSWER, faults=faults, latency=latency or Latency())
    return FakeEndpoint(Scenario(seed="s", rules=(rule,)))


def status(number, first=1, **more):
    """The first arrivals get this status."""
    return Fault(kind="status", status=number, first=first, **more)


@pytest.fixture(params=["sync", "async"])
def limited(request):
    """Makes a transport for threads or for tasks."""
    return lambda **more: Limited(request.param, **more)


@pytest.mark.parametrize(
    ("fault", "calls", "waits", "final"),
    [
        (status(429, retry_after="1"), 2, [1.5], 200),
        (status(429, first=2, retry_after="1"), 3, [1.5, 1.5], 200),
        (status(429, first=9, retry_after="1"), 3, [1.5, 1.5], 429),
        (status(429, first=9), 3, [0.5, 1.0], 429),
        (status(429, first=9, should_retry="false"), 1, [], 429),
        (status(429, first=9, retry_after="301"), 1, [], 429),
        (status(429, first=9, retry_after="Fri, 31 Dec 9999 23:59:59 GMT"), 1, [], 429),
        (status(500), 2, [0.5], 200),
        (status(529, first=9), 2, [0.5], 529),
        (status(503, retry_after="120"), 2, [120.5], 200),
        *(
            (status(number, first=9, should_retry="true"), 1, [], number)
            for number in (400, 401, 404, 408, 409, 422)
        ),
        (status(404, first=9, retry_after="5"), 1, [], 404),
    ],
)
def test_a_status_is_repeated_by_its_class(limited, fault, calls, waits, final):
    """Every attempt has its leave, every leave comes back, and what stands tells others to let it be."""
    made = limited()
    with endpoint(fault) as running:
        answer = made.send(running.url)
        assert (final, calls) == (answer.status_code, running.oracle().calls)
    assert (waits, set(), calls) == (made.waits, made.ledger.in_flight, len(made.ledger.given_back))
    assert (None if final == 200 else "false") == answer.headers.get("x-should-retry")
    assert answer.content
    assert len({ask.call for ask in made.ledger.asked}) == 1


@pytest.mark.parametrize("retry_as", ["seconds", "milliseconds", "imf-date", "rfc850-date", "asctime-date"])
def test_every_form_of_a_told_wait_is_waited(limited, retry_as):
    """By the endpoint's own clock, never sooner."""
    made = limited()
    with endpoint(status(429, retry_in_s=2.0, retry_as=retry_as)) as running:
        assert 200 == made.send(running.url).status_code
    (wait,) = made.waits
    assert 2.5 <= wait <= 3.5
    assert wait - 0.5 == made.ledger.given_back[0][2].pause_s


@pytest.mark.parametrize("at", ["before-head", "after-head", "midway"])
def test_an_answer_that_is_cut_is_repeated_once(limited, at):
    """Also in the middle of a body: it was not handed on yet."""
    made = limited()
    with endpoint(Fault(kind="cut", at=at, first=1)) as running:
        assert ANSWER in made.send(running.url).text
        assert 2 == running.oracle().calls
    made = limited()
    with endpoint(Fault(kind="cut", at=at, first=9)) as running:
        assert isinstance(made.send(running.url), httpx2.TransportError)
        assert (2, set()) == (running.oracle().calls, made.ledger.in_flight)


def test_a_time_out_is_repeated_once_and_its_duration_is_taken_down(limited, tmp_path):
    """B28: the client's own limit for one attempt."""
    log = CallLog(tmp_path / "calls.jsonl")
    made = limited(log=log)
    with endpoint(Fault(kind="hang", first=9)) as running:
        assert isinstance(made.send(running.url, timeout_s=0.2), httpx2.ReadTimeout)
        assert 2 == running.oracle().calls
    log.close()
    lines = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert 2 == sum('"end":"timeout"' in line and '"took_s":0.' in line for line in lines)


def test_an_endpoint_that_is_not_there_is_asked_twice(limited):
    """A transport fault."""
    made = limited()
    assert isinstance(made.send("http://127.0.0.1:9/v1"), httpx2.ConnectError)
    assert (2, [0.5]) == (len(made.ledger.given_back), made.waits)


@pytest.mark.parametrize(("error", "calls"), [(503, 2), (429, 3), (400, 1)])
def test_an_error_inside_a_stream_has_its_class(limited, error, calls):
    """A 200 whose first event is an error is not handed on before it is ruled on; one in the middle cannot be taken back."""
    made = limited(reads_streams=True)
    with endpoint(Fault(kind="error-inside", status=error, first=9)) as running:
        made.send(running.url, stream=True)
        assert (calls, set()) == (running.oracle().calls, made.ledger.in_flight)


@pytest.mark.parametrize(("path", "body"), [("/chat/completions", {}), ("/messages", {"max_tokens": 9})])
def test_a_stream_without_its_end_mark_is_no_answer(limited, path, body):
    """Proper framing and no end: the caller is told at its end; read whole first, it is repeated once."""
    cut = Fault(kind="cut", at="before-end", first=1)
    made = limited()
    with endpoint(cut) as running:
        assert isinstance(made.send(running.url, path=path, stream=True, **body), httpx2.RemoteProtocolError)
        assert (1, set()) == (running.oracle().calls, made.ledger.in_flight)
    made = limited(reads_streams=True)
    with endpoint(cut) as running:
        assert 200 == made.send(running.url, path=path, stream=True, **body).status_code
        assert 2 == running.oracle().calls
    made = limited(reads_streams=True)
    with endpoint(Fault(kind="cut", at="before-end", first=9)) as running:
        assert isinstance(made.send(running.url, path=path, stream=True, **body), httpx2.RemoteProtocolError)
        assert 2 == running.oracle().calls


@pytest.mark.parametrize(("at", "calls"), [("after-head", 2), ("midway", 1)])
def test_a_stream_that_breaks_off_is_repeated_only_before_its_first_piece(limited, at, calls):
    """Afterwards the caller is told; the attempt is no answer either way."""
    made = limited()
    with endpoint(Fault(kind="cut", at=at, first=1)) as running:
        answer = made.send(running.url, stream=True)
        assert (calls, set()) == (running.oracle().calls, made.ledger.in_flight)
    assert (200 if calls == 2 else None) == getattr(answer, "status_code", None)
    assert False is made.ledger.given_back[0][2].is_answered


def test_a_spent_budget_ends_repeating_for_all_calls(limited):
    """Two repetitions for the run, whoever makes the calls."""
    made = limited(log=CallLog(rule=BudgetRule(reserve=2, percent=0)))
    with endpoint(status(429, first=99, retry_after="1")) as running:
        for prompt in "abc":
            made.send(running.url, prompt=prompt)
        assert 3 + 2 == running.oracle().calls


def test_without_leave_nothing_is_sent(limited):
    """Not called, not repeated."""
    made = limited(places=0)
    with endpoint() as running:
        with pytest.raises(ReachProblem, match="leave-refused"):
            made.send(running.url)
        assert 0 == running.oracle().calls


def test_a_retry_of_an_sdk_is_not_sent(limited):
    """It is answered with the cure."""
    made = limited()
    with endpoint() as running:
        answer = made.send(
            running.url, headers={"x-stainless-retry-count": "1", "user-agent": "OpenAI/Python"}
        )
        assert (400, 0) == (answer.status_code, running.oracle().calls)
    assert ("sdk-retries-enabled", "false") == (
        answer.json()["error"]["code"],
        answer.headers["x-should-retry"],
    )
    assert "openai-sdk" in answer.text


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (status(429, first=99, retry_after="1"), 3),
        (status(503, first=99), 2),
        (status(409, first=99), 1),
        (Fault(kind="cut", first=99), 2),
    ],
)
def test_the_openai_sdk_makes_the_attempts_of_one_layer(retries, fault, calls):
    """B1 to B4: whether somebody forgot max_retries=0 or not, attempts are those of the table."""
    made = Limited("sync")
    with endpoint(fault) as running:
        client = openai.OpenAI(
            base_url=running.url,
            api_key="none",
            max_retries=retries,
            http_client=httpx2.Client(transport=made.transport),
        )
        with pytest.raises(openai.APIError):
            client.chat.completions.create(model="m", messages=CHAT)
        client.close()
        assert (calls, set()) == (running.oracle().calls, made.ledger.in_flight)


def test_the_openai_sdk_streams_and_the_lease_lasts_as_long():
    """In flight until the end mark was read and the stream closed; usage settles the reservation."""
    made = Limited("sync")
    with endpoint() as running:
        client = openai.OpenAI(
            base_url=running.url,
            api_key="none",
            max_retries=0,
            http_client=httpx2.Client(transport=made.transport),
        )
        with client.chat.completions.create(
            model="m", messages=CHAT, stream=True, stream_options={"include_usage": True}
        ) as stream:
            first = next(iter(stream))
            assert 1 == len(made.ledger.in_flight)
            rest = "".join(part.choices[0].delta.content or "" for part in stream if part.choices)
        client.close()
    assert ANSWER == (first.choices[0].delta.content or "") + rest
    ((_, used, pressure),) = made.ledger.given_back
    assert (True, True) == (used > 0, pressure.is_answered)


def test_the_anthropic_sdk_streams_and_is_repeated():
    """A 529 first, then the answer."""
    made = Limited("sync")
    with endpoint(status(529, per="prompt")) as running:
        client = anthropic.Anthropic(
            base_url=running.url.removesuffix("/v1"),
            api_key="none",
            max_retries=0,
            http_client=httpx2.Client(transport=made.transport),
        )
        with client.messages.stream(model="m", max_tokens=50, messages=CHAT) as stream:
            assert ANSWER == "".join(stream.text_stream)
        client.close()
        assert (2, set()) == (running.oracle().calls, made.ledger.in_flight)
    assert 50 == made.ledger.asked[0].output_tokens


def openai_client(url, made):
    """OpenAI's client of the transport's kind."""
    if made.kind == "async":
        http_client = httpx2.AsyncClient(transport=made.transport, timeout=TIMEOUT_S)
        return openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http_client)
    http_client = httpx2.Client(transport=made.transport, timeout=TIMEOUT_S)
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http_client)


def anthropic_client(url, made):
    """Anthropic's client of the transport's kind."""
    url = url.removesuffix("/v1")
    if made.kind == "async":
        http_client = httpx2.AsyncClient(transport=made.transport, timeout=TIMEOUT_S)
        return anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0, http_client=http_client)
    http_client = httpx2.Client(transport=made.transport, timeout=TIMEOUT_S)
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, http_client=http_client)


def chat(client, *, stream):
    """OpenAI's chat completions."""
    return client.chat.completions.create(model="m", messages=CHAT, stream=stream)


def responses(client, *, stream):
    """OpenAI's responses."""
    return client.responses.create(model="m", input="x", stream=stream)


def messages(client, *, stream):
    """Anthropic's messages."""
    return client.messages.create(model="m", max_tokens=50, messages=CHAT, stream=stream)


def text_of(answer):
    """The text of a whole answer or of one event, whatever API it is of."""
    found = []
    for one in (answer, getattr(answer, "message", None), getattr(answer, "delta", None)):
        for choice in getattr(one, "choices", None) or ():
            said = getattr(choice, "delta", None) or choice.message
            found.append(said.content or "")
        found += [part.text for part in getattr(one, "content", None) or () if hasattr(part, "text")]
        if isinstance(getattr(one, "output_text", None), str):
            found.append(one.output_text)
    delta = getattr(answer, "delta", None)
    if isinstance(delta, str):
        found.append(delta)
    elif isinstance(getattr(delta, "text", None), str):
        found.append(delta.text)
    return "".join(found)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("make", "call"), [(openai_client, chat), (openai_client, responses), (anthropic_client, messages)]
)
def test_every_api_of_the_sdks_is_repeated_and_answered(limited, make, call, stream):
    """Overloaded first, then the answer, whole or as a stream; every lease comes back."""
    made = limited()

    async def task(url):
        async with make(url, made) as client:
            answer = await call(client, stream=stream)
            if not stream:
                return text_of(answer)
            async with answer as events:
                return "".join([text_of(event) async for event in events])

    def plainly(url):
        with make(url, made) as client:
            answer = call(client, stream=stream)
            if not stream:
                return text_of(answer)
            with answer as events:
                return "".join([text_of(event) for event in events])

    with endpoint(status(529, per="prompt")) as running:
        text = asyncio.run(task(running.url)) if made.kind == "async" else plainly(running.url)
        assert (ANSWER, 2, set()) == (text, running.oracle().calls, made.ledger.in_flight)
    assert made.ledger.given_back[1][2].is_answered


SLOW = Latency(piece_ms=30_000)


def opened(client, running):
    """A stream of which the first piece has come and the rest will not for long."""
    body = {"model": "m", "messages": CHAT, "stream": True}
    return client.stream("POST", running.url + "/chat/completions", json=body)


def test_a_stream_that_is_closed_early_frees_its_lease():
    """B7: the caller left; that is no answer and no fault of the endpoint."""
    made = Limited("sync")
    with endpoint(latency=SLOW) as running:
        with (
            httpx2.Client(transport=made.transport, timeout=TIMEOUT_S) as client,
            opened(client, running) as answer,
        ):
            pieces = answer.iter_raw()
            next(pieces)
            assert 1 == len(made.ledger.in_flight)
        assert set() == made.ledger.in_flight
    assert False is made.ledger.given_back[0][2].is_answered


def test_a_stream_that_nobody_holds_frees_its_lease():
    """Forgotten without being closed."""
    made = Limited("sync")
    with endpoint(latency=SLOW) as running:
        request = httpx2.Request(
            "POST", running.url + "/chat/completions", json={"model": "m", "messages": CHAT, "stream": True}
        )
        answer = made.transport.handle_request(request)
        assert 1 == len(made.ledger.in_flight)
        del answer
        gc.collect()
        assert set() == made.ledger.in_flight
        made.transport.close()


def test_an_interrupt_hands_leave_back():
    """Ctrl-C in the middle of sending."""

    class Interrupted(httpx2.BaseTransport):
        def handle_request(self, request):
            raise KeyboardInterrupt

    made = Limited("sync", inner=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        made.send("http://127.0.0.1:9/v1")
    assert (1, set()) == (len(made.ledger.given_back), made.ledger.in_flight)


def test_threads_share_one_transport():
    """Twenty calls at once through one door."""
    made = Limited("sync")
    with endpoint(status(429, retry_after="1")) as running:
        client = httpx2.Client(transport=made.transport, timeout=TIMEOUT_S)
        codes = []

        def call(number):
            body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
            headers = {"x-truegreen-sample": "1"}
            codes.append(
                client.post(running.url + "/chat/completions", json=body, headers=headers).status_code
            )

        threads = [threading.Thread(target=call, args=(number,)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ([200] * 10, 20) == (codes, running.oracle().calls)
        client.close()
    assert set() == made.ledger.in_flight


def test_the_deadline_of_a_call_ends_it(limited):
    """Nothing more begins after it."""
    made = limited(limits=RetryLimits(total_s=1.0))
    with endpoint(status(429, first=9, retry_after="1")) as running:
        assert 429 == made.send(running.url).status_code
        assert 1 == running.oracle().calls


def test_a_transport_of_the_other_kind_inside_is_an_error(limited):
    """Nothing hangs on it."""
    made = limited()

    class Wrong(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
        def handle_request(self, request):
            return httpx2.Response(200, stream=object.__new__(httpx2.AsyncByteStream))

        async def handle_async_request(self, request):
            return httpx2.Response(200, stream=object.__new__(httpx2.SyncByteStream))

    made.transport._inner = Wrong()
    with pytest.raises(TypeError, match="ynchronous transport gave"):
        made.send("http://127.0.0.1:9/v1")
    assert set() == made.ledger.in_flight
