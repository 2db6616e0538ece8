# SPDX-License-Identifier: Apache-2.0
"""Which guard a run gets: the strongest that this machine really allows, or the one that was asked for, or none.

What it decides: the guard, from what was asked and what probing found. What it leaves: taking it, to ``guarded`` and
``keeper``.

- A layer is allowed if a process of ours could take it a moment ago: no version is read where a trial answers.
- A guard that is asked for and not allowed is an error: nothing weaker stands in for it.
- Recording and live calls need the outside: they are only watched, by the audit hook.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.guards import kernel, landlock, namespace, preload, seccomp
from truegreen.guards.witness import Witness

STRONGEST_FIRST = ("namespace", "landlock", "preload", "audit")
"""Words of ``core.replay_session.GUARDS`` without ``none``."""
ALLOWED = ""
"""What a trial says that went well."""


def trials() -> Mapping[str, Callable[[], str]]:
    """A trial for each guard: empty if it can be taken here, else why not."""
    return {
        "namespace": lambda: _in_a_child(_enter_namespace),
        "landlock": lambda: _in_a_child(_take_landlock),
        "preload": lambda: ALLOWED if preload.compiler() else "no C compiler is on the PATH",
        "audit": lambda: ALLOWED,
    }


def choose(
    asked: str, *, refuses: bool, tried: Mapping[str, Callable[[], str]]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The guard, and why each stronger one is not it; ``asked`` is ``auto`` or a guard.

    Raises: ReachProblem ``guard-unavailable`` if the guard that was asked for cannot be taken; UsageProblem
    ``guard-needs-replay`` if one that closes the outside was asked for a run that needs it.
    """
    if not refuses:
        if asked not in ("auto", "audit"):
            raise UsageProblem(
                "guard-needs-replay",
                f"the guard {asked} closes the outside, which recording and live calls need; only audit watches them",
                hint="truegreen proxy run --mode replay",
            )
        return "audit", ()
    if asked != "auto":
        if (why := tried[asked]()) != ALLOWED:
            raise ReachProblem(
                "guard-unavailable",
                f"the guard {asked} was asked for, and this machine does not allow it: {why}",
                hint="truegreen proxy run --help lists the guards; docs/guards.md says what each needs",
            )
        return asked, ()
    stronger: list[tuple[str, str]] = []
    for guard in STRONGEST_FIRST:
        why = tried[guard]()
        if why == ALLOWED:
            return guard, tuple(stronger)
        stronger.append((guard, why))
    raise ReachProblem("guard-unavailable", "no guard can be taken on this machine", hint="docs/guards.md")


def _enter_namespace() -> None:
    namespace.enter()
    Witness().close()


def _take_landlock() -> None:
    landlock.restrict(())
    seccomp.restrict()


def _in_a_child(trial: Callable[[], None]) -> str:
    """Try in a fork that ends at once; what went wrong, or nothing."""
    if not kernel.is_linux():
        return "only Linux has it"
    from_child, to_parent = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        with suppress(BaseException):
            try:
                trial()
                code = 0
            except OSError as err:
                os.write(to_parent, str(err).encode()[:300])
        os._exit(code)
    os.close(to_parent)
    with os.fdopen(from_child, "rb") as told:
        why = told.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    return ALLOWED if status == 0 else why or "the trial died"
