# SPDX-License-Identifier: Apache-2.0
"""Which proxy an upstream needs, and the tunnel through it."""

import asyncio
import base64
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.exchange import End
from truegreen.proxy.forward_proxy import ForwardProxy, proxy_for
from truegreen.proxy.upstream import ConnectError, Upstream, connect

WIRE = Path(__file__).parents[2] / "wire"
HOST = "api.example.test"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:3128"}, ("p", 3128)),
        ({"https_proxy": "p:3128"}, ("p", 3128)),
        ({"ALL_PROXY": "http://p"}, ("p", 8080)),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": " "}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other.test"}, ("p", 1)),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.test"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "http://[::1]:3128"}, ("::1", 3128)),
    ],
)
def test_the_variables_of_clients_say_which(environment, found):
    """As Python's own clients read them."""
    proxy = proxy_for(HOST, 443, environment)
    assert found == (proxy and (proxy.host, proxy.port))


def test_credentials_go_into_a_header_and_into_no_text():
    """Escapes undone; ``repr`` does not show them."""
    proxy = proxy_for(HOST, 443, {"HTTPS_PROXY": "http://me:p%40ss@p:1"})
    assert f"Basic {base64.b64encode(b'me:p@ss').decode()}" == proxy.authorization
    assert proxy.authorization not in repr(proxy)


@pytest.mark.parametrize("url", ["https://p:1", "socks5://p:1", "http://", "http://p:99999"])
def test_a_proxy_that_cannot_be_used_is_refused(url):
    """Nothing goes around it in silence."""
    with pytest.raises(UsageProblem) as caught:
        proxy_for(HOST, 443, {"HTTPS_PROXY": url})
    assert "bad-forward-proxy" == caught.value.code


def _through(answer, *, cafile=WIRE / "loopback.crt", host="localhost"):
    """Connect to a TLS server through a proxy that says ``answer``; what the proxy was asked, and what came back."""

    async def run():
        server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server_tls.load_cert_chain(WIRE / "loopback.crt", WIRE / "loopback.key")
        asked, pumps, writers = [], [], []

        async def secret(reader, writer):
            writers.append(writer)
            writer.write(b"hello " + await reader.readline())
            await writer.drain()
            writer.close()

        async def pump(reader, writer):
            with suppress(OSError):
                while data := await reader.read(65536):
                    writer.write(data)

        async def proxy(reader, writer):
            writers.append(writer)
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            if not answer.startswith(b"HTTP/1.1 200") or not answer.endswith(b"\r\n\r\n"):
                writer.close()
                return
            inner = await asyncio.open_connection("127.0.0.1", target.sockets[0].getsockname()[1])
            writers.append(inner[1])
            pumps.extend(
                asyncio.ensure_future(one) for one in (pump(reader, inner[1]), pump(inner[0], writer))
            )

        target = await asyncio.start_server(secret, "127.0.0.1", 0, ssl=server_tls)
        way = await asyncio.start_server(proxy, "127.0.0.1", 0)
        upstream = Upstream(
            scheme="https",
            host=host,
            port=443,
            prefix="",
            tls=ssl.create_default_context(cafile=cafile),
            via=ForwardProxy(
                host="127.0.0.1", port=way.sockets[0].getsockname()[1], authorization="Basic eA=="
            ),
        )
        try:
            reader, writer = await connect(upstream, limit_s=10)
            writer.write(b"world\n")
            said = await reader.read(100)
            writer.transport.abort()
            return asked[0], said
        finally:
            for one in (target, way):
                one.close()
            for one in pumps:
                one.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for one in writers:
                one.transport.abort()
            await asyncio.sleep(0.01)

    return asyncio.run(run())


def test_the_tunnel_ends_at_the_upstreams_own_tls():
    """The proxy sees a name and a port; the certificate that counts is the upstream's."""
    asked, said = _through(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert (
        b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\nProxy-Authorization: Basic eA==\r\n\r\n"
        == asked
    )
    assert b"hello world\n" == said


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "forward-proxy-407"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "forward-proxy-502"),
        (b"SSH-2.0\r\n\r\n", "forward-proxy-not-http"),
        (b"", "forward-proxy-not-http"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000, "forward-proxy-not-http"),
    ],
)
def test_a_proxy_that_refuses_is_named_and_is_not_the_upstream(answer, detail):
    """Unreachable, with the proxy's status: not a refusal by the endpoint."""
    with pytest.raises(ConnectError) as caught:
        _through(answer)
    assert (End.UNREACHABLE, detail) == (caught.value.end, caught.value.detail)


def test_a_proxy_that_ends_the_upstreams_tls_itself_is_not_trusted():
    """A certificate that nobody vouches for stops the request before a byte of it."""
    with pytest.raises(ConnectError) as caught:
        _through(b"HTTP/1.1 200 OK\r\n\r\n", cafile=None)
    assert (End.UNREACHABLE, "tls") == (caught.value.end, caught.value.detail)
