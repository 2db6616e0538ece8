# SPDX-License-Identifier: Apache-2.0
"""Transports for SDKs with limiter, retries and call log inside, in one call each.

What it decides: which run and which reader they get. What it leaves: limits, to the limiter that is handed in;
everything else, to ``limiter``.

- The run whose jobs share a retry budget is named by the CI's variables; without one it is this process's own.
- ``refuse_sdk_retries`` is the check of a client: everything but ``max_retries=0`` multiplies.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx2

from truegreen.core.admission import Ask
from truegreen.core.ports import AsyncLedgerPort, LedgerPort
from truegreen.limiter.async_transport import AsyncLimitedTransport
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.door import AsyncDoor, Door, Rulings
from truegreen.limiter.layers import check_max_retries
from truegreen.limiter.retry import DEFAULT, RetryLimits
from truegreen.limiter.transport import LimitedTransport
from truegreen.wiring.answer_reader import reader_of
from truegreen.wiring.environment import environment, pipeline_run


def limited_transport(  # noqa: PLR0913 - what it is made of; all but one have defaults
    limiter: LedgerPort,
    *,
    log: Path | None = None,
    retries: RetryLimits = DEFAULT,
    ask: Ask | None = None,
    reads_streams: bool = False,
    inner: httpx2.BaseTransport | None = None,
) -> LimitedTransport:
    """A transport for ``httpx2.Client``.

    ``log`` is the call log that the run's jobs share; ``ask`` says tenant, resource, holder, cost and longest wait of
    every call; ``reads_streams`` reads event streams whole, so that they are repeated too; ``inner`` sends.

    Raises: ReachProblem ``call-log-failed``.
    """
    door = Door(limiter, rulings(log, retries, environment()))
    return LimitedTransport(door, reader_of, inner=inner, ask=ask, reads_streams=reads_streams)


def async_limited_transport(  # noqa: PLR0913 - as above
    limiter: AsyncLedgerPort,
    *,
    log: Path | None = None,
    retries: RetryLimits = DEFAULT,
    ask: Ask | None = None,
    reads_streams: bool = False,
    inner: httpx2.AsyncBaseTransport | None = None,
) -> AsyncLimitedTransport:
    """A transport for ``httpx2.AsyncClient``; as ``limited_transport``."""
    door = AsyncDoor(limiter, rulings(log, retries, environment()))
    return AsyncLimitedTransport(door, reader_of, inner=inner, ask=ask, reads_streams=reads_streams)


def rulings(log: Path | None, retries: RetryLimits, variables: Mapping[str, str]) -> Rulings:
    """Rulings that keep this log under the run that the variables name. Raises: ReachProblem ``call-log-failed``."""
    return Rulings(log=CallLog(log, run=pipeline_run(variables)), limits=retries)


def refuse_sdk_retries(client: object) -> None:
    """Refuse a client of an SDK that retries by itself.

    Raises: UsageProblem ``sdk-retries-enabled`` unless its ``max_retries`` is 0.
    """
    kind = type(client)
    check_max_retries(
        getattr(client, "max_retries", None), client=f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    )
