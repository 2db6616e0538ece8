# SPDX-License-Identifier: Apache-2.0
"""The page ``docs/reason-codes.md``, made from the catalogue.

What it decides: the page's form. What it leaves: its words, to the catalogue; writing the file, to
``tests/golden/rebuild.py``.

- Each code is a heading, so that its name is its anchor.
- Facts stand in capitals, as in the help of a command.
"""

from __future__ import annotations

from collections.abc import Mapping

from truegreen.report.reasons import STAGES, Reason
from truegreen.report.sentence import filled, names_in

HEAD = """\
# Reason codes

Every decision names one leading reason and may name more. Each reason has a code, which is stable and is never used for anything else. `truegreen why CODE` prints what stands here; `truegreen why DECISION.json` fills it with what really happened.

**block** means that the evidence says no, contradicts itself or is somebody else's. **hold** means that evidence is missing, partial, stale, undecided or unreadable. Neither is green. A **note** is disclosed and has no weight. Words in capitals stand for what the decision names.

<!-- Made from src/truegreen/report/reasons.toml by ./dev golden; edit it there. -->
"""


def page_of(entries: Mapping[str, Reason]) -> str:
    """The whole page: codes in the gate's order, grouped by the question that they answer."""
    parts = [HEAD]
    for stage, heading in STAGES.items():
        group = [reason for reason in entries.values() if reason.stage == stage]
        if group:
            parts += [f"## {heading}\n", *map(section_of, group)]
    return "\n".join(parts)


def section_of(reason: Reason) -> str:
    """One code as a section of Markdown."""
    weights = " or ".join((reason.word, *reason.also))
    points = [
        f"- The line says: {with_names(reason.line)}",
        *([f"- Next: {reason.action}"] if reason.action else []),
        *(f"- Command: `{with_names(command)}`" for command in reason.next),
        f"- Rule: {reason.rule}",
    ]
    return "\n".join(
        (f"### {reason.code}\n", f"{reason.title} ({weights}). {with_names(reason.cause)}\n", *points, "")
    )


def with_names(template: str) -> str:
    """A sentence with the names of its facts in place of facts."""
    return filled(template, {name: name.upper() for name in names_in(template)}, lambda _, value: str(value))
