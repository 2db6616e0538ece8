# SPDX-License-Identifier: Apache-2.0
"""What only tasks do: cancellation, streams on a loop. Everything else is in ``test_transport``, for both kinds."""

import asyncio
import gc

import anthropic
import httpx2
import openai

from simulators.limited import TIMEOUT_S, Limited
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Latency, Rule, Scenario

ANSWER = "a rather long answer that comes in several pieces"
CHAT = [{"role": "user", "content": "x"}]
BODY = {"model": "m", "messages": CHAT, "stream": True}
SLOW = Latency(piece_ms=30_000)


def endpoint(*faults, latency=None):
    """An endpoint with these faults."""
    return FakeEndpoint(
        Scenario(
            seed="s", rules=(Rule(id="all", answer=ANSWER, faults=faults, latency=latency or Latency()),)
        )
    )


async def until(condition):
    """Wait for something that is about to be true."""
    async with asyncio.timeout(TIMEOUT_S):
        while not condition():  # noqa: ASYNC110 - the other side is a thread or a collector
            await asyncio.sleep(0.005)


def test_the_openai_sdk_streams_asynchronously():
    """One repetition, then the stream; the lease lasts until it is closed."""
    made = Limited("async")

    async def scene(url):
        http_client = httpx2.AsyncClient(transport=made.transport)
        async with openai.AsyncOpenAI(
            base_url=url, api_key="none", max_retries=0, http_client=http_client
        ) as client:
            text = ""
            async with await client.chat.completions.create(model="m", messages=CHAT, stream=True) as stream:
                async for part in stream:
                    text += part.choices[0].delta.content or "" if part.choices else ""
            return text

    with endpoint(Fault(kind="status", status=503, first=1, per="prompt")) as running:
        assert ANSWER == asyncio.run(scene(running.url))
        assert (2, set()) == (running.oracle().calls, made.ledger.in_flight)


def test_the_anthropic_sdk_asks_asynchronously():
    """A whole answer with its usage."""
    made = Limited("async")

    async def scene(url):
        http_client = httpx2.AsyncClient(transport=made.transport)
        async with anthropic.AsyncAnthropic(
            base_url=url, api_key="none", max_retries=0, http_client=http_client
        ) as client:
            return (await client.messages.create(model="m", max_tokens=50, messages=CHAT)).content[0].text

    with endpoint() as running:
        assert ANSWER == asyncio.run(scene(running.url.removesuffix("/v1")))
    assert made.ledger.given_back[0][1] > 0


def test_a_cancelled_call_hands_its_leave_back():
    """While it waits for the answer's head."""
    made = Limited("async")

    async def scene(running):
        async with httpx2.AsyncClient(transport=made.transport, timeout=TIMEOUT_S) as client:
            task = asyncio.create_task(client.post(running.url + "/chat/completions", json=BODY))
            await until(lambda: running.oracle().in_flight)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

    with endpoint(Fault(kind="hang", first=9)) as running:
        assert asyncio.run(scene(running))
    assert (1, set()) == (len(made.ledger.given_back), made.ledger.in_flight)


def test_a_task_that_is_cancelled_inside_a_stream_frees_its_lease():
    """The stream is closed on the way out."""
    made = Limited("async")

    async def scene(running):
        began = asyncio.Event()

        async def read(client):
            async with client.stream("POST", running.url + "/chat/completions", json=BODY) as answer:
                async for _ in answer.aiter_raw():
                    began.set()

        async with httpx2.AsyncClient(transport=made.transport, timeout=TIMEOUT_S) as client:
            task = asyncio.create_task(read(client))
            async with asyncio.timeout(TIMEOUT_S):
                await began.wait()
            assert 1 == len(made.ledger.in_flight)
            task.cancel()
            await asyncio.wait([task])

    with endpoint(latency=SLOW) as running:
        asyncio.run(scene(running))
    assert set() == made.ledger.in_flight


def test_a_stream_that_nobody_holds_frees_its_lease_on_its_loop():
    """Forgotten without being closed."""
    made = Limited("async")

    async def scene(running):
        request = httpx2.Request("POST", running.url + "/chat/completions", json=BODY)
        answer = await made.transport.handle_async_request(request)
        assert 1 == len(made.ledger.in_flight)
        del answer
        gc.collect()
        await until(lambda: not made.ledger.in_flight)
        await made.transport.aclose()

    with endpoint(latency=SLOW) as running:
        asyncio.run(scene(running))
