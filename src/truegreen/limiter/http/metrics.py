# SPDX-License-Identifier: Apache-2.0
"""The numbers of every ledger in the form that Prometheus reads.

What it decides: names, kinds and labels of the series. What it leaves: the numbers, to the ledgers; who may read them,
to ``app``.

- Counters are the ledgers' own counts: they outlive a restart when the state is kept in a file.
- Labels are tenant and resource, nothing that a holder wrote and never an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Ledger

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
LABELS: Final = ("tenant", "resource")
COUNTERS: Final = {
    "granted": "Leaves given.",
    "refused": "Asks refused before they queued.",
    "cancelled": "Asks taken back before they left.",
    "dropped": "Waiting asks given up because their deadline could not be met or nobody was there any more.",
    "expired": "Leases that ended without being handed back.",
    "wasted": "Units of rate reserved and not used.",
    "rate_limited": "Answers 429 of the endpoint that holders told.",
    "clamped": "Reservations of tokens cut to the token burst.",
    "mixed_limits": "Times that other limits were asked for while somebody held a place.",
    "reserved_tokens": "Tokens reserved by calls whose usage is known.",
    "used_tokens": "Tokens that these used.",
}
"""Counts of a ledger that are shown as they are."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One ledger at one moment."""

    tenant: str
    """Whose."""
    resource: str
    """What is called."""
    ledger: Ledger
    """Its state, advanced to ``now_ns``."""
    now_ns: int
    """The moment."""


class _Rows(Collector):
    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def collect(self) -> Iterator[Metric]:
        yield from families(self._rows)


def exposition(rows: Iterable[Row]) -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Rows(rows))
    return generate_latest(registry)


def families(rows: tuple[Row, ...]) -> Iterator[Metric]:
    """Every series of every ledger."""
    for name, meaning in COUNTERS.items():
        counter = CounterMetricFamily(f"truegreen_limiter_{name}", meaning, labels=LABELS)
        for row in rows:
            counter.add_metric([row.tenant, row.resource], getattr(row.ledger.counts, name))
        yield counter
    waited = CounterMetricFamily(
        "truegreen_limiter_waited_seconds",
        "Time between asking and leave, summed over leaves.",
        labels=LABELS,
    )
    for row in rows:
        waited.add_metric([row.tenant, row.resource], row.ledger.counts.waited_ns / SECOND)
    yield waited
    for name, meaning, of in (
        ("in_flight", "Places taken.", lambda row: len(row.ledger.places)),
        ("waiting", "Asks that wait for a place.", lambda row: len(row.ledger.queue)),
        (
            "held_seconds",
            "Seconds until anybody may leave after a 429.",
            lambda row: max(0, row.ledger.not_before_ns - row.now_ns) / SECOND,
        ),
        (
            "most_waited_seconds",
            "Longest wait of a leave.",
            lambda row: row.ledger.counts.most_waited_ns / SECOND,
        ),
        (
            "most_in_flight",
            "Largest number of places taken at once.",
            lambda row: row.ledger.counts.most_in_flight,
        ),
    ):
        gauge = GaugeMetricFamily(f"truegreen_limiter_{name}", meaning, labels=LABELS)
        for row in rows:
            gauge.add_metric([row.tenant, row.resource], of(row))
        yield gauge
