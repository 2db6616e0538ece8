# SPDX-License-Identifier: Apache-2.0
"""Recordings compared with what the model says today, by contract and by declared decision.

What it decides: which recordings are asked today, what each difference weighs, and whether the model has drifted.
What it leaves: asking, to ``wiring``; putting requests together, to ``asked_again``.

What a difference weighs:
- ``contract-broken`` and ``field-type`` (a field of another JSON type, null aside): drift.
- ``field-removed``: a warning. ``field-new``, ``field-null``, ``model-served``: a note.
- ``decision-flip``: the declared fields have values that no recorded answer of the request has. One flip is an
  accident of sampling; drift is shown when even the exact lower bound of the flip rate is above what is allowed.
- ``not-asked`` and ``not-judged``: unknown. Fewer than half judged is no answer.

- Prose is never compared.
- The sample rotates: by key, so many a turn, every recording once a round, whatever the names of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import msgspec

from truegreen.cassettes.leaks import Needles
from truegreen.cassettes.scrub import clean_text
from truegreen.cassettes.upkeep.decisions import Decided, changed_fields
from truegreen.cassettes.upkeep.flips import at_least, at_most

ALLOWED: Final = Fraction(1, 20)
"""Flip rate that is allowed by default."""
HALF: Final = 2
MOST_FINDINGS: Final = 20
"""Findings of one recording that are told."""
LONGEST_PLACE: Final = 200
"""Most characters of a place."""


class Weight(Enum):
    """What a finding means."""

    DRIFT = "drift"
    WARNING = "warning"
    NOTE = "note"
    UNKNOWN = "unknown"


WEIGHTS: Final[dict[str, Weight]] = {
    "contract-broken": Weight.DRIFT,
    "field-type": Weight.DRIFT,
    "decision-flip": Weight.WARNING,
    "field-removed": Weight.WARNING,
    "field-new": Weight.NOTE,
    "field-null": Weight.NOTE,
    "model-served": Weight.NOTE,
    "not-asked": Weight.UNKNOWN,
    "not-judged": Weight.UNKNOWN,
}
"""Code of a finding to its weight."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference."""

    code: str
    """One of ``WEIGHTS``."""
    weight: str
    """Its weight."""
    at: str = ""
    """Path in the answer, or what was not possible."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One recording and today's answer."""

    file: str
    """The recording."""
    template: str
    """Template id."""
    findings: tuple[Finding, ...]
    """Differences, the heaviest first."""
    is_flipped: bool | None
    """Whether the decision flipped; null where there is none to compare."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the whole sample says."""

    word: str
    """``drift``, ``no-drift-shown`` or ``unknown``."""
    because: str
    """One sentence with both values."""
    asked: int
    """Recordings that were asked again."""
    judged: int
    """Those that could be judged."""
    decisions: int
    """Decisions that were compared."""
    flipped: int
    """Those that flipped."""
    flips_at_least: str
    """Exact lower bound of the flip rate, 95 %; empty without a decision."""
    flips_at_most: str
    """Exact upper bound."""


def turn(keys: Sequence[str], size: int, number: int) -> tuple[str, ...]:
    """The keys of one turn: ``size`` of them, further on with each number, around and around."""
    ordered = sorted(keys)
    if size >= len(ordered):
        return tuple(ordered)
    start = number * size % len(ordered)
    return tuple((ordered + ordered)[start : start + size])


def finding(code: str, at: str = "") -> Finding:
    """A finding with the weight of its code."""
    return Finding(code=code, weight=WEIGHTS[code].value, at=at)


def compared(file: str, template: str, recorded: Sequence[Decided], today: Decided) -> Compared:
    """Today's answer beside every recorded answer of its request; the model's name is compared elsewhere."""
    found = [finding("contract-broken", place) for place in today.broken]
    readable = [one for one in recorded if one.decision is not None]
    if today.decision is not None and readable:
        found += _shape_findings([value for one in readable for value in one.values], today.values)
    flipped: bool | None = None
    has_decision = any(choice for one in readable for choice in one.decision or ())
    if today.decision is not None and has_decision:
        flipped = all(today.decision != one.decision for one in readable)
    if flipped:
        found.append(finding("decision-flip", ", ".join(_flipped_at(readable[0], today))[:200]))
    return _told(file, template, found, is_flipped=flipped)


def with_models(result: Compared, recorded: Sequence[str], today: str | None) -> Compared:
    """The same with a note, if another model answered than any of those that were recorded."""
    if today is None or not recorded or today in recorded:
        return result
    note = finding("model-served", f"{recorded[0]} was {today} today")
    return _told(result.file, result.template, [*result.findings, note], is_flipped=result.is_flipped)


