# SPDX-License-Identifier: Apache-2.0
"""SDKs with the real limiter inside: what jobs that share one endpoint do to each other."""

import asyncio
import os
import subprocess
import sys
import threading

import anthropic
import httpx2
import openai
import pytest

from truegreen.core.admission import Ask
from truegreen.core.call_log import entries_of
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Allowance, Fault, Latency, Rule, Scenario
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.measure import numbers_of
from truegreen.limiter.memory import Memory
from truegreen.limiter.retry import DEFAULT
from truegreen.wiring.limited_transport import (
    async_limited_transport,
    limited_transport,
    refuse_sdk_retries,
    rulings,
)

WAIT_NS = 60 * SECOND


def endpoint(*faults, ms=0.0, **more):
    """A fake endpoint."""
    rule = Rule(id="all", answer="yes", faults=faults, latency=Latency(ms=ms))
    return FakeEndpoint(Scenario(seed="s", rules=(rule,), **more))


def sdk(url, transport):
    """OpenAI's client around a transport."""
    http_client = httpx2.Client(transport=transport, timeout=30)
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http_client)


def asked(client, text):
    """One question."""
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=messages).choices[0].message.content


def at_once(count, call):
    """So many threads; what each call came to, in any order."""
    results = []
    threads = [threading.Thread(target=lambda n=n: results.append(call(n))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_calls_in_flight_and_rate_stay_within_limits():
    """Twelve SDK calls at once through two places: twelve calls on the wire, none turned away."""
    limiter = Limiter(Memory(Limits(in_flight=2, wait_ns=WAIT_NS)))
    with endpoint(ms=20, allowance=Allowance(in_flight=2)) as running:
        client = sdk(running.url, limited_transport(limiter))
        assert ["yes"] * 12 == at_once(12, lambda n: asked(client, str(n)))
        client.close()
        counts = running.oracle()
        assert (12, 2, 0) == (counts.calls, counts.in_flight_peak, counts.too_many_requests)
    limiter.close()


def test_one_told_wait_pauses_every_job():
    """One job was told 0.4 seconds: on a clock that stands, nobody else gets leave before they have passed."""
    clock = [10**12]
    limiter = Limiter(Memory(Limits(in_flight=8, wait_ns=WAIT_NS), now_ns=lambda: clock[0]))
    fault = Fault(kind="status", status=429, first=1, per="endpoint", retry_in_s=0.4, retry_as="milliseconds")
    with endpoint(fault) as running:
        client = sdk(running.url, limited_transport(limiter))
        told = threading.Thread(target=asked, args=(client, "first"))
        told.start()
        while not limiter.backend.state(_key()).not_before_ns:
            threading.Event().wait(0.005)
        assert clock[0] + 400_000_000 == limiter.backend.state(_key()).not_before_ns
        with pytest.raises(ReachProblem, match="leave-refused"):
            limiter.enter(Ask(wait_s=0.399))
        assert 1 == running.oracle().calls
        clock[0] += 400_000_000
        limiter.give_back(limiter.enter(Ask(wait_s=0.0)), used_tokens=None)
        told.join()
        assert 2 == running.oracle().calls
        client.close()
    limiter.close()


def _key():
    from truegreen.limiter.backend import Key

    return Key()


JOB = """
import sys
from pathlib import Path
import httpx2, openai
from truegreen.limiter.client import Limiter
from truegreen.limiter.file import File
from truegreen.limiter.limits import SECOND, Limits
from truegreen.wiring.limited_transport import limited_transport
url, folder, name = sys.argv[1:]
limiter = Limiter(File(Path(folder) / "state", Limits(in_flight=2, wait_ns=60 * SECOND)))
transport = limited_transport(limiter, log=Path(folder) / "calls.jsonl")
with openai.OpenAI(
    base_url=url, api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport, timeout=30)
) as client:
    for n in range(5):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"{name} {n}"}])
limiter.close()
"""


def test_processes_share_limits_log_and_budget(tmp_path):
    """Three jobs, one file: two calls in flight at most, one budget, and numbers that agree with the endpoint's."""
    fault = Fault(
        kind="status", status=429, first=3, per="endpoint", retry_in_s=0.05, retry_as="milliseconds"
    )
    with endpoint(fault, ms=10) as running:
        environment = {**os.environ, "GITHUB_RUN_ID": "77"}
        command = [sys.executable, "-c", JOB, running.url, str(tmp_path)]
        jobs = [subprocess.Popen([*command, name], env=environment) for name in ("a", "b", "c")]
        assert [0, 0, 0] == [job.wait(60) for job in jobs]
        counts = running.oracle()
    assert (18, 3) == (counts.calls, counts.too_many_requests)
    assert counts.in_flight_peak <= 2
    numbers = numbers_of({"log": entries_of((tmp_path / "calls.jsonl").read_text())})
    (run,) = numbers.runs
    assert ("77", 15, 18, 3) == (run.run, run.calls, run.attempts, run.rate_limited)
    assert (15, 3, 0) == (run.budget.requests, run.budget.repeated, run.budget.refused)
    assert numbers.peak <= 2


def test_a_wait_that_ends_without_leave_is_not_called(tmp_path):
    """The SDK lets the refusal through, and asks once."""
    limiter = Limiter(Memory(Limits(in_flight=1)))
    held = limiter.enter(Ask())
    with endpoint() as running:
        client = sdk(running.url, limited_transport(limiter, ask=Ask(wait_s=0.05)))
        with pytest.raises(ReachProblem, match="leave-refused"):
            asked(client, "x")
        assert 0 == running.oracle().calls
        client.close()
    limiter.give_back(held, used_tokens=None)
    limiter.close()


def test_a_waiter_that_is_cancelled_spends_nothing():
    """B26: abandoned waits take neither a place nor a slot; whoever comes after is not later for them."""

    async def scene(url):
        limiter = AsyncLimiter(Memory(Limits(in_flight=1, calls=1000, wait_ns=WAIT_NS)))
        held = await limiter.enter(Ask())
        http_client = httpx2.AsyncClient(transport=async_limited_transport(limiter), timeout=30)
        async with openai.AsyncOpenAI(
            base_url=url, api_key="none", max_retries=0, http_client=http_client
        ) as client:
            message = [{"role": "user", "content": "x"}]
            waits = [
                asyncio.create_task(client.chat.completions.create(model="m", messages=message))
                for _ in range(20)
            ]
            while len(limiter.backend.state(_key()).queue) < 20:  # noqa: ASYNC110 - a state is no event
                await asyncio.sleep(0.005)
            for one in waits[:19]:
                one.cancel()
            await asyncio.wait(waits[:19])
            await limiter.give_back(held, used_tokens=None)
            await waits[19]
            counts = limiter.backend.state(_key()).counts
            limiter.close()
            return counts

    with endpoint() as running:
        counts = asyncio.run(scene(running.url))
        assert (2, 19, 1) == (counts.granted, counts.cancelled, running.oracle().calls)


def test_waiters_reserve_and_do_not_poll():
    """B25: forty waiters at 100 a second; each asks, and looks again once or twice, in the order of asking."""
    steps = []

    class Counting(Memory):
        def ask(self, key, request):
            steps.append("ask")
            return super().ask(key, request)

        def look(self, key, id):  # noqa: A002 - as the backend's
            steps.append("look")
            return super().look(key, id)

    limiter = Limiter(Counting(Limits(calls=100, burst=1, wait_ns=WAIT_NS)))
    leaves = at_once(40, lambda _: limiter.enter(Ask()))
    assert 40 == steps.count("ask")
    assert steps.count("look") <= 4 * 40
    assert list(range(1, 41)) == sorted(leave.ticket for leave in leaves)
    for leave in leaves:
        limiter.give_back(leave, used_tokens=None)
    limiter.close()


def test_a_client_that_retries_by_itself_is_refused():
    """By its own name; one that does not is fine."""
    for make in (openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic):
        refuse_sdk_retries(make(api_key="none", max_retries=0))
        with pytest.raises(UsageProblem, match=f"{make.__name__} has max_retries=2"):
            refuse_sdk_retries(make(api_key="none"))
    with pytest.raises(UsageProblem, match=r"builtins\.object has max_retries=None"):
        refuse_sdk_retries(object())


def test_the_run_is_named_by_the_ci():
    """As the environment says."""
    assert "1.2" == rulings(None, DEFAULT, {"GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "2"}).log.run


def test_a_loop_around_the_client_is_named_in_the_numbers(tmp_path):
    """Three tries of an application at an endpoint that is down: six attempts, of which the loop made two calls too many."""
    limiter = Limiter(Memory(Limits(in_flight=2)))
    with endpoint(Fault(kind="status", status=503, first=99, per="endpoint", retry_in_s=0.01)) as running:
        client = sdk(running.url, limited_transport(limiter, log=tmp_path / "calls.jsonl"))
        for _ in range(3):
            with pytest.raises(openai.InternalServerError):
                asked(client, "the same")
        client.close()
        assert 6 == running.oracle().calls
    limiter.close()
    numbers = numbers_of({"log": entries_of((tmp_path / "calls.jsonl").read_text())})
    (layer,) = numbers.layers
    assert ("loop-around-the-client", 2, 1) == (layer.layer, layer.attempts, layer.calls)
