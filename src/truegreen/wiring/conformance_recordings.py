# SPDX-License-Identifier: Apache-2.0
"""What the shapes of part 5 ask, answered by the product's recordings in a folder of their own.

- Requests match by value: types of numbers are declared ignored, as the cases mean it; the key of the default rules
  is told beside it.
- Folders are temporary, and what stands in them afterwards is counted from the disk.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from truegreen.cassettes import coding
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.foreign_yaml import refuse_tags, tag_in
from truegreen.cassettes.key import key_of
from truegreen.cassettes.modes import is_closed
from truegreen.cassettes.nearest import first_difference
from truegreen.cassettes.places import Place, places
from truegreen.cassettes.request import document, read_request
from truegreen.cassettes.rules import KeyRules, keyed
from truegreen.cassettes.scrub import header_credentials
from truegreen.cassettes.store import Recorder, Store
from truegreen.conformance import part_five
from truegreen.conformance.ports_five import Kept, Loaded, Replay
from truegreen.conformance.shapes import Shape
from truegreen.core.errors import TruegreenProblem
from truegreen.core.plain_yaml import read_yaml
from truegreen.core.recording import Answered, Asked, Chunk, Miss
from truegreen.wiring.atomic import write_atomic

BY_TYPE: Final = KeyRules(host="endpoint")
"""The rules that apply if nobody says otherwise."""
BY_VALUE: Final = KeyRules(host="endpoint", ignores_number_types=True)
"""The rules that the cases of part 5 speak of."""
_THEN: Final = "2026-01-01T00:00:00Z"


def shapes() -> tuple[Shape, ...]:
    """The shapes of part 5 with the product's functions in them."""
    return (
        part_five.RecordedAndAsked(differs),
        part_five.RecordedAndSeveral(differs, same_key),
        part_five.CodedAnswer(check_coding, coding.MAGIC),
        part_five.ReplayOfACommit(play),
        part_five.RecordMode(play, is_closed),
        part_five.ForeignFile(load),
        part_five.HeaderFilter(keep, is_credential),
        part_five.Unplayed(play),
    )


def differs(recorded: Asked, asked: Asked) -> str | None:
    """The first path at which two requests differ by value."""
    one, other = (
        keyed(document(read_request(each, BY_VALUE).request), BY_VALUE) for each in (asked, recorded)
    )
    return first_difference(one, other)


def same_key(recorded: Asked, asked: Asked) -> bool:
    """Whether the key is the same."""
    return key_of(recorded, BY_TYPE) == key_of(asked, BY_TYPE)


def check_coding(answered: Answered) -> None:
    """Decode a body as its header says."""
    coding.decoded(answered.body, coding.codings(answered.headers))


def play(recorded: Sequence[Asked], asked: Sequence[Asked]) -> Replay:
    """Record, then play from what was written."""
    with tempfile.TemporaryDirectory(prefix="truegreen-recordings-") as temporary:
        folder = Folder(Path(temporary, "recordings"), write_atomic)
        recorder = _recorder(folder)
        for number, one in enumerate(recorded):
            recorder.keep(one, _numbered(number))
        before = _contents(folder)
        store = Store(folder, BY_TYPE)
        found = [store.play(one) for one in asked]
        after = _contents(folder)
        misses = tuple(one.code for one in found if isinstance(one, Miss))
        return Replay(
            misses=misses,
            played=len(found) - len(misses),
            files_written=sum(before.get(name) != data for name, data in after.items()),
            entries_after=sum(store.played().values()) + len(store.unplayed()),
            unplayed=_unplayed(recorded, store),
        )


def load(data: bytes) -> Loaded:
    """Read YAML from its events, and watch whether what a tag names is called."""
    named = (tag_in(data) or "").rpartition(":")[2].rpartition(".")[2]
    called: list[str] = []

    def watch(_frame: Any, event: str, what: Any) -> None:
        if event == "c_call" and getattr(what, "__name__", None) == named:
            called.append(named)

    problem, value = None, None
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        refuse_tags(data, "recording")
        value = [one.value for one in read_yaml(data, name="recording", is_strict=False)]
    except TruegreenProblem as err:
        problem = err
    finally:
        sys.setprofile(before)
    return Loaded(value=value, problem=problem, code_run=bool(called))


def keep(asked: Asked, answered: Answered) -> Kept:
    """Record an exchange and look for its credentials in the bytes that were written."""
    with tempfile.TemporaryDirectory(prefix="truegreen-recordings-") as temporary:
        folder = Folder(Path(temporary, "recordings"), write_atomic)
        _recorder(folder).keep(asked, answered)
        written = b"".join(_contents(folder).values()).decode()
    sides = (("request", asked.headers), ("response", answered.headers))
    return Kept(
        on_disk={
            f"{side}.{name}": any(len(one) > 1 and one in written for one in header_credentials(value))
            for side, headers in sides
            for name, value in headers
            if is_credential(name)
        }
    )


def is_credential(name: str) -> bool:
    """By the table of named places."""
    return places().of_header(name) is Place.CREDENTIAL


def _recorder(folder: Folder) -> Store:
    return Store(folder, BY_TYPE, Recorder(now=lambda: _THEN, since=_THEN))


def _contents(folder: Folder) -> dict[str, bytes]:
    return {name: folder.read(name) or b"" for name in folder.names()}


def _numbered(number: int) -> Answered:
    return Answered(status=200, chunks=(Chunk(after_s=0, data=b"%d" % number),))


def _unplayed(recorded: Sequence[Asked], store: Store) -> tuple[int, ...]:
    played, seen, listed = store.played(), Counter[str](), []
    for number, one in enumerate(recorded):
        key = key_of(one, BY_TYPE)
        if seen[key] >= played.get(key, 0):
            listed.append(number)
        seen[key] += 1
    return tuple(listed)
