# SPDX-License-Identifier: Apache-2.0
"""The SDKs of OpenAI and Anthropic through proxy and transport: what was recorded is what is replayed.

Each way is run in every mode against the fake endpoint, whose oracle counts what really arrived.
"""

import asyncio
import json
from contextlib import contextmanager, suppress

import anthropic
import httpx2
import openai
import pytest

from simulators.recordings import MemoryRecordings
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Rule, Scenario
from truegreen.proxy.async_transport import AsyncModelTransport
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode, Options, Pace
from truegreen.proxy.transport import ModelTransport

TEXT = '{"added": ["d\u00e9j\u00e0 vu \U0001f600"]}'
MESSAGES = [{"role": "user", "content": "list the changes"}]


@pytest.fixture
def endpoint():
    """A fake endpoint whose answer holds characters of two and four bytes."""
    scenario = Scenario(seed="w", rules=(Rule(id="r", answer=TEXT),), fingerprint="fp_w", piece_chars=3)
    with FakeEndpoint(scenario) as started:
        yield started


@contextmanager
def _by_proxy(mode, url, recordings, pace):
    options = Options(pace=pace)
    with ModelProxy(mode, url, recordings=recordings, options=options) as proxy:
        yield proxy.base_url(), {}, {}, proxy


@contextmanager
def _by_transport(mode, url, recordings, pace):
    options = Options(pace=pace)
    plain = ModelTransport(mode, url, recordings=recordings, options=options)
    twin = AsyncModelTransport(mode, url, recordings=recordings, options=options)
    with httpx2.Client(transport=plain) as client:
        yield url, {"http_client": client}, {"http_client": httpx2.AsyncClient(transport=twin)}, (plain, twin)


def _openai(base, more):
    client = openai.OpenAI(api_key="k", base_url=base, max_retries=2, **more)
    answer = client.chat.completions.create(model="m", messages=MESSAGES)
    said = [answer.choices[0].message.content, answer.choices[0].finish_reason, answer.usage.total_tokens]
    stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    said.append("".join(one.choices[0].delta.content or "" for one in stream if one.choices))
    said.append(client.responses.create(model="m", input="list the changes").output_text)
    if not more:
        client.close()
    return said


def _openai_async(base, more):
    async def ask():
        async with openai.AsyncOpenAI(api_key="k", base_url=base, max_retries=2, **more) as client:
            answer = await client.chat.completions.create(model="m", messages=MESSAGES)
            said = [answer.choices[0].message.content]
            stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            said.append("".join([one.choices[0].delta.content or "" async for one in stream if one.choices]))
            return said

    return asyncio.run(ask())


def _anthropic(base, more):
    root = base.removesuffix("/v1")
    client = anthropic.Anthropic(api_key="k", base_url=root, max_retries=2, **more)
    answer = client.messages.create(model="m", max_tokens=50, messages=MESSAGES)
    said = [answer.content[0].text, answer.stop_reason]
    with client.messages.stream(model="m", max_tokens=50, messages=MESSAGES) as stream:
        said.append("".join(stream.text_stream))
    if not more:
        client.close()
    return said


def _anthropic_async(base, more):
    async def ask():
        root = base.removesuffix("/v1")
        async with (
            anthropic.AsyncAnthropic(api_key="k", base_url=root, max_retries=2, **more) as client,
            client.messages.stream(model="m", max_tokens=50, messages=MESSAGES) as stream,
        ):
            return ["".join([text async for text in stream.text_stream])]

    return asyncio.run(ask())


WAYS = [_by_proxy, _by_transport]
ASKS = [_openai, _openai_async, _anthropic, _anthropic_async]


def _upstream(endpoint, ask):
    """Anthropic's SDK adds ``/v1`` itself."""
    return endpoint.url if "openai" in ask.__name__ else endpoint.url.removesuffix("/v1")


