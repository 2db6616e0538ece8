# SPDX-License-Identifier: Apache-2.0
"""One model-backed case, and what is said of a suite of them.

What it decides: what a case is, and which cases deserve a warning. What it leaves: reading files, to
``case_file``; sampling, to the engines.

- A case's id is ``<path from the root, NFC>::<id in the file>``: one name for one case on every machine.
- Expectations about prose, white space or Markdown draw a warning: they fail on wording, not on behaviour.
- Golden cases are for people to read; a second one for a feature draws a warning. Nothing about them is gated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted
from truegreen.sampling.expectations import Expect

BLAST_RADII = ("low", "normal", "high")
PROSE_WORDS = 8
"""Words from which a text that is asserted counts as prose."""
_FORMATTING = re.compile(r"\n|\r|\t|  |^ | $|```|\*\*|__|^#+ |^[-*>] |\|")
_PATTERN_FORMATTING = re.compile(r"\\n|\\r|\\t|\n|  |\\s[{+*]|```|\\\*\\\*|\^#|\\\|")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case."""

    id: str
    """``<file>::<id in the file>``."""
    file: str
    """Case file, path from the root with ``/``, NFC."""
    line: int
    """Line of the case in it, counted from 1."""
    input: str | None
    """File that the model is given, path from the root."""
    prompt: str | None
    """Prompt file, path from the root."""
    expect: Expect
    """What is expected of an answer."""
    schema_file: str | None = None
    """File that ``json_schema`` names, path from the root."""
    blast_radius: str = "normal"
    """One of ``BLAST_RADII``: how much a mistake on this path costs."""
    owner: str | None = None
    """Who answers for it."""
    feature: str | None = None
    """Feature that it belongs to."""
    golden: bool = False
    """Whether people read its answers."""
    model: str | None = None
    """Model asked; None leaves it to the lane."""
    settings: dict[str, Any] = {}
    """Sampling settings that go into the request as they are, such as ``temperature`` and ``max_tokens``."""


class CaseWarning(msgspec.Struct, frozen=True, kw_only=True):
    """Something that works and should not be so."""

    code: str
    """Kebab-case code."""
    file: str
    """Case file."""
    line: int
    """Line in it."""
    message: str
    """One sentence."""


def check_ids(cases: Iterable[Case]) -> None:
    """Refuse a suite in which two cases have one id.

    Raises: UsageProblem ``unstable-id``.
    """
    seen: dict[str, Case] = {}
    for case in cases:
        other = seen.setdefault(case.id, case)
        if other is not case:
            raise UsageProblem(
                "unstable-id",
                f"{case.file}:{case.line}: the id {quoted(case.id)} stands at {other.file}:{other.line} too",
            )


def warnings(cases: Iterable[Case]) -> Iterator[CaseWarning]:
    """What should be said of a suite, case by case, then feature by feature."""
    cases = tuple(cases)
    for case in cases:
        for message, code in _about_expectations(case.expect):
            yield CaseWarning(code=code, file=case.file, line=case.line, message=message)
    golden: dict[str, Case] = {}
    for case in cases:
        if case.golden and case.feature is not None:
            first = golden.setdefault(case.feature, case)
            if first is not case:
                yield CaseWarning(
                    code="second-golden",
                    file=case.file,
                    line=case.line,
                    message=f"feature {quoted(case.feature)} has a golden case already: {quoted(first.id)}",
                )


def _about_expectations(expect: Expect) -> Iterator[tuple[str, str]]:
    asserted = [*expect.forbid_substrings]
    asserted += [one for listed in expect.enums for one in listed.values if isinstance(one, str)]
    for text in asserted:
        if len(text.split()) >= PROSE_WORDS:
            yield f"{quoted(text, 40)} is prose: assert structure, ranges and fields instead", "asserts-prose"
        elif _FORMATTING.search(text):
            yield (
                f"{quoted(text, 40)} is about white space or Markdown, not about content",
                "asserts-formatting",
            )
    for pattern in expect.patterns:
        if len(re.findall(r"[^\W\d_]{2,}", pattern.regex)) >= PROSE_WORDS:
            yield (
                f"the pattern {quoted(pattern.regex, 40)} is prose: assert structure instead",
                "asserts-prose",
            )
        elif _PATTERN_FORMATTING.search(pattern.regex):
            yield (
                f"the pattern {quoted(pattern.regex, 40)} is about white space or Markdown",
                "asserts-formatting",
            )
