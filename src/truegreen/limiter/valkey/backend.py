# SPDX-License-Identifier: Apache-2.0
"""Ledgers that live in a Redis or Valkey server, for all hosts that reach it.

What it decides: names of keys, and what is kept to tell a lost ledger from a lost lease. What it leaves: the rules, to
the script; failures and connections, to ``server``; waiting and signs of life, to the clients.

- The clock is the server's: nothing here reads one that is compared with another host's.
- A step that is told twice is taken once, since every ask has an id of its own.
- A sign of life says when its ledger began: one that was lost meanwhile (flushed, evicted, a replica that had not
  heard of it) learns from it who is in flight.
"""

from __future__ import annotations

import math
from typing import Final
from urllib.parse import quote

import msgspec

from truegreen.core.admission import Pressure
from truegreen.core.errors import ReachProblem
from truegreen.limiter.backend import NO_PRESSURE, Key
from truegreen.limiter.bounds import out_of_bounds
from truegreen.limiter.limits import LONGEST, MOST_TOKENS, SECOND, Limits, checked
from truegreen.limiter.state import Answer, Go, Gone, Ledger, Request
from truegreen.limiter.valkey.answers import answer_of, ask_arguments, ledger_of, limit_numbers
from truegreen.limiter.valkey.server import Argument, Server

PREFIX: Final = "truegreen:limiter:v1:"


class Redis:
    """Implements ``backend.Backend``."""

    is_quick: Final = False

    def __init__(self, url: str, limits: Limits) -> None:
        """Nothing is connected yet. Raises: UsageProblem ``bad-redis-address``, ``limit-out-of-range``."""
        self._server = Server(url)
        self.name: Final = self._server.where
        self.limits: Final = checked(limits)
        self._numbers = limit_numbers(self.limits)
        self._born: dict[str, int] = {}

    def ask(self, key: Key, request: Request) -> Answer:
        """As ``ledger.ask``."""
        return out_of_bounds(request) or self._stepped(key, "ask", *ask_arguments(request))

    def look(self, key: Key, id: str) -> Answer:  # noqa: A002 - the field of a request has this name
        """As ``ledger.look``."""
        return self._stepped(key, "look", id)

    def beat(self, key: Key, id: str) -> Answer:  # noqa: A002 - as above
        """As ``ledger.beat``; a ledger that was lost takes the place up again."""
        return self._stepped(key, "beat", id, "", self._born.get(id, 0))

    def hand_back(
        self,
        key: Key,
        id: str,  # noqa: A002 - as above
        *,
        used_tokens: int | None = None,
        is_unused: bool = False,
        pressure: Pressure = NO_PRESSURE,
    ) -> None:
        """As ``ledger.hand_back``, then ``ledger.pressed``."""
        used = -1 if used_tokens is None else max(0, min(used_tokens, MOST_TOKENS))
        pause = math.ceil(min(max(0.0, pressure.pause_s), LONGEST / SECOND) * SECOND)
        self._stepped(key, "hand_back", id, used, int(is_unused), pause, int(pressure.is_overload))

    def state(self, key: Key) -> Ledger:
        """The ledger as it stands now."""
        _, packed = self._run(key, "state")
        try:
            return ledger_of(packed)
        except msgspec.MsgspecError as err:
            raise ReachProblem(
                "limiter-state-unreadable",
                f"{self.name} holds a ledger that this version does not read: {err}",
                hint=f"redis-cli DEL '{key_of(key)}' once no call is under way",
            ) from err

    def close(self) -> None:
        """Close the connections; leases stay."""
        self._server.close()

    def _stepped(self, key: Key, verb: str, *arguments: Argument) -> Answer:
        answer, born_us = answer_of(self._run(key, verb, *arguments))
        if isinstance(answer, Go) and answer.lease_ns and verb != "beat":
            self._born[str(arguments[0])] = born_us
        elif isinstance(answer, Gone):
            self._born.pop(str(arguments[0]), None)
        return answer

    def _run(self, key: Key, verb: str, *arguments: Argument) -> list[bytes]:
        return self._server.run(key_of(key), verb, *self._numbers, *arguments)


def key_of(key: Key) -> str:
    """The name of a ledger in the server; tenant and resource cannot run into one another, and share a slot."""
    return f"{PREFIX}{{{quote(key.tenant, safe='')}/{quote(key.resource, safe='')}}}"
