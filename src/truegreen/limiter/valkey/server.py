# SPDX-License-Identifier: Apache-2.0
"""One Redis or Valkey server as the limiter uses it: a script that is run.

What it decides: connections, the script's loading, how long an answer may take. What it leaves: what the script is
told, to ``answers``; what a failure is called, to ``trouble``.

- The client's library never repeats a command by itself: a step that may have been taken is not taken twice.
- A server that forgot the script (restart, flush, another node) is given it again: ``NOSCRIPT`` is no failure.
- A server that may evict keys is refused at the first use: an evicted ledger would be a full one.
- After a failure every pooled connection is closed, so that the next try asks the address anew (a failover moves it).
- The address is shown without its password.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, NoScriptError, RedisError

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.limiter.valkey.trouble import named

SCRIPT: Final = resources.files("truegreen.limiter.valkey").joinpath("ledger.lua").read_text(encoding="utf-8")
SHA1: Final = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
"""The name by which EVALSHA knows the script."""
CONNECT_S: Final = 2.0
ANSWER_S: Final = 6.0
SCHEMES: Final = ("redis", "rediss", "unix")

Argument = str | int


def shown(url: str) -> str:
    """The address without user and password.

    Raises: UsageProblem ``bad-redis-address``.
    """
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in SCHEMES and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        is_one = False
    if not is_one:
        raise UsageProblem(
            "bad-redis-address",
            f"{quoted(url.partition('@')[2] or url)} is no address of a server, redis://HOST:PORT/DB is asked",
            hint="truegreen policy show",
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _options() -> dict[str, Any]:
    return {
        "socket_connect_timeout": CONNECT_S,
        "socket_timeout": ANSWER_S,
        "retry_on_error": [],
        "health_check_interval": 0,
    }


def _refuse_eviction(info: Mapping[str, Any], where: str) -> None:
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and int(info.get("maxmemory", 0)):
        raise ReachProblem(
            "redis-evicts",
            f"{where} may evict keys ({policy}), and an evicted ledger would let everybody through: noeviction is asked",
            hint="redis-cli CONFIG SET maxmemory-policy noeviction",
        )


class Server:
    """The server; may be used by any thread, and by a forked child (the library's pool sees to that)."""

    def __init__(self, url: str) -> None:
        """Nothing is connected yet. Raises: UsageProblem ``bad-redis-address``."""
        self.where: Final = shown(url)
        retry = redis.retry.Retry(NoBackoff(), 0)
        try:
            self._client = redis.Redis.from_url(url, retry=retry, **_options())
        except ValueError as err:
            raise _bad(self.where, err) from err
        self._is_trusted = False

    def run(self, key: str, *arguments: Argument) -> list[Any]:
        """One run of the script. Raises: ReachProblem, as ``trouble.named`` and ``redis-evicts``."""
        with named(self.where):
            try:
                self._trust()
                try:
                    answer = self._client.evalsha(SHA1, 1, key, *arguments)
                except NoScriptError:
                    answer = self._client.eval(SCRIPT, 1, key, *arguments)
            except (RedisError, OSError):
                self._client.connection_pool.disconnect(inuse_connections=False)
                raise
        return list(answer)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _trust(self) -> None:
        if self._is_trusted:
            return
        with suppress(
            NoPermissionError
        ):  # a user that may run the script alone: its owner answers for the server
            _refuse_eviction(self._client.info("memory"), self.where)
        self._is_trusted = True


def _bad(where: str, err: ValueError) -> UsageProblem:
    return UsageProblem("bad-redis-address", f"{where} cannot be used: {err}", hint="truegreen policy show")
