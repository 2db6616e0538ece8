# SPDX-License-Identifier: Apache-2.0
"""Which tracked files decide what runs, which judge, which are judged, and which cannot matter to a lane.

What it decides: the one class of every tracked file of a tree for one lane. What it leaves: digests of the
classes, to ``lane_digests``; what follows from a change, to the gate.

The first row that fits decides, so every file has exactly one class:

1. **announcement**: ``truegreen.baseline.json``, ``truegreen.quarantine.toml``, ``truegreen.removed.toml``.
2. **harness**: what decides what runs and how it is read (``HARNESS``, the policy's ``harness`` patterns, the
   workflow files that the policy names). Decision tables ship inside truegreen, so its lock stands for them.
3. **subject** at once: a file that a case names by ``prompt``, even below the lane's tests.
4. **ruler**: files below the lane's ``tests``; every ``conftest.py`` and pytest configuration file from there up
   to the root; files that cases name as inputs; files that the lane's ``ruler`` patterns mean.
5. **irrelevant**: what the lane's ``irrelevant`` patterns mean.
6. **subject**: every other tracked file, dependency locks included.

- ``irrelevant`` may not mean a file that judges, a prompt, the policy or a workflow: that is refused, never
  silently corrected.
- ``pyproject.toml``, ``setup.cfg`` and ``tox.ini`` stay subject as files; their pytest sections count as ruler.
- Which inputs and prompts cases name is read from the committed baseline of the tree in question.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from truegreen.core.baseline import Baseline
from truegreen.core.errors import UsageProblem
from truegreen.core.file_names import nfc
from truegreen.core.names import Globs
from truegreen.core.policy import ANNOUNCEMENTS, POLICY_FILE, Lane, Policy
from truegreen.core.ports import TreeEntry
from truegreen.core.quoted import quoted

WORKFLOWS = (".github/workflows/**", ".github/actions/**")
HOOKS = (
    ".githooks/**",
    ".husky/**",
    "/.pre-commit-config.yaml",
    "/.pre-commit-config.yml",
    "/.lefthook/**",
    "/lefthook.yml",
    "/lefthook.yaml",
    "/lefthook.toml",
    "/lefthook.json",
    "/.lefthook.yml",
    "/.lefthook.yaml",
    "/.lefthook.toml",
    "/.lefthook.json",
)
OWN_LOCK = (
    "/requirements/truegreen*.txt",
    "/requirements/truegreen*.lock",
    "/requirements-truegreen.txt",
    "/truegreen.lock",
    ".github/truegreen/**",
)
"""Where the hash-locked file may live from which a gate job installs truegreen; others by ``harness``."""
HARNESS = ("/" + POLICY_FILE, *WORKFLOWS, *HOOKS, *OWN_LOCK)
"""Patterns of the harness of every repository."""

DOCS = (
    "docs/**",
    "doc/**",
    "/*.md",
    "/*.rst",
    "/*.adoc",
    "README.md",
    "README.rst",
    "CHANGELOG.md",
    "CHANGELOG.rst",
    "/LICENSE",
    "/LICENSE.txt",
    "/LICENSES/**",
    "/NOTICE",
    "/NOTICE.txt",
    "/COPYING",
    "/AUTHORS",
)
"""Patterns of documents that may change beside the harness. Markdown elsewhere may be a prompt and is none."""

PYTEST_FILES = frozenset({"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
"""Files that pytest reads for their name alone."""


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one tree by class, for one lane; each tuple sorted, no file in two."""

    harness: tuple[str, ...] = ()
    """Decide what runs and how it is read."""
    ruler: tuple[str, ...] = ()
    """Judge."""
    subject: tuple[str, ...] = ()
    """Are judged."""
    irrelevant: tuple[str, ...] = ()
    """Cannot change what the model reads, by the lane's own word."""
    announcements: tuple[str, ...] = ()
    """Baseline, quarantine and removals."""


def partition(
    entries: Iterable[TreeEntry], policy: Policy, lane: Lane, baseline: Baseline | None
) -> Partition:
    """The class of every file of a tree; ``baseline`` is the one committed in that tree.

    Raises: UsageProblem ``irrelevant-hides-ruler`` or ``bad-pattern``.
    """
    sorter = Sorter(policy, lane, baseline)
    found: dict[str, list[str]] = {name: [] for name in Partition.__struct_fields__}
    for entry in entries:
        found[sorter.place(entry.path)].append(entry.path)
    return Partition(**{name: tuple(sorted(paths)) for name, paths in found.items()})


