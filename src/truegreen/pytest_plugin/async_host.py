# SPDX-License-Identifier: Apache-2.0
"""The async engine: samples of case files, many at once, in one process.

What it decides: how answers are awaited. What it leaves: the answer itself, to ``answer`` or to the project's
own hook; judging it, to the case.

- A hook that is a coroutine function is awaited; any other runs in a thread of its own.
- A sample over its time limit is ended; a thread cannot be, and is left to itself.
- Whatever a hook raises ends one sample.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
import pytest

from truegreen.pytest_plugin import sample_environment
from truegreen.pytest_plugin.account import class_names, digest_of, encodable, told
from truegreen.pytest_plugin.answer import AsyncAsker
from truegreen.pytest_plugin.case_item import CaseItem
from truegreen.pytest_plugin.opened import Opened
from truegreen.pytest_plugin.question import Answer, KnownError
from truegreen.pytest_plugin.twin import fresh_twin
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import DETAIL_LIMIT, Ended, Running, Start, ToHost

_LENGTH = struct.Struct(">I")
_DECODER: msgspec.json.Decoder[ToHost] = msgspec.json.Decoder(ToHost)
T = TypeVar("T")


def serve(items: Sequence[pytest.Item], up: Channel[ToHost], slots: int, opened: Opened) -> None:
    """Take samples until the measuring process says stop or is gone; ``opened`` notes which files are read."""
    sample_environment.install()
    asyncio.run(_serve(items, up, slots, opened))


async def _serve(items: Sequence[pytest.Item], up: Channel[ToHost], slots: int, opened: Opened) -> None:
    reader, writer = await asyncio.open_connection(sock=up.detached())
    running: set[asyncio.Task[None]] = set()
    async with AsyncAsker(slots) as asker:
        while isinstance(message := await _hear(reader), Start):
            task = asyncio.create_task(_sample(items[message.index], message, asker, writer, opened))
            running.add(task)
            task.add_done_callback(running.discard)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    writer.close()


async def _hear(reader: asyncio.StreamReader) -> ToHost | None:
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return _DECODER.decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _say(writer: asyncio.StreamWriter, message: msgspec.Struct) -> None:
    data = msgspec.json.encode(message)
    writer.write(_LENGTH.pack(len(data)) + data)


async def _sample(
    item: pytest.Item, start: Start, asker: AsyncAsker, writer: asyncio.StreamWriter, opened: Opened
) -> None:
    _say(writer, Running(index=start.index, n=start.n, draw=start.draw, pid=os.getpid()))
    began = time.monotonic()
    try:
        ended = await _ended(item, start, asker)
    except Exception as err:  # noqa: BLE001 - an error of ours is told as the sample's end: nobody waits in vain
        detail = encodable(told(err)[:DETAIL_LIMIT])
        ended = Ended(index=start.index, n=start.n, draw=start.draw, status="left-early", detail=detail)
    took = round((time.monotonic() - began) * 1000)
    _say(writer, msgspec.structs.replace(ended, duration_ms=took, read=opened.take()))


async def _ended(item: pytest.Item, start: Start, asker: AsyncAsker) -> Ended:
    said = Ended(index=start.index, n=start.n, draw=start.draw, status="passed")
    if not isinstance(item, CaseItem):
        detail = "the async engine runs case files alone"
        return msgspec.structs.replace(said, status="left-early", reason="no-case-file", detail=detail)
    sample_environment.enter(start.env)
    item = fresh_twin(item)
    try:
        async with asyncio.timeout(start.timeout_s or None) as limit:
            answer = await _answer(item, start, asker)
        item.judge(answer)
    except TimeoutError as err:
        if limit.expired():
            detail = f"no end within {start.timeout_s:g} s"
            return msgspec.structs.replace(said, status="time-limit", reason="time-limit", detail=detail)
        return _failed(said, err, item)
    except asyncio.CancelledError:
        raise
    except BaseException as err:  # noqa: BLE001 - whatever a hook raises ends one sample
        return _failed(said, err, item)
    return msgspec.structs.replace(said, output_sha256=digest_of(answer.text))


def _failed(said: Ended, err: BaseException, item: CaseItem) -> Ended:
    status = item.judged_status or "failed"
    text = str(err) if isinstance(err, KnownError) else told(err)
    if isinstance(err, pytest.skip.Exception):
        status = "skipped"
    return msgspec.structs.replace(
        said,
        status=status,
        reason=err.reason_code if isinstance(err, KnownError) else "",
        detail=encodable(text[:DETAIL_LIMIT]),
        raised=class_names(err),
        output_sha256=None if item.judged_output is None else digest_of(item.judged_output),
    )


async def _answer(item: CaseItem, start: Start, asker: AsyncAsker) -> Answer:
    question = item.question(start.env)
    answered = await in_thread(lambda: item.ask_hook(question)) if item.is_answered_by_hook else None
    if inspect.isawaitable(answered):
        answered = await answered
    return await asker.ask(question) if answered is None else item.checked(answered)


async def in_thread(call: Callable[[], T]) -> T:
    """The call's result, made in a daemon thread of its own that sees this task's context."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def tell(way: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            way(value)

    def work() -> None:
        try:
            value = context.run(call)
        except BaseException as err:  # noqa: BLE001 - it is raised where the result is awaited
            told = (
                RuntimeError("StopIteration") if isinstance(err, StopIteration) else err
            )  # a future takes any other
            loop.call_soon_threadsafe(tell, done.set_exception, told)
        else:
            loop.call_soon_threadsafe(tell, done.set_result, value)

    threading.Thread(target=work, name="truegreen-answer", daemon=True).start()
    return await done
