# SPDX-License-Identifier: Apache-2.0
"""A real SDK, the observer and the fake endpoint: what the oracle knows is what the observer saw."""

import asyncio
import itertools
import json
import socket
from contextlib import suppress

import httpx2
import openai
import pytest

from truegreen.core.exchange import End
from truegreen.core.wire import WireClass, classify, repeated_request_ids
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Latency, PrefixCache, ResponseCache, Rule, Scenario
from truegreen.proxy.observer import Observer

WAIT_S = 10.0
MESSAGES = [{"role": "user", "content": "list the changes"}]
PLACES = ("before-head", "after-head", "midway", "before-end")
FAULTS = [
    *(Fault(kind="status", status=status, share=1) for status in (400, 401, 404, 408, 429, 500, 503)),
    *(Fault(kind="cut", at=at, share=1) for at in PLACES),
    *(Fault(kind="malformed", how=how, share=1) for how in ("json", "framing", "not-http")),
]
FLAKY = Rule(
    id="flaky",
    answer='{"added": ["é"]}',
    fails=("no JSON", "{}"),
    pass_rate=0.5,
    refuse_rate=0.1,
    truncate_rate=0.1,
)


@pytest.fixture
def world():
    """Start an endpoint and an observer before it."""
    started = []

    def start(*rules, **options):
        scenario = Scenario(seed="w", rules=rules, fingerprint="fp_w")
        endpoint = FakeEndpoint(scenario).start()
        started.append(endpoint)
        observer = Observer(endpoint.url, **options).start()
        started.append(observer)
        return endpoint, observer

    yield start
    for one in reversed(started):
        (one.stop if isinstance(one, FakeEndpoint) else one.close)()


def _raw(port, path, **more):
    """Every byte that comes back to one request, up to the close."""
    body = json.dumps({"model": "m", "messages": MESSAGES, **more}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nx-truegreen-sample: 1\r\nConnection: close\r\nContent-Length: {len(body)}"
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as conn:
        conn.sendall(head.encode() + b"\r\n\r\n" + body)
        while piece := conn.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [None, *FAULTS],
    ids=lambda fault: f"{fault.kind}-{fault.at}-{fault.how}-{fault.status}" if fault else "none",
)
def test_no_byte_changes_on_the_way(world, fault, stream):
    """Whatever the endpoint sends, whole or broken, a client gets the same with the observer and without."""
    rule = Rule(id="r", answer="añ" * 50, faults=(fault,) if fault else ())
    direct, _ = world(rule)
    _, observer = world(rule)
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    assert _raw(direct.port, "/v1/chat/completions", **more) == _raw(
        observer.port, "/s/0-1/chat/completions", **more
    )


def _class_of(call):
    """What the observer must say of a call that the oracle knows."""
    if call.fault == "status":
        transport = call.status == 429 or call.status >= 500
        return (WireClass.TRANSPORT if transport else WireClass.REJECTED), f"status-{call.status}"
    if call.fault == "cut":
        return WireClass.TRANSPORT, "closed-before-status" if call.status is None else "closed-without-end"
    if call.fault == "malformed":
        return WireClass.UNCLEAR, "not-http" if call.status is None else "not-json"
    return {
        "pass": (WireClass.ANSWERED, "complete"),
        "fail": (WireClass.ANSWERED, "complete"),
        "refusal": (WireClass.REFUSAL, "refusal"),
        "length": (WireClass.LENGTH, "length-stop"),
    }[call.outcome]


def test_the_observer_sees_what_the_oracle_knows(world):
    """Two hundred samples by the asynchronous SDK, streamed and not, with every fault: each is classed rightly."""
    faults = (
        Fault(kind="status", status=429, share=0.1, retry_after="0"),
        Fault(kind="status", status=500, share=0.1),
        Fault(kind="status", status=400, share=0.1),
        Fault(kind="cut", at="before-head", share=0.1),
        Fault(kind="cut", at="midway", share=0.1),
        Fault(kind="malformed", how="json", share=0.1),
    )
    rule = Rule(
        id="r", answer="[]", fails=("{}",), pass_rate=0.4, refuse_rate=0.2, truncate_rate=0.2, faults=faults,
        latency=Latency(law="exponential", ms=3, fail_factor=3),
    )  # fmt: skip
    endpoint, observer = world(rule, forward_sample=True)

    async def ask(number):
        client = openai.AsyncOpenAI(
            base_url=observer.base_url(f"0-{number}"), api_key="k", max_retries=0, http_client=pool
        )
        with suppress(openai.APIError, httpx2.HTTPError, ValueError):
            made = await client.chat.completions.create(model="m", messages=MESSAGES, stream=number % 2 == 0)
            if number % 2 == 0:
                async for _ in made:
                    pass

    async def ask_all():
        gate = asyncio.Semaphore(24)

        async def one(number):
            async with gate:
                await ask(number)

        await asyncio.gather(*(one(number) for number in range(200)))
        await pool.aclose()

    pool = openai.DefaultAsyncHttpxClient()
    asyncio.run(ask_all())
    assert 0 == observer.drain()
    known = {call.sample: call for call in endpoint.oracle().kept}
    seen = {exchange.token.removeprefix("0-"): exchange for exchange in observer.exchanges()}
    assert (200, known.keys()) == (observer.count, seen.keys())
    for number, call in known.items():
        reading = classify(seen[number])
        assert (number, _class_of(call)) == (number, (reading.kind, reading.reason))
        assert call.status == seen[number].status
    classes = {_class_of(call)[0] for call in known.values()}
    assert {
        WireClass.ANSWERED,
        WireClass.TRANSPORT,
        WireClass.REFUSAL,
        WireClass.LENGTH,
        WireClass.REJECTED,
        WireClass.UNCLEAR,
    } == classes


