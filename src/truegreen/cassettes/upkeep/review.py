# SPDX-License-Identifier: Apache-2.0
"""What a pull request does to the recordings: the summary that a reviewer reads before the diff.

What it decides: which recordings are new, gone, or answer otherwise than at base, and whether that was announced.
What it leaves: reading two trees, to whoever has git; who may record, to ``provenance``.

- The same key with other bytes is **re-recorded**: answers differ, or were only recorded again.
- A re-recorded answer must stand in ``replaced.jsonl`` with the digest of the one that it replaced, and that log
  only grows: base's lines are the beginning of head's.
- Contracts are head's. ``schema 12/12`` counts the answers of new and re-recorded recordings with a contract.
- No text of a request or an answer stands in a summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.contracts import FILE, Contract, Contracts, read_contracts
from truegreen.cassettes.store import REPLACED_LOG
from truegreen.cassettes.upkeep.decisions import changed_fields, decided
from truegreen.cassettes.upkeep.listing import Seen, seen, template_of
from truegreen.cassettes.upkeep.reading import content_type, decoded_body
from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem

UNLOGGED = "unlogged"
_OK = range(200, 300)


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """One recording that the pull request touches."""

    file: str
    """Its file."""
    how: str
    """``new``, ``removed``, ``answer-changed``, ``recorded-again`` or ``unreadable``."""
    template: str
    """Template id, or ``(none)``."""
    version: str | None
    """Template version; of a removed one, base's."""
    fields: tuple[str, ...] = ()
    """Declared decision fields whose value changed."""
    broken: tuple[str, ...] = ()
    """Where an answer breaks its contract."""
    problem: str = ""
    """What is wrong: ``unlogged`` for a replaced answer that the log does not name, or a code of the reader."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a pull request does to the recordings."""

    touched: tuple[Touched, ...]
    """The recordings, by file."""
    checked: int
    """Answers that were held against a contract."""
    kept: int
    """Those that keep it."""
    log_grows: bool
    """Whether the log of replaced answers only grew."""
    undecoded: int
    """Answers whose coding is not undone here, so that nothing is known of them."""
    contracts_problem: str
    """Why contracts were not read; empty if they were."""

    def count(self, how: str) -> int:
        """How many recordings were touched so."""
        return sum(one.how == how for one in self.touched)

    @property
    def changed_fields(self) -> int:
        """Decision fields that changed, over all recordings."""
        return sum(len(one.fields) for one in self.touched)

    @property
    def is_wrong(self) -> bool:
        """Whether something needs more than a reviewer's eye: a broken contract, a replaced answer not logged."""
        return (
            self.kept < self.checked
            or not self.log_grows
            or any(one.problem == UNLOGGED for one in self.touched)
        )

    @property
    def is_unknown(self) -> bool:
        """Whether something could not be read."""
        return bool(self.contracts_problem) or self.undecoded > 0 or self.count("unreadable") > 0

    def line(self) -> str:
        """The summary in one line."""
        parts = [
            _counted(self.count("answer-changed"), "changed answer"),
            _counted(self.changed_fields, "changed decision field"),
            f"schema {self.kept}/{self.checked}",
            f"{self.count('new')} new",
            f"{self.count('removed')} removed",
            f"{self.count('recorded-again')} recorded again without a change",
        ]
        unreadable = self.count("unreadable")
        return ", ".join([*parts, *([f"{unreadable} unreadable"] if unreadable else [])])


def lines(found: Review) -> Iterator[str]:
    """The summary as a person reads it: one line, then one for each recording, then what is wrong with the whole."""
    yield found.line()
    for one in found.touched:
        template = f"{one.template} {one.version}" if one.version else one.template
        fields = f", decides otherwise at {', '.join(one.fields)}" if one.fields else ""
        broken = f", breaks its contract at {'; '.join(one.broken[:3])}" if one.broken else ""
        logged = f", its replaced answer does not stand in {REPLACED_LOG}" if one.problem == UNLOGGED else ""
        problem = f": {one.problem}" if one.problem and not logged else ""
        yield f"{one.how:<15} {one.file}  {template}{fields}{broken}{logged}{problem}"
    if not found.log_grows:
        yield f"{REPLACED_LOG} lost or changed lines that base has"
    if found.undecoded:
        yield f"{found.undecoded} answers have a coding that is not undone here: nothing is known of them"
    if found.contracts_problem:
        yield f"contracts cannot be read: {found.contracts_problem}"


def review(base: Mapping[str, bytes | None], head: Mapping[str, bytes | None]) -> Review:
    """What head does to base's recordings; both are all files of the folder, by name from it."""
    return _Review(base, head).done()


