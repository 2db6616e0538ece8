# SPDX-License-Identifier: Apache-2.0
"""A listening socket on this machine, with a thread and an event loop of its own.

What it decides: life and end of thread, loop, socket and connections. What it leaves: what a connection does,
to the function that it is given.

- Every connection is a task; ``stop`` cancels those that are left and waits for them.
- An error that leaves a connection's function is kept in ``failure``, the first one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from truegreen.proxy.upstream import READ_BYTES

LOOPBACK: Final = "127.0.0.1"
BACKLOG: Final = 1024
START_LIMIT_S: Final = 10.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Listener:
    """Serves connections in a thread of its own."""

    def __init__(self, serve: Serve, *, name: str, host: str = LOOPBACK, port: int = 0) -> None:
        """``serve`` handles one connection; ``port`` 0 takes a free one."""
        self._serve = serve
        self._name, self._host, self._port = name, host, port
        self._thread: threading.Thread | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.loop = asyncio.new_event_loop()
        self.failure: BaseException | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def host(self) -> str:
        """The address it listens on."""
        return self._host

    @property
    def was_started(self) -> bool:
        """Whether ``start`` was called."""
        return self._thread is not None

    def start(self) -> None:
        """Listen. Raises: OSError."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result(START_LIMIT_S)

    def stop(self, *, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """End every connection, await ``last``, give up the thread; harmless if called again."""
        if self._thread is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(last), self.loop).result()
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
        if not self.loop.is_closed():
            self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._accept, self._host, self._port, limit=READ_BYTES, backlog=BACKLOG, reuse_address=True
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _end(self, last: Callable[[], Awaitable[None]] | None) -> None:
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # a connection that was accepted just now gets its task
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)
        if last is not None:
            await last()
        await self.loop.shutdown_default_executor()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self.loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        task.add_done_callback(lambda _: writer.transport.abort())  # it may be cancelled before it began

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (err := task.exception()) is not None:
            self.failure = self.failure or err