def test_the_synchronous_sdk_and_its_retries(world):
    """Its own retries are exchanges of one sample: two losses, then the sample's answer."""
    rule = Rule(
        id="r", answer="yes", prefix_cache=PrefixCache(tokens=2),
        faults=(Fault(kind="status", status=429, first=2, retry_after="0"),),
    )  # fmt: skip
    _, observer = world(rule, forward_sample=True)
    with openai.OpenAI(base_url=observer.base_url("3-7"), api_key="k", max_retries=2) as sdk:
        answer = sdk.chat.completions.create(model="m-asked", messages=MESSAGES)
    assert "yes" == answer.choices[0].message.content
    observer.drain()
    exchanges = observer.exchanges_of("3-7")
    assert [WireClass.TRANSPORT, WireClass.TRANSPORT, WireClass.ANSWERED] == [
        classify(exchange).kind for exchange in exchanges
    ]
    last = exchanges[-1]
    assert ("0", "m-asked", "m-asked", "fp_w", 2) == (
        exchanges[0].retry_after,
        last.model_asked,
        last.model_served,
        last.system_fingerprint,
        last.usage.cached_tokens,
    )
    assert answer._request_id == last.request_id
    assert answer.id == last.response_id


def test_a_streamed_answer_is_whole_with_its_usage(world):
    """Events arrive through the observer as the SDK expects them."""
    _, observer = world(Rule(id="r", answer="añb" * 20))
    with openai.OpenAI(base_url=observer.base_url("0-1"), api_key="k") as sdk:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        events = list(sdk.chat.completions.create(model="m", messages=MESSAGES, **options))
    assert "añb" * 20 == "".join(e.choices[0].delta.content or "" for e in events if e.choices)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert events[-1].usage.total_tokens == exchange.usage.total_tokens
    assert (End.COMPLETE, True, True) == (exchange.end, exchange.is_stream, exchange.end_mark)


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_gives_up_on_a_hang_is_not_transport(world, at, stream):
    """The SDK's own time limit closes first; only a stream whose end mark was out is an answer."""
    rule = Rule(id="r", answer="yes" * 20, faults=(Fault(kind="hang", at=at, share=1),))
    _, observer = world(rule)
    sdk = openai.OpenAI(base_url=observer.base_url("0-1"), api_key="k", max_retries=0, timeout=0.3)
    with sdk, pytest.raises((openai.APITimeoutError, httpx2.TimeoutException)):
        list(sdk.chat.completions.create(model="m", messages=MESSAGES, stream=stream) or ())
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (WireClass.CLIENT_CLOSED, "client-closed-first") == (
        classify(exchange).kind,
        classify(exchange).reason,
    )


def test_copies_out_of_a_response_cache_are_marked(world):
    """By the mark, by the repeated id, or by both; only a cache that hides both goes unseen on the wire."""
    for header, repeats in itertools.product(("X-Cache: HIT", ""), (True, False)):
        stored = ResponseCache(share=1, header=header, repeats_request_id=repeats)
        _, observer = world(Rule(id="r", answer="a", response_cache=stored))
        for number in range(3):
            _raw(observer.port, f"/s/0-{number}/chat/completions")
        observer.drain()
        exchanges = observer.exchanges()
        assert bool(header) is all("x-cache: HIT" in exchange.cache_marks for exchange in exchanges)
        assert repeats is bool(repeated_request_ids(exchanges))


def test_the_answer_of_a_sample_is_the_same_with_and_without_observer(world):
    """The number travels in the address or in the header; the outcome is that of prompt and number."""
    endpoint, observer = world(FLAKY, forward_sample=True)
    texts = []
    for base in (
        lambda n: f"http://127.0.0.1:{endpoint.port}/s/0-{n}/v1",
        lambda n: observer.base_url(f"9-{n}"),
    ):
        with openai.OpenAI(base_url=base(0), api_key="k") as sdk:
            made = [
                sdk.with_options(base_url=base(n)).chat.completions.create(model="m", messages=MESSAGES)
                for n in range(1, 21)
            ]
        texts.append([(one.choices[0].finish_reason, one.choices[0].message.content) for one in made])
    assert texts[0] == texts[1]
    assert 3 <= len(set(texts[0]))
