# SPDX-License-Identifier: Apache-2.0
"""Transports for httpx2 with their recordings: the modes of the proxy inside a program.

What it decides: which recordings a mode gets. What it leaves: everything else, to ``proxy``.

- The names of the modes are ``live``, ``record`` and ``replay``; ``record`` refuses where ``CI`` is set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx2

from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Store
from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.proxy.async_transport import AsyncModelTransport
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.transport import ModelTransport
from truegreen.proxy.upstream import parse_upstream
from truegreen.wiring.cassettes import recording, replaying
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.environment import environment

MODES: Final = {mode.value: mode for mode in Mode}


def transport(  # noqa: PLR0913 - what it is made of; all but two have defaults
    mode: str,
    upstream: str,
    *,
    cassettes: Path | None = None,
    alias: str | None = None,
    inner: httpx2.BaseTransport | None = None,
    options: Options | None = None,
) -> ModelTransport:
    """A transport for ``httpx2.Client``.

    ``upstream`` is the endpoint's base URL, ``cassettes`` the folder of its recordings, ``alias`` its name in keys
    (by default host and port), ``inner`` what sends in ``live`` and ``record``.

    Raises: UsageProblem ``bad-mode``, ``bad-upstream``, ``recordings-needed``, ``recordings-not-used``,
    ``inner-not-used``, ``recording-in-ci``.
    """
    store = _store(mode_of(mode), upstream, cassettes, alias)
    return ModelTransport(mode_of(mode), upstream, recordings=store, inner=inner, options=options)


def async_transport(  # noqa: PLR0913 - as above
    mode: str,
    upstream: str,
    *,
    cassettes: Path | None = None,
    alias: str | None = None,
    inner: httpx2.AsyncBaseTransport | None = None,
    options: Options | None = None,
) -> AsyncModelTransport:
    """A transport for ``httpx2.AsyncClient``; as ``transport``."""
    store = _store(mode_of(mode), upstream, cassettes, alias)
    return AsyncModelTransport(mode_of(mode), upstream, recordings=store, inner=inner, options=options)


def mode_of(name: str) -> Mode:
    """The mode of this name. Raises: UsageProblem ``bad-mode``."""
    if name not in MODES:
        raise UsageProblem(
            "bad-mode", f"{quoted(name)} is no mode: one of {', '.join(sorted(MODES))} is asked"
        )
    return MODES[name]


def _store(mode: Mode, upstream: str, cassettes: Path | None, alias: str | None) -> Store | None:
    if cassettes is None:
        return None
    rules = KeyRules(host=alias or parse_upstream(upstream, needs_tls=False).authority)
    if mode is Mode.RECORD:
        return recording(cassettes, rules, SystemClock(), environment())
    return replaying(cassettes, rules)
