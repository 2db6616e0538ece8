# SPDX-License-Identifier: Apache-2.0
"""Runs the limiter's service until it is told to stop.

What it decides: which files and addresses are taken together, how a caller learns that it listens, what ends it. What
it leaves: answers, to ``limiter.http``; the policy, to its reader.

- It listens on loopback unless another address is named; then tokens are a must, and so is TLS, unless plain HTTP
  behind something that speaks TLS is asked for by name.
- One JSON line says the address once it listens; the same line goes to the ready file, whole or not at all.
- SIGTERM stops it in order: no new leave, calls under way may end. Ctrl-C and a second SIGTERM end it at once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from truegreen.core.errors import ReachProblem, UsageProblem, extra_missing
from truegreen.core.outcome import Exit
from truegreen.core.quoted import quoted
from truegreen.limiter.http.desk import Desk, Store
from truegreen.limiter.http.tokens import Tokens, read_tokens
from truegreen.wiring.atomic import write_atomic

HINT = "truegreen limiter serve --help"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the service listens, and for how long it lets calls end."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8471
    """Port; 0 takes a free one."""
    certificate: Path | None = None
    """Certificate chain for TLS."""
    key: Path | None = None
    """Its key."""
    is_plain_allowed: bool = False
    """Whether an address beyond loopback may be served without TLS."""
    drain_s: float = 30.0
    """Longest time for calls under way to end."""
    connections: int = 1024
    """Most connections at once."""
    ready_file: Path | None = None
    """Where the announcement goes too."""


def serve(
    place: Place,
    *,
    tokens: Path | None,
    store: Store,
    say: Callable[[str], None],
) -> Exit:
    """Serve until a signal; ``say`` gets the line that announces it.

    Raises: UsageProblem ``extra-missing``, ``not-loopback``, ``bad-certificate``, or as ``read_tokens``; ReachProblem
    ``port-taken``, or as ``write_atomic``; KeyboardInterrupt on Ctrl-C.
    """
    known = read_tokens(tokens) if tokens else None
    refuse_careless(place, has_tokens=known is not None)
    listening = _listening(place)
    with listening:
        return asyncio.run(_served(place, listening, known, Desk(store), say))


def refuse_careless(place: Place, *, has_tokens: bool) -> None:
    """Refuse what would let strangers in, or let tokens be read on the way.

    Raises: UsageProblem ``not-loopback``.
    """
    if _is_loopback(place.host):
        return
    if not has_tokens:
        raise UsageProblem(
            "not-loopback", f"{quoted(place.host)} is not loopback, and tokens are asked there", hint=HINT
        )
    if place.certificate is None and not place.is_plain_allowed:
        raise UsageProblem(
            "not-loopback",
            f"{quoted(place.host)} is not loopback, and tokens would go there without TLS",
            hint=HINT,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(place: Place) -> socket.socket:
    """Raises: ReachProblem ``port-taken``."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except OSError as err:
        raise ReachProblem(
            "port-taken", f"{place.host} port {place.port} cannot be listened on: {err.strerror}", hint=HINT
        ) from err
    return listening


async def _served(
    place: Place, listening: socket.socket, tokens: Tokens | None, desk: Desk, say: Callable[[str], None]
) -> Exit:
    try:
        from truegreen.limiter.http.app import Service  # noqa: PLC0415 - an extra, told below
        from truegreen.limiter.http.serving import Bounds, Serving  # noqa: PLC0415 - as above
    except ImportError as err:
        raise extra_missing("truegreen limiter serve", "service", err.name) from err
    bounds = Bounds(
        connections=place.connections,
        drain_s=place.drain_s,
        certificate=str(place.certificate) if place.certificate else None,
        key=str(place.key) if place.key else None,
    )
    try:
        serving = Serving(Service(desk, tokens).app, desk, listening, bounds)
    except OSError as err:  # ssl.SSLError is one
        raise UsageProblem(
            "bad-certificate",
            f"{place.certificate} and {place.key} are no certificate and key: {err}",
            hint=HINT,
        ) from err
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.stop)
    line = announcement(place, listening.getsockname()[1])
    listening.listen(place.connections)
    if place.ready_file is not None:
        write_atomic(place.ready_file, f"{line}\n".encode())
    say(line)
    await serving.run()
    return Exit.DONE


def announcement(place: Place, port: int) -> str:
    """The JSON line that says where the service listens."""
    scheme = "https" if place.certificate else "http"
    host = f"[{place.host}]" if ":" in place.host else place.host
    return json.dumps({"url": f"{scheme}://{host}:{port}", "port": port, "pid": os.getpid()})
