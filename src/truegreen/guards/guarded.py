# SPDX-License-Identifier: Apache-2.0
"""A command under a guard, from before the proxy listens until nothing of the command is left.

What it decides: the order in which guard, proxy and command come about, and what came of it. What it leaves: which
guard, to ``choice``; the proxy and the meaning of an attempt, to the caller.

1. ``enter`` first: a listener is left outside for the canary, and under ``namespace`` this process moves inside, so
   that the proxy which starts next lives where the command will.
2. ``run`` starts the keeper, waits and passes signals on; from ``enter`` on signals are held for it.
3. What the layers wrote down, and what the witness saw, is one list. The canary's own tries are not in it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.guards import attempts, canary, daemons, family, kernel, namespace, preload
from truegreen.guards.attempts import Attempt
from truegreen.guards.keeper import ATTEMPTS, Plan, Step
from truegreen.guards.relay import Relay
from truegreen.guards.witness import Witness

INJECTED = Path(__file__).parent / "injected"
LOOPBACK = {"namespace": "any", "landlock": "listed", "preload": "own", "audit": "own"}
"""Who may be asked on loopback besides the proxy: anybody, for nobody outside is there; whoever is not served from
outside the run; only ports that were named, for Landlock cannot learn another."""
LISTENING = "0A"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a command under a guard."""

    code: int
    """Its exit code; a signal is 128 and its number."""
    attempts: tuple[Attempt, ...]
    """Who tried to reach past the proxy; refused, unless the run was only watched."""
    lost: int
    """Packets that the witness lost, each of which may have been an attempt."""
    left: int
    """Processes that the command left behind, ended by now."""