def _asked(way, ask, mode, url, *place):
    """``place``: recordings, and the pace of a replay."""
    recordings, pace = (*place, *(None, Pace.AT_ONCE)[len(place) :])
    with way(mode, url, recordings, pace) as (base, plain, twin, _):
        return ask(base, twin if ask.__name__.endswith("async") else plain)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ask", ASKS)
def test_live_recorded_and_replayed_are_one_answer(endpoint, way, ask):
    """The endpoint is asked live and while recording, and not once while replaying, at any pace."""
    url = _upstream(endpoint, ask)
    live = _asked(way, ask, Mode.LIVE, url)
    assert TEXT == live[0]
    recordings = MemoryRecordings()
    recorded = _asked(way, ask, Mode.RECORD, url, recordings)
    calls = endpoint.oracle().calls
    assert (live, 2 * len(recordings.kept)) == (recorded, calls)
    for pace in Pace:
        replayed = _asked(way, ask, Mode.REPLAY, url, recordings.rewound(), pace)
        assert (recorded, calls) == (replayed, endpoint.oracle().calls)


@pytest.mark.parametrize("recorder", WAYS)
@pytest.mark.parametrize("player", WAYS)
def test_what_one_way_records_the_other_plays(endpoint, recorder, player):
    """Proxy and transport see the same request and keep the same answer."""
    recordings = MemoryRecordings()
    recorded = _asked(recorder, _openai, Mode.RECORD, endpoint.url, recordings)
    assert recorded == _asked(player, _openai, Mode.REPLAY, endpoint.url, recordings.rewound())


@pytest.mark.parametrize("way", WAYS)
def test_a_miss_is_an_error_of_the_sdk_that_it_does_not_repeat(endpoint, way):
    """Nothing leaves, nothing is asked twice, and the session is red although the program went on."""
    recordings = MemoryRecordings()
    with way(Mode.REPLAY, endpoint.url, recordings, Pace.AT_ONCE) as (base, more, _, at):
        client = openai.OpenAI(api_key="k", base_url=base, max_retries=2, **more)
        with pytest.raises(openai.APIStatusError) as caught:
            client.chat.completions.create(model="m", messages=MESSAGES)
        client.close()
        tally = (at[0] if isinstance(at, tuple) else at).tally()
    assert (424, "cassette-missing") == (caught.value.status_code, caught.value.code)
    assert "$.messages[0].content" == caught.value.param
    assert (1, 1, True, 0) == (tally.requests, len(tally.misses), tally.is_red, tally.upstream_calls)
    assert (0, []) == (endpoint.oracle().calls, list(tally.layers))


@pytest.mark.parametrize("way", WAYS)
def test_a_miss_reaches_anthropics_sdk_in_its_own_shape(endpoint, way):
    """The message is read from where that SDK looks."""
    with way(Mode.REPLAY, endpoint.url.removesuffix("/v1"), MemoryRecordings(), Pace.AT_ONCE) as (
        base,
        more,
        _,
        _at,
    ):
        client = anthropic.Anthropic(api_key="k", base_url=base, max_retries=2, **more)
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(model="m", max_tokens=5, messages=MESSAGES)
        client.close()
    assert (424, True) == (caught.value.status_code, "cassette-missing" in caught.value.message)


def test_a_program_that_swallows_the_miss_is_still_red(endpoint):
    """The anti-pattern of the article: a fallback in an except clause."""
    with ModelProxy(Mode.REPLAY, endpoint.url, recordings=MemoryRecordings()) as proxy:
        client = openai.OpenAI(api_key="k", base_url=proxy.base_url())
        try:
            answer = client.chat.completions.create(model="m", messages=MESSAGES)
        except openai.OpenAIError:
            answer = "fallback"
        client.close()
    assert ("fallback", True) == (answer, proxy.tally().is_red)