class _Review:
    """One comparison."""

    def __init__(self, base: Mapping[str, bytes | None], head: Mapping[str, bytes | None]) -> None:
        self.base, self.head = base, head
        self.checked = self.kept = self.undecoded = 0
        self.contracts: Contracts | None = None
        self.contracts_problem = ""
        self.replaced = _replaced(head.get(REPLACED_LOG) or b"")

    def done(self) -> Review:
        """Look at every file that differs."""
        try:
            self.contracts = read_contracts(self.head) if FILE in self.head else None
        except EvidenceProblem as err:
            self.contracts_problem = err.message
        names = {name for name in (*self.base, *self.head) if _is_recording(name)}
        differ = sorted(name for name in names if _at(self.base, name) != _at(self.head, name))
        before = {one.file: one for one in seen({n: self.base[n] for n in differ if n in self.base})}
        after = {one.file: one for one in seen({n: self.head[n] for n in differ if n in self.head})}
        touched = tuple(self._touched(name, before.get(name), after.get(name)) for name in differ)
        old_log, new_log = self.base.get(REPLACED_LOG) or b"", self.head.get(REPLACED_LOG) or b""
        return Review(
            touched=touched,
            checked=self.checked,
            kept=self.kept,
            log_grows=new_log.startswith(old_log),
            undecoded=self.undecoded,
            contracts_problem=self.contracts_problem,
        )

    def _touched(self, name: str, before: Seen | None, after: Seen | None) -> Touched:
        old = before.cassette if before else None
        if after is None:
            return _told(name, "removed", old)
        new = after.cassette
        if new is None:
            return _told(name, "unreadable", old, problem=after.problem)
        broken = self._broken(new)
        if old is None:
            return _told(name, "new", new, broken=broken)
        if [one.wire.sha256 for one in old.responses] == [one.wire.sha256 for one in new.responses]:
            return _told(name, "recorded-again", new, broken=broken)
        problem = "" if self._is_logged(old, new) else UNLOGGED
        fields = self._fields(old, new)
        return _told(name, "answer-changed", new, broken=broken, fields=fields, problem=problem)

    def _contract(self, cassette: Cassette) -> Contract | None:
        template = cassette.about.template
        return self.contracts.of(template.id if template else None) if self.contracts else None

    def _broken(self, cassette: Cassette) -> tuple[str, ...]:
        contract = self._contract(cassette)
        if contract is None:
            return ()
        found: list[str] = []
        for stored in cassette.responses:
            if stored.status not in _OK:
                continue
            body = decoded_body(stored)
            if body is None:
                self.undecoded += 1
                continue
            places = decided(contract, body, content_type(stored)).broken
            self.checked += 1
            self.kept += not places
            found += places
        return tuple(found)

    def _fields(self, old: Cassette, new: Cassette) -> tuple[str, ...]:
        """Fields that changed between the answers of one number; the last speaks for those beyond."""
        contract = self._contract(new)
        if contract is None:
            return ()
        found: dict[str, None] = {}
        for number, stored in enumerate(new.responses):
            was = old.responses[min(number, len(old.responses) - 1)]
            bodies = decoded_body(was), decoded_body(stored)
            if bodies[0] is None or bodies[1] is None:
                continue
            one = decided(contract, bodies[0], content_type(was))
            other = decided(contract, bodies[1], content_type(stored))
            found |= dict.fromkeys(changed_fields(one, other))
        return tuple(found)

    def _is_logged(self, old: Cassette, new: Cassette) -> bool:
        """Whether the log names what was replaced; answers that were only added behind replace nothing."""
        was = [one.wire.sha256 for one in old.responses]
        if [one.wire.sha256 for one in new.responses][: len(was)] == was:
            return True
        return (str(old.key), tuple(map(str, was))) in self.replaced


def _told(name: str, how: str, cassette: Cassette | None, **more: Any) -> Touched:
    template = cassette.about.template if cassette else None
    return Touched(
        file=name,
        how=how,
        template=template_of(cassette) if cassette else "(unknown)",
        version=template.version if template else None,
        **more,
    )


def _at(files: Mapping[str, bytes | None], name: str) -> tuple[bool, bytes | None]:
    """Whether there is such a file, and its bytes: what is no regular file is there, and has none."""
    return name in files, files.get(name)


def _is_recording(name: str) -> bool:
    return "/" not in name and name.endswith(".json") and not name.startswith(".")


def _replaced(log: bytes) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Key and replaced digests of every line; what is no such line announces nothing."""
    return frozenset(_lines(log.splitlines()))


def _lines(lines: Iterable[bytes]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for line in lines:
        try:
            value = read_json(line)
        except EvidenceProblem:
            continue
        if isinstance(value, dict) and isinstance(value.get("replaced"), list):
            yield str(value.get("key")), tuple(map(str, value["replaced"]))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
