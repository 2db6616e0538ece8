# SPDX-License-Identifier: Apache-2.0
"""Fake endpoints and raw clients that end with their test."""

import json
import socket

import pytest

from truegreen.endpoint.connection import Limits
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario

WAIT_S = 10.0
"""Longest wait for anything in these tests; reaching it is a failure, never a measurement."""


class Client:
    """A raw HTTP/1.1 client."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
        self._early = b""

    def send(self, data: bytes):
        """Bytes as they are."""
        self.sock.sendall(data)

    def ask(self, *, sample=None, path="/v1/chat/completions", prompt="x", **more):
        """Send a chat request."""
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}], **more}).encode()
        header = f"x-truegreen-sample: {sample}\r\n" if sample is not None else ""
        self.send(
            f"POST {path} HTTP/1.1\r\nHost: x\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )

    def read(self):
        """Status and body of one response with Content-Length."""
        data = self._early
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            int(row.split(b":")[1])
            for row in head.split(b"\r\n")
            if row.lower().startswith(b"content-length")
        )
        while len(body) < length:
            body += self._more()
        body, self._early = body[:length], body[length:]
        return int(head.split()[1]), body

    def rest(self) -> bytes:
        """Everything up to the close."""
        data = b""
        while piece := self.sock.recv(65536):
            data += piece
        return data

    def _more(self) -> bytes:
        piece = self.sock.recv(65536)
        if not piece:
            raise EOFError("closed before the end")
        return piece


@pytest.fixture
def serve():
    """Start an endpoint of a scenario, or of one rule given by its fields."""
    made = []

    def make(scenario=None, *, limits=None, **rule):
        scenario = scenario or Scenario(seed="s", rules=(Rule(**{"id": "r", "answer": "yes"} | rule),))
        made.append(FakeEndpoint(scenario, limits=limits or Limits()).start())
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def client():
    """Open raw clients that are closed with the test."""
    made = []

    def connect(endpoint):
        made.append(Client(endpoint.port))
        return made[-1]

    yield connect
    for one in made:
        one.sock.close()
