# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal plays under: this checkout's own policy, or a small one where it has none.

What it decides: the policy, and for each lane the case files and the outcomes that its rule asks for. What it
leaves: the repository that is made from it, to ``honest``.

- The policy is the one that the default branch of the checkout holds; it decides in the rehearsal as it would
  decide on a pull request. One that cannot be read is a configuration error here as there.
- Names of files are chosen so that each file has its part under that policy: cases judge, the program is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from truegreen.core.errors import UsageProblem
from truegreen.core.partition import Sorter
from truegreen.core.policy import CONTRACT_CHECK, POLICY_FILE, Lane, Policy
from truegreen.core.policy_read import read_policy
from truegreen.forges.git import GitRepository
from truegreen.forges.working_copy import default_branch
from truegreen.gate.decide import RULES
from truegreen.sampling.sequential import Rule, limits, named

SMALL = (
    'schema = "truegreen/policy/v1"\nmode = "enforce"\n\n[check]\nname = "truegreen"\n'
    'workflow = ".github/workflows/truegreen.yml"\nbranches = ["main"]\n\n'
    '[lanes.model-tests]\ntests = "tests/llm"\n'
)
"""The policy of a checkout that has none."""
SMALL_REPLAYED = """
[lanes.replayed]
kind = "contract-check"
tests = "tests/replay"
"""
"""Added to it for a policy that replays and samples nothing, so that what fools a replay is tried too."""
CASES = ("labels", "tone")
"""What the cases of every lane are called."""
ENDINGS = (".yaml", ".json", ".py", ".ts", ".txt", "")
"""Endings of case files, tried in this order."""
PROGRAMS = ("src/app", "app", "lib/app", "rehearsal/app", "rehearsal/program")
PROGRAM_ENDINGS = (".py", ".ts", ".txt", "")
"""Names of the program, tried in this order."""


@dataclass(frozen=True, kw_only=True)
class Cast:
    """One lane with its cases."""

    lane: Lane
    """The lane."""
    files: tuple[str, ...]
    """Its case files, one a case."""

    @property
    def is_replayed(self) -> bool:
        """Whether replays speak for it, and no samples."""
        return self.lane.kind == CONTRACT_CHECK

    @property
    def ids(self) -> tuple[str, ...]:
        """Its case ids, sorted."""
        return tuple(sorted(f"{path}::{name}" for path, name in zip(self.files, CASES, strict=True)))

    @property
    def rule(self) -> Rule:
        """The lane's stopping rule."""
        return named(self.lane.rule, samples=self.lane.samples, cap=self.lane.cap)

    def passing(self, j: int = 1) -> str:
        """As many passes in a row as certify a case in the j-th sequence, or as the cap allows."""
        table = limits(self.rule, cases=len(self.ids), j=j)
        return "p" * next((n for n, least in enumerate(table.pass_at) if least <= n), self.rule.cap)

    def failing(self) -> str:
        """As many failures in a row as are certain."""
        table = limits(self.rule, cases=len(self.ids))
        return "f" * next(n for n, most in enumerate(table.fail_at) if most >= 0)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The policy with everything that is chosen to fit it."""

    policy: Policy
    """The policy."""
    source: str
    """Where the policy stands, in words."""
    default_branch: str
    """Default branch."""
    base_ref: str
    """The branch that the change goes into: the first that the policy lists."""
    casts: tuple[Cast, ...]
    """Every lane, in the policy's order."""
    program: str
    """Path of the program that is judged."""

    @property
    def lead(self) -> Cast:
        """The first required lane that is sampled: the one that is to be fooled."""
        return next(cast for cast in self.casts if cast.lane.role == "required" and not cast.is_replayed)

    def branch(self, name: str) -> str:
        """A branch of that name, or one like it, that the policy does not list."""
        while name in (self.default_branch, *self.policy.check.branches):
            name += "-2"
        return name

    def files(self) -> dict[str, str | bytes]:
        """The files of the first commit."""
        named_files = (pair for cast in self.casts for pair in zip(cast.files, CASES, strict=True))
        cases = {path: f"id: {name}\n" for path, name in named_files}
        return {POLICY_FILE: self.policy.text, self.program: "ANSWER = 1\n", **cases}


