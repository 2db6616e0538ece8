# SPDX-License-Identifier: Apache-2.0
"""Which addresses can stand behind the observer, and how a failed connection is named."""

import asyncio
import socket
import ssl

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.exchange import End
from truegreen.proxy.upstream import ConnectError, Upstream, connect, parse_upstream


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080", ("http", "127.0.0.1", 8080, "", "127.0.0.1:8080")),
        ("http://127.0.0.1:8080/v1/", ("http", "127.0.0.1", 8080, "/v1", "127.0.0.1:8080")),
        ("http://API.example/a/b", ("http", "api.example", 80, "/a/b", "api.example")),
        ("http://[::1]:9", ("http", "::1", 9, "", "[::1]:9")),
        ("http://api.example:80/", ("http", "api.example", 80, "", "api.example")),
    ],
)
def test_addresses_are_taken_apart(url, expected):
    """Host and port as the Host header will have them."""
    up = parse_upstream(url)
    assert expected == (up.scheme, up.host, up.port, up.prefix, up.authority)
    assert None is up.tls


def test_https_checks_certificates():
    """Trust is the SDKs' own, verification is on, and only HTTP/1.1 is offered."""
    up = parse_upstream("https://api.example/v1")
    assert (443, "api.example") == (up.port, up.authority)
    assert (ssl.CERT_REQUIRED, True) == (up.tls.verify_mode, up.tls.check_hostname)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example/v1",
        "ftp://api.example",
        "file:///etc/passwd",
        "http://",
        "http://:80",
        "http://user:secret@api.example",
        "http://secret@api.example",
        "http://api.example?key=secret",
        "http://api.example/#x",
        "http://api.example:99999",
        "http://api.example:x",
        "http://a b/",
        "http://api.example/a b",
        "http://api.example/\r\nX: 1",
        "http://[::1",
    ],
)
def test_addresses_that_cannot_be_used_are_refused(url):
    """With a sentence that shows no credential."""
    with pytest.raises(UsageProblem) as caught:
        parse_upstream(url)
    assert "bad-upstream" == caught.value.code
    assert "\n" not in caught.value.message
    if "@" in url:
        assert "secret" not in str(caught.value)


def _fails(host="127.0.0.1", port=9, *, limit_s=5.0, tls=None):
    scheme = "https" if tls else "http"
    up = Upstream(scheme=scheme, host=host, port=port, prefix="", tls=tls)

    async def attempt():
        with pytest.raises(ConnectError) as caught:
            await connect(up, limit_s=limit_s)
        return caught.value.end, caught.value.detail

    return asyncio.run(attempt())


def test_a_port_that_nobody_listens_on_refuses():
    """The plainest outage."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert (End.REFUSED, "") == _fails(port=port)


def test_a_name_that_does_not_resolve_is_dns(monkeypatch):
    """So is a name that no system would even look up."""

    def nobody(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    assert (End.UNREACHABLE, "dns") == _fails("a" * 64 + ".example")
    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    assert (End.UNREACHABLE, "dns") == _fails("api.example")


def test_a_server_without_tls_is_a_tls_failure():
    """An https address in front of a plain server proves nothing about the endpoint."""

    async def attempt():
        async def plain(reader, writer):
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        up = Upstream(
            scheme="https",
            host="127.0.0.1",
            port=server.sockets[0].getsockname()[1],
            prefix="",
            tls=ssl.create_default_context(),
        )
        async with server:
            with pytest.raises(ConnectError) as caught:
                await connect(up, limit_s=5)
        return caught.value.end, caught.value.detail

    assert (End.UNREACHABLE, "tls") == asyncio.run(attempt())


def test_a_listener_that_never_accepts_meets_the_limit():
    """A full backlog swallows the connection attempt; the limit names it."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        try:
            assert (End.UNREACHABLE, "connect-timeout") == _fails(port=full.getsockname()[1], limit_s=0.2)
        finally:
            for filler in fillers:
                filler.close()


def test_other_failures_keep_a_name(monkeypatch):
    """No route to the host, say."""

    async def nowhere(*_, **__):
        raise OSError(113, "No route to host")

    monkeypatch.setattr(asyncio, "open_connection", nowhere)
    assert (End.UNREACHABLE, "connect-failed") == _fails()
