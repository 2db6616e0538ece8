# SPDX-License-Identifier: Apache-2.0
"""What must the evidence be about, and under which policy?

What it decides: base tip, policies, effective mode, listed branch, announcements and quarantine of the base,
whether harness and code changed together. What it leaves: records, to ``verify``.

- Policy is read from the fetched tip of the base branch; listed branches and the mode floor from the default
  branch's policy. A policy that cannot be read is a configuration error, and no decision word is issued.
- A base that the default branch's policy does not list blocks. A base without a policy holds; in observe mode
  it exits 0 only while the default branch has no policy either.
- A policy that the change brings and nobody could read after the merge holds before it.
- Harness beside other code holds; a queue is asked commit by commit; a push is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from truegreen.cassettes.contract_check import Check
from truegreen.core.baseline import Baseline, Removed, read_baseline, read_removed
from truegreen.core.decision import Cause
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.index import RunIndex, read_index
from truegreen.core.lane_digests import changed
from truegreen.core.outcome import Word
from truegreen.core.partition import harness_and_code, partition
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, QUARANTINE_FILE, REMOVED_FILE, KindFacts, Policy
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import GitPort, TreeEntry
from truegreen.gate.ground import Ground, unreachable
from truegreen.gate.model import Kind
from truegreen.quarantine.live import Limits, Live, live, reading


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate was asked to decide on, as values."""

    facts: EventFacts
    """The event."""
    git: GitPort
    """The clone."""
    index: bytes | None
    """The run index as stored, or None."""
    now: str
    """The clock, read once."""
    in_ci: bool
    """Whether this runs in CI."""
    version: str
    """Version of the program that decides."""
    only_lane: str | None = None
    """Decide on one lane alone."""
    check_recordings: Check | None = None
    """Reads recordings."""
    worktree_policy: bytes | None = None
    """The working copy's policy when it is asked for in place of the base's."""


class Bound(msgspec.Struct, kw_only=True):
    """What binding found."""

    ground: Ground | None
    """None when there is no policy to decide by."""
    mode: str
    """Effective mode."""
    topology: str
    """Topology that the policy names."""
    tip: str
    """Fetched tip of the base branch; empty when it cannot be found."""
    head_tree: str
    """Tree of the head; empty when it cannot be found."""
    causes: list[Cause] = msgspec.field(default_factory=list)
    """Holds and blocks."""
    notes: list[Cause] = msgspec.field(default_factory=list)
    """Disclosures."""
    texts: dict[str, str | None] = msgspec.field(default_factory=dict)
    """Texts that the decision embeds, by name."""

    def hold(self, code: str, **facts: str | int) -> None:
        """Add a hold."""
        self.causes.append(Cause(code=code, word=Word.HOLD, facts=facts))

    def block(self, code: str, **facts: str | int) -> None:
        """Add a block."""
        self.causes.append(Cause(code=code, word=Word.BLOCK, facts=facts))

    def note(self, code: str, **facts: str | int) -> None:
        """Add a disclosure."""
        self.notes.append(Cause(code=code, word=None, facts=facts))


def bind(
    asked: Asked,
    kinds: Mapping[str, Kind],
    facts: Mapping[str, KindFacts],
    *,
    checks: tuple[BindCheck, ...] | None = None,
) -> Bound:
    """Find base, policies and announcements.

    Raises: UsageProblem if a policy that counts cannot be read: a configuration error issues no decision.
    """
    bound = Bound(ground=None, mode="enforce", topology="editable", tip="", head_tree="")
    try:
        found = _found(asked, bound, facts)
        if found.policy is not None:
            bound.ground = _ground(found, found.policy, kinds)
        for check in CHECKS if checks is None else checks:
            check(found)
    except ReachProblem as err:
        told = unreachable(err)
        bound.ground = None
        bound.hold(told.code, **told.facts)
    return bound


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The event with the policies and files that it meets."""

    asked: Asked
    """What was asked."""
    bound: Bound
    """Where holds, blocks and notes go."""
    files: Files
    """Files of base, default branch and head."""
    policy: Policy | None
    """The policy that decides."""
    default: Policy | None
    """The default branch's policy."""
    kinds: Mapping[str, KindFacts]
    """What a policy must know of record kinds."""


def _found(asked: Asked, bound: Bound, facts: Mapping[str, KindFacts]) -> Found:
    files = Files(asked, bound)
    name = f"{asked.facts.default_branch}:{POLICY_FILE}"
    default = files.policy(files.default_tip, name, facts, "default_policy")
    policy = _policy(asked, bound, files, facts)
    modes = {one.mode for one in (policy, default) if one is not None}
    bound.mode = "enforce" if "enforce" in modes else "observe"
    bound.topology = bound.topology if policy is None else policy.check.topology
    return Found(asked=asked, bound=bound, files=files, policy=policy, default=default, kinds=facts)


