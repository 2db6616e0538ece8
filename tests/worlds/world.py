# SPDX-License-Identifier: Apache-2.0
"""A world in plain words: lanes, what the forge ran, what was left behind, and what is wrong with it.

Nothing here knows the gate. ``ground`` writes a world as files; ``oracle`` says which word it deserves.
"""

from dataclasses import dataclass, field, replace

STALE = (
    "policy",
    "tree",
    "base-ref",
    "off-branch",
    "pull-request",
    "future",
    "early",
    "dirty",
    "kind",
    "run",
    "part",
    "local",
)
"""Ours, and about something else or made from something else: satisfies nothing."""
FOREIGN = ("repo", "workflow", "fork", "head", "event", "attempt", "ruler", "subject", "components")
"""Somebody else's, forged, or denies its run: blocks."""
REFUSED = ("empty", "cut", "not-utf8", "field", "schema")
"""Bytes that the reader refuses: hold, whatever lane they name."""
LEDGER = "sample-ledger"
"""The product's own kind; every other one is a probe."""
TWICE = "key-twice"
"""Bytes that two readers read as two records: blocks."""
BEHIND = "behind"
"""Tested against an older base: fresh, unless the lane asks for the newest."""
OF_PULL_REQUEST = ("pr", "pr-behind", "lost")
"""Heads of a pull request in a queue."""
RAN = ("running", "done", "failed", "lost")
"""States of a job that began in its attempt."""


@dataclass(frozen=True)
class Lane:
    """One lane."""

    name: str
    kind: str
    role: str = "required"
    runs: str = "same-tree"
    base: str = "ancestor"

    @property
    def rule(self):
        """How its attempts are read: pool, exact or carry."""
        return "pool" if self.kind == LEDGER else self.kind.split("-")[1]

    @property
    def parts(self):
        """Names of its parts."""
        return ("a", "b") if self.kind.endswith("-parts") else ("all",)


@dataclass(frozen=True)
class Job:
    """The job of one lane's part in one attempt."""

    lane: str
    part: str
    state: str
    """``skipped``, ``waiting``, ``running``, ``done``, ``failed``, ``lost``, or ``carried`` from an earlier attempt."""
    artifact: bool = False
    """Whether the forge lists an artifact of it."""


@dataclass(frozen=True)
class Attempt:
    """One attempt of a run; ``at`` orders all attempts of the world by start."""

    at: int
    jobs: tuple[Job, ...]
    ended: bool = True
    lists_artifacts: bool = True


@dataclass(frozen=True)
class Run:
    """One run.

    ``head`` is ``head`` for the head that is asked about, ``same`` for an earlier one with the same files, ``other``
    for one with other files, ``stranger`` for the same files in somebody else's commit; in a queue ``pr`` for the pull
    request's, ``pr-behind`` if it was tested on an older base, ``lost`` for one that the clone does not have.
    """

    id: int
    attempts: tuple[Attempt, ...]
    head: str = "head"
    workflow: str = "lanes"
    """``lanes`` is the lanes' own workflow, ``else`` another one."""
    is_of_fork: bool = False
    """Whether the head lived in another repository when this ran."""
    is_push: bool = False
    """Whether a push started it, where a pull request asks: it measured the same files, and cannot speak for them."""


@dataclass(frozen=True)
class Said:
    """What a pooled record says of an earlier attempt."""

    run: int
    attempt: int
    standing: str
    outcome: str | None = None
    """What it embeds, for ``samples``."""
    is_its_record: bool = True
    """Whether the digest it names is that of the record that is there."""


@dataclass(frozen=True)
class Record:
    """One file of evidence."""

    lane: str
    part: str
    run: int
    attempt: int
    outcome: str = "holds"
    wrong: str = ""
    """What is wrong with it: one of ``STALE``, ``FOREIGN``, ``REFUSED``, ``TWICE``, or nothing."""
    chain: tuple[Said, ...] = ()
    copy: int = field(default=0, compare=False)
    """Tells two files that say the same apart."""

    @property
    def place(self):
        """What it says that it is about."""
        return (self.run, self.attempt, self.lane, self.part)

    @property
    def is_readable(self):
        """Whether the strict reader reads it."""
        return self.wrong not in (*REFUSED, TWICE)


@dataclass(frozen=True)
class World:
    """Everything that is there when the gate is asked."""

    lanes: tuple[Lane, ...]
    runs: tuple[Run, ...]
    records: tuple[Record, ...] = ()
    index: str = "whole"
    """``whole``, ``none``, ``short`` (a page is missing), ``jobs-short``, ``other-head``, ``no-pr``, ``old``."""
    event: str = "pull_request"
    quarantine: str = "none"
    """``none``, ``live``, ``expired``, or ``dropped`` by the head."""
    gate_run: int = 1

    def without(self, record):
        """The same world without one file."""
        return replace(self, records=tuple(one for one in self.records if one is not record))

    def with_record(self, record):
        """The same world with one file more."""
        return replace(self, records=(*self.records, record))

    def with_wrong(self, record, wrong):
        """The same world with one file damaged or exchanged."""
        return replace(
            self, records=tuple(replace(one, wrong=wrong) if one is record else one for one in self.records)
        )
