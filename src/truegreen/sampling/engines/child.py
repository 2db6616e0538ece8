# SPDX-License-Identifier: Apache-2.0
"""The measuring process's end of an engine: starts pytest with the suite, asks for samples, hears the ends.

What it decides: how that process is started and ended. What it leaves: which sample comes next, to the caller.

- It has a session of its own: an interrupt at the terminal reaches the measuring process alone, which decides
  what is kept.
- It is known by a token: another program that finds the port is not heard.
- A host that dies without a word is a problem with the last lines that it printed, secrets hidden by the caller.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Broken, Collected, FromHost, Start, Stop, ToHost

ADDRESS = "TRUEGREEN_HOST"
"""Environment variable that names this process to the host: ``port:token:mode:root``; the host removes it."""
COLLECT_LIMIT_S = 600.0
"""Seconds that starting and collecting may take."""
PARTING_S = 30.0
"""Seconds that the host gets to tear down before it is killed."""
LEAVE_S = 5.0
"""Seconds that a host which is told to end gets for ending its samples' processes."""
TAIL_LINES = 12
PLACES = ("inifile: ", "rootdir: ")
"""Beginnings of lines by which pytest says where it is, not what is wrong."""


class EngineHost:
    """A pytest process that holds the suite; use as a context manager."""

    def __init__(  # noqa: PLR0913 - what a process is started with
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        root: Path,
        environment: Mapping[str, str],
        mode: str = "",
        hide: Callable[[str], str] = str,
    ) -> None:
        """``arguments`` are pytest's; ``root`` is the repository's root that ids are told from.

        ``mode`` is ``xdist`` for the portable engine, else empty; ``hide`` takes secrets out of what it printed.
        """
        self._arguments = tuple(arguments)
        self._cwd = cwd
        self._root = root
        self._mode = mode
        self._hide = hide
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._channel: Channel[FromHost] | None = None

    def __enter__(self) -> Self:
        token = secrets.token_hex(16)
        self._log = tempfile.TemporaryFile()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
                [sys.executable, "-m", "pytest", "-p", "truegreen", *self._arguments],
                cwd=self._cwd,
                env=self._environment | {ADDRESS: f"{port}:{token}:{self._mode}:{self._root}"},
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                self._channel = Channel(self._accept(server, token.encode("ascii")), FromHost)
            except BaseException:
                self.kill()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._channel is not None and self._channel.send(Stop()):
            self._wait(PARTING_S)
        self.kill()
        if self._channel is not None:
            self._channel.close()
        if self._log is not None:
            self._log.close()

    def collected(self) -> Collected:
        """What the host found.

        Raises: ReachProblem ``collection-failed`` if it ended or broke before it said.
        """
        message = self._hear(COLLECT_LIMIT_S)
        if isinstance(message, Collected):
            return message
        raise self._ended("before it had collected the suite", message)

    def say(self, message: ToHost) -> None:
        """Tell the host something.

        Raises: ReachProblem ``engine-ended`` if it is gone.
        """
        if self._channel is None or not self._channel.send(message):
            raise self._ended("while samples were taken", None)

    def start(self, start: Start) -> None:
        """Start one sample."""
        self.say(start)

    def hear(self, limit_s: float | None) -> FromHost | None:
        """The next thing that the host says within the limit, or None.

        Raises: ReachProblem ``engine-ended`` if it is gone or says that it cannot go on.
        """
        message = self._hear(limit_s)
        if message is None and self._is_gone():
            raise self._ended("while samples were taken", None)
        if isinstance(message, Broken):
            raise self._ended("while samples were taken", message)
        return message

    def kill(self) -> None:
        """End the host: it may first end what its samples started, then everything in its session is."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            self._wait(LEAVE_S)
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()

    def _accept(self, server: socket.socket, token: bytes) -> socket.socket:
        until = time.monotonic() + COLLECT_LIMIT_S
        while time.monotonic() < until:
            if not select.select([server], [], [], 0.1)[0]:
                if self._is_gone():
                    break
                continue
            sock, _ = server.accept()
            sock.settimeout(5.0)
            with suppress(OSError):
                said = b""
                while len(said) < len(token) and (part := sock.recv(len(token) - len(said))):
                    said += part
                if secrets.compare_digest(said, token):
                    sock.settimeout(None)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return sock
            sock.close()
        raise self._ended("before it had loaded the suite", None)

    def _hear(self, limit_s: float | None) -> FromHost | None:
        if self._channel is None:
            return None
        if not select.select([self._channel], [], [], limit_s)[0]:
            return None
        try:
            message = self._channel.receive()
        except (msgspec.MsgspecError, ValueError) as err:
            raise ReachProblem(
                "engine-ended", f"the test process said something that is no message: {err}"
            ) from err
        if message is None:
            self._wait(PARTING_S)
        return message

    def _is_gone(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _wait(self, limit_s: float) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(limit_s)

    def _ended(self, when: str, message: object) -> ReachProblem:
        self._wait(1.0)
        code = self._process.poll() if self._process else None
        why = message.message if isinstance(message, Broken) else f"exit code {code}"
        said = self._tail()
        return ReachProblem(
            "engine-ended" if "samples" in when else "collection-failed",
            f"the test process ended {when} ({why})" + (f"; its last lines: {said}" if said else ""),
            hint=f"{Path(sys.executable).name} -m pytest --collect-only {' '.join(self._arguments)}",
        )

    def _tail(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        return tail_of(self._hide(self._log.read().decode("utf-8", "replace")))


def tail_of(log: str) -> str:
    """The last ``TAIL_LINES`` lines in one; where pytest itself says an error there, from that on."""
    lines = [line.strip() for line in log.splitlines()[-TAIL_LINES:] if line.strip()]
    errors = [place for place, line in enumerate(lines) if line.startswith("ERROR: ") or ": error: " in line]
    said = [line for line in lines[errors[-1] :] if not line.startswith(PLACES)] if errors else lines
    return " | ".join(said)
