# SPDX-License-Identifier: Apache-2.0
"""The process between the proxy and the command: takes the guard, lets the canary try it, runs the command.

What it decides: the order of these, and that nothing of the command outlives it. What it leaves: which guard, to
``choice``; what the end means, to the caller, which reads the report.

1. It heads the command's family (``family``), and ends it if the process that started it dies.
2. It gives up what would lead out of the guard: capabilities, then addresses (Landlock), then calls (seccomp). What is
   given up here, the command cannot take back.
3. The canary tries what must not work. If it works, the command is not started.
4. The command runs in the terminal's own group, with the signals' defaults, and its end is this process's end.
5. Whatever it left behind is ended.

It runs as ``python -I -m truegreen.guards.keeper PLAN``; each step is a JSON line on the plan's descriptor.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from truegreen.guards import canary, family, kernel, landlock, seccomp

CAPABILITIES_TAKEN = (16, 17, 19, 21, 22)
"""CAP_SYS_MODULE, _RAWIO, _PTRACE, _ADMIN, _BOOT: each leads back out of a namespace."""
CANARY = Path(__file__).parent / "outside" / "canary.py"
CANARY_LIMIT_S = 60.0
ATTEMPTS = "attempts.jsonl"
OF_CANARY = "canary.jsonl"
CANNOT_START = 127


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the keeper is told."""

    parent: int
    """Process that started it."""
    report: int
    """Descriptor for its report."""
    guard: str
    """``audit``, ``preload``, ``landlock`` or ``namespace``; the namespace is entered before."""
    refuses: bool
    """Whether attempts are refused or only written down."""
    ports: tuple[int, ...]
    """Ports that may be connected to, the proxy's first."""
    listener: int
    """Port of a listener outside the guard, for the canary."""
    folder: str
    """The run's folder."""
    injected: str
    """Folder of the audit hook."""
    command: tuple[str, ...]
    """The command."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the report."""

    step: str
    """``canary``, ``started`` or ``ended``."""
    failure: str = ""
    """Why it went no further, in words."""
    code: int = 0
    """Exit code of the command; for a command that could not be started, the error's number."""
    left: int = 0
    """Processes that the command left behind."""


def main(path: str) -> int:
    """Run a plan; the command's exit code."""
    plan = msgspec.json.decode(Path(path).read_bytes(), type=Plan)
    family.hold_signals()
    if kernel.is_linux():
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, family.PARENT_DIED)
    if os.getppid() != plan.parent:
        return CANNOT_START
    with (Path(plan.folder) / "guard.conf").open("a", encoding="utf-8") as file:
        file.write(f"keeper {os.getpid()}\n")
    if (failure := _taken(plan) or _canary(plan)) is not None:
        _report(plan, Step(step="canary", failure=failure))
        return CANNOT_START
    _report(plan, Step(step="canary"))
    return _run(plan)


def _taken(plan: Plan) -> str | None:
    """Take the guard; why it could not be taken, or None."""
    try:
        if plan.refuses and plan.guard == "namespace":
            _inside_a_namespace()
        if plan.refuses and plan.guard == "landlock":
            landlock.restrict(plan.ports)
            seccomp.restrict()
        if plan.refuses and plan.guard == "preload" and seccomp.is_known():
            with suppress(OSError):  # the library stands without it; a container may refuse a second filter
                seccomp.restrict()
    except OSError as err:
        return f"{plan.guard} could not be taken: {err}"
    return None


def _inside_a_namespace() -> None:
    if seccomp.is_known():
        with suppress(OSError):  # the namespace stands without it; a container may refuse a second filter
            seccomp.restrict(only_families=True)
    if os.geteuid() == 0:
        for capability in CAPABILITIES_TAKEN:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)


def _canary(plan: Plan) -> str | None:
    environment = {**os.environ, "PYTHONPATH": plan.injected}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and program, no shell
            [sys.executable, str(CANARY), str(plan.ports[0]), str(plan.listener)],
            env=environment,
            cwd=plan.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CANARY_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return f"the canary could not run: {err}"
    failure = canary.failure(done.stdout, guard=plan.guard, refuses=plan.refuses)
    attempts = Path(plan.folder) / ATTEMPTS
    if failure is None and plan.refuses and not attempts.exists():
        failure = "a refused connection was not written down"
    with suppress(FileNotFoundError):
        attempts.rename(attempts.with_name(OF_CANARY))
    return failure


def _run(plan: Plan) -> int:
    from_child, to_parent = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(plan.command, to_parent)
    os.close(to_parent)
    with os.fdopen(from_child, "rb") as told:
        refused = told.read()
    if refused:
        os.waitpid(pid, 0)
        _report(plan, Step(step="started", failure=os.strerror(int(refused)), code=int(refused)))
        return CANNOT_START
    _report(plan, Step(step="started"))
    status = family.outlive(pid)
    left = family.end_descendants(os.getpid(), parting_s=family.PARTING_S if status is not None else 0.0)
    if status is None:
        shutil.rmtree(plan.folder, ignore_errors=True)  # who would have done it died
        return CANNOT_START
    _report(plan, Step(step="ended", code=family.exit_code(status), left=left))
    return family.exit_code(status)


def _become(command: tuple[str, ...], to_parent: int) -> NoReturn:
    """Turn the fork into the command; its failure is told through the pipe, whose other end closes on success."""
    try:
        if kernel.is_linux():
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(command[0], command)  # noqa: S606 - the command is the user's own
    except OSError as err:
        os.write(to_parent, str(err.errno or 0).encode("ascii"))
    os._exit(CANNOT_START)


def _report(plan: Plan, step: Step) -> None:
    with suppress(BrokenPipeError):
        os.write(plan.report, msgspec.json.encode(step) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
