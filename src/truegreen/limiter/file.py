# SPDX-License-Identifier: Apache-2.0
"""Ledgers that all processes of one machine share: a file for each, in one folder.

What it decides: how a step reads, writes and locks. What it leaves: the form of a file, to ``slots``; the rules, to
``ledger``.

- The clock is read under the lock, so that no step is made at an earlier time than the one before.
- The state names the start of the machine that its times belong to; after another start they are moved along.
- A file that was removed or replaced while it was open is opened anew: two halves of a machine never count apart.
- What the disk refuses is one clear error, and nothing was changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Final, Self

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.limiter import ledger as rules
from truegreen.limiter import slots
from truegreen.limiter.backend import Key
from truegreen.limiter.boot_clock import BootClock, boot_clock
from truegreen.limiter.file_lock import PATIENCE_S, lock, unlock
from truegreen.limiter.file_system import ask_local
from truegreen.limiter.limits import Limits
from truegreen.limiter.state import Answer, Ledger, Place
from truegreen.limiter.stepping import Change, Stepping
from truegreen.limiter.wake import Ringer

ENDING: Final = ".ledger"
MODE: Final = 0o660
"""Permissions of a new file before the umask: who shares the folder's group shares the ledger."""
NAME_S: Final = 0.1
"""So long a file that was moved away, and not removed, may be taken for the one that has the name."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A state with what it belongs to."""

    boot: str
    """The start of the machine that its times belong to."""
    tenant: str
    resource: str
    ledger: Ledger


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Kept)


class File(Stepping):
    """Implements ``backend.Backend``."""

    is_quick: Final = True

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        *,
        clock: BootClock | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """The folder is made if it is not there.

        Raises: UsageProblem ``limiter-network-disk``; ReachProblem ``limiter-unreachable``.
        """
        super().__init__(limits)
        self.name: Final = f"file:{folder}"
        self._folder, self._clock, self._patience_s = folder, clock or boot_clock(), patience_s
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise unreachable(folder, err) from err
        ask_local(folder)
        self._start()

    def state(self, key: Key) -> Ledger:
        """The ledger as it stands now."""
        with self._file(key) as opened:
            opened.hold(self._patience_s)
            try:
                now = self._clock.now_ns()
                return rules.advance(self._ledger(opened, now), now)[0]
            finally:
                opened.let_go()

    def keys(self) -> tuple[Key, ...]:
        """Every ledger of the folder, by name. Raises: as ``state``."""
        found = []
        for path in sorted(self._folder.glob(f"*{ENDING}")):
            with _Opened(path) as opened:
                slot = slots.read(opened.number, str(path))
            if slot is not slots.NOTHING:
                kept = decoded(slot, str(path))
                found.append(Key(tenant=kept.tenant, resource=kept.resource))
        return tuple(sorted(found, key=lambda key: (key.tenant, key.resource)))

    def close(self) -> None:
        """Close all files; leases stay."""
        for opened in self._files.values():
            opened.close()
        self._start()

    def _start(self) -> None:
        self._files: dict[Key, _Opened] = {}
        self._guard, self._pid, self._ringer = threading.Lock(), os.getpid(), Ringer()

    def _step(self, key: Key, change: Change) -> Answer:
        with self._file(key) as opened:
            opened.hold(self._patience_s)
            try:
                now = self._clock.now_ns()
                before = self._ledger(opened, now)
                step = change(before, now)
                if step.ledger is not before:
                    opened.keep(Kept(self._clock.boot, key.tenant, key.resource, step.ledger))
            finally:
                opened.let_go()
        for place in step.woken:
            self._wake(key, place)
        return step.answer

    def _wake(self, key: Key, place: Place) -> None:
        """Ring; the place of one who died while it waited is free at once."""
        if not self._ringer.ring(place.wake):
            self.hand_back(key, place.id, is_unused=True)

    def _ledger(self, opened: _Opened, now_ns: int) -> Ledger:
        kept = opened.kept()
        if kept is None:
            return rules.new_ledger(self.limits, now_ns)
        return kept.ledger if kept.boot == self._clock.boot else rules.rebased(kept.ledger, now_ns)

    def _file(self, key: Key) -> _Opened:
        if (
            self._pid != os.getpid()
        ):  # a lock of an open file is shared with the parent, and so excludes nobody
            self._start()
        with self._guard:
            opened = self._files.get(key)
            if opened is None:
                opened = self._files[key] = _Opened(self._folder / file_name(key))
            return opened


