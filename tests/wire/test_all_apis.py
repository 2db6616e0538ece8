# SPDX-License-Identifier: Apache-2.0
"""The real SDKs, synchronous, asynchronous and streaming, ask every API of the fake endpoint through the observer."""

import asyncio
import json
from contextlib import suppress

import anthropic
import httpx2
import openai
import pytest

from truegreen.core.wire import WireClass, classify
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, PrefixCache, Rule, Scenario
from truegreen.proxy.observer import Observer

USER = [{"role": "user", "content": "hello there"}]
TEXT = "añb yes " * 6
APIS = ("chat", "responses", "messages")
OUTCOMES = {
    "pass": ({}, "answered"),
    "refusal": ({"pass_rate": 0.0, "refuse_rate": 1.0}, "refusal"),
    "length": ({"pass_rate": 0.0, "truncate_rate": 1.0}, "length"),
}


def _base(root, api):
    """The address as the API's SDK wants it: one of them adds the version itself."""
    return root.removesuffix("/v1") if api == "messages" else root


class Sdk:
    """One vendor's client for one API, synchronous or not, streaming or not."""

    def __init__(self, api, root, *, is_async, retries=0):
        vendor = anthropic if api == "messages" else openai
        kind = {
            (anthropic, False): "Anthropic", (anthropic, True): "AsyncAnthropic",
            (openai, False): "OpenAI", (openai, True): "AsyncOpenAI",
        }[vendor, is_async]  # fmt: skip
        self.api, self.is_async, self.vendor = api, is_async, vendor
        self.client = getattr(vendor, kind)(
            base_url=_base(root, api), api_key="none", max_retries=retries, timeout=20
        )

    def ask(self, *, stream=False, sample="1"):
        """The answer's text, or the texts of its pieces joined; and the last thing that came."""
        return asyncio.run(self._ask_async(stream, sample)) if self.is_async else self._ask(stream, sample)

    def _create(self, stream, sample):
        more = {"model": "m", "stream": stream, "extra_headers": {"x-truegreen-sample": sample}}
        if self.api == "chat":
            return self.client.chat.completions.create(messages=USER, **more)
        if self.api == "responses":
            return self.client.responses.create(input="hello there", **more)
        return self.client.messages.create(messages=USER, max_tokens=64, **more)

    def _ask(self, stream, sample):
        with self.client:
            made = self._create(stream, sample)
            return self._joined(list(made)) if stream else (self._text(made), made)

    async def _ask_async(self, stream, sample):
        async with self.client:
            made = await self._create(stream, sample)
            return self._joined([event async for event in made]) if stream else (self._text(made), made)

    def _text(self, made):
        if self.api == "chat":
            return made.choices[0].message.content or made.choices[0].message.refusal
        if self.api == "responses":
            part = made.output[0].content[0]
            return part.refusal if part.type == "refusal" else part.text
        return made.content[0].text

    def _joined(self, events):
        if self.api == "chat":
            deltas = [event.choices[0].delta for event in events if event.choices]
            return "".join(delta.content or delta.refusal or "" for delta in deltas), events[-1]
        if self.api == "responses":
            return "".join(event.delta for event in events if event.type.endswith(".delta")), events[-1]
        return "".join(event.delta.text for event in events if event.type == "content_block_delta"), events[
            -1
        ]


