# SPDX-License-Identifier: Apache-2.0
"""The reason catalogue: one entry for each code that a decision can carry.

What it decides: the form of an entry and that the catalogue is whole. What it leaves: which codes arise, to the
gate; how facts are shown, to each rendering.

- An unknown key, a missing one, a name in braces that is not declared, a code that is not kebab-case or that was
  retired: refused, never guessed.
- The action of the line has no facts and a bounded length, so that it survives whatever a fact holds.
- A code that the catalogue lacks (a decision of a newer version) still reads as a sentence.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from truegreen.core.decision import Cause
from truegreen.core.errors import EvidenceProblem
from truegreen.report.sentence import Fact, names_in

CATALOGUE = Path(__file__).with_name("reasons.toml")
STAGES = {
    "admit": "Everything holds",
    "bind": "What the evidence has to be about",
    "verify": "Whether a file may count",
    "complete": "Whether everything is there",
    "decide": "What the evidence says",
}
"""Where a code arises, in the gate's order, with the heading of its group."""
WORDS = ("admit", "hold", "block", "note")
ALWAYS = frozenset({"lane", "case", "owner"})
"""Facts that every sentence may name: a cause has them as fields, or its case or lane does."""
LONGEST_ACTION = 48
"""Characters of an action: with the longest decision word there is room for a cause beside it in 140."""

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry."""

    code: str
    """Kebab-case id, an anchor in ``docs/reason-codes.md``; never reused."""
    stage: str
    """One of ``STAGES``."""
    word: str
    """Its usual weight: one of ``WORDS``."""
    also: tuple[str, ...] = ()
    """Further weights that it may carry."""
    blameless: bool = False
    """Whether the cause is outside the change, so that nobody is named beside it."""
    facts: tuple[str, ...]
    """Facts that the gate may give beside lane, case and owner."""
    title: str
    """A short name for tables and headings."""
    line: str
    """The cause in the one line: plain words, facts in braces."""
    cause: str
    """A paragraph in plain words, facts in braces."""
    action: str
    """The next action in the one line, without facts; empty for admit only."""
    next: tuple[str, ...]
    """Commands that reproduce or repair, facts in braces; facts are quoted for a shell."""
    rule: str
    """The rule behind it, one sentence."""


@cache
def catalogue() -> Mapping[str, Reason]:
    """Every entry by code, in the gate's order."""
    return read_catalogue(_text())


def read_catalogue(text: str) -> Mapping[str, Reason]:
    """The catalogue in ``text``.

    Raises: EvidenceProblem ``bad-catalogue`` if an entry breaks a rule, ``bad-sentence`` if its words do.
    """
    tables = tomllib.loads(text)
    retired = tables.pop("retired", [])
    entries = {code: _entry(code, table) for code, table in tables.items()}
    for reason in entries.values():
        problem = _against(reason, retired)
        if problem:
            raise EvidenceProblem("bad-catalogue", f"reason {reason.code!r}: {problem}")
    return entries


def reason_of(code: str) -> Reason:
    """The entry of a code; for one that the catalogue lacks, an entry that says so."""
    return _alone(code) or Reason(
        code=code,
        stage="decide",
        word="hold",
        facts=("code", "problem"),
        title="Unknown reason",
        line="this version does not know the reason {code}[: {problem}]",
        cause="The decision names a reason that this version of truegreen does not know: {code}.",
        action="use the version that decided: truegreen why",
        next=("truegreen --version",),
        rule="A reason that is not known keeps the weight that the decision gave it.",
    )


@cache
def _alone(code: str) -> Reason | None:
    """One entry, read without the others: a decision needs few, and its first line should come soon."""
    if not _KEBAB.fullmatch(code):
        return None
    _, found, later = f"\n{_text()}".partition(f"\n[{code}]\n")
    table = later.partition("\n[")[0]
    return _entry(code, tomllib.loads(f"{table}\n")) if found else None


@cache
def _text() -> str:
    return CATALOGUE.read_text(encoding="utf-8")


def facts_of(cause: Cause, *, owner: str | None = None) -> dict[str, Fact]:
    """A cause's facts with the names that every sentence may use; an empty text is no fact."""
    fields: dict[str, Fact | None] = {
        "lane": cause.lane,
        "case": cause.case,
        "owner": owner,
        "code": cause.code,
    }
    return {name: value for name, value in (fields | cause.facts).items() if value not in (None, "")}


def nearest(code: str, limit: int = 3) -> tuple[str, ...]:
    """Codes of the catalogue that look like ``code``, best first."""
    from difflib import get_close_matches  # noqa: PLC0415 - nobody else in a gate compares texts

    return tuple(get_close_matches(code[:80].lower(), catalogue(), n=limit, cutoff=0.5))


def _entry(code: str, table: Any) -> Reason:
    if not isinstance(table, dict):
        raise EvidenceProblem("bad-catalogue", f"reason {code!r} is no table")
    texts = {
        key: " ".join(value.split()) if isinstance(value, str) else value for key, value in table.items()
    }
    try:
        return msgspec.convert({**texts, "code": code}, Reason, strict=True)
    except msgspec.ValidationError as err:
        raise EvidenceProblem("bad-catalogue", f"reason {code!r}: {err}") from err


def _against(reason: Reason, retired: list[str]) -> str:
    """What is wrong with an entry, or nothing."""
    allowed = ALWAYS | set(reason.facts)
    sentences = (reason.line, reason.cause, *reason.next)
    unknown = sorted(set[str]().union(*map(names_in, sentences)) - allowed)
    checks = (
        (not _KEBAB.fullmatch(reason.code), "a code is lower-case words joined by hyphens"),
        (reason.code in retired, "the code was retired and is never used again"),
        (reason.stage not in STAGES, f"stage is {reason.stage!r}, not one of {', '.join(STAGES)}"),
        (not {reason.word, *reason.also} <= set(WORDS), f"word and also take only {', '.join(WORDS)}"),
        (bool(unknown), f"{', '.join(unknown)} in braces, but not among its facts"),
        (bool(names_in(reason.action)), "an action has no facts: they could push it out of the line"),
        (len(reason.action) > LONGEST_ACTION, f"its action is longer than {LONGEST_ACTION} characters"),
        (not (reason.action or reason.word == "admit"), "a cause without an action leaves its reader alone"),
        (not all((reason.title, reason.line, reason.cause, reason.next, reason.rule)), "a text is empty"),
    )
    return next((words for is_wrong, words in checks if is_wrong), "")
