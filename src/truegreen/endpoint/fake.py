# SPDX-License-Identifier: Apache-2.0
"""The fake endpoint: a server of three APIs on loopback whose truth is known.

What it decides: its life. What it leaves: everything that it says, to ``service``.

- It listens on 127.0.0.1 only, in a thread of its own with an event loop of its own.
- The outcome of a sample is a function of the scenario's seed, the prompt and the sample number, whatever the
  order and the concurrency of calls; see ``draw`` and ``service``.
- An error inside it is never lost: ``stop`` raises it.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path
from typing import Final, Self

from truegreen.core.errors import ReachProblem
from truegreen.endpoint.connection import READ_BYTES, Connection, Limits
from truegreen.endpoint.oracle import Counts
from truegreen.endpoint.scenario import Scenario
from truegreen.endpoint.scenario_file import load_scenario
from truegreen.endpoint.service import Service

HOST: Final = "127.0.0.1"
BACKLOG: Final = 1024


class FakeEndpoint:
    """Serves one scenario; use as a context manager."""

    def __init__(self, scenario: Scenario, *, port: int = 0, limits: Limits | None = None) -> None:
        """``port`` 0 takes a free one."""
        self._service = Service(scenario)
        self._limits = limits or Limits()
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """An endpoint of a scenario file, not started. Raises: as ``load_scenario``."""
        return cls(load_scenario(path))

    def start(self) -> Self:
        """Listen. Raises: ReachProblem ``port-taken`` or ``endpoint-failed``."""
        self._thread = threading.Thread(target=self._run_loop, name="truegreen-endpoint", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError as err:
            self.stop()
            raise ReachProblem(
                "port-taken" if err.errno == errno.EADDRINUSE else "endpoint-failed",
                f"cannot listen on {HOST}:{self._port}: {err.strerror}",
                hint="--port 0 takes a free port",
            ) from err
        return self

    def stop(self) -> None:
        """End every connection and give up the thread; harmless if called again.

        Raises: ReachProblem ``endpoint-failed`` if anything went wrong inside.
        """
        if self._thread is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        if not self._loop.is_closed():
            self._loop.close()
        if self._failure is not None:
            raise ReachProblem(
                "endpoint-failed",
                f"the fake endpoint met {type(self._failure).__name__}: {str(self._failure)[:200]}",
                hint="run again; if it stays, report it",
            ) from self._failure

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"http://{HOST}:{self._port}/v1"

    def oracle(self) -> Counts:
        """What it knows of its calls, now."""
        return self._service.oracle.counts()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._accept, HOST, self._port, limit=READ_BYTES, backlog=BACKLOG
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # a connection that was accepted just now gets its task
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, service=self._service, limits=self._limits)
        task = self._loop.create_task(connection.run())
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        task.add_done_callback(lambda _: writer.transport.abort())  # it may be cancelled before it began

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (err := task.exception()) is not None:
            self._failure = self._failure or err
