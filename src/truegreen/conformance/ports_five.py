# SPDX-License-Identifier: Apache-2.0
"""What the shapes of part 5 need of the product: functions over requests, answers and folders of recordings.

Slices are strangers to one another; wiring hands these in. Requests and answers are values of ``core.recording``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from truegreen.core.errors import TruegreenProblem
from truegreen.core.recording import Answered, Asked


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What came of playing requests from a folder of recordings."""

    misses: tuple[str, ...]
    """Code of each request that was not answered, in order."""
    played: int
    """Requests that were answered from a recording."""
    files_written: int
    """Files that the folder has more, or that changed."""
    entries_after: int
    """Answers that the folder holds afterwards."""
    unplayed: tuple[int, ...]
    """Recorded answers that nobody asked for, by their place in the order of recording."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of reading a recording of another tool."""

    value: Any
    """What was read, if nothing was refused."""
    problem: TruegreenProblem | None
    """Why it was refused."""
    code_run: bool
    """Whether a function that a tag names was called meanwhile."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the credentials of an exchange."""

    on_disk: dict[str, bool]
    """``request.NAME`` and ``response.NAME`` of each header that holds one: whether its value stands in the file."""


Differs = Callable[[Asked, Asked], str | None]
"""The first JSON path at which two requests differ; None if one's answer may stand for the other."""
SameKey = Callable[[Asked, Asked], bool]
"""Whether two requests have one key under the rules that apply if nobody says otherwise."""
CheckCoding = Callable[[Answered], None]
"""Raises EvidenceProblem where a body contradicts its content coding."""
Play = Callable[[Sequence[Asked], Sequence[Asked]], Replay]
"""Records the first requests, each with an answer, and plays the second ones."""
IsClosed = Callable[[str], bool]
"""Whether a recorder's mode of this name neither calls live nor writes."""
Load = Callable[[bytes], Loaded]
"""Reads a recording in YAML."""
Keep = Callable[[Asked, Answered], Kept]
"""Records an exchange and looks at the bytes that were written."""
IsCredential = Callable[[str], bool]
"""Whether a header of this name holds a credential, in requests and answers alike."""
