# SPDX-License-Identifier: Apache-2.0
"""Replay proxies inside this process: one for each endpoint that its programs know, over one folder.

What it decides: which endpoints are replayed, which variables point to them, and when the whole is red. What it
leaves: when it begins and ends, to whoever runs tests.

- An endpoint is the one that a variable names; OpenAI's and Anthropic's own where none does. Its host is its name in
  keys, as at ``proxy run``.
- A client needs a key to be built at all: where none is set, a word that is no key stands in.
- All processes that inherit the variables share these proxies: one order of equal requests, one account.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from truegreen.cassettes.folder import Folder
from truegreen.core.errors import UsageProblem
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import ReplaySession
from truegreen.proxy.modes import Mode, Options, Pace
from truegreen.proxy.session import Tally
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.model_environment import (
    ANTHROPIC_HOME,
    ANTHROPIC_KEYS,
    ANTHROPIC_NAMES,
    OPENAI_HOME,
    OPENAI_KEYS,
    OPENAI_NAMES,
    Upstream,
    read_model_environment,
    without_proxy,
)
from truegreen.wiring.model_proxy import OpenedProxy, Wish, summary_of
from truegreen.wiring.replay_account import Ending

NO_KEY = "replayed"
"""Stands in for a key that nobody needs."""
HOMES = (
    Upstream(url=OPENAI_HOME, names=OPENAI_NAMES),
    Upstream(url=ANTHROPIC_HOME, names=ANTHROPIC_NAMES),
)


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
        self._folder = folder
        self._environment = environment
        self._upstreams = _upstreams(environment)
        wishes = (
            Wish(mode=Mode.REPLAY, upstream=one.url, cassettes=folder, options=Options(pace=pace))
            for one in self._upstreams
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

    def variables(self) -> dict[str, str]:
        """What programs must find in their environment."""
        made = {
            name: opened.proxy.base_url()
            for upstream, opened in zip(self._upstreams, self._opened, strict=True)
            for name in upstream.names
        }
        keys = (OPENAI_KEYS[-1], ANTHROPIC_KEYS[0])
        made |= {name: NO_KEY for name in keys if not self._environment.get(name)}
        return made | without_proxy(self._environment)

    def tallies(self) -> tuple[Tally, ...]:
        """What happened at each proxy so far."""
        return tuple(opened.proxy.tally() for opened in self._opened)

    @property
    def is_red(self) -> bool:
        """Whether the run fails whatever its tests said."""
        return any(tally.is_red for tally in self.tallies())

    def summary(self) -> tuple[str, ...]:
        """The lines of each proxy that was asked anything."""
        asked = [tally for tally in self.tallies() if tally.requests or tally.is_red]
        return tuple(line for tally in asked for line in summary_of(tally))

    def session(self, ending: Ending) -> ReplaySession:
        """One account of all proxies: they share the folder."""
        parts = [opened.session(ending) for opened in self._opened]
        first, *rest = (part for part in parts if part is not None)
        hits = [*first.hits, *(hit for part in rest for hit in part.hits)]
        misses = [*first.misses, *(miss for part in rest for miss in part.misses)]
        played = {hit.file for hit in hits}
        unused = tuple(name for name in Folder(self._folder, write_atomic).names() if name not in played)
        return msgspec.structs.replace(
            first,
            hits=tuple(sorted(hits, key=lambda hit: (hit.file, hit.key))),
            misses=tuple(sorted(misses, key=lambda miss: (miss.key, miss.code))),
            unused=unused,
        )


def _upstreams(environment: Mapping[str, str]) -> tuple[Upstream, ...]:
    """The endpoints that the environment names, and the homes of the vendors that it does not."""
    try:
        named = read_model_environment(environment).upstreams
    except UsageProblem:  # no-endpoint: nothing is named
        return HOMES
    known = {name for one in named for name in one.names}
    return (*named, *(home for home in HOMES if known.isdisjoint(home.names)))
