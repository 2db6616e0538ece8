# SPDX-License-Identifier: Apache-2.0
"""What the shapes need of the product: functions that wiring hands in, and what these give back.

Slices are strangers to one another; these Protocols say how much of sampling the shapes of part 1 may see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class Reason(Protocol):
    """Why an answer missed its expectations."""

    @property
    def code(self) -> str:
        """Kebab-case code."""
        ...

    @property
    def where(self) -> str:
        """Place, in words."""
        ...

    @property
    def detail(self) -> str:
        """Expected and got."""
        ...


class Judged(Protocol):
    """What came of one answer."""

    @property
    def outcome(self) -> str:
        """``passed``, ``failed`` or ``invalid``."""
        ...

    @property
    def reasons(self) -> Sequence[Reason]:
        """Every reason, most basic first."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was measured."""
        ...


class Row(Protocol):
    """One sample by a runner's words."""

    @property
    def bucket(self) -> str:
        """Its bucket."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...


class Counted(Protocol):
    """Rows 1 to n by bucket."""

    @property
    def passed(self) -> int:
        """Passes."""
        ...

    @property
    def failed(self) -> int:
        """Failures."""
        ...

    @property
    def outage(self) -> int:
        """Claimed outages."""
        ...

    @property
    def invalid(self) -> int:
        """Rows without a verdict."""
        ...

    @property
    def missing(self) -> int:
        """Numbers without a row."""
        ...


class Ids(Protocol):
    """Ids of one list of parameters."""

    @property
    def ids(self) -> Sequence[str]:
        """In order."""
        ...

    @property
    def unstable(self) -> frozenset[str]:
        """Those that depend on their neighbours."""
        ...


class Moved(Protocol):
    """Ids of two lists of parameters."""

    @property
    def base(self) -> Ids:
        """Before."""
        ...

    @property
    def head(self) -> Ids:
        """After."""
        ...

    @property
    def changed_meaning(self) -> Sequence[str]:
        """Ids that stand for another value now."""
        ...

    @property
    def gone(self) -> Sequence[str]:
        """Ids that are no more."""
        ...

    @property
    def is_stable(self) -> bool:
        """Whether history may be joined by them."""
        ...


Judge = Callable[[Mapping[str, Any], str, str | None], Judged]
"""Judges an output by a mapping of expectations, with the reason for which it ended."""
RowReader = Callable[[Mapping[str, Any], int, float], Any]
"""Reads a row as the sample with a number, given the reward that passes."""
Counter = Callable[[Sequence[Any], int], Counted]
"""Counts samples 1 to n."""
Quorum = Callable[[int, int, int, int], str]
"""The ruling (pass, fail, undecided) on passed and unknown samples of n when k have to pass."""
Compare = Callable[[Sequence[Any], Sequence[Any]], Moved]
"""Compares the ids of two lists of parameters."""
