# SPDX-License-Identifier: Apache-2.0
"""The limiter's service in a thread of the test, on a real socket of loopback, and plain requests to it."""

import asyncio
import http.client
import json
import secrets
import socket
import threading
from contextlib import contextmanager

from truegreen.limiter.http.app import Service
from truegreen.limiter.http.desk import Desk
from truegreen.limiter.http.serving import Bounds, Serving
from truegreen.limiter.http.store import MemoryStore
from truegreen.limiter.limits import Limits, checked


class Running:
    """A service that listens."""

    def __init__(self, limits, tokens=None, store=None, **bounds):
        self.desk = Desk(store or MemoryStore(limits))
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(64)
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        app = Service(self.desk, tokens).app
        self.routes = {(method, it.path) for it in app.routes for method in it.methods - {"HEAD"}}
        self._serving = Serving(app, self.desk, self._listening, Bounds(**bounds))
        self._loop = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._has_begun = threading.Event()

    async def _run(self):
        self._loop = asyncio.get_running_loop()
        self._has_begun.set()
        await self._serving.run()

    def start(self):
        """Returns once it serves."""
        self._thread.start()
        assert self._has_begun.wait(10)

    def stop(self):
        """As a signal does it."""
        self._loop.call_soon_threadsafe(self._serving.stop)

    def join(self):
        """Wait for its end."""
        self._thread.join(20)
        assert not self._thread.is_alive()

    def ask(self, method, path, body=None, token=None, **headers):
        """Status, headers and decoded body of one request on a connection of its own."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if token:
            headers["authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, dict(response.headers), json.loads(text) if is_json else text.decode()

    def post(self, path, body, token=None):
        """Status and body."""
        status, _, told = self.ask("POST", path, body, token)
        return status, told

    def numbers(self, resource="default", token=None):
        """What the status says of one resource."""
        _, _, told = self.ask("GET", "/v1/status", token=token)
        return next(it for it in told["resources"] if it["resource"] == resource)


@contextmanager
def running(limits, **given):
    """A service until the end of the block; it is closed at once."""
    service = Running(limits if not isinstance(limits, dict) else checked(Limits(**limits)), **given)
    service.start()
    try:
        yield service
    finally:
        service.stop()
        service.stop()
        service.join()


def new_id():
    """An id for an ask."""
    return secrets.token_urlsafe(18)
