# SPDX-License-Identifier: Apache-2.0
"""The suite of a lane in a process that holds it, and the engine that takes its samples.

What it decides: environment and arguments of that process, and which engine serves. What it leaves: numbers,
to the schedule.

- The process sees every endpoint behind an observer from its first import on.
- What could not be collected stops the run before a call is made; nothing collected is an error of its own.
- A second process for the same suite must find the same cases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Self

from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.sampling.engines.child import EngineHost
from truegreen.sampling.engines.choice import Choice, choose
from truegreen.sampling.engines.messages import Collected, Found, Refused, Serve
from truegreen.wiring.crash import without_secrets
from truegreen.wiring.model_environment import ModelEnvironment, without_proxy
from truegreen.wiring.sample_ground import SampleGround
from truegreen.wiring.wires import Wires

NOT_FOR_TESTS = ("MODEL_RUN_LOG", "SAMPLE_RUNS", "FLAKY_BUDGET", "PYTEST_XDIST_WORKER", "TRUEGREEN_HOST")
"""Variables that speak to the sampler: a test or conftest that acted on them would write rows of its own."""
STRICT_IDS = "strict_parametrization_ids=true"
TRACEBACKS = "--tb=native"
"""A sample keeps the last line of a traceback; pytest's own styles parse every module on the way to it."""
XDIST = ("-p", "xdist", "--dist", "load", "--max-worker-restart", "1000000")
"""A worker that a test kills is replaced however often: each costs one sample."""
MOST_TOLD = 10


class Suite:
    """A collected lane; use as a context manager."""

    def __init__(  # noqa: PLR0913 - what a suite is started with
        self,
        ground: SampleGround,
        models: ModelEnvironment,
        wires: Wires,
        environment: Mapping[str, str],
        *,
        engine: str,
        slots: int,
    ) -> None:
        """``engine`` is what was asked for."""
        self._ground = ground
        self._asked = engine
        self._slots = slots
        self._environment = {
            **{name: value for name, value in environment.items() if name not in NOT_FOR_TESTS},
            **models.stand_ins,
            **without_proxy(environment),
            **wires.addresses(None),
        }
        self._hide = partial(without_secrets, environment=self._environment)
        self._stack = ExitStack()
        self._host: EngineHost | None = None
        self.collected: Collected
        """What was found."""
        self.choice: Choice
        """The engine."""

    def __enter__(self) -> Self:
        try:
            self._host = self._started("xdist" if self._asked == "xdist" else "")
            self.collected = _checked(self._host.collected(), self._ground, self._hide)
            self.choice = choose(self._asked, self.collected, can_fork=sys.platform == "linux")
            if self.choice.engine == "xdist" and self._asked != "xdist":
                self._stack.close()
                self._host = self._started("xdist")
                self.collected = _checked(self._host.collected(), self._ground, self._hide)
            self._serve()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def host(self) -> EngineHost:
        """The process that serves."""
        if self._host is None:
            raise ReachProblem("engine-ended", "the test process was never started")
        return self._host

    @property
    def cases(self) -> tuple[Found, ...]:
        """The cases, each by its place."""
        return self.collected.cases

    def reopened(self) -> EngineHost:
        """Another process with the same suite, ready for samples.

        Raises: EvidenceProblem ``unstable-id`` if it finds other cases.
        """
        self._host = self._started("xdist" if self.choice.engine == "xdist" else "")
        found = self._host.collected()
        if [case.id for case in found.cases] != [case.id for case in self.cases]:
            raise EvidenceProblem(
                "unstable-id",
                f"a second collection of the suite found {len(found.cases)} cases that are not the {len(self.cases)} of the first",
            )
        self._serve()
        return self._host

    def _serve(self) -> None:
        self.host.say(Serve(engine=self.choice.engine, slots=self._slots))

    def _started(self, mode: str) -> EngineHost:
        ground = self._ground
        more = (*XDIST, "-n", str(self._slots)) if mode == "xdist" else ()
        host = EngineHost(
            [*arguments(ground), *more],
            cwd=ground.root,
            root=ground.root,
            environment=self._environment,
            mode=mode,
            hide=self._hide,
        )
        return self._stack.enter_context(host)


def collected_once(ground: SampleGround, environment: Mapping[str, str]) -> Collected:
    """What one collection of the lane finds; no sample is taken and nothing is observed.

    Raises: as collecting for samples does.
    """
    kept = {name: value for name, value in environment.items() if name not in NOT_FOR_TESTS}
    hide = partial(without_secrets, environment=kept)
    with EngineHost(
        arguments(ground), cwd=ground.root, root=ground.root, environment=kept, hide=hide
    ) as host:
        return _checked(host.collected(), ground, hide)


def arguments(ground: SampleGround) -> list[str]:
    """What pytest is asked to collect, whichever engine serves."""
    return [*ground.paths, "-o", STRICT_IDS, TRACEBACKS, f"--truegreen-cases={ground.lane.tests}"]


def _checked(found: Collected, ground: SampleGround, hide: Callable[[str], str]) -> Collected:
    """What was found, if it can be sampled.

    Raises: UsageProblem or ReachProblem with the first problem's code; ReachProblem ``nothing-collected``.
    """
    if found.problems:
        raise _problem(found.problems, hide)
    if not found.cases:
        left = f"; the project's own options deselected {found.deselected}" if found.deselected else ""
        raise ReachProblem(
            "nothing-collected",
            f"{' '.join(ground.paths)} holds 0 model tests and cases, at least 1 is asked{left}",
            hint=f"pytest --collect-only {' '.join(ground.paths)}",
        )
    return found


def _problem(problems: tuple[Refused, ...], hide: Callable[[str], str]) -> UsageProblem | ReachProblem:
    first = problems[0]
    told = hide(first.message)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    match first.code:
        case "unstable-id":
            return UsageProblem("unstable-id", told + more, hint="give each parameter an explicit, unique id")
        case "collection-failed":
            return ReachProblem("collection-failed", told + more, hint="pytest --collect-only")
        case _:
            return UsageProblem("bad-case", told + more, hint="docs/cases.md lists every key")