def setting_of(checkout: Path | None, environment: Mapping[str, str]) -> Setting:
    """The setting of a checkout; None and a folder without repository or policy have the small one.

    Raises: UsageProblem if its policy cannot be read, or leaves no file that judges or is judged.
    """
    found = _own(checkout, environment) if checkout is not None else None
    if found is None:
        return setting(read_policy(SMALL.encode(), kinds=RULES.facts()), "main", "a small policy of its own")
    data, branch = found
    name = f"{branch}:{POLICY_FILE}"
    policy = read_policy(data, kinds=RULES.facts(), name=name)
    if not any(map(is_sampled, policy.lanes)):
        replayed = SMALL_REPLAYED if any(lane.replays for lane in policy.lanes) else ""
        small = read_policy((SMALL + replayed).encode(), kinds=RULES.facts())
        return setting(small, "main", f"a small policy of its own, since {name} samples nothing")
    return setting(policy, branch, name)


def setting(policy: Policy, branch: str, source: str) -> Setting:
    """The setting of a policy.

    Raises: UsageProblem ``nothing-to-rehearse`` if a pattern of the policy leaves no file its part.
    """
    return Setting(
        policy=policy,
        source=source,
        default_branch=branch,
        base_ref=policy.check.branches[0],
        casts=tuple(
            Cast(lane=lane, files=tuple(_case_file(policy, lane, name) for name in CASES))
            for lane in policy.lanes
        ),
        program=_program(policy),
    )


def _case_file(policy: Policy, lane: Lane, name: str) -> str:
    """A file below the lane's tests that judges there and everywhere else may be anything."""
    sorter = Sorter(policy, lane, None)
    paths = [f"{lane.tests}/cases/{name}{ending}" for ending in ENDINGS]
    return _first(f"a case of lane {lane.name}", paths, lambda path: _place(sorter, path) == "ruler")


def _program(policy: Policy) -> str:
    """A file that the first required lane judges and that judges in no lane."""
    sorters = {lane.name: Sorter(policy, lane, None) for lane in policy.lanes}
    lead = next(lane.name for lane in policy.lanes if is_sampled(lane))

    def is_judged(path: str) -> bool:
        places = {name: _place(sorter, path) for name, sorter in sorters.items()}
        return places[lead] == "subject" and {*places.values()} <= {"subject", "irrelevant"}

    return _first("the program", [f"{stem}{end}" for stem in PROGRAMS for end in PROGRAM_ENDINGS], is_judged)


def is_sampled(lane: Lane) -> bool:
    """Whether a lane can be the one that is to be fooled."""
    return lane.role == "required" and lane.kind != CONTRACT_CHECK


def _place(sorter: Sorter, path: str) -> str:
    """The class of a path, or nothing where the policy contradicts itself about it."""
    try:
        return sorter.place(path)
    except UsageProblem:
        return ""


def _first(what: str, paths: Iterable[str], fits: Callable[[str], bool]) -> str:
    tried = list(paths)
    found = next((path for path in tried if fits(path)), None)
    if found is None:
        raise UsageProblem(
            "nothing-to-rehearse",
            f"the policy's patterns leave no path for {what}: {len(tried)} were tried, {tried[0]!r} first",
            hint="truegreen policy show",
        )
    return found


def _own(checkout: Path, environment: Mapping[str, str]) -> tuple[bytes, str] | None:
    """The policy of the checkout's default branch and that branch's name, or None."""
    try:
        git = GitRepository(checkout, environment)
    except UsageProblem:  # no repository
        return None
    with git:
        branch = default_branch(git)
        commit = git.resolve(branch) if branch is not None else None
        if branch is None or commit is None:
            return None
        entries = git.entries(git.tree_of(commit))
        found = next((e for e in entries if e.path == POLICY_FILE and e.mode.startswith("100")), None)
        return (git.blob(found.oid), branch) if found is not None else None