def harness_and_code(
    changed: Iterable[str], policy: Policy, baselines: Iterable[Baseline | None]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The changed files that are harness, and those that are other code, each sorted.

    Announcements, documents (``DOCS``) and what every lane that counts calls irrelevant are neither, unless the
    file judges or is a prompt of such a lane by one of the ``baselines`` (those of base and head). Advisory lanes
    are not asked: what they call irrelevant changes nothing. A file that no lane may call irrelevant is what it is.

    Raises: UsageProblem ``bad-pattern``.
    """
    known = list(baselines) or [None]
    counting = [lane for lane in policy.lanes if lane.role != "advisory"]
    sorters = [Sorter(policy, lane, baseline) for lane in counting for baseline in known]
    docs = Globs(DOCS)
    harness: set[str] = set()
    code: set[str] = set()
    for path in changed:
        places = {sorter.nature(path) for sorter in sorters}
        if "harness" in places:
            harness.add(path)
        elif not places <= {"announcements", "irrelevant"} and not (
            docs.match(path) and not any(sorter.is_named(path) for sorter in sorters)
        ):
            code.add(path)
    return tuple(sorted(harness)), tuple(sorted(code))


class Sorter:
    """The rows of this module, ready for one lane."""

    def __init__(self, policy: Policy, lane: Lane, baseline: Baseline | None) -> None:
        """Raises: UsageProblem ``bad-pattern``."""
        agreed = baseline.lanes.get(lane.name) if baseline else None
        self._lane = lane
        self._tests = lane.tests
        self._above = frozenset(_folders_above(self._tests))
        self._inputs = frozenset(map(nfc, agreed.inputs if agreed else ()))
        self._prompts = frozenset(map(nfc, agreed.prompts if agreed else ()))
        self._workflows = frozenset(map(nfc, policy.workflows))
        self._github = Globs(WORKFLOWS)
        self._harness = Globs((*HARNESS, *policy.harness))
        self._declared = Globs(lane.ruler)
        self._irrelevant = Globs(lane.irrelevant)

    def place(self, path: str) -> str:
        """The class of the file at ``path``, by its name in ``Partition``.

        Raises: UsageProblem ``irrelevant-hides-ruler``.
        """
        composed = nfc(path)
        irrelevant = self._irrelevant.match(composed)
        if irrelevant is not None and (what := self._protected(composed)):
            raise UsageProblem(
                "irrelevant-hides-ruler",
                f"the pattern {quoted(irrelevant)} calls {quoted(path)} irrelevant to lane {self._lane.name}, "
                f"but that file is {what}",
                hint="make the pattern narrower, or move the file",
            )
        return self.nature(path)

    def nature(self, path: str) -> str:
        """The class of the file, whatever the lane's patterns wrongly say of it."""
        composed = nfc(path)
        if composed in ANNOUNCEMENTS:
            return "announcements"
        if composed in self._workflows or self._harness.match(composed):
            return "harness"
        if self.is_named(composed):
            return "subject" if composed in self._prompts else "ruler"
        return "subject" if self._irrelevant.match(composed) is None else "irrelevant"

    def is_named(self, path: str) -> bool:
        """Whether the file is a prompt of the lane or judges it."""
        return nfc(path) in self._prompts or self.ruler_part(path) is not None

    def ruler_part(self, path: str) -> str | None:
        """The component of the ruler to which the file would belong, or None if it does not judge."""
        composed = nfc(path)
        folder, _, name = composed.rpartition("/")
        if composed == self._tests or composed.startswith(self._tests + "/"):
            return "tests"
        if folder in self._above and name in PYTEST_FILES:
            return "conftest" if name == "conftest.py" else "pytest-config"
        if composed in self._inputs:
            return "inputs"
        return "declared" if self._declared.match(composed) else None

    def configures(self, path: str, names: Iterable[str]) -> bool:
        """Whether the file has one of these names and lies on the way from the lane's tests to the root."""
        folder, _, name = nfc(path).rpartition("/")
        return name in names and folder in self._above

    def _protected(self, path: str) -> str | None:
        """What the file is, if no lane may call it irrelevant."""
        if path == POLICY_FILE:
            return "the policy"
        if path in self._workflows or self._github.match(path):
            return "a workflow"
        if path in self._prompts:
            return "a prompt of its cases"
        part = self.ruler_part(path)
        return f"part of its ruler ({part})" if part else None


def _folders_above(tests: str) -> Iterable[str]:
    """Every folder from the one of the tests up to the root, which is the empty text."""
    folder = tests
    yield ""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