@pytest.fixture
def world():
    """Start an endpoint and an observer before it."""
    started = []

    def start(api, **rule):
        scenario = Scenario(seed="a", rules=(Rule(**{"id": "r", "answer": TEXT} | rule),), piece_chars=5)
        endpoint = FakeEndpoint(scenario).start()
        observer = Observer(_base(endpoint.url, api), forward_sample=True).start()
        started.extend([endpoint.stop, observer.close])
        return endpoint, observer

    yield start
    for stop in reversed(started):
        stop()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_every_outcome_by_every_sdk(world, api, stream, is_async):
    """The SDK reads the text whole, and the observer sees model, end, tokens and ids."""
    for outcome, (rule, kind) in OUTCOMES.items():
        endpoint, observer = world(api, prefix_cache=PrefixCache(tokens=2), **rule)
        text, _ = Sdk(api, endpoint.url, is_async=is_async).ask(stream=stream)
        expected = {"pass": TEXT, "length": TEXT[: len(TEXT) // 2], "refusal": "I can't help with that."}[
            outcome
        ]
        assert expected == text
        assert [(api, 200, 0)] == [
            (call.api, call.status, call.told_retry) for call in endpoint.oracle().kept
        ]
        assert expected == Sdk(api, observer.base_url("0-1"), is_async=is_async).ask(stream=stream)[0]
        observer.drain()
        (exchange,) = observer.exchanges()
        assert WireClass(kind) is classify(exchange).kind
        assert ("m", True, stream) == (exchange.model_served, bool(exchange.request_id), exchange.end_mark)
        if api != "chat" or not stream:  # chat streams have usage only if asked
            assert (3, 2) == (exchange.usage.prompt_tokens, exchange.usage.cached_tokens)
            assert -(-len(expected) // 4) == exchange.usage.completion_tokens


@pytest.mark.parametrize("api", APIS)
def test_one_sample_has_one_answer_in_every_form(world, api):
    """Whole, streamed, synchronous or not: a function of prompt and number."""
    endpoint, _ = world(api, answer="good", fails=("bad", "worse"), pass_rate=0.4)
    texts = [
        [Sdk(api, endpoint.url, is_async=is_async).ask(stream=stream, sample=str(n))[0] for n in range(8)]
        for is_async in (False, True)
        for stream in (False, True)
    ]
    assert [texts[0]] * 4 == texts
    assert 2 <= len(set(texts[0]))


STATUSES = {
    400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
    500: "InternalServerError", 529: "InternalServerError",
}  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("api", APIS)
def test_errors_are_those_that_the_sdk_knows(world, api, status):
    """By class; and the observer sees the type."""
    endpoint, _ = world(api, faults=(Fault(kind="status", status=status, first=1, retry_after="3"),))
    sdk = Sdk(api, endpoint.url, is_async=False)
    known = ("OverloadedError", STATUSES[status]) if status == 529 else (STATUSES[status],)
    with pytest.raises(sdk.vendor.APIStatusError) as caught:
        sdk.ask()
    assert type(caught.value).__name__ in known
    assert (status, "3") == (caught.value.status_code, caught.value.response.headers["retry-after"])
    body = caught.value.response.json()["error"]
    assert body["message"]
    assert body["type"] == ("rate_limit_error" if api == "messages" else "requests") or status != 429


@pytest.mark.parametrize("api", APIS)
def test_sdks_retry_and_say_so(world, api):
    """429 and 529 are tried again; the oracle hears it from the header."""
    faults = (Fault(kind="status", status=429, first=1, retry_in_s=0.001, retry_as="milliseconds"),)
    endpoint, _ = world(api, faults=faults)
    assert TEXT == Sdk(api, endpoint.url, is_async=False, retries=2).ask()[0]
    counts = endpoint.oracle()
    assert (2, 1, 1) == (counts.calls, counts.requests, counts.told_retries)


@pytest.mark.parametrize("api", APIS)
def test_an_error_inside_of_a_stream_is_seen(world, api):
    """The SDK raises or hands out the error event; the observer has its type, and it is no answer."""
    _, observer = world(api, faults=(Fault(kind="error-inside", status=529, first=9),))
    sdk = Sdk(api, observer.base_url("0-1"), is_async=False)
    if api == "responses":  # this SDK hands the event out
        assert "error" == sdk.ask(stream=True)[1].type
    else:
        with pytest.raises(sdk.vendor.APIError):
            sdk.ask(stream=True)
    observer.drain()
    (exchange,) = observer.exchanges()
    kind = "overloaded_error" if api == "messages" else "server_error"
    assert (kind, WireClass.UNCLEAR, False) == (
        exchange.error_type,
        classify(exchange).kind,
        exchange.end_mark,
    )


@pytest.mark.parametrize("at", ["after-head", "midway", "before-end"])
@pytest.mark.parametrize("api", APIS)
def test_half_a_stream_is_the_upstreams_failure(world, api, at):
    """Closed without an end mark, with proper framing or without."""
    _, observer = world(api, faults=(Fault(kind="cut", at=at, first=9),))
    sdk = Sdk(api, observer.base_url("0-1"), is_async=False)
    with suppress(sdk.vendor.APIError, httpx2.HTTPError, IndexError):  # or it does not notice at all
        assert TEXT != sdk.ask(stream=True)[0] or at == "before-end"
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (WireClass.TRANSPORT, "closed-without-end") == (classify(exchange).kind, classify(exchange).reason)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_hang_is_the_clients_time_limit(world, api, stream):
    """The SDK gives up, and its place in flight comes back."""
    endpoint, _ = world(api, faults=(Fault(kind="hang", first=9),))
    sdk = Sdk(api, endpoint.url, is_async=False)
    sdk.client = sdk.client.with_options(timeout=0.3)
    with pytest.raises(sdk.vendor.APITimeoutError):
        sdk.ask(stream=stream)
    while endpoint.oracle().in_flight:
        pass
    assert [None] == [call.status for call in endpoint.oracle().kept]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_malformed_answer_is_no_answer(world, api, stream):
    """The SDK trips over it, the observer says why."""
    _, observer = world(api, faults=(Fault(kind="malformed", first=9),))
    sdk = Sdk(api, observer.base_url("0-1"), is_async=False)
    with pytest.raises((ValueError, sdk.vendor.APIError, AttributeError, json.JSONDecodeError)):
        sdk.ask(stream=stream)
    observer.drain()
    (exchange,) = observer.exchanges()
    assert (WireClass.UNCLEAR, "not-json") == (classify(exchange).kind, classify(exchange).reason)
