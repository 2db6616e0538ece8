# SPDX-License-Identifier: Apache-2.0
"""How fast leave is given, and how fair: one process, eight processes on one file, and a queue for two places.

- One process: acquires of a rate that is never reached, each handed back, beside libraries that count in memory and
  the article's bucket in a file.
- Eight processes, one file: all acquires together, their start not counted, beside 20,000 a second and the article's
  bucket; what else can be shared is measured in `limiter_together`.
- Fairness: eight processes want two places and hold each for 20 ms. Nobody can wait less than three turns in the worst
  case; the longest wait of anybody is compared with that.
- 100 tasks at 10 a second with a burst of 10 cannot end before 9 s.
"""

import asyncio
import fcntl
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from measuring import NotMeasured, Row

from truegreen.core.admission import Ask
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.file import File
from truegreen.limiter.limits import LONGEST, Limits, checked
from truegreen.limiter.memory import Memory
from truegreen.limiter.state import Go, Request

PROCESSES = 8
ALONE = 4_000
TOGETHER = 1_000
"""Acquires of each of the eight."""
FEW = 200
"""Acquires of a file that is slow."""
WIDE = checked(Limits(calls=1_000_000, burst=1_000_000, in_flight=1_000, lease_ns=LONGEST))
FORK = multiprocessing.get_context("fork")


def rows(folder: Path) -> tuple[Row, ...]:
    """Speed alone and together, fairness, and pacing."""
    alone = _ours_alone(File(folder / "alone", WIDE))
    memory = _ours_alone(Memory(WIDE))
    return (
        Row(
            name=f"{ALONE} acquires and returns, one process, memory",
            ours=memory,
            peer_name="limits, moving window",
            peer=_limits,
            target=12,
            rounds=5,
        ),
        Row(
            name=f"{ALONE} acquires and returns, one process, memory",
            ours=memory,
            peer_name="throttled-py, gcra",
            peer=_throttled,
            target=12,
            rounds=5,
        ),
        Row(
            name=f"{ALONE} acquires and returns, one process, memory",
            ours=memory,
            peer_name="pyrate-limiter, log",
            peer=_pyrate,
            target=12,
            rounds=5,
        ),
        Row(
            name=f"{ALONE} acquires and returns, one process, file",
            ours=alone,
            peer_name="the article's bucket, no returns",
            peer=lambda: bucket_of_the_article(folder / "bucket", ALONE),
            target=1,
            rounds=5,
        ),
        Row(
            name=f"{PROCESSES * TOGETHER} acquires, eight processes, one file",
            ours=lambda: _together(_ours(folder / "shared")),
            peer_name="20,000 a second",
            peer=lambda: PROCESSES * TOGETHER / 20_000,
            target=1,
            rounds=5,
        ),
        Row(
            name=f"{PROCESSES * TOGETHER} acquires, eight processes, one file",
            ours=lambda: _together(_ours(folder / "shared")),
            peer_name="the article's bucket",
            peer=lambda: _together(lambda: bucket_of_the_article(folder / "bucket", TOGETHER)),
            target=1,
            rounds=5,
        ),
        Row(
            name=f"{PROCESSES * TOGETHER} acquires and returns, eight processes, one file",
            ours=lambda: _together(_ours(folder / "leases", in_flight=100)),
            peer_name="the article's bucket, no returns",
            peer=lambda: _together(lambda: bucket_of_the_article(folder / "bucket", TOGETHER)),
            target=1,
            rounds=5,
        ),
        Row(
            name=f"{FEW} acquires, one process, file",
            ours=_ours(folder / "few", FEW),
            peer_name="pyrate-limiter, SQLite",
            peer=lambda: _pyrate_file(folder, FEW),
            target=1,
            rounds=5,
        ),
        Row(
            name="longest wait, eight processes, two places, 20 ms",
            ours=lambda: _longest_wait(folder / "queue"),
            peer_name="three turns of 20 ms",
            peer=lambda: 0.06,
            target=3,
            rounds=5,
        ),
        Row(
            name="100 tasks at 10 a second, burst 10",
            ours=lambda: _paced(folder / "paced"),
            peer_name="9 s",
            peer=lambda: 9.0,
            target=1.1,
            rounds=3,
        ),
    )


def _ours_alone(backend: File | Memory) -> Callable[[], float]:
    key = Key()

    def measured() -> float:
        started = time.perf_counter()
        for number in range(ALONE):
            name = f"{started}-{number}"
            if not isinstance(backend.ask(key, Request(id=name)), Go):
                raise NotMeasured("no leave under a limit that is never reached")
            backend.hand_back(key, name)
        return time.perf_counter() - started

    return measured


def _ours(folder: Path, number: int = TOGETHER, in_flight: int | None = None) -> Callable[[], float]:
    """One acquire of a rate alone is one step; with places each is handed back in a second one."""
    limits = checked(Limits(calls=1_000_000, burst=1_000_000, in_flight=in_flight))

    def measured() -> float:
        backend, key = File(folder, limits), Key()
        started = time.perf_counter()
        for count in range(number):
            name = f"{started}-{os.getpid()}-{count}"
            if not isinstance(backend.ask(key, Request(id=name)), Go):
                raise NotMeasured("no leave under a limit that is never reached")
            if in_flight:
                backend.hand_back(key, name)
        taken = time.perf_counter() - started
        backend.close()
        return taken

    return measured


