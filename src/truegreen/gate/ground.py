# SPDX-License-Identifier: Apache-2.0
"""What every step of the gate stands on: the event, the policies, the run index, and recomputation by git.

What it decides: which tree a lane must have tested, and what its digests are. What it leaves: believing
records, to ``verify``; the expected set, to ``complete``.

- Everything is recomputed from objects of the clone; nothing is taken from a record.
- A missing object, a failure of git or a conflict is an answer of its own (``Unreachable``), never a default.
- Answers are cached: one merge and one digest a (head, base, lane), however many records name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from truegreen.cassettes.contract_check import Check
from truegreen.core.baseline import Baseline, Removed, read_baseline
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.index import RunIndex
from truegreen.core.lane_digests import LaneDigests, blobs_to_digest, lane_digests
from truegreen.core.policy import BASELINE_FILE, Lane, Policy
from truegreen.core.ports import FileChange, GitPort, TreeEntry
from truegreen.quarantine.live import Live


class Unreachable(Exception):  # noqa: N818 - an answer that the flow turns into a hold, not an error of ours
    """A recomputation has no result; ``code`` is the reason code that says why."""

    def __init__(self, code: str, **facts: str | int) -> None:
        """Keep the reason code and its facts."""
        super().__init__(code)
        self.code = code
        self.facts = facts


UNANSWERED = frozenset({"missing-object", "git-failed"})
"""Codes that say nothing of a tree: git could not be asked about it."""


def unreachable(err: ReachProblem) -> Unreachable:
    """A question that git did not answer: the clone lacks an object, or git itself failed."""
    if err.code == "missing-object":
        return Unreachable("missing-object", problem=err.message)
    return Unreachable("git-failed", problem=err.message)


class Ground(msgspec.Struct, kw_only=True):
    """The gate's own knowledge for one decision."""

    facts: EventFacts
    """The event."""
    policy: Policy
    """Policy of the base's tip."""
    mode: str
    """Effective mode."""
    tip: str
    """Fetched tip of the base branch."""
    head_tree: str
    """Tree of the head."""
    index: RunIndex | None
    """The run index, or None when it is absent or cannot be read."""
    git: GitPort
    """The clone."""
    now: str
    """The clock, read once."""
    removed: tuple[Removed, ...] = ()
    """Removals that the head announces."""
    quarantine: Live = msgspec.field(default_factory=lambda: Live(entries={}, causes=(), notes=()))
    """The quarantine as it counts now."""
    check_recordings: Check | None = None
    """Reads recordings; None where nobody handed it in: then they are unknown."""
    _trees: dict[tuple[str, str, str], str] = msgspec.field(default_factory=dict)
    _digests: dict[tuple[str, str], LaneDigests] = msgspec.field(default_factory=dict)
    _entries: dict[str, tuple[TreeEntry, ...]] = msgspec.field(default_factory=dict)
    _blobs: dict[str, Sha256] = msgspec.field(default_factory=dict)
    kept: dict[tuple[str, ...], Any] = msgspec.field(default_factory=dict)
    """What a kind of record made of objects that do not change, by a key of its own."""

    def tested_tree(self, lane: Lane, head: str, base: str) -> str:
        """The tree that ``lane`` tests for this head and base.

        Raises: Unreachable ``merge-conflict``, or as ``unreachable`` says.
        """
        key = (lane.tree, head, base)
        if key not in self._trees:
            self._trees[key] = self._make_tree(lane, head, base)
        return self._trees[key]

    def _make_tree(self, lane: Lane, head: str, base: str) -> str:
        if self.facts.local and head == self.facts.head_sha:
            return self.head_tree
        try:
            if lane.tree == "head":
                return self.git.tree_of(head)
            merged = self.git.merge_tree(head, base)
        except ReachProblem as err:
            raise unreachable(err) from err
        if merged.tree is None:
            raise Unreachable("merge-conflict", paths=", ".join(merged.conflicts[:3]))
        return merged.tree

    def tree_of_head(self, head: str) -> str:
        """The tree of a head commit itself, as it was committed.

        Raises: Unreachable ``missing-object``.
        """
        if head == self.facts.head_sha and self.facts.head_tree is None:
            return self.head_tree
        try:
            return self.git.tree_of(head)
        except ReachProblem as err:
            raise Unreachable("missing-object", problem=err.message) from err

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """Files of a tree.

        Raises: Unreachable as ``unreachable`` says.
        """
        if tree not in self._entries:
            try:
                self._entries[tree] = self.git.entries(tree)
            except ReachProblem as err:
                raise unreachable(err) from err
        return self._entries[tree]

    def file_at(self, tree: str, path: str) -> bytes | None:
        """Content of a regular file of a tree, or None if it has none of that path.

        Raises: Unreachable as ``unreachable`` says.
        """
        entry = next((e for e in self.entries(tree) if e.path == path), None)
        if entry is None or not entry.mode.startswith("100"):
            return None
        return self._blob(entry.oid)

    def folder_at(self, tree: str, folder: str) -> dict[str, bytes | None]:
        """Files below a folder of a tree, by their path from it; None stands for one that is no regular file.

        Raises: Unreachable as ``unreachable`` says.
        """
        start = f"{folder}/"
        return {
            entry.path.removeprefix(start): self._blob(entry.oid) if entry.mode.startswith("100") else None
            for entry in self.entries(tree)
            if entry.path.startswith(start)
        }

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """Content digests of blobs.

        Raises: Unreachable as ``unreachable`` says.
        """
        asked = frozenset(oids)
        try:
            self._blobs.update(self.git.blob_digests(sorted(asked - self._blobs.keys())))
        except ReachProblem as err:
            raise unreachable(err) from err
        return {oid: self._blobs[oid] for oid in asked}

    def changes(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        """What commits of ``head`` that ``base`` does not hold did below a folder, newest first.

        Raises: Unreachable as ``unreachable`` says.
        """
        try:
            return self.git.changes_between(base, head, folder)
        except ReachProblem as err:
            raise unreachable(err) from err

    def tree_of(self, commit: str) -> str:
        """The tree of a commit.

        Raises: Unreachable as ``unreachable`` says.
        """
        try:
            return self.git.tree_of(commit)
        except ReachProblem as err:
            raise unreachable(err) from err

    def baseline_at(self, tree: str) -> Baseline | None:
        """The baseline that a tree holds.

        Raises: Unreachable ``baseline-unreadable``, or as ``unreachable`` says.
        """
        data = self.file_at(tree, BASELINE_FILE)
        if data is None:
            return None
        try:
            return read_baseline(data)
        except EvidenceProblem as err:
            raise Unreachable("baseline-unreadable", where="the change", problem=err.message) from err

    def baseline_of_base(self, commit: str) -> Baseline | None:
        """The baseline that a base commit holds.

        Raises: Unreachable as ``baseline_at`` does.
        """
        return self.baseline_at(self.tree_of(commit))

    def digests(self, lane: Lane, tree: str) -> LaneDigests:
        """Ruler and subject digests of ``lane`` on ``tree``.

        Raises: Unreachable ``baseline-unreadable``, ``empty-lane`` or ``digests-unknown``, or as ``unreachable``
        says; UsageProblem ``irrelevant-hides-ruler`` where the base branch contradicts its own policy in a lane
        that counts; a change that adds such a file holds.
        """
        key = (lane.name, tree)
        if key not in self._digests:
            self._digests[key] = self._make_digests(lane, tree)
        return self._digests[key]

    def _make_digests(self, lane: Lane, tree: str) -> LaneDigests:
        entries = self.entries(tree)
        baseline = self.baseline_at(tree)
        unknown = blobs_to_digest(entries) - self._blobs.keys()
        try:
            self._blobs.update(self.git.blob_digests(sorted(unknown)))
            return lane_digests(entries, self.policy, lane, baseline, self._blobs, self._blob)
        except ReachProblem as err:
            raise unreachable(err) from err
        except EvidenceProblem as err:
            if err.code == "empty-ruler":
                raise Unreachable("empty-lane", lane=lane.name, tests=lane.tests) from err
            raise Unreachable("digests-unknown", lane=lane.name, problem=err.message) from err
        except UsageProblem as err:
            if lane.role != "advisory" and self._is_of_base(lane, tree):
                raise  # a configuration error issues no decision
            raise Unreachable("digests-unknown", lane=lane.name, problem=err.message) from err

    def _is_of_base(self, lane: Lane, tree: str) -> bool:
        """Whether the base branch contradicts its policy itself: what a change adds alone is the change's affair."""
        of_base = self.tree_of_head(self.tip)
        if tree == of_base:
            return True
        try:
            self.digests(lane, of_base)
        except UsageProblem:
            return True
        except Unreachable:
            pass  # whatever else is wrong there, it is not this
        return False

    def _blob(self, oid: str) -> bytes:
        try:
            return self.git.blob(oid)
        except ReachProblem as err:
            raise unreachable(err) from err

    def base_of(self, lane: Lane, base_sha: str) -> str:
        """The commit at which it is read what base had, for a record that says ``base_sha``.

        In a queue it is the group's base, on a push the pushed commit. A pull request is compared with the
        newest commit of the base branch that its tested tree holds: ``base_sha`` if that was merged in and is
        newer than what the head holds anyway, else what the head holds. Otherwise a record could choose an old
        base that had fewer cases.

        Raises: Unreachable as ``unreachable`` says.
        """
        facts = self.facts
        if facts.group_base is not None or facts.event == "push":
            return facts.group_base or facts.head_sha
        try:
            fork = self.git.merge_base(self.tip, facts.head_sha)
            if fork is not None and (lane.tree == "head" or self.git.is_ancestor(base_sha, fork)):
                return fork
        except ReachProblem as err:
            raise unreachable(err) from err
        return base_sha
