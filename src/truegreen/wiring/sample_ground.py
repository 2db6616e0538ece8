# SPDX-License-Identifier: Apache-2.0
"""What a sampling run stands on: clone, event, policy, lane, and the digests of what lies in the folder.

What it decides: which policy and lane apply, and what the record will say that was tested. What it leaves:
taking samples, to ``sample``.

- For a forge's event the policy is the one of the base's fetched tip, as the gate reads it: a change to the
  policy lands by itself, and is judged by the policy that it changes. At home, and while the base has none, it
  is the working folder's.
- Without a policy, paths on the command line are a lane of their own with every default.
- The tree is that of the files as they lie there before the first sample; if they have changed by the last one,
  the samples are about no tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from truegreen.core.baseline import Baseline, LaneBaseline, read_baseline
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.file_names import nfc
from truegreen.core.lane_digests import LaneDigests, blobs_to_digest, lane_digests
from truegreen.core.policy import BASELINE_FILE, POLICY_FILE, Lane, Policy
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import TreeEntry
from truegreen.core.subject import Subject
from truegreen.forges.git import GitRepository
from truegreen.forges.lane_subject import lane_subject
from truegreen.forges.working_copy import WorkingCopy, working_copy
from truegreen.gate.decide import RULES
from truegreen.wiring.event import event_facts
from truegreen.wiring.sample_request import SampleRequest

KIND = "sample-ledger"
OWN_LANE = "model-tests"
"""Name of the lane that paths on the command line are, where no policy names one."""


@dataclass(frozen=True, kw_only=True)
class SampleGround:
    """Everything that is known before the first sample."""

    root: Path
    """Root of the working folder."""
    git: GitRepository
    """The clone."""
    facts: EventFacts
    """The event."""
    policy: Policy
    """The policy that is applied."""
    lane: Lane
    """The lane."""
    paths: tuple[str, ...]
    """What pytest is asked to collect, from the root."""
    is_whole: bool
    """Whether that is the whole lane of a policy: only then the record is evidence."""
    copy: WorkingCopy
    """The folder before the first sample."""
    subject: Subject
    """What the record is about."""
    entries: tuple[TreeEntry, ...]
    """Files of the tested tree."""
    baseline: Baseline | None
    """The baseline that lies there."""
    digests: LaneDigests
    """Ruler and subject."""

    @property
    def agreed(self) -> LaneBaseline | None:
        """The lane's baseline."""
        return self.baseline.lanes.get(self.lane.name) if self.baseline else None


def is_sampled(lane: Lane) -> bool:
    """Whether a lane is sampled."""
    return lane.kind == KIND


def read_ground(
    request: SampleRequest,
    git: GitRepository,
    environment: Mapping[str, str],
    *,
    is_ours: Callable[[Lane], bool] = is_sampled,
    what: str = "sampled",
) -> SampleGround:
    """Clone, policy, lane and digests; ``is_ours`` says which lanes may be meant, ``what`` calls them in words.

    Raises: TruegreenProblem of every family.
    """
    if git.root is None:
        raise UsageProblem("no-working-folder", "a bare clone has no working folder to test")
    paths = tuple(from_root(path, request.cwd, git.root) for path in request.paths)
    facts = event_facts(request.subject_from, request.base, git, environment)
    of_base = _policy_of_base(git, facts)
    policy = of_base or _policy(git.root, paths)
    is_named = of_base is not None or (git.root / POLICY_FILE).is_file()
    lane = lane_of(policy, request.lane, is_ours=is_ours, what=what)
    copy = working_copy(git, untracked=facts.local)
    entries = git.entries(copy.tree)
    baseline = _baseline(git, entries)
    return SampleGround(
        root=git.root,
        git=git,
        facts=facts,
        policy=policy,
        lane=lane,
        paths=paths or (lane.tests,),
        is_whole=is_named and set(paths) <= {lane.tests},
        copy=copy,
        subject=lane_subject(facts, copy, git),
        entries=entries,
        baseline=baseline,
        digests=lane_digests(
            entries, policy, lane, baseline, git.blob_digests(sorted(blobs_to_digest(entries))), git.blob
        ),
    )


