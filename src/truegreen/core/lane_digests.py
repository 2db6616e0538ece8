# SPDX-License-Identifier: Apache-2.0
"""The ruler digest and the subject digest of a lane, with the components that say what moved.

What it decides: the two digests as pure functions of a tree and a policy, so that the gate recomputes them
without running anything. What it leaves: which class a file has, to ``partition``; reading blobs, to the git port.

Components of the **ruler**: ``tests``, ``conftest``, ``pytest-config``, ``inputs``, ``declared`` and ``lane-table``
(the lane's judging keys). Components of the **subject**: one per first part of the path (``src/``), and ``(root)``
for files of the root. Both may have ``modes``: every member that is not a plain file without the executable bit.

- A component without members is absent. Sets of files have the h1 form; a digest is the SHA-256 over the canonical
  JSON of its components.
- In the subject a symlink counts by its target, a submodule by its commit.
- The ruler is plain files only: a symlink, a submodule or a Git LFS pointer judges by something that the tree does
  not hold. A lane without any file below its ``tests`` has no ruler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from truegreen.core.baseline import Baseline
from truegreen.core.canonical import write_json
from truegreen.core.digest import Sha256, h1, is_lfs_pointer, sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.file_names import check_names, nfc
from truegreen.core.partition import Sorter, partition
from truegreen.core.policy import Lane, Policy
from truegreen.core.ports import TreeEntry
from truegreen.core.pytest_sections import FILES, pytest_section
from truegreen.core.quoted import quoted

PLAIN = frozenset({"100644", "100755"})
SUBMODULE = "160000"
ROOT = "(root)"

Members = dict[str, list[tuple[str, Sha256]]]


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """A digest and what it is made of."""

    digest: Sha256
    """SHA-256 over the canonical JSON of ``components``."""
    components: dict[str, str]
    """Name to the digest of that part."""


class LaneDigests(msgspec.Struct, frozen=True, kw_only=True):
    """Both digests of one lane for one tree."""

    ruler: Components
    """What judges."""
    subject: Components
    """What is judged."""


def blobs_to_digest(entries: Iterable[TreeEntry]) -> frozenset[str]:
    """Ids of the blobs whose content digests ``lane_digests`` may ask for: all but submodules."""
    return frozenset(entry.oid for entry in entries if entry.mode != SUBMODULE)


def lane_digests(  # noqa: PLR0913, PLR0917 - tree, policy, agreement and blobs come from four places
    entries: tuple[TreeEntry, ...],
    policy: Policy,
    lane: Lane,
    baseline: Baseline | None,
    digests: Mapping[str, Sha256],
    read: Callable[[str], bytes],
) -> LaneDigests:
    """Ruler and subject of a lane in the tree of these entries.

    ``baseline`` is the one committed in that tree, ``digests`` maps blob ids to content digests, ``read`` gives a
    blob's content (asked for ruler files and shared configuration files only).

    Raises: EvidenceProblem ``empty-ruler``, ``not-a-plain-file``, ``lfs-pointer``, ``unsafe-name`` or
    ``name-collision``; UsageProblem ``irrelevant-hides-ruler`` or ``bad-pattern``.
    """
    classes = partition(entries, policy, lane, baseline)
    sorter = Sorter(policy, lane, baseline)
    check_names((*classes.ruler, *classes.subject))
    judging, judged = frozenset(classes.ruler), frozenset(classes.subject)
    ruler = _ruler_members([entry for entry in entries if entry.path in judging], sorter, lane, digests, read)
    shared = _shared_sections(entries, sorter, read)
    if shared:
        ruler.setdefault("pytest-config", []).extend(shared)
    table = {"lane-table": sha256_of(write_json(lane.ruler_view()))}
    return LaneDigests(
        ruler=_components(ruler, [entry for entry in entries if entry.path in judging], digests, table),
        subject=_subject([entry for entry in entries if entry.path in judged], digests),
    )


def changed(before: Iterable[TreeEntry], after: Iterable[TreeEntry]) -> tuple[str, ...]:
    """Paths that were added, removed or changed in content or mode between two trees, sorted."""
    return tuple(sorted({entry.path for entry in {*before} ^ {*after}}))


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the components that were added, removed or changed, sorted."""
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


def _ruler_members(
    entries: list[TreeEntry],
    sorter: Sorter,
    lane: Lane,
    digests: Mapping[str, Sha256],
    read: Callable[[str], bytes],
) -> Members:
    members: Members = {}
    for entry in entries:
        part = sorter.ruler_part(entry.path) or ""
        if entry.mode not in PLAIN:
            raise EvidenceProblem(
                "not-a-plain-file",
                f"{quoted(entry.path)} judges lane {lane.name} and has mode {entry.mode}, asked is a plain file",
                hint="commit the file itself in place of a symlink or submodule",
            )
        if is_lfs_pointer(read(entry.oid)):
            raise EvidenceProblem(
                "lfs-pointer",
                f"{quoted(entry.path)} judges lane {lane.name} and is a Git LFS pointer, asked is its content",
                hint="commit what judges as plain files",
            )
        members.setdefault(part, []).append((entry.path, digests[entry.oid]))
    if "tests" not in members:
        raise EvidenceProblem(
            "empty-ruler",
            f"lane {lane.name} has 0 tracked files below its tests {quoted(lane.tests)}, at least 1 is asked",
            hint="git add the tests, or correct `tests` in truegreen.toml",
        )
    return members


def _shared_sections(
    entries: Iterable[TreeEntry], sorter: Sorter, read: Callable[[str], bytes]
) -> list[tuple[str, Sha256]]:
    """The pytest sections of files that are not ruler as a whole, under the file's name and the word pytest."""
    found: list[tuple[str, Sha256]] = []
    for entry in entries:
        if entry.mode in PLAIN and sorter.configures(entry.path, FILES) and not sorter.ruler_part(entry.path):
            section = pytest_section(entry.path.rpartition("/")[2], read(entry.oid))
            if section is not None:
                found.append((f"{entry.path}#pytest", sha256_of(section)))
    return found


def _subject(entries: list[TreeEntry], digests: Mapping[str, Sha256]) -> Components:
    members: Members = {}
    for entry in entries:
        if entry.mode in PLAIN:
            first, slash, _ = nfc(entry.path).partition("/")
            members.setdefault(first + slash if slash else ROOT, []).append((entry.path, digests[entry.oid]))
    return _components(members, entries, digests, {})


def _components(
    members: Members, entries: Iterable[TreeEntry], digests: Mapping[str, Sha256], more: Mapping[str, str]
) -> Components:
    components: dict[str, str] = {name: h1(files) for name, files in members.items()} | dict(more)
    modes = sorted(
        [nfc(entry.path), entry.mode, _what(entry, digests)] for entry in entries if entry.mode != "100644"
    )
    if modes:
        components["modes"] = sha256_of(write_json(modes))
    ordered = dict(sorted(components.items()))
    return Components(digest=sha256_of(write_json(ordered)), components=ordered)


def _what(entry: TreeEntry, digests: Mapping[str, Sha256]) -> str:
    """What a special member is besides its mode: a symlink's target, a submodule's commit."""
    if entry.mode == SUBMODULE:
        return entry.oid
    return "" if entry.mode in PLAIN else digests[entry.oid]