def _ground(found: Found, policy: Policy, kinds: Mapping[str, Kind]) -> Ground:
    asked, bound = found.asked, found.bound
    return Ground(
        facts=asked.facts,
        policy=policy,
        mode=bound.mode,
        tip=bound.tip,
        head_tree=bound.head_tree,
        index=_index(asked, bound, policy, kinds),
        git=asked.git,
        now=asked.now,
        removed=_removed(found.files, bound),
        check_recordings=asked.check_recordings,
        quarantine=_quarantine(asked, bound, found.files, policy),
    )


def branch_is_listed(found: Found) -> None:
    """The base is a branch that the default branch's policy lists."""
    default, base_ref = found.default, found.asked.facts.base_ref
    if default is not None and base_ref not in default.check.branches:
        found.bound.block("base-not-gated", base_ref=base_ref, branches=", ".join(default.check.branches))


def base_has_a_policy(found: Found) -> None:
    """There is a policy to decide by; in CI it is never the working copy's."""
    asked, bound = found.asked, found.bound
    if asked.worktree_policy is not None:
        if asked.in_ci:
            bound.hold("policy-in-worktree")
        else:
            bound.note("policy-in-worktree")
    elif found.policy is None:
        bound.hold("no-policy-at-base", base_ref=asked.facts.base_ref)
    elif found.default is None:
        bound.hold("no-policy-at-default", default_branch=asked.facts.default_branch)


def new_policy_can_be_read(found: Found) -> None:
    """A policy that the change brings can be used: merged, it would leave every later change without a decision."""
    files, tree = found.files, found.files.judged_tree
    data = files.read(tree, POLICY_FILE)
    if data is None or (found.policy is not None and sha256_of(data) == found.policy.digest):
        return
    try:
        policy = read_policy(data, kinds=found.kinds)
        for lane in policy.lanes:
            partition(files.entries(tree), policy, lane, _baseline(files, tree))
    except UsageProblem as err:
        found.bound.hold("new-policy-unreadable", problem=err.message)


def quarantine_is_in_order(found: Found) -> None:
    """Nothing in the quarantine lists holds; what they disclose is told."""
    if found.bound.ground is not None:
        found.bound.causes.extend(found.bound.ground.quarantine.causes)
        found.bound.notes.extend(found.bound.ground.quarantine.notes)


def harness_changes_alone(found: Found) -> None:
    """Harness and other code do not change together."""
    if found.policy is None:
        return
    git = found.asked.git
    baselines = tuple(_baseline(found.files, tree) for tree in (found.files.tip_tree, found.files.head_tree))
    for before, after in _steps(found.asked, found.bound):
        paths = changed(git.entries(before), git.entries(after))
        harness, other = harness_and_code(paths, found.policy, baselines)
        if harness and other:
            found.bound.hold("harness-and-code", harness=harness[0], other=other[0], count=len(other))
            return


def working_copy_stays_home(found: Found) -> None:
    """A working copy's decision never counts in CI."""
    if not found.asked.facts.local:
        return
    if found.asked.in_ci:
        found.bound.hold("local-in-ci")
    else:
        found.bound.note("local")


def topology_is_named(found: Found) -> None:
    """The decision says who could edit the gate."""
    if found.policy is not None and found.bound.topology == "editable":
        found.bound.note("topology-editable")


def check_is_shown(found: Found) -> None:
    """The forge shows a check of the name that the policy gives; a note, because only the forge can require it."""
    index = found.bound.ground.index if found.bound.ground is not None else None
    run = index.run(found.asked.facts.run_id) if index is not None else None
    if found.policy is None or run is None or found.asked.facts.local:
        return
    name = found.policy.check.name
    if all(job.name != name for attempt in run.attempts for job in attempt.jobs):
        found.bound.note("check-not-shown", name=name)


BindCheck = Callable[[Found], None]
CHECKS: tuple[BindCheck, ...] = (
    branch_is_listed,
    base_has_a_policy,
    new_policy_can_be_read,
    quarantine_is_in_order,
    harness_changes_alone,
    working_copy_stays_home,
    topology_is_named,
    check_is_shown,
)
"""Every check of the event and the base, in order."""


class Files:
    """Files of the base's tip, of the default branch and of the head."""

    def __init__(self, asked: Asked, bound: Bound) -> None:
        """Raises: ReachProblem if base, default branch or head are not in the clone."""
        self._git = asked.git
        self._bound = bound
        self._entries: dict[str, tuple[TreeEntry, ...]] = {}
        self._policies: dict[tuple[bytes, str], Policy] = {}  # base is mostly the default branch
        bound.tip = _tip(asked, asked.facts.base_ref)
        self.default_tip = _tip(asked, asked.facts.default_branch)
        self.tip_tree = asked.git.tree_of(bound.tip)
        self.head_tree = asked.facts.head_tree or asked.git.tree_of(asked.facts.head_sha)
        bound.head_tree = self.head_tree
        self.judged_tree = self._judged(asked, bound.tip)

    def _judged(self, asked: Asked, tip: str) -> str:
        """The tree whose announcements count: the merge with the tip, so that what base gained is not dropped."""
        if asked.facts.event != "pull_request":
            return self.head_tree
        return asked.git.merge_tree(asked.facts.head_sha, tip).tree or self.head_tree

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """Files of a tree, asked once."""
        if tree not in self._entries:
            self._entries[tree] = self._git.entries(tree)
        return self._entries[tree]

    def read(self, tree: str, path: str) -> bytes | None:
        """Content of a regular file, or None.

        Raises: ReachProblem.
        """
        entry = next((one for one in self.entries(tree) if one.path == path), None)
        return self._git.blob(entry.oid) if entry and entry.mode.startswith("100") else None

    def policy(self, commit: str, name: str, kinds: Mapping[str, KindFacts], key: str) -> Policy | None:
        """The policy that a commit holds, or None.

        Raises: UsageProblem.
        """
        data = self.read(self._git.tree_of(commit), POLICY_FILE)
        self._bound.texts[key] = None if data is None else data.decode("utf-8", "replace")
        if data is not None and (data, name) not in self._policies:
            self._policies[data, name] = read_policy(data, name=name, kinds=kinds)
        return None if data is None else self._policies[data, name]


