# SPDX-License-Identifier: Apache-2.0
"""What the measuring process and the process that holds the tests say to each other.

What it decides: the closed set of messages and the words for how a sample ended. What it leaves: carrying
them, to ``channel``; what an end means, to ``buckets``.

- The measuring process gives every number before the sample starts; the other side never invents one.
- An end names facts of the test run only; what the wire saw is the observer's to say.
"""

from __future__ import annotations

import msgspec

STATUSES = (
    "passed",
    "failed",
    "setup-error",
    "teardown-error",
    "skipped",
    "xfail",
    "rerun",
    "unfinished",
    "left-early",
    "crashed",
    "time-limit",
)
"""How a sample can end, by the test run's own account."""

DETAIL_LIMIT = 65_536
"""Characters of a failure's text that travel; the ledger keeps far fewer, after hiding secrets."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One case as collected."""

    id: str
    """Case id by the id rule."""
    nodeid: str
    """What pytest calls it, for messages and for running it alone."""
    kind: str
    """``python`` or ``yaml``."""
    blast_radius: str = "normal"
    """``low``, ``normal`` or ``high``."""
    owner: str | None = None
    """Who answers for it."""
    feature: str | None = None
    """Feature that it belongs to."""
    golden: bool = False
    """Whether people read it; never gated."""
    inputs: tuple[str, ...] = ()
    """Files from the root that it names by ``input`` or ``json_schema``."""
    prompts: tuple[str, ...] = ()
    """Files from the root that it names by ``prompt``."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Something that collection could not take."""

    code: str
    """Error code, such as ``bad-case``, ``unstable-id`` or ``collection-failed``."""
    message: str
    """One lower-case sentence."""


class Collected(msgspec.Struct, frozen=True, kw_only=True, tag="collected"):
    """Everything that was found, in pytest's order."""

    cases: tuple[Found, ...]
    """The cases; a message names one by its place here."""
    unmarked: int
    """Tests beside marked ones that carry no marker and are not sampled."""
    deselected: int
    """Tests that the project's own options deselected."""
    problems: tuple[Refused, ...]
    """What could not be collected; any of them stops the run."""
    notices: tuple[str, ...]
    """Disclosures for people: switched-off reruns, warnings about cases."""
    threads: tuple[str, ...]
    """Threads alive after collection, apart from the main one: a fork would lose them."""
    answers_by_hook: bool
    """Whether a conftest answers the YAML cases."""
    read: tuple[str, ...] = ()
    """Files from the root that were opened while collecting."""


class Serve(msgspec.Struct, frozen=True, kw_only=True, tag="serve"):
    """Begin to take samples with this engine."""

    engine: str
    """``fork``, ``async``, ``fork+async`` or ``serial``."""
    slots: int
    """Samples in flight at once."""


class Start(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """Run one sample."""

    index: int
    """Place of the case in ``Collected.cases``."""
    n: int
    """Its number."""
    draw: int
    """1 for the first draw of this number, one more for each transport loss before it."""
    env: dict[str, str]
    """Environment that is set before fixtures."""
    timeout_s: float
    """Time limit, seconds; 0 for none."""


class Running(msgspec.Struct, frozen=True, kw_only=True, tag="running"):
    """A process has taken up a sample."""

    index: int
    """Place of the case."""
    n: int
    """Its number."""
    draw: int
    """Which try."""
    pid: int
    """The process that runs it."""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """A sample has ended."""

    index: int
    """Place of the case."""
    n: int
    """Its number."""
    draw: int
    """Which try."""
    status: str
    """One of ``STATUSES``."""
    reason: str = ""
    """Kebab-case reason of the judge, or of the end itself."""
    detail: str = ""
    """Text for people, not yet redacted."""
    raised: tuple[str, ...] = ()
    """Dotted class names of the exception, its ancestors and its explicit causes."""
    output_sha256: str | None = None
    """Digest of the judged output, for cases that have one."""
    duration_ms: int = 0
    """Wall clock, milliseconds."""
    read: tuple[str, ...] = ()
    """Files from the root that its process opened for the first time."""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """No more samples: tear down what is up and end."""


class Broken(msgspec.Struct, frozen=True, kw_only=True, tag="broken"):
    """The host cannot go on."""

    message: str
    """Why, in one sentence."""


ToHost = Serve | Start | Stop
FromHost = Collected | Running | Ended | Broken