class Guarded:
    """One run; use as a context manager, and enter it before a thread is started."""

    def __init__(
        self,
        guard: str,
        *,
        refuses: bool,
        folder: Path,
        ports: Sequence[int] = (),
        cache: Path | None = None,
    ) -> None:
        """``folder`` is the run's own; ``ports`` of loopback may be asked too; ``cache`` keeps a compiled library."""
        self._guard = guard
        self._refuses = refuses
        self._folder = folder
        self._ports = tuple(ports)
        self._cache = cache
        self._witness: Witness | None = None
        self._listener: socket.socket | None = None
        self._daemons: tuple[str, ...] = ()
        self._outside: set[int] = set()
        self._library: Path | None = None
        self._relay: Relay | None = None
        self._mask: set[signal.Signals | int] | None = None

    def enter(self, environment: Mapping[str, str]) -> Self:
        """Take what must be taken before the proxy listens.

        Raises: ReachProblem ``guard-unavailable``, ``port-not-carried``.
        """
        self._mask = family.hold_signals()  # before a thread of the proxy could get one
        try:
            self._enter(environment)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _enter(self, environment: Mapping[str, str]) -> None:
        if kernel.is_linux():
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._outside = listening() - {self._outside_port()} - set(self._ports)
        self._daemons = daemons.paths(environment) if self._refuses else ()
        if self._guard == "preload" or (self._guard == "landlock" and preload.compiler()):
            self._library = preload.library(self._cache, self._folder)
        if self._guard == "namespace":
            self._relay = Relay(self._ports) if self._ports else None
            try:
                namespace.enter(self._daemons)
                self._witness = Witness(self._outside)
            except OSError as err:
                raise ReachProblem(
                    "guard-unavailable",
                    f"the guard namespace could not be taken: {err}",
                    hint="docs/guards.md",
                ) from err
            if self._relay is not None:
                self._relay.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for held in (self._listener, self._witness, self._relay):
            if held is not None:
                held.close()
        if self._mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def run(
        self, command: Sequence[str], environment: Mapping[str, str], *, proxy_ports: Sequence[int]
    ) -> Ended:
        """Run the command to its end.

        Raises: ReachProblem ``guard-failed`` if the canary got through, ``keeper-lost`` if the keeper was killed;
        UsageProblem ``command-not-started``.
        """
        ports = (*proxy_ports, *self._ports)
        self._write_rules(ports)
        read, write = os.pipe()
        plan = Plan(
            parent=os.getpid(),
            report=write,
            guard=self._guard,
            refuses=self._refuses,
            ports=ports,
            listener=self._outside_port(),
            folder=str(self._folder),
            injected=str(INJECTED),
            command=tuple(command),
        )
        path = self._folder / "plan.json"
        path.write_bytes(msgspec.json.encode(plan))
        keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            [sys.executable, "-I", "-m", "truegreen.guards.keeper", str(path)],
            env=self._environment(environment),
            pass_fds=(write,),
        )
        os.close(write)
        status = family.outlive(keeper.pid)
        keeper.returncode = 0  # it was waited for
        family.end_descendants(os.getpid(), parting_s=0.0)
        with os.fdopen(read, "rb") as report:
            steps = [msgspec.json.decode(line, type=Step) for line in report.read().splitlines()]
        return self._judged(steps, command, status)

    def _judged(self, steps: Sequence[Step], command: Sequence[str], status: int | None) -> Ended:
        last = steps[-1] if steps else None
        if last is None or (last.step != "ended" and not last.failure):
            raise ReachProblem(
                "keeper-lost",
                f"the process that held {command[0]} ended before it did (wait status {status}); the command was ended",
            )
        if last.step == "canary":
            raise ReachProblem(
                "guard-failed",
                f"the command was not started, because {last.failure}",
                hint="docs/guards.md says what each guard needs",
            )
        if last.step == "started":
            raise UsageProblem(
                "command-not-started", f"{command[0]} could not be started: {last.failure.lower()}"
            )
        if self._refuses and self._guard != "audit":
            self._refuse_visitors()
        seen = [*attempts.read(self._folder / ATTEMPTS)]
        lost = 0
        if self._witness is not None:
            witnessed = list(self._witness.seen())
            lost = self._witness.lost()
            seen += _without_canary(witnessed)
        return Ended(code=last.code, attempts=tuple(seen), lost=lost, left=last.left)

    def _refuse_visitors(self) -> None:
        """The listener outside must have had no visitor, whatever the canary said."""
        if self._listener is None:
            return
        self._listener.setblocking(False)
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return
        raise ReachProblem(
            "guard-failed", f"a connection got past the guard {self._guard} to a listener outside"
        )

    def _outside_port(self) -> int:
        if self._listener is None:
            raise ReachProblem("guard-failed", "the guard was not entered before the command")
        port: int = self._listener.getsockname()[1]
        return port

    def _write_rules(self, ports: Sequence[int]) -> None:
        lines = [
            f"mode {'refuse' if self._refuses else 'watch'}",
            f"loopback {LOOPBACK[self._guard]}",
            f"proxy 127.0.0.1:{ports[0]}",
            *(f"port {port}" for port in ports),
            *(f"outside {port}" for port in sorted(self._outside) if self._guard == "namespace"),
            *(f"daemon {path}" for path in self._daemons),
        ]
        (self._folder / "guard.conf").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        own = {"TRUEGREEN_GUARD": str(self._folder)}
        own["PYTHONPATH"] = _before(str(INJECTED), environment.get("PYTHONPATH"))
        if self._library is not None:
            own["LD_PRELOAD"] = _before(str(self._library), environment.get("LD_PRELOAD"))
        return {**environment, **own}


def listening() -> set[int]:
    """TCP ports at which somebody listens in this process's network namespace."""
    found = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for row in Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]:
                cells = row.split()
                if cells[3] == LISTENING:
                    found.add(int(cells[1].rpartition(":")[2], 16))
    return found


def _before(first: str, rest: str | None) -> str:
    return os.pathsep.join([first, rest]) if rest else first


def _without_canary(witnessed: list[Attempt]) -> list[Attempt]:
    """The canary's own try at the address of nobody comes first, and is left out once.

    Raises: ReachProblem ``guard-failed`` if it is not there: a witness that saw nothing proves nothing.
    """
    own = next((each for each in witnessed if each.address == canary.OUTSIDE), None)
    if own is None:
        raise ReachProblem("guard-failed", "the witness of the namespace did not see the canary's connection")
    witnessed.remove(own)
    return witnessed
