# SPDX-License-Identifier: Apache-2.0
"""A forward proxy on the way to an https upstream: the tunnel that ``CONNECT`` asks it for.

What it decides: which proxy an upstream needs, by the variables that clients read, and the words with it. What it
leaves: TLS and everything inside the tunnel, to ``upstream``.

- ``HTTPS_PROXY`` or ``https_proxy``, else ``ALL_PROXY``; ``NO_PROXY`` takes hosts out, as Python's own rule reads it.
- Only for https upstreams: a tunnel to a plain one is what most proxies refuse.
- The proxy is spoken to in the clear (``http://``), with Basic credentials from its URL where it has some.

Source: RFC 9110, 9.3.6 and 11.7.
"""

from __future__ import annotations

import asyncio
import base64
import re
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from truegreen.core.errors import UsageProblem

NAMES: Final = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
BYPASS: Final = ("no_proxy", "NO_PROXY")
DEFAULT_PORT: Final = 8080
MAX_HEAD_BYTES: Final = 64 << 10
STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForwardProxy:
    """One proxy."""

    host: str
    """Host name or address, without brackets."""
    port: int
    """TCP port."""
    authorization: str = field(default="", repr=False)
    """Value of ``Proxy-Authorization``; empty for none."""


def proxy_for(host: str, port: int, environment: Mapping[str, str]) -> ForwardProxy | None:
    """The proxy that clients would take to this https host; None for a direct way.

    Raises: UsageProblem ``bad-forward-proxy``.
    """
    url = next((value for name in NAMES if (value := environment.get(name, "").strip())), "")
    bypass = next((value for name in BYPASS if (value := environment.get(name, "").strip())), "")
    if not url or _is_bypassed(f"{host}:{port}", bypass):
        return None
    return _parsed(url)


async def open_tunnel(
    proxy: ForwardProxy, host: str, port: int, *, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | int:
    """A connection through the proxy, or the status with which it refuses; 0 for an answer that is not HTTP.

    Raises: OSError if the proxy cannot be reached.
    """
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port, limit=limit)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
    status = 0
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        status = await _status(reader)
    except asyncio.LimitOverrunError:
        status = 0
    finally:
        if status // 100 != 2:  # noqa: PLR2004 - RFC 9110, 9.3.6
            writer.transport.abort()
    return (reader, writer) if status // 100 == 2 else status  # noqa: PLR2004 - as above


async def _status(reader: asyncio.StreamReader) -> int:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return 0
    found = STATUS_LINE.match(head)
    return int(found[1]) if found else 0


def _is_bypassed(authority: str, bypass: str) -> bool:
    rule = urllib.request.proxy_bypass_environment  # type: ignore[attr-defined]  # missing in typeshed
    return bool(rule(authority, {"no": bypass}))


def _parsed(url: str) -> ForwardProxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError as err:
        raise _bad(str(err)) from err
    if parts.scheme != "http" or not host:
        raise _bad(f"its scheme is {parts.scheme!r}" if host else "it names no host")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return ForwardProxy(host=host, port=port or DEFAULT_PORT, authorization=authorization)


def _bad(why: str) -> UsageProblem:
    return UsageProblem(
        "bad-forward-proxy",
        f"the proxy that HTTPS_PROXY names cannot be used: {why}, http://host:port is asked",
        hint="unset HTTPS_PROXY, or add the endpoint's host to NO_PROXY",
    )
