# SPDX-License-Identifier: Apache-2.0
"""Leave for shells and commands: the policy's limits, a lease, a command that holds one, and how the count stands.

What it decides: which policy counts, and how signals reach a command. What it leaves: leave, to ``limiter``; words, to
the command line.

- A command starts once leave is there and not before; whoever is told to stop while it waits gives back what it can.
- Signals are passed on to the command; those that the terminal sends reach it by themselves.
- The lease is kept alive while the command runs, and handed back however it ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import msgspec

from truegreen.core.admission import Ask, Leave
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.policy import LimiterPolicy
from truegreen.limiter import asking
from truegreen.limiter.backend import Backend, Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.divided import Divided, opened_or_absent
from truegreen.limiter.file import File
from truegreen.limiter.from_policy import ask_host, limits_of
from truegreen.limiter.http.overview import Overview, overview
from truegreen.limiter.opening import limiter_at, opened
from truegreen.wiring.policy import shown_policy

TOKEN_VARIABLE = "TRUEGREEN_LIMITER_TOKEN"  # noqa: S105 - the name of a variable, no secret
"""Where the bearer token for a service stands."""
_LOOK_S = 1.0
"""Longest time between two looks at the command; a signal, its end among them, ends the wait before."""
_PASSED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


Say = Callable[[str], None]
"""Hears what a person should know while it goes on."""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Whose policy says the limits."""

    source: str
    """``base``, ``worktree`` or a path."""
    repository: Path
    """The repository."""
    base: str | None = None
    """The branch that base means."""


def limits_in(where: Where) -> LimiterPolicy:
    """The policy's table ``[limiter]``. Raises: UsageProblem ``no-limits``, and as ``shown_policy``."""
    policy, origin = shown_policy(where.source, where.repository, where.base)
    if policy.limiter is None:
        raise UsageProblem(
            "no-limits",
            f"the policy of {origin} has no table [limiter]: nothing is limited",
            hint='add [limiter], owner = "@YOU" and capacity, rate or tokens_per_minute',
        )
    return policy.limiter


def limiter_of(policy: LimiterPolicy, say: Say) -> Limiter:
    """Leave for threads under a policy; ``say`` is told when the limits are divided.

    Raises: UsageProblem ``limiter-wrong-host``, and what the backend raises.
    """
    ask_host(policy, socket.gethostname())
    limits = limits_of(policy)
    if policy.on_unreachable == "divide":
        whole = opened_or_absent(policy.backend, limits, limiter_token())
        return Limiter(Divided(whole, limits, policy.shares, say), holder=holder())
    return limiter_at(policy.backend, limits, token=limiter_token(), holder=holder())


def _backend(policy: LimiterPolicy) -> Backend:
    ask_host(policy, socket.gethostname())
    return opened(policy.backend, limits_of(policy), token=limiter_token())


