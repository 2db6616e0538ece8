# SPDX-License-Identifier: Apache-2.0
"""One long conversation with git about objects: contents and digests, streamed.

What it decides: framing, pace and limits of ``git cat-file --batch``. What it leaves: what objects mean, to
``git``; the private directory, to ``git_process``.

- Contents are checked against the id by which they were asked: a damaged object is a failure, not an answer.
- At most ``WINDOW`` questions are open at once, so that neither side can block on a full pipe, and a blob that
  is digested is never held whole.
- Silence of ``time_limit_s`` ends the conversation.
"""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from typing import IO

from truegreen.core.digest import Sha256
from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted
from truegreen.core.subject import is_object_id
from truegreen.forges.git_process import GitProcess, failure, missing, not_started, timed_out

WINDOW = 400
"""Open questions; with 64 digits and a line end each that is 26 kB, less than a pipe holds (64 KiB on Linux)."""
MOST_READ = 128 * 1024 * 1024
"""Bytes of one object that is held whole; forges accept no larger files, and a small pack can hold any number of zeros."""
CHUNK = 1 << 18
"""Bytes read at once."""
_PEELED = "^{commit}"  # behind an id: the commit that it leads to (gitrevisions)


class ObjectReader:
    """A ``cat-file --batch`` process, started at once: it gets ready while others work, and again after a problem."""

    def __init__(self, git: GitProcess) -> None:
        """Raises: ReachProblem ``git-failed`` if the program cannot be started."""
        self._git = git
        self._pending = bytearray()
        self._process: subprocess.Popen[bytes] | None = self._start()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        self._pending.clear()
        if process is not None:
            with process:
                process.kill()

    def content(self, oid: str, kind: str) -> bytes:
        """The content of one object of that kind.

        Raises: ReachProblem ``missing-object``, ``object-too-large`` or ``git-failed``.
        """
        return self.contents([oid], kind)[oid]

    def contents(self, oids: Iterable[str], kind: str) -> dict[str, bytes]:
        """The contents of objects of that kind, by id.

        Raises: as ``content``.
        """
        parts: dict[str, list[bytes]] = {}

        def begin(oid: str) -> Callable[[bytes], object]:
            parts[oid] = []
            return parts[oid].append

        self._converse(list(dict.fromkeys(oids)), kind, begin, MOST_READ)
        return {oid: b"".join(pieces) for oid, pieces in parts.items()}

    def commit(self, oid: str) -> tuple[str, bytes]:
        """Id and content of the commit that ``oid`` names, itself or through annotated tags.

        Raises: as ``content``.
        """
        return next(iter(self.contents([f"{oid}{_PEELED}"], "commit").items()))

    def digests(self, oids: Iterable[str]) -> dict[str, Sha256]:
        """SHA-256 of the contents of blobs, by id.

        Raises: ReachProblem ``missing-object`` or ``git-failed``.
        """
        running = {}

        def begin(oid: str) -> Callable[[bytes], object]:
            running[oid] = hashlib.sha256()
            return running[oid].update

        self._converse(list(dict.fromkeys(oids)), "blob", begin)
        return {oid: Sha256(f"sha256:{digest.hexdigest()}") for oid, digest in running.items()}

    def _converse(
        self,
        questions: list[str],
        kind: str,
        begin: Callable[[str], Callable[[bytes], object]],
        limit: float = inf,
    ) -> None:
        waiting = deque(questions)
        asked: deque[str] = deque()
        try:
            while waiting or asked:
                if len(asked) <= WINDOW // 2 and waiting:
                    batch = [waiting.popleft() for _ in range(min(WINDOW - len(asked), len(waiting)))]
                    self._ask(batch)
                    asked.extend(batch)
                self._receive(asked.popleft(), kind, begin, limit)
        except BaseException:
            self.close()  # answers to open questions would be taken for answers to the next ones
            raise

    def _ask(self, questions: list[str]) -> None:
        if self._process is None:
            self._process = self._start()
        unsent = memoryview("".join(f"{question}\n" for question in questions).encode())
        try:
            while unsent:
                unsent = unsent[os.write(_number(self._process.stdin), unsent) :]
        except OSError as err:
            raise self._ended() from err

    def _receive(
        self, question: str, kind: str, begin: Callable[[str], Callable[[bytes], object]], limit: float
    ) -> None:
        oid, size = self._found(question, kind)
        if size > limit:
            raise ReachProblem(
                "object-too-large", f"the {kind} {oid} has {size} bytes, more than the {limit} that are read"
            )
        own = hashlib.new(self._git.object_format, f"{kind} {size}\0".encode(), usedforsecurity=False)
        self._take(size, own.update, begin(oid))
        self._take(1)
        if own.hexdigest() != oid:
            raise ReachProblem(
                "git-failed", f"the clone's object {oid} is damaged: its content is {own.hexdigest()}"
            )

    def _found(self, question: str, kind: str) -> tuple[str, int]:
        """Id and size in bytes of what was asked for, whose content comes next."""
        fields = self._line().decode("latin-1").split()
        if fields[1:] == ["missing"]:
            raise missing(f"{kind} {question.removesuffix(_PEELED)}")
        match fields:
            case [oid, found, size] if size.isdecimal() and (
                oid == question or (question.endswith(_PEELED) and is_object_id(oid))
            ):
                if found != kind:
                    raise ReachProblem(
                        "missing-object", f"{oid} is a {quoted(found, 20)}, asked was a {kind}"
                    )
                return oid, int(size)
        raise ReachProblem(
            "git-failed", f"git cat-file answered {quoted(' '.join(fields))} when asked for {question}"
        )

    def _line(self) -> bytes:
        while (end := self._pending.find(b"\n")) < 0:
            self._fill()
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return line

    def _take(self, size: int, *sinks: Callable[[bytes], object]) -> None:
        while size:
            if not self._pending:
                self._fill()
            piece = bytes(self._pending[:size])
            del self._pending[: len(piece)]
            size -= len(piece)
            for sink in sinks:
                sink(piece)

    def _fill(self) -> None:
        if self._process is None:
            raise self._ended()
        stdout = _number(self._process.stdout)
        poller = select.poll()
        poller.register(stdout, select.POLLIN)
        if not poller.poll(self._git.time_limit_s * 1000):
            raise timed_out("cat-file", self._git.time_limit_s)
        piece = os.read(stdout, CHUNK)
        if not piece:
            raise self._ended()
        self._pending += piece

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            with (self._git.private / "cat-file.log").open("wb") as log:
                return subprocess.Popen(  # noqa: S603 - the program is an absolute path, the arguments are ours
                    self._git.command("cat-file", "--batch"),
                    env=self._git.environment(),
                    cwd=self._git.private,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                )
        except OSError as err:
            raise not_started("cat-file", err) from err

    def _ended(self) -> ReachProblem:
        code = self._process.wait() if self._process else 0
        return failure("cat-file", code, (self._git.private / "cat-file.log").read_bytes())


def _number(stream: IO[bytes] | None) -> int:
    """The number of an open pipe's end."""
    if stream is None:
        raise ReachProblem("git-failed", "git cat-file has no open pipe")
    return stream.fileno()
