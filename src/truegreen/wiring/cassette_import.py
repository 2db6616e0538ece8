# SPDX-License-Identifier: Apache-2.0
"""Other tools' recordings taken over into a folder of ours.

What it decides: what is written, and that nothing that stands there is touched. What it leaves: reading each format,
to ``cassettes.foreign``; keys, scrubbing and storing, to ``cassettes.store``.

- Refused in CI, as recording is: what judges a change is committed by a person.
- A request that has a recording already is left out; equal requests of one import keep their order.
- Every loss is told, and every entry that was left out with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.foreign import har, nock, vcr
from truegreen.cassettes.foreign.taken import Left, Taken
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.cassettes import is_ci
from truegreen.wiring.reading import bytes_of

READERS: Final[Mapping[str, Callable[[bytes, str], Iterator[Taken | Left]]]] = {
    "vcrpy": vcr.entries,
    "polly": har.entries,
    "nock": nock.entries,
}
"""Name of a format to its reader."""
FIRST: Final = "0001-01-01T00:00:00Z"
"""Before any recording: what is imported together stands together."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an import."""

    taken: int
    """Exchanges that were written."""
    files: int
    """Recordings that they stand in."""
    left: tuple[str, ...]
    """What was left out, each with its reason."""
    losses: tuple[tuple[str, int], ...]
    """What the old files did not hold, or what was changed, with how many exchanges it meets."""


def import_recordings(  # noqa: PLR0913 - what, from where, to where, and under which rules
    form: str,
    files: Sequence[Path],
    folder: Path,
    *,
    host: str | None,
    keeps_errors: bool,
    clock: Clock,
    environment: Mapping[str, str],
) -> Imported:
    """Write the exchanges of other tools' files as recordings; ``host`` is the alias of the endpoint.

    Raises: UsageProblem ``recording-in-ci``; ReachProblem ``file-unreadable``, ``not-written``; EvidenceProblem
    ``yaml-tag``, ``foreign-unreadable``. Nothing is written if one of the files cannot be read.
    """
    if is_ci(environment):
        raise UsageProblem(
            "recording-in-ci",
            f"CI is set to {quoted(environment['CI'])}, and recordings are taken over on a developer's machine",
            hint="import locally, look at the difference, commit it",
        )
    found = [one for path in files for one in READERS[form](bytes_of(path, vcr.MAX_BYTES), path.name)]
    return _Import(folder, host, clock, keeps_errors=keeps_errors).done(found)


class _Import:
    """One import into one folder."""

    def __init__(self, folder: Path, host: str | None, clock: Clock, *, keeps_errors: bool) -> None:
        self.folder = Folder(folder, write_atomic)
        self.host = host
        self.keeps_errors = keeps_errors
        self.before = frozenset(self._keys())
        self.now = clock.now()
        self.at = self.now
        self.stores: dict[str, tuple[Store, KeyRules]] = {}

    def done(self, found: Sequence[Taken | Left]) -> Imported:
        """Write what can be taken."""
        written: set[str] = set()
        left, losses, taken = [], Counter[str](), 0
        for one in found:
            if isinstance(one, Left):
                left.append(f"{one.where}: {one.why}")
                continue
            try:
                written.add(self._keep(one))
            except EvidenceProblem as err:
                left.append(f"{one.where}: {err.message} ({err.code})")
                continue
            taken += 1
            losses.update(one.losses)
        return Imported(
            taken=taken,
            files=len(written),
            left=tuple(left),
            losses=tuple(sorted(losses.items(), key=lambda item: (-item[1], item[0]))),
        )

    def _keep(self, one: Taken) -> str:
        store, rules = self._store(self.host or one.host)
        key = key_of(one.asked, rules)
        if key in self.before:
            raise EvidenceProblem("already-recorded", "there is a recording of this request")
        self.at = one.recorded_at or self.now
        store.keep(one.asked, one.answered)
        return key

    def _store(self, host: str) -> tuple[Store, KeyRules]:
        if host not in self.stores:
            rules = KeyRules(host=host)
            recorder = Recorder(now=lambda: self.at, since=FIRST, keeps_errors=self.keeps_errors)
            self.stores[host] = (Store(self.folder, rules, recorder), rules)
        return self.stores[host]

    def _keys(self) -> Iterator[str]:
        """Keys of the recordings that are there; what cannot be read is in nobody's way but its own name's."""
        for name in self.folder.names():
            try:
                yield read_cassette(self.folder.read(name) or b"", name).key
            except EvidenceProblem:
                continue