def unknown(file: str, template: str, code: str, why: str) -> Compared:
    """A recording that could not be asked or judged."""
    return Compared(file=file, template=template, findings=(finding(code, why),), is_flipped=None)


def verdict(results: Sequence[Compared], allowed: Fraction = ALLOWED) -> Verdict:
    """What the sample says."""
    codes = [{one.code for one in result.findings} for result in results]
    asked = sum("not-asked" not in found for found in codes)
    judged = sum(not found & {"not-asked", "not-judged"} for found in codes)
    decisions = [result.is_flipped for result in results if result.is_flipped is not None]
    flipped = sum(decisions)
    low = at_least(flipped, len(decisions)) if decisions else None
    high = at_most(flipped, len(decisions)) if decisions else None
    word, because = _word(results, judged, low, allowed)
    return Verdict(
        word=word,
        because=because,
        asked=asked,
        judged=judged,
        decisions=len(decisions),
        flipped=flipped,
        flips_at_least=_percent(low),
        flips_at_most=_percent(high),
    )


def _told(file: str, template: str, found: Sequence[Finding], *, is_flipped: bool | None) -> Compared:
    """The heaviest findings first, cleaned, and no more than anybody reads: names in them come from the model."""
    order = [weight.value for weight in Weight]
    kept = sorted(found, key=lambda one: (order.index(one.weight), one.code, one.at))[:MOST_FINDINGS]
    clean = (
        msgspec.structs.replace(one, at=clean_text(one.at, Needles())[0][:LONGEST_PLACE]) for one in kept
    )
    return Compared(file=file, template=template, findings=tuple(clean), is_flipped=is_flipped)


def _word(
    results: Sequence[Compared], judged: int, low: Fraction | None, allowed: Fraction
) -> tuple[str, str]:
    drifted = [one for one in results if any(f.weight == Weight.DRIFT.value for f in one.findings)]
    if drifted:
        first = drifted[0]
        return (
            "drift",
            f"{len(drifted)} of {judged} answers drifted, first {first.file}: {first.findings[0].code}",
        )
    if low is not None and low > allowed:
        return "drift", f"at least {_percent(low)} of decisions flip, {_percent(allowed)} are allowed"
    if not judged or judged * HALF < len(results):
        return "unknown", f"{judged} of {len(results)} recordings could be judged, at least half are asked"
    return "no-drift-shown", f"{judged} of {len(results)} recordings judged, none drifted"


def lines(found: Verdict, results: Sequence[Compared]) -> Iterator[str]:
    """The verdict as a person reads it: one line, the figures, a line for each finding."""
    yield f"{found.word}: {found.because}"
    flips = (
        f" (at least {found.flips_at_least}, at most {found.flips_at_most} flip)" if found.decisions else ""
    )
    yield f"asked {found.asked}, judged {found.judged}, decisions {found.decisions}, flipped {found.flipped}{flips}"
    order = [weight.value for weight in Weight]
    told = [(one, result) for result in results for one in result.findings]
    for one, result in sorted(told, key=lambda pair: (order.index(pair[0].weight), pair[1].file)):
        yield f"{one.weight:<8} {result.file}  {result.template}  {one.code}  {one.at}".rstrip()


def _shape_findings(recorded: Sequence[Any], today: Sequence[Any]) -> list[Finding]:
    before, after = _shape(recorded), _shape(today)
    found = []
    for path in sorted(before.keys() | after.keys()):
        parent = path.rpartition(".")[0] or path.removesuffix("[*]")
        if path not in after:
            if parent == path or parent in after or not parent:
                found.append(finding("field-removed", path))
        elif path not in before:
            if parent == path or parent in before or not parent:
                found.append(finding("field-new", path))
        elif not before[path] & after[path]:
            is_null = before[path] == {"null"} or after[path] == {"null"}
            kinds = f"{'/'.join(sorted(before[path]))} was {'/'.join(sorted(after[path]))} today"
            found.append(finding("field-null" if is_null else "field-type", f"{path}: {kinds}"))
    return found


def _shape(values: Sequence[Any]) -> dict[str, set[str]]:
    """Paths, list places opened, to the JSON types that stand there."""
    found: dict[str, set[str]] = {}
    stack = [("", value) for value in values]
    while stack:
        path, value = stack.pop()
        if path:
            found.setdefault(path, set()).add(_type(value))
        if isinstance(value, dict):
            stack += [(f"{path}.{name}".removeprefix("."), item) for name, item in value.items()]
        elif isinstance(value, list):
            stack += [(f"{path}[*]", item) for item in value]
    return found


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _flipped_at(old: Decided, new: Decided) -> list[str]:
    return list(changed_fields(old, new))


def _percent(rate: Fraction | None) -> str:
    return "" if rate is None else f"{float(rate * 100):.2f} %"
