# SPDX-License-Identifier: Apache-2.0
"""Replay proxies inside this process: one for each endpoint that its programs know, over one folder.

What it decides: when the whole is red, and what the account of all says. What it leaves: which endpoints are
replayed and which variables point to them, to ``proxy_upstreams`` and ``guards.sdks``, as at ``proxy run``; when it
begins and ends, to whoever runs tests.

- All processes that inherit the variables share these proxies: one order of equal requests, one account.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from truegreen.core.errors import UsageProblem
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import ReplaySession, joined
from truegreen.guards import sdks
from truegreen.proxy.modes import Mode, Options, Pace
from truegreen.proxy.session import Tally
from truegreen.wiring.model_proxy import OpenedProxy, Wish, summary_of
from truegreen.wiring.proxy_upstreams import served
from truegreen.wiring.replay_account import Ending


class ReplayInProcess:
    """Proxies and their variables; use as a context manager."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, clock: Clock, pace: Pace = Pace.AT_ONCE
    ) -> None:
        """Nothing listens yet.

        Raises: UsageProblem ``nothing-to-replay`` for a folder that is not there, ``bad-upstream``.
        """
        if not folder.is_dir():
            raise UsageProblem(
                "nothing-to-replay",
                f"{quoted(str(folder))} is no folder, and a replay needs the one with its recordings",
                hint="truegreen proxy serve --mode record --help",
            )
        self._environment = environment
        self._served = served((), environment)
        wishes = (
            Wish(
                mode=Mode.REPLAY,
                upstream=one.url,
                alias=one.alias,
                cassettes=folder,
                options=Options(pace=pace),
            )
            for one in self._served
        )
        self._opened = [OpenedProxy(wish, environment=environment, clock=clock) for wish in wishes]

    def __enter__(self) -> Self:
        for opened in self._opened:
            opened.proxy.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; harmless if called again. Raises: ReachProblem ``proxy-failed``."""
        for opened in self._opened:
            opened.close()

    def addresses(self) -> dict[str, str]:
        """The variables that point to the proxies, with their values."""
        made: dict[str, str] = {}
        for one, opened in zip(self._served, self._opened, strict=True):
            made |= {name: opened.proxy.base_url() + rest for name, rest in one.provider.variables.items()}
        return made

    def environment(self) -> dict[str, str]:
        """The whole environment that programs must find: addresses, words in place of keys, no forward proxy."""
        found = [
            (one.provider, opened.proxy.base_url())
            for one, opened in zip(self._served, self._opened, strict=True)
        ]
        return sdks.variables(found, self._environment, is_replay=True)

    def tallies(self) -> tuple[Tally, ...]:
        """What happened at each proxy so far."""
        return tuple(opened.proxy.tally() for opened in self._opened)

    @property
    def is_red(self) -> bool:
        """Whether the run fails whatever its tests said."""
        return any(tally.is_red for tally in self.tallies())

    @property
    def has_failed(self) -> bool:
        """Whether it is red for something else than a miss, which the account cannot tell by itself."""
        return any(tally.has_failed for tally in self.tallies())

    def summary(self) -> tuple[str, ...]:
        """The lines of each proxy that was asked anything."""
        asked = [tally for tally in self.tallies() if tally.requests or tally.is_red]
        return tuple(line for tally in asked for line in summary_of(tally))

    def session(self, ending: Ending) -> ReplaySession:
        """One account of all proxies."""
        parts = (opened.session(ending) for opened in self._opened)
        return joined(part for part in parts if part is not None)
