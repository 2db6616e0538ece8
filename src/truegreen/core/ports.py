# SPDX-License-Identifier: Apache-2.0
"""The doors through which clock, git and forge enter: Protocols that wiring fills.

Rules are pure functions of values; whatever touches the world stands behind one of these. Each has an
adapter (in a slice) and a simulator (beside the tests of the port) that passes the same suite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec

from truegreen.core.admission import Again, Ask, Ended, Final, Leave, Pressure
from truegreen.core.digest import Sha256
from truegreen.core.exchange import Exchange
from truegreen.core.index import RunIndex
from truegreen.core.recording import Answered, Asked, Miss


class Clock(Protocol):
    """Time of day, read once per run."""

    def now(self) -> str:
        """UTC RFC 3339 in whole seconds, such as ``2026-11-29T17:00:00Z``."""
        ...


class TreeEntry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One file of a tree."""

    path: str
    """Path from the root with ``/``; bytes that are not UTF-8 are written ``%XX``."""
    mode: str
    """Six octal digits as git writes them: 100644, 100755, 120000 or 160000."""
    oid: str
    """Id of the blob, or of the commit for a submodule."""


class MergedTree(msgspec.Struct, frozen=True, kw_only=True):
    """What merging two commits gives."""

    tree: str | None
    """The tree, or null if the merge has conflicts."""
    conflicts: tuple[str, ...] = ()
    """Paths in conflict."""


class FileChange(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What one commit did to one file."""

    commit: str
    """The commit."""
    author: str
    """E-mail address of its author, as the commit says; anybody can write any."""
    path: str
    """Path of the file, as in ``TreeEntry``."""
    oid: str | None
    """Id of the blob that the commit left there; null if it took the file away."""


class GitPort(Protocol):
    """Questions to a repository with full history; none changes it or runs its code.

    Every method raises ReachProblem ``missing-object`` when an object that it names is not there (a shallow
    or filtered clone), and ``git-failed`` when git itself fails.
    """

    def resolve(self, ref: str) -> str | None:
        """Commit id of a branch or revision, or None if there is no such name."""
        ...

    def fetched_tip(self, branch: str) -> str | None:
        """Commit id of a branch as it was fetched last: of ``origin``'s if it is there, else of the clone's own."""
        ...

    def tree_of(self, commit: str) -> str:
        """Tree id of a commit."""
        ...

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents of a commit in order."""
        ...

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree, recursively, in git's order."""
        ...

    def blob(self, oid: str) -> bytes:
        """Content of a blob."""
        ...

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        """SHA-256 of the contents of blobs, by id."""
        ...

    def merge_tree(self, head: str, base: str) -> MergedTree:
        """The tree that merging ``head`` into ``base`` gives, by git's own merge."""
        ...

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        ...

    def merge_base(self, one: str, other: str) -> str | None:
        """Best common ancestor of two commits."""
        ...

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        """Commits reachable from ``head`` and not from ``base`` along first parents, oldest first."""
        ...

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        """What commits reachable from ``head`` and not from ``base`` did below ``folder``, newest first.

        A merge is no author: what only a merge changed is not here.
        """
        ...


class ForgePort(Protocol):
    """Questions to a forge's API, asked by the step before the gate."""

    def run_index(self, *, repo: str, head_sha: str, pull_requests: tuple[int, ...], now: str) -> RunIndex:
        """The complete run index of a head; ``complete`` is false if a page or a count is missing.

        Raises: ReachProblem ``forge-unreachable`` or ``forge-refused``.
        """
        ...


class WirePort(Protocol):
    """What stands between the tests and the endpoint, and only observes."""

    def watch(self, pid: int) -> None:
        """Count a process among those that a request without a token may come from."""
        ...

    def settle(self, tokens: Collection[str], pids: Collection[int], limit_s: float) -> tuple[Exchange, ...]:
        """The exchanges of these tokens, and those without a token of these processes, once none is under way.

        After ``limit_s`` seconds those that have ended.
        """
        ...

    def count(self) -> int:
        """How many requests have arrived, ended or not."""
        ...


class LedgerPort(Protocol):
    """Who may call now, for threads: rate, calls in flight and tokens of one endpoint."""

    def enter(self, ask: Ask) -> Leave:
        """Wait for leave. Raises: ReachProblem ``leave-refused`` or ``limiter-unreachable``."""
        ...

    def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """The attempt has ended, whatever became of it; ``pressure`` is what its end means for all who share.

        Harmless if done twice. Raises: ReachProblem ``limiter-unreachable``.
        """
        ...


class AsyncLedgerPort(Protocol):
    """As ``LedgerPort``, for tasks; a task that is cancelled while it waits gives back what it can."""

    async def enter(self, ask: Ask) -> Leave:
        """As ``LedgerPort.enter``."""
        ...

    async def give_back(self, leave: Leave, *, used_tokens: int | None, pressure: Pressure) -> None:
        """As ``LedgerPort.give_back``."""
        ...


class AnswerReaderPort(Protocol):
    """Reads one answer while it passes: what it says about itself."""

    def feed(self, piece: bytes) -> None:
        """The next piece of the body, free of transfer framing, content coding kept."""
        ...

    def close(self, *, is_whole: bool) -> None:
        """No more comes; ``is_whole`` says whether the transfer framing was satisfied."""
        ...

    @property
    def error(self) -> tuple[str, str] | None:
        """Type and message of an error object in what was read so far."""
        ...

    @property
    def is_at_end(self) -> bool:
        """Whether the answer said that it is at its end, or cannot be read for it."""
        ...

    @property
    def used_tokens(self) -> int | None:
        """Tokens of prompt and answer as reported so far."""
        ...


class AdmissionPort(Protocol):
    """Who may call now, and who may call again: limits and retries behind one door."""

    async def enter(self, ask: Ask) -> Leave:
        """Wait for leave.

        A caller that is cancelled while it waits gives back what it can. Raises: ReachProblem ``leave-refused``
        (a wait that cannot meet its deadline, a cost above the burst) or ``limiter-unreachable``.
        """
        ...

    async def leave(self, leave: Leave, ended: Ended, earlier: tuple[Ended, ...]) -> Again | Final:
        """Hand leave back and hear whether the call may be repeated; ``earlier`` are this call's attempts before."""
        ...


class RecordingPort(Protocol):
    """Recordings of one endpoint; safe to use from several tasks."""

    def play(self, asked: Asked) -> Answered | Miss:
        """The recorded answer, or why there is none; identical requests get their recordings in order."""
        ...

    def keep(self, asked: Asked, answered: Answered) -> None:
        """Write a recording, whole or not at all.

        Raises: EvidenceProblem if it cannot be cleaned with confidence, ReachProblem if it cannot be written.
        """
        ...