def lane_of(
    policy: Policy, name: str | None, *, is_ours: Callable[[Lane], bool] = is_sampled, what: str = "sampled"
) -> Lane:
    """The lane that is meant.

    Raises: UsageProblem ``no-such-lane`` or ``which-lane``.
    """
    lanes = [lane for lane in policy.lanes if is_ours(lane)]
    names = ", ".join(lane.name for lane in lanes) or "none"
    if name is not None:
        found = next((lane for lane in lanes if lane.name == name), None)
        if found is None:
            raise UsageProblem(
                "no-such-lane", f"the lane {name[:64]!r} is none of those that are {what}: {names}"
            )
        return found
    if len(lanes) != 1:
        raise UsageProblem(
            "which-lane",
            f"{len(lanes)} lanes are {what} ({names}), 1 must be named",
            hint="name it with --lane NAME",
        )
    return lanes[0]


def from_root(path: str, cwd: Path, root: Path) -> str:
    """A path of the command line as seen from the root; ``::`` and the name of a case may follow it.

    Raises: UsageProblem ``no-such-path`` if nothing lies there or it lies outside.
    """
    file, marks, name = path.partition("::")
    full = (cwd / file).resolve()
    if not file or not full.exists() or not full.is_relative_to(root.resolve()):
        raise UsageProblem("no-such-path", f"{path[:200]!r} is no file or folder below {root}")
    return nfc(full.relative_to(root.resolve()).as_posix()) + marks + name


def _policy_of_base(git: GitRepository, facts: EventFacts) -> Policy | None:
    """The policy at the base's fetched tip; None at home and while the base has none.

    Raises: ReachProblem ``missing-object`` if the clone has no such branch; UsageProblem for a bad policy.
    """
    if facts.local:
        return None
    names = (f"refs/remotes/origin/{facts.base_ref}", f"refs/heads/{facts.base_ref}")
    tip = next((found for name in names if (found := git.resolve(name)) is not None), None)
    if tip is None:
        raise ReachProblem(
            "missing-object",
            f"the clone has no branch {facts.base_ref!r}, whose policy says what is sampled",
            hint="check out with fetch-depth: 0",
        )
    entry = next((one for one in git.entries(git.tree_of(tip)) if one.path == POLICY_FILE), None)
    if entry is None:
        return None
    return read_policy(git.blob(entry.oid), kinds=RULES.facts(), name=f"{facts.base_ref}:{POLICY_FILE}")


def read_worktree_policy(root: Path) -> Policy:
    """The policy that lies in the working folder.

    Raises: UsageProblem ``no-policy``, or what the reader raises.
    """
    path = root / POLICY_FILE
    if not path.is_file():
        raise UsageProblem(
            "no-policy",
            f"{root} has no {POLICY_FILE} and the command line names no tests",
            hint="truegreen sample tests/llm",
        )
    return read_policy(path.read_bytes(), kinds=RULES.facts())


def _policy(root: Path, paths: tuple[str, ...]) -> Policy:
    if (root / POLICY_FILE).is_file() or not paths:
        return read_worktree_policy(root)
    files = tuple(dict.fromkeys(path.partition("::")[0] for path in paths))
    tests = files[0] if len(files) == 1 else _folder_of(files)
    quoted_path = json.dumps(tests, ensure_ascii=False)  # a JSON string is a TOML string
    text = f'schema = "truegreen/policy/v1"\n[lanes.{OWN_LANE}]\ntests = {quoted_path}\n'
    return read_policy(text.encode(), kinds=RULES.facts(), name="the command line")


def _folder_of(paths: tuple[str, ...]) -> str:
    """The deepest folder that holds all paths.

    Raises: UsageProblem ``paths-apart`` if that is the root.
    """
    shared: list[str] = []
    for one in zip(*(path.split("/") for path in paths), strict=False):
        if len(set(one)) > 1:
            break
        shared.append(one[0])
    if not shared:
        raise UsageProblem(
            "paths-apart",
            f"{len(paths)} paths share no folder below the root, a lane has 1",
            hint="sample them one after another, or write a policy with a lane each",
        )
    return "/".join(shared)


def _baseline(git: GitRepository, entries: tuple[TreeEntry, ...]) -> Baseline | None:
    found = next((entry for entry in entries if entry.path == BASELINE_FILE), None)
    return read_baseline(git.blob(found.oid)) if found else None
