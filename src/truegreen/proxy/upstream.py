# SPDX-License-Identifier: Apache-2.0
"""The real endpoint: its address, and one connection to it.

What it decides: what is a usable address, and how a failed connection is named. What it leaves: bytes, to
``tunnel``.

- ``http`` or ``https`` with an optional path prefix; credentials, query and fragment are refused.
- TLS trusts what the SDKs' own HTTP library trusts, so that the observer changes no verdict on a certificate.
- An https upstream is reached through the forward proxy that it was given, if any.
- A connection is made once and never again for the same request: the observer does not retry.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from truegreen.core.errors import UsageProblem
from truegreen.core.exchange import End
from truegreen.proxy.forward_proxy import ForwardProxy, open_tunnel

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
HOST: Final = re.compile(r"[A-Za-z0-9._:-]+")
PREFIX: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
READ_BYTES: Final = 64 << 10


class ConnectError(Exception):
    """No connection: ``end`` and the kebab-case ``detail`` say why."""

    def __init__(self, end: End, detail: str) -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstream:
    """Where requests go."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """Host name or address, without brackets."""
    port: int
    """TCP port."""
    prefix: str
    """Path put before every target, without a slash at its end."""
    tls: ssl.SSLContext | None = None
    """Trust for ``https``."""
    via: ForwardProxy | None = None
    """Forward proxy on the way, for ``https``."""

    @property
    def authority(self) -> str:
        """Value of the ``Host`` header: the port is left out where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_upstream(url: str, *, tls: ssl.SSLContext | None = None, needs_tls: bool = True) -> Upstream:
    """The upstream of a base URL such as ``https://api.openai.com/v1``.

    ``needs_tls``: whether a connection will be made, for which https needs trust (130 ms).

    Raises: UsageProblem ``bad-upstream``.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as err:
        raise _bad(url, str(err)) from err
    if parts.scheme not in DEFAULT_PORTS:
        raise _bad(url, f"its scheme is {parts.scheme or 'missing'!r}, not http or https")
    if parts.username is not None or parts.password is not None:
        raise _bad("…", "it holds credentials, which belong into the client")
    if parts.query or parts.fragment or not PREFIX.fullmatch(parts.path):
        raise _bad(url, "only scheme, host, port and path are taken")
    if not host or not HOST.fullmatch(host):
        raise _bad(url, "it names no host")
    tls = (tls or default_tls()) if parts.scheme == "https" and needs_tls else None
    return Upstream(
        scheme=parts.scheme,
        host=host,
        port=port or DEFAULT_PORTS[parts.scheme],
        prefix=parts.path.rstrip("/"),
        tls=tls,
    )


def default_tls() -> ssl.SSLContext:
    """Trust as the SDKs' HTTP library has it, HTTP/1.1 only."""
    import httpx2  # noqa: PLC0415 - 130 ms that only an https upstream needs

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def connect(upstream: Upstream, *, limit_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A new connection. Raises: ConnectError."""
    try:
        async with asyncio.timeout(limit_s):
            if upstream.via is not None and upstream.tls is not None:
                return await _tunnelled(upstream, upstream.via, upstream.tls)
            return await asyncio.open_connection(
                upstream.host,
                upstream.port,
                ssl=upstream.tls,
                server_hostname=upstream.host if upstream.tls else None,
                limit=READ_BYTES,
            )
    except TimeoutError as err:
        raise ConnectError(End.UNREACHABLE, "connect-timeout") from err
    except (socket.gaierror, UnicodeError) as err:  # a label that no name can have
        raise ConnectError(End.UNREACHABLE, "dns") from err
    except ssl.SSLError as err:
        raise ConnectError(End.UNREACHABLE, "tls") from err
    except ConnectionRefusedError as err:
        raise ConnectError(End.REFUSED, "") from err
    except OSError as err:
        raise ConnectError(End.UNREACHABLE, "connect-failed") from err


async def _tunnelled(
    upstream: Upstream, via: ForwardProxy, tls: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection through a forward proxy, whose refusal is no refusal of the upstream."""
    opened = await open_tunnel(via, upstream.host, upstream.port, limit=READ_BYTES)
    if isinstance(opened, int):
        raise ConnectError(End.UNREACHABLE, f"forward-proxy-{opened or 'not-http'}")
    reader, writer = opened
    try:
        await writer.start_tls(tls, server_hostname=upstream.host)
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


def _bad(url: str, why: str) -> UsageProblem:
    return UsageProblem(
        "bad-upstream",
        f"the endpoint's address {url[:100]!r} cannot be used: {why}",
        hint="give a base URL such as https://api.openai.com/v1",
    )
