# SPDX-License-Identifier: Apache-2.0
"""Upstreams made of raw sockets: each test says byte for byte what the endpoint does."""

import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from simulators.recordings import MemoryRecordings
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.observer import Observer
from truegreen.proxy.tunnel import Limits

sys.path.insert(0, str(Path(__file__).parent))

from wire_kit import read_response, request

WAIT_S = 10.0
"""Longest wait for anything in these tests; reaching it is a failure, never a measurement."""


class Call:
    """One request as an upstream of these tests sees it."""

    def __init__(self, conn: socket.socket):
        self.conn = conn
        self.head = b""
        self.body = b""

    def read(self) -> bool:
        """Read one request with Content-Length or without a body; whether there was one."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.conn.recv(65536)
            if not piece:
                return False
            data += piece
        self.head, _, self.body = data.partition(b"\r\n\r\n")
        length = int(self.header("content-length") or 0)
        while len(self.body) < length:
            piece = self.conn.recv(65536)
            if not piece:
                return False
            self.body += piece
        return True

    @property
    def line(self) -> str:
        """The request line."""
        return self.head.split(b"\r\n")[0].decode()

    def header(self, name: str):
        """Value of a header, or None."""
        for row in self.head.split(b"\r\n")[1:]:
            key, _, value = row.partition(b":")
            if key.decode().lower() == name:
                return value.strip().decode()
        return None

    def send(self, data: bytes):
        """Send bytes as they are."""
        self.conn.sendall(data)

    def reset(self):
        """Close with a reset instead of an end."""
        self.conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.conn.close()


class RawUpstream:
    """Accepts connections and plays ``script(call)`` for each; a script that returns true serves the next request.

    With ``reads = False`` the script gets a call of which nothing was read.
    """

    def __init__(self, script, *, reads):
        self.script = script
        self.reads = reads
        self.calls = []
        self.errors = []
        self.released = threading.Event()
        self._threads = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    @property
    def url(self) -> str:
        """Base URL with a prefix."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _accept(self):
        while True:
            try:
                conn, _ = self._listener.accept()
            except OSError:
                return
            conn.settimeout(WAIT_S)
            thread = threading.Thread(target=self._serve, args=(conn,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, conn):
        with conn:
            try:
                while True:
                    call = Call(conn)
                    if self.reads and not call.read():
                        return
                    self.calls.append(call)
                    if not self.script(call):
                        return
            except OSError as err:
                self.errors.append(err)

    def close(self):
        """Let hanging scripts go and stop."""
        self.released.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(WAIT_S)
        for thread in self._threads:
            thread.join(WAIT_S)


@pytest.fixture
def upstream():
    """Make raw upstreams that are closed with the test."""
    made = []

    def make(script, *, reads=True):
        made.append(RawUpstream(script, reads=reads))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def observe():
    """Make started observers that are closed with the test."""
    made = []

    def make(url, **options):
        options.setdefault("limits", Limits(connect_s=WAIT_S, exchange_s=WAIT_S))
        made.append(Observer(url, **options).start())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def serve():
    """Make started proxies that are closed with the test."""
    made = []

    def make(mode, url, *, options=None, **parts):
        limits = Limits(connect_s=WAIT_S, exchange_s=WAIT_S)
        made.append(ModelProxy(mode, url, options=options or Options(limits=limits), **parts).start())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def record_one(serve, client):
    """Send one chat request through a recording proxy; its recordings and its tally afterwards."""

    def record(source, sent=None, **options):
        recordings = MemoryRecordings()
        limits = Limits(connect_s=WAIT_S, exchange_s=WAIT_S)
        proxy = serve(
            Mode.RECORD, source.url, recordings=recordings, options=Options(limits=limits, **options)
        )
        conn = client(proxy.port)
        conn.sendall(sent or request(headers=("Connection: close",)))
        read_response(conn, until_close=True)
        proxy.close()
        return recordings, proxy.tally()

    return record


@pytest.fixture
def client():
    """Open raw connections to a port that are closed with the test."""
    made = []

    def connect(port: int) -> socket.socket:
        made.append(socket.create_connection(("127.0.0.1", port), timeout=WAIT_S))
        return made[-1]

    yield connect
    for one in made:
        one.close()