def _together(work: Callable[[], float]) -> float:
    """Seconds from a common start until the last of eight has ended."""
    begin, pipes, processes = FORK.Barrier(PROCESSES + 1), [], []
    for _ in range(PROCESSES):
        here, there = FORK.Pipe(duplex=False)

        def run(there: Connection = there) -> None:
            begin.wait()
            work()
            there.send(time.monotonic())

        processes.append(FORK.Process(target=run))
        processes[-1].start()
        pipes.append(here)
    begin.wait()
    started = time.monotonic()
    try:
        ended = max(pipe.recv() for pipe in pipes)
    except EOFError as err:
        raise NotMeasured("one of eight processes ended early") from err
    finally:
        for process in processes:
            process.join(60)
    return ended - started


def _longest_wait(folder: Path) -> float:
    limits = checked(Limits(in_flight=2))
    pipes, processes, begin = [], [], FORK.Barrier(PROCESSES)
    for _ in range(PROCESSES):
        here, there = FORK.Pipe(duplex=False)

        def run(there: Connection = there) -> None:
            limiter, waits = Limiter(File(folder, limits)), []
            begin.wait()
            for _ in range(12):
                started = time.monotonic()
                with limiter.leave(Ask(wait_s=60)):
                    waits.append(time.monotonic() - started)
                    time.sleep(0.02)
            there.send(max(waits))

        processes.append(FORK.Process(target=run))
        processes[-1].start()
        pipes.append(here)
    longest = max(pipe.recv() for pipe in pipes)
    for process in processes:
        process.join(60)
    return longest


def _paced(folder: Path) -> float:
    limiter = AsyncLimiter(File(folder / str(time.monotonic_ns()), checked(Limits(calls=10, burst=10))))

    async def everybody() -> float:
        started = time.monotonic()
        await asyncio.gather(*(limiter.enter(Ask(wait_s=60)) for _ in range(100)))
        return time.monotonic() - started

    try:
        return asyncio.run(everybody())
    finally:
        limiter.close()


def bucket_of_the_article(path: Path, number: int) -> float:
    """The published bucket: state replaced under a lock; capacity and refill that are never reached."""
    started = time.perf_counter()
    for _ in range(number):
        with Path(f"{path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                state = json.loads(path.read_text())
            except FileNotFoundError:
                state = {"tokens": 1e9, "ts": time.time()}
            now = time.time()
            tokens = min(1e9, state["tokens"] + (now - state["ts"]) * 1e6)
            part = Path(f"{path}.tmp")
            with part.open("w") as file:
                json.dump({"tokens": tokens - 1, "ts": now}, file)
            part.replace(path)
    return time.perf_counter() - started


def _limits() -> float:
    try:
        from limits import RateLimitItemPerSecond, storage, strategies  # noqa: PLC0415 - a peer
    except ImportError as err:
        raise NotMeasured(str(err)) from err
    limiter = strategies.MovingWindowRateLimiter(storage.MemoryStorage())
    item = RateLimitItemPerSecond(1_000_000)
    return _timed(lambda: limiter.hit(item, "key"))


def _throttled() -> float:
    try:
        from throttled import RateLimiterType, Throttled, rate_limiter  # noqa: PLC0415 - a peer
    except ImportError as err:
        raise NotMeasured(str(err)) from err
    quota = rate_limiter.per_sec(1_000_000, burst=1_000_000)
    limiter = Throttled(using=RateLimiterType.GCRA.value, quota=quota)
    return _timed(lambda: not limiter.limit("key").limited)


def _pyrate() -> float:
    try:
        from pyrate_limiter import Duration, InMemoryBucket, Limiter, Rate  # noqa: PLC0415 - a peer
    except ImportError as err:
        raise NotMeasured(str(err)) from err
    limiter = Limiter(InMemoryBucket([Rate(1_000_000, Duration.SECOND)]))
    try:
        return _timed(lambda: limiter.try_acquire("key", blocking=False))
    finally:
        limiter.close()


def _pyrate_file(folder: Path, number: int) -> float:
    try:
        from pyrate_limiter import Duration, Limiter, Rate, SQLiteBucket  # noqa: PLC0415 - a peer
    except ImportError as err:
        raise NotMeasured(str(err)) from err
    path = folder / "pyrate.sqlite"
    path.unlink(missing_ok=True)
    bucket = SQLiteBucket.init_from_file([Rate(1_000_000, Duration.SECOND)], db_path=str(path))
    limiter = Limiter(bucket)
    started = time.perf_counter()
    for _ in range(number):
        limiter.try_acquire("key")
    taken = time.perf_counter() - started
    limiter.close()
    return taken


def _timed(acquire: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(ALONE):
        if not acquire():
            raise NotMeasured("no leave under a limit that is never reached")
    return time.perf_counter() - started
