# SPDX-License-Identifier: Apache-2.0
"""The observers before every endpoint that a run asks, as one wire.

What it decides: which address each variable gets. What it leaves: seeing, to ``observer``.

- Numbers of exchanges stay apart: the k-th observer's count on from k million millions.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from types import TracebackType
from typing import Self

import msgspec

from truegreen.core.exchange import Exchange
from truegreen.proxy.observer import Observer
from truegreen.wiring.model_environment import Upstream

APART = 1_000_000_000_000


class Wires:
    """One observer an endpoint; use as a context manager."""

    def __init__(self, upstreams: Collection[Upstream], *, forward_sample: bool) -> None:
        """``forward_sample`` adds the sample's number to requests, which only a test endpoint understands."""
        self._upstreams = tuple(upstreams)
        self._observers = [Observer(one.url, forward_sample=forward_sample) for one in self._upstreams]

    def __enter__(self) -> Self:
        for observer in self._observers:
            observer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        for observer in self._observers:
            observer.close()

    @property
    def host(self) -> str:
        """Hosts of the endpoints, the first endpoint's first."""
        return ",".join(dict.fromkeys(observer.host for observer in self._observers))

    def addresses(self, token: str | None) -> dict[str, str]:
        """Variable to address, for one sample or for none."""
        return {
            name: observer.base_url(token)
            for upstream, observer in zip(self._upstreams, self._observers, strict=True)
            for name in upstream.names
        }

    def told(self, text: str) -> str:
        """A text with the observers' addresses, which differ from run to run, replaced by the endpoints' hosts."""
        for observer in self._observers:
            pattern = rf"http://127\.0\.0\.1:{observer.port}(?:/s/[A-Za-z0-9._-]{{1,80}})?"
            text = re.sub(pattern, f"http://{observer.host}", text)
        return text

    def watch(self, pid: int) -> None:
        """Count a process among those that a request without token may come from."""
        for observer in self._observers:
            observer.watch(pid)

    def settle(self, tokens: Collection[str], pids: Collection[int], limit_s: float) -> tuple[Exchange, ...]:
        """Exchanges of these tokens and processes, once none is under way or the limit has passed."""
        return tuple(
            _apart(exchange, place)
            for place, observer in enumerate(self._observers)
            for exchange in observer.settle(tokens, pids, limit_s=limit_s)
        )

    def exchanges(self) -> tuple[Exchange, ...]:
        """Every exchange that has ended."""
        return tuple(
            _apart(exchange, place)
            for place, observer in enumerate(self._observers)
            for exchange in observer.exchanges()
        )

    def drain(self) -> int:
        """Wait shortly for what is under way; how many exchanges still are."""
        return sum(observer.drain() for observer in self._observers)

    def count(self) -> int:
        """How many requests have arrived, ended or not."""
        return sum(observer.count for observer in self._observers)


def _apart(exchange: Exchange, place: int) -> Exchange:
    return msgspec.structs.replace(exchange, id=exchange.id + place * APART) if place else exchange
