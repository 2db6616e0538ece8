# SPDX-License-Identifier: Apache-2.0
"""A process that serves limiters: each line of its standard input asks for one, each line that it prints is a port.

Started once for all tests that want a service in another process than their own.
"""

import asyncio
import atexit
import socket
import subprocess
import sys
from functools import cache

import msgspec

from truegreen.limiter.http.app import Service
from truegreen.limiter.http.desk import Desk
from truegreen.limiter.http.serving import Bounds, Serving
from truegreen.limiter.http.store import MemoryStore
from truegreen.limiter.limits import Limits


@cache
def _host():
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.stdin.close)
    return process


def new_service(limits):
    """The address of a service of its own under these limits."""
    process = _host()
    process.stdin.write(msgspec.json.encode(limits).decode() + "\n")
    process.stdin.flush()
    return f"http://127.0.0.1:{int(process.stdout.readline())}"


async def _main():
    loop, serving = asyncio.get_running_loop(), []
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        desk = Desk(MemoryStore(msgspec.json.decode(line, type=Limits)))
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(256)
        served = Serving(Service(desk, None).app, desk, listening, Bounds())
        serving.append(loop.create_task(served.run()))
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - the answer
    for task in serving:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(_main())