def limiter_token() -> str:
    """The token of this environment; the line's end that a file of it has is none of it."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()


def holder() -> str:
    """Who asks, for people: the job that a runner names, else host and process."""
    job, run = os.environ.get("GITHUB_JOB"), os.environ.get("GITHUB_RUN_ID")
    return f"{job} of run {run}" if job and run else f"{socket.gethostname()}:{os.getpid()}"


def acquire(where: Where, ask: Ask, tell: Callable[[Leave], None]) -> int:
    """Get leave whose lease nobody keeps alive, and ``tell`` it; the exit code, 128 and its number after a signal.

    It lasts as long as the policy's ``lease_s``. A lease that could not be told is handed back. It is never of a share:
    that would be counted by this process alone, which ends here, and the next one would give the same share again.
    """
    policy = limits_in(where)
    ask_host(policy, socket.gethostname())
    limiter = limiter_at(policy.backend, limits_of(policy), token=limiter_token(), holder=holder())
    try:
        with _passing_on(), _owner_named(policy):
            leave = limiter.enter(ask)
            try:
                tell(leave)
            except BaseException:
                limiter.backend.hand_back(asking.key_of(leave.ask), leave.lease, is_unused=True)
                raise
    except _Stopped as stopped:
        return 128 + stopped.number
    finally:
        limiter.close()
    return 0


@contextlib.contextmanager
def _owner_named(policy: LimiterPolicy) -> Iterator[None]:
    """Whoever gets no leave hears whom to ask for more."""
    try:
        yield
    except ReachProblem as problem:
        if problem.code != "leave-refused":
            raise
        hint = f"{problem.hint}; the limits are {policy.owner}'s to change"
        raise ReachProblem("leave-refused", problem.message, hint=hint) from problem


def release(where: Where, key: Key, lease: str, used_tokens: int | None) -> None:
    """Hand back a lease; one that has ended already is no error."""
    backend = _backend(limits_in(where))
    try:
        backend.hand_back(key, lease, used_tokens=used_tokens)
    finally:
        backend.close()


def run(where: Where, ask: Ask, command: tuple[str, ...], say: Say) -> int:
    """The exit code of a command that holds leave while it runs; 128 and its number for a signal.

    Raises: UsageProblem ``command-not-started``; what asking for leave raises.
    """
    policy = limits_in(where)
    limiter = limiter_of(policy, say)
    try:
        with _passing_on() as child, _owner_named(policy), limiter.leave(ask) as held:
            code = child.outcome(command)
            if held.is_lost:
                say("the lease ended while the command ran: somebody else may have had its place")
    except _Stopped as stopped:
        return 128 + stopped.number
    finally:
        limiter.close()
    return code


def standing(where: Where, key: Key | None) -> Overview:
    """How one ledger stands; without a key, every one that a folder holds, or the one without names."""
    backend = _backend(limits_in(where))
    try:
        every = backend.keys() if isinstance(backend, File) else (Key(),)
        ledgers = [(one, backend.state(one)) for one in (every if key is None else (key,))]
    finally:
        backend.close()
    return overview([(one, ledger, ledger.now_ns) for one, ledger in ledgers], is_stopping=False)


class _Child:
    """The command, and the signals on their way to it."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._early: list[int] | None = None

    def told(self, number: int, _frame: object) -> None:
        """Pass a signal on; before there is a command, stop waiting for leave."""
        if number == signal.SIGCHLD:
            return  # it only ends the wait below
        if self._pid is not None:
            if number != signal.SIGINT or not _is_in_foreground():  # else the terminal has told the command
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, number)
        elif self._early is not None:
            self._early.append(number)
        else:
            _stop(number)

    def outcome(self, command: tuple[str, ...]) -> int:
        """Start the command and wait for it."""
        self._early = []
        try:
            self._pid = os.posix_spawnp(command[0], command, os.environ)
        except OSError as err:
            raise UsageProblem(
                "command-not-started",
                f"{command[0]} cannot be started: {err.strerror}",
                hint="truegreen limiter run --help",
            ) from err
        for number in self._early:
            self.told(number, None)
        code = os.waitstatus_to_exitcode(_waited(self._pid))
        return code if code >= 0 else 128 - code


def _waited(pid: int) -> int:
    """The wait status of a child.

    A plain ``waitpid`` would sleep through a signal that comes just before it: each writes a byte that ends the wait.
    """
    ear, mouth = os.pipe()
    os.set_blocking(ear, False)
    os.set_blocking(mouth, False)
    before = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    try:
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status
            select.select((ear,), (), (), _LOOK_S)
            with contextlib.suppress(BlockingIOError):
                os.read(ear, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(ear)
        os.close(mouth)


@contextlib.contextmanager
def _passing_on() -> Iterator[_Child]:
    child = _Child()
    before = {number: signal.signal(number, child.told) for number in (*_PASSED_ON, signal.SIGCHLD)}
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Stopped(BaseException):
    """A signal that came before there was a command; no handler of errors on the way may take it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _stop(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise _Stopped(number)


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)
