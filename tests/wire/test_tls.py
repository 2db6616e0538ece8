# SPDX-License-Identifier: Apache-2.0
"""The observer before an https endpoint."""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from truegreen.core.exchange import End
from truegreen.core.wire import WireClass, classify
from truegreen.proxy.observer import Observer

HERE = Path(__file__).parent
REQUEST = b"POST /s/0-1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n"
    b'{"choices": []}'
)


class TlsServer:
    """One connection over TLS: reads a request, sends some bytes, and ends with or without a close_notify."""

    def __init__(self, sent, *, is_polite):
        self._sent, self._is_polite = sent, is_polite
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(HERE / "loopback.crt", HERE / "loopback.key")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.head = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        with suppress(OSError):
            conn, _ = self._listener.accept()
            conn.settimeout(10)
            with self._context.wrap_socket(conn, server_side=True) as tls:
                self.head = tls.recv(65536)
                tls.sendall(self._sent)
                if self._is_polite:
                    tls.unwrap()

    def close(self):
        """Stop, also if nobody ever came."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@pytest.fixture
def ask():
    """Send one request through an observer that trusts the given certificate."""
    servers = []

    def run(sent, *, is_polite=True, host="localhost", cafile=HERE / "loopback.crt"):
        server = TlsServer(sent, is_polite=is_polite)
        servers.append(server)
        trust = ssl.create_default_context(cafile=cafile)
        received = b""
        with Observer(f"https://{host}:{server.port}/v1", tls=trust) as observer:
            with socket.create_connection(("127.0.0.1", observer.port), timeout=10) as conn:
                conn.sendall(REQUEST)
                while piece := conn.recv(65536):
                    received += piece
            observer.drain()
            (exchange,) = observer.exchanges()
        return received, exchange, server

    yield run
    for server in servers:
        server.close()


@pytest.mark.parametrize("is_polite", [True, False])
def test_an_answer_over_tls_passes_whole(ask, is_polite):
    """With the upstream's name as Host, whether or not the server ends TLS as it should."""
    received, exchange, server = ask(ANSWER, is_polite=is_polite)
    assert (ANSWER, End.COMPLETE) == (received, exchange.end)
    assert f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:{server.port}\r\n".encode() in server.head


@pytest.mark.parametrize("is_polite", [True, False])
def test_a_cut_over_tls_is_a_cut(ask, is_polite):
    """A close_notify in the middle of an answer makes it no more whole than none does."""
    received, exchange, _ = ask(ANSWER[:-1], is_polite=is_polite)
    assert (ANSWER[:-1], End.UPSTREAM_CLOSED) == (received, exchange.end)
    assert WireClass.TRANSPORT is classify(exchange).kind


@pytest.mark.parametrize(
    "options", [{"cafile": None}, {"host": "ip6-localhost.localhost"}], ids=["unknown issuer", "other name"]
)
def test_a_certificate_that_is_not_trusted_stops_the_request(ask, options, monkeypatch):
    """Nothing is sent, and the failure is not taken for an outage that may be drawn again."""
    if "host" in options:
        real = socket.getaddrinfo
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda _host, *rest, **more: real("127.0.0.1", *rest, **more)
        )
    received, exchange, server = ask(ANSWER, **options)
    assert (b"", b"") == (received, server.head)
    assert (End.UNREACHABLE, "tls") == (exchange.end, exchange.end_detail)
    assert WireClass.UNCLEAR is classify(exchange).kind