def test_three_calls_of_one_message_are_three_recordings(endpoint):
    """Chat with tools, title and suggestions share the user's text and nothing else."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    system = [{"role": "system", "content": "give a title"}]
    variants = (
        {"messages": MESSAGES, "tools": tools},
        {"messages": system + MESSAGES},
        {"messages": MESSAGES},
    )
    recordings = MemoryRecordings()
    with ModelProxy(Mode.RECORD, endpoint.url, recordings=recordings) as proxy:
        client = openai.OpenAI(api_key="k", base_url=proxy.base_url())
        for variant in variants:
            client.chat.completions.create(model="m", **variant)
        client.close()
    assert (3, 3) == (len(recordings.kept), len({recordings.key(asked) for asked, _ in recordings.kept}))


def test_a_length_stop_keeps_its_finish_reason_and_usage():
    """What the truncation path reads is in the replay: status, finish reason, usage, headers."""
    rule = Rule(id="r", answer=TEXT, pass_rate=0.0, truncate_rate=1.0)
    recordings = MemoryRecordings()

    def ask(base):
        client = openai.OpenAI(api_key="k", base_url=base)
        raw = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
        client.close()
        answer = raw.parse()
        return answer.choices[0].finish_reason, answer.usage.total_tokens, raw.headers["x-request-id"]

    with FakeEndpoint(Scenario(seed="w", rules=(rule,))) as endpoint:
        with ModelProxy(Mode.RECORD, endpoint.url, recordings=recordings) as proxy:
            recorded = ask(proxy.base_url())
        with ModelProxy(Mode.REPLAY, endpoint.url, recordings=recordings.rewound()) as proxy:
            assert ("length", recorded) == (recorded[0], ask(proxy.base_url()))


@pytest.mark.parametrize("at", ["after-head", "midway", "before-end"])
def test_a_stream_that_is_cut_is_not_kept(at):
    """No end mark, no recording: half an answer is never replayed as one."""
    rule = Rule(id="r", answer=TEXT * 9, faults=(Fault(kind="cut", at=at, share=1),))
    recordings = MemoryRecordings()
    with (
        FakeEndpoint(Scenario(seed="w", rules=(rule,))) as endpoint,
        ModelProxy(Mode.RECORD, endpoint.url, recordings=recordings) as proxy,
        httpx2.Client(base_url=proxy.base_url()) as client,
    ):
        body = {"model": "m", "messages": MESSAGES, "stream": True}
        with suppress(httpx2.RemoteProtocolError):
            client.post("/chat/completions", json=body)
    tally = proxy.tally()
    assert ([], 1) == (recordings.kept, sum(count for _, count in tally.not_kept))


def test_binary_answers_come_back_as_they_were():
    """Any byte, with or without a coding."""
    every = bytes(range(256)) * 3

    recordings = MemoryRecordings()
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "image/jpeg"}, content=every)
    )
    with httpx2.Client(
        transport=ModelTransport(Mode.RECORD, "http://up/v1", recordings=recordings, inner=inner)
    ) as client:
        assert every == client.get("http://up/v1/image").content
    replay = ModelTransport(Mode.REPLAY, "http://up/v1", recordings=recordings.rewound())
    with httpx2.Client(transport=replay) as client:
        assert every == client.get("http://up/v1/image").content
    with (
        ModelProxy(Mode.REPLAY, "http://up/v1", recordings=recordings.rewound()) as proxy,
        httpx2.Client() as client,
    ):
        assert every == client.get(f"{proxy.base_url()}/image").content


def test_the_recorded_pieces_are_those_of_the_stream(endpoint):
    """More than one piece, and joined they are the events that were sent."""
    recordings = MemoryRecordings()
    _asked(_by_proxy, _openai, Mode.RECORD, endpoint.url, recordings)
    streamed = [
        answered for asked, answered in recordings.kept if b'"stream":true' in asked.body.replace(b" ", b"")
    ]
    events = streamed[0].body.decode().strip().split("\n\n")
    assert ("data: [DONE]", True) == (events[-1], len(streamed[0].chunks) >= 1)
    assert all(json.loads(one.removeprefix("data: ")) for one in events[:-1])