def _tip(asked: Asked, branch: str) -> str:
    """The fetched tip of a branch.

    Raises: ReachProblem ``missing-object`` if the clone has no such branch.
    """
    if (found := asked.git.fetched_tip(branch)) is not None:
        return found
    raise ReachProblem(
        "missing-object",
        f"the clone has no branch {branch!r}, neither as origin/{branch} nor as {branch}",
        hint=f"git fetch origin {branch}",
    )


def _policy(asked: Asked, bound: Bound, files: Files, kinds: Mapping[str, KindFacts]) -> Policy | None:
    """The policy that decides: the base's, or the working copy's where it was asked for."""
    if asked.worktree_policy is not None:
        bound.texts["policy"] = asked.worktree_policy.decode("utf-8", "replace")
        return read_policy(asked.worktree_policy, name=POLICY_FILE, kinds=kinds)
    return files.policy(bound.tip, f"{asked.facts.base_ref}:{POLICY_FILE}", kinds, "policy")


def _index(asked: Asked, bound: Bound, policy: Policy, kinds: Mapping[str, Kind]) -> RunIndex | None:
    """The run index; why it cannot be read is said here, that it is missing by ``complete``."""
    if asked.facts.local:
        from truegreen.gate.local import local_index  # noqa: PLC0415 - never so in CI

        return local_index(asked.facts, [(lane, kinds[lane.kind]) for lane in policy.lanes], asked.now)
    if asked.index is None:
        return None
    try:
        return read_index(asked.index)
    except EvidenceProblem as err:
        bound.hold("attempts-unknown", problem=err.message)
        return None


def _baseline(files: Files, tree: str) -> Baseline | None:
    """The baseline that a tree holds; an unreadable one is told where a lane needs it."""
    data = files.read(tree, BASELINE_FILE)
    try:
        return None if data is None else read_baseline(data)
    except EvidenceProblem:
        return None


def _removed(files: Files, bound: Bound) -> tuple[Removed, ...]:
    data = files.read(files.judged_tree, REMOVED_FILE)
    bound.texts["removed"] = None if data is None else data.decode("utf-8", "replace")
    try:
        return () if data is None else read_removed(data)
    except EvidenceProblem as err:
        bound.hold("removed-unreadable", problem=err.message)
        return ()


def _quarantine(asked: Asked, bound: Bound, files: Files, policy: Policy) -> Live:
    """The quarantine as it counts now; its holds and notes are told."""
    found: dict[str, bytes | None] = {}
    for name, tree in (("quarantine", files.tip_tree), ("quarantine_of_head", files.judged_tree)):
        data = found[name] = files.read(tree, QUARANTINE_FILE)
        bound.texts[name] = None if data is None else data.decode("utf-8", "replace")
    baseline = files.read(files.tip_tree, BASELINE_FILE)
    bound.texts["baseline"] = None if baseline is None else baseline.decode("utf-8", "replace")
    base = _baseline(files, files.tip_tree)
    return live(
        reading(found["quarantine"]),
        reading(found["quarantine_of_head"]),
        asked.now,
        limits=Limits(max_quarantined=policy.max_quarantined, max_quarantine_days=policy.max_quarantine_days),
        base_ids=None
        if base is None
        else {name: frozenset(lane.case_ids) for name, lane in base.lanes.items()},
    )


def _steps(asked: Asked, bound: Bound) -> list[tuple[str, str]]:
    """(tree before, tree after) pairs that one author answers for."""
    facts, git = asked.facts, asked.git
    if facts.event == "push":
        return []
    if facts.event == "merge_group" and facts.group_base:
        commits = git.commits_between(facts.group_base, facts.head_sha)
        pairs = zip((facts.group_base, *commits), commits, strict=False)
        return [(git.tree_of(before), git.tree_of(after)) for before, after in pairs]
    fork = git.merge_base(bound.tip, facts.head_sha)
    if fork is None:
        raise ReachProblem(
            "missing-object", f"{facts.head_sha[:12]} and {bound.tip[:12]} have no common ancestor"
        )
    return [(git.tree_of(fork), bound.head_tree)]