class _Opened:
    """One file; one thread at a time is in it."""

    def __init__(self, path: Path) -> None:
        self.path, self._thread = path, threading.Lock()
        self.number = self._open()
        self._named_s = 0.0
        self._read: tuple[slots.Slot, Kept] | None = None

    def __enter__(self) -> Self:
        self._thread.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.release()

    def hold(self, patience_s: float) -> None:
        """Exclude all other processes from the file that has the name."""
        lock(self.number, str(self.path), patience_s=patience_s)
        while not self._has_the_name():
            self.close()
            self.number = self._open()
            lock(self.number, str(self.path), patience_s=patience_s)

    def let_go(self) -> None:
        """Let the others in."""
        unlock(self.number)

    def kept(self) -> Kept | None:
        """The state, or None if there is none yet."""
        try:
            slot = slots.read(self.number, str(self.path))
        except OSError as err:
            raise unreachable(self.path, err) from err
        if slot is slots.NOTHING:
            self._read = None
            return None
        if self._read is None or self._read[0] != slot:
            self._read = slot, decoded(slot, str(self.path))
        return self._read[1]

    def keep(self, kept: Kept) -> None:
        """Write the next state. Raises: ReachProblem ``limiter-unreachable``; the state before then stands."""
        payload = _ENCODER.encode(kept)
        if len(payload) > slots.MOST:
            raise ReachProblem(
                "limiter-unreachable", f"{self.path} cannot hold {len(payload)} bytes of state"
            )
        slot = slots.Slot(self._read[0].number + 1 if self._read else 1, payload)
        try:
            slots.write(self.number, slot)
        except OSError as err:
            self._read = None
            raise unreachable(self.path, err) from err
        self._read = slot, kept

    def close(self) -> None:
        """Close it."""
        os.close(self.number)

    def _open(self) -> int:
        try:
            return os.open(self.path, _FLAGS, MODE)
        except OSError as err:
            raise unreachable(self.path, err) from err

    def _has_the_name(self) -> bool:
        """Whether the open file still stands under its path."""
        mine = os.fstat(self.number)
        if not mine.st_nlink:
            return False
        now = time.monotonic()
        if now - self._named_s < NAME_S:
            return True
        try:
            named = os.stat(self.path)  # noqa: PTH116 - half of the time of Path.stat
        except FileNotFoundError:
            return False
        self._named_s = now
        return os.path.samestat(named, mine)


def file_name(key: Key) -> str:
    """The file of a ledger: names may hold what no file name can."""
    whole = f"{len(key.tenant)}:{key.tenant}{key.resource}".encode()
    return hashlib.sha256(whole).hexdigest()[:32] + ENDING


def decoded(slot: slots.Slot, name: str) -> Kept:
    """The state in a slot.

    Raises: ReachProblem ``limiter-state-unreadable``: whole, but of another version.
    """
    try:
        return _DECODER.decode(slot.payload)
    except msgspec.MsgspecError as err:
        raise ReachProblem(
            "limiter-state-unreadable",
            f"{name} holds a state that this version does not read: {err}",
            hint=f"rm {name} once no call is under way",
        ) from err


def unreachable(path: Path, err: OSError) -> ReachProblem:
    """What the disk refused, in one sentence."""
    if isinstance(err, PermissionError):
        reason = "it belongs to another user, or its folder does"
    elif err.errno in _FULL:
        reason = "the disk is full, or a limit on file sizes is reached; the state before stands"
    elif err.errno == errno.ELOOP:
        reason = "it is a link, which is not followed"
    else:
        reason = err.strerror or type(err).__name__
    return ReachProblem("limiter-unreachable", f"{path} cannot be used: {reason}", hint=f"ls -ld {path}")
