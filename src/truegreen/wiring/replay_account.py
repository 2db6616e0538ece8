# SPDX-License-Identifier: Apache-2.0
"""The account of one replay: what was played, missed and left over, as the file that a lane reads.

What it decides: what the account holds of a folder and a session. What it leaves: its shape and how several are
joined, to ``core.replay_session``; what it is worth, to the gate.

- The folder's digest is taken before and after: evidence comes from committed bytes, and a recording that changed
  during its own replay is seen.
- A missed request is in the account only as a recording would store it, whole and without a secret; one that holds
  something that would be redacted is left out.
- A request that has no key (its body is refused) stands under the digest of its bytes.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.key import file_name
from truegreen.cassettes.places import TEMPLATE, TEMPLATE_VERSION
from truegreen.cassettes.request import document, read_request
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.scrub import clean_document, needles_of
from truegreen.cassettes.store import Store
from truegreen.core.digest import Sha256, h1_of_files, sha256_of
from truegreen.core.errors import EvidenceProblem, TruegreenProblem
from truegreen.core.ports import Clock
from truegreen.core.recording import Answered, Asked, Miss
from truegreen.core.replay_session import (
    SCHEMA,
    AskedAgain,
    Header,
    Missed,
    Played,
    ReplaySession,
)
from truegreen.forges.git import GitRepository
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.checkout import checkout_of

MOST_BYTES = 256 << 10
"""Longest body of a missed request that the account holds."""
FULL = 64
"""Digits of the longer of a recording's two names."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What only the caller knows of a replay's end."""

    command_exit: int | None = None
    """Exit code of what was run; None if it did not end by itself, or if nothing was run."""
    incomplete_because: str = ""
    """Why this is not the whole run; empty if it is."""
    guard: str = "none"
    """What kept the command from other sockets, a value of ``replay_session.GUARDS``."""
    guard_stops: int = 0
    """Connections that the guard stopped."""
    upstream_calls: int = 0
    """Requests that left for an upstream."""


class ReplayAccount:
    """Opened when a replay begins."""

    def __init__(  # noqa: PLR0913 - an account is of all of these
        self, path: Path, *, name: str, rules: KeyRules, store: Store, clock: Clock, commit: str = ""
    ) -> None:
        """``path`` is the folder of the recordings, ``name`` what the account calls it, ``commit`` what is checked out."""
        self._commit = commit
        self._folder = Folder(path, write_atomic)
        self._name, self._rules, self._store, self._clock = name, rules, store, clock
        self._started_at = clock.now()
        self._before = digest_of(path)

    def ended(self, missed: tuple[tuple[Asked, Miss], ...], ending: Ending) -> ReplaySession:
        """The account of everything that the store played and of what was missed."""
        names = self._folder.names()
        hits = tuple(
            Played(file=self._file_of(key, names), key=Sha256(key), count=count)
            for key, count in sorted(self._store.played().items())
        )
        files = {hit.file for hit in hits}
        return ReplaySession(
            schema=SCHEMA,
            cassettes=self._name,
            guard=ending.guard,
            started_at=self._started_at,
            ended_at=self._clock.now(),
            command_exit=ending.command_exit,
            complete=not ending.incomplete_because,
            incomplete_because=ending.incomplete_because,
            hits=tuple(sorted(hits, key=lambda hit: (hit.file, hit.key))),
            misses=self._misses(missed),
            unused=tuple(name for name in names if name not in files),
            upstream_calls=ending.upstream_calls,
            guard_stops=ending.guard_stops,
            before=self._before,
            after=digest_of(self._folder.path),
            commit=self._commit,
        )

    @staticmethod
    def _file_of(key: str, names: tuple[str, ...]) -> str:
        longer = file_name(key, FULL)
        return longer if longer in names else file_name(key)

    def _misses(self, missed: tuple[tuple[Asked, Miss], ...]) -> tuple[Missed, ...]:
        counts = Counter((_key(asked, miss), miss.code) for asked, miss in missed)
        first = {(_key(asked, miss), miss.code): (asked, miss) for asked, miss in reversed(missed)}
        return tuple(
            Missed(
                code=code,
                key=Sha256(key),
                count=counts[key, code],
                template=miss.template,
                nearest=miss.nearest,
                differs_at=miss.differs_at,
                asked=storable(asked, self._rules),
            )
            for (key, code), (asked, miss) in sorted(first.items(), key=lambda row: row[0])
        )


def storable(asked: Asked, rules: KeyRules) -> AskedAgain | None:
    """The request as a recording would keep it; None if it would be redacted, refused, or is too long."""
    if len(asked.body) > MOST_BYTES:
        return None
    try:
        read = read_request(asked, rules)
        needles = needles_of(asked, Answered(status=200), rules.places)
        _, redactions = clean_document(document(read.request, with_content=True), needles)
    except EvidenceProblem:
        return None
    if redactions or any(not place.startswith("header ") for place in read.credentials):
        return None
    kept = {TEMPLATE, TEMPLATE_VERSION, *(name.lower() for name in read.request.headers)}
    return AskedAgain(
        method=asked.method,
        path=asked.path,
        query=asked.query,
        headers=tuple(
            Header(name=name, value=value) for name, value in asked.headers if name.lower() in kept
        ),
        body_base64=base64.b64encode(asked.body).decode(),
    )


def commit_at(folder: Path, environment: Mapping[str, str]) -> str:
    """The commit that is checked out where a folder lies; empty outside of a checkout, and where git cannot tell."""
    root = checkout_of(folder)
    if root is None:
        return ""
    try:
        with GitRepository(root, environment) as git:
            return git.resolve("HEAD") or ""
    except TruegreenProblem:
        return ""


def digest_of(path: Path) -> str | None:
    """``h1:`` of the plain files below a folder; None if there are none."""
    return h1_of_files(
        {
            one.relative_to(path).as_posix(): one.read_bytes()
            for one in sorted(path.rglob("*"))
            if one.is_file() and not one.is_symlink()
        }
    )


def _key(asked: Asked, miss: Miss) -> str:
    return miss.key or sha256_of(f"{asked.method} {asked.path}?{asked.query}\n".encode() + asked.body)
