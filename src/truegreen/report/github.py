# SPDX-License-Identifier: Apache-2.0
"""A decision as GitHub's runner takes it: annotations in the log, step outputs.

What it decides: which causes become annotations, and how they are escaped. What it leaves: writing to the files
that the runner names, to wiring; the summary, to ``markdown``.

- At most 10 annotations of each type, the last of them a count of the rest; a message of at most 4,096 characters.
- Data escape ``%``, CR and LF; properties also ``:`` and ``,``. Untrusted text is made harmless before, so that it is
  no command in either syntax even where the escapes are undone.
- A value of an output stands between two lines of a delimiter that it does not hold.

Source: actions/runner, ActionCommand and ActionCommandManager; actions/toolkit, core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from truegreen.core.decision import Cause, Decision
from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Word
from truegreen.report.defused import cut, lines_of, plain
from truegreen.report.line import line_of
from truegreen.report.reasons import reason_of
from truegreen.report.sentence import Fact
from truegreen.report.story import Story
from truegreen.report.text import text_of

MOST = 10
"""Annotations of one type that a step may have."""
MESSAGE_UNITS = 4096
"""UTF-16 units of a message that the runner keeps."""
FACT_CHARACTERS = 300
DETAIL_CHARACTERS = 1000

_PATH = re.compile(r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[\w .@+/-]+")
_OUTPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_DELIMITER = re.compile(r"[A-Za-z0-9_-]{16,}")


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """One annotation, not yet escaped."""

    type: str
    """``error``, ``warning`` or ``notice``."""
    title: str
    """Its title."""
    message: str
    """Its message, perhaps of several lines."""
    file: str = ""
    """Path that it belongs to; empty if there is none."""


def log_of(decision: Decision) -> str:
    """What the step prints: the screen, then the annotations."""
    return text_of(decision) + "".join(f"{command_of(one)}\n" for one in annotations_of(decision))


def annotations_of(decision: Decision) -> tuple[Annotation, ...]:
    """At most 10 of each type, in the decision's order."""
    story = Story(decision)
    causes = story.causes if decision.word is not Word.ADMIT else ()
    told = [_annotation(story, cause) for cause in (*causes, *decision.notes)]
    kept: list[Annotation] = []
    for type_ in ("error", "warning", "notice"):
        of_type = [one for one in told if one.type == type_]
        if len(of_type) > MOST:
            rest = f"{len(of_type) - MOST + 1} more stand in the summary and in the decision's record"
            of_type = [*of_type[: MOST - 1], Annotation(type=type_, title="And more", message=rest)]
        kept += of_type
    return tuple(kept)


def command_of(annotation: Annotation) -> str:
    """The annotation as a workflow command."""
    given = {"title": annotation.title, "file": annotation.file}
    properties = ",".join(f"{name}={_property(value)}" for name, value in given.items() if value)
    return f"::{annotation.type} {properties}::{_data(annotation.message)}"


def outputs_of(decision: Decision, delimiter: str) -> str:
    """The step's outputs for the file that ``GITHUB_OUTPUT`` names.

    ``delimiter`` is random, so that nothing in a value can be it.

    Raises: UsageProblem ``bad-output``.
    """
    values = {
        "decision": decision.word.value,
        "code": decision.code,
        "line": line_of(decision),
        "mode": decision.mode,
    }
    return output_lines({name: plain(value) for name, value in values.items()}, delimiter)


def output_lines(values: Mapping[str, str], delimiter: str) -> str:
    """Names and values in the form with delimiters.

    Raises: UsageProblem ``bad-output`` for a name that is none, a delimiter that can be guessed, and a value that
    holds it or a carriage return.
    """
    if not _DELIMITER.fullmatch(delimiter):
        raise UsageProblem("bad-output", f"the delimiter {delimiter!r} is not 16 letters and digits or more")
    for name, value in values.items():
        if not _OUTPUT_NAME.fullmatch(name):
            raise UsageProblem("bad-output", f"the output name {name!r} is not a name")
        if delimiter in value or "\r" in value:
            raise UsageProblem("bad-output", f"the value of {name} holds its delimiter or a carriage return")
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in values.items())


def _annotation(story: Story, cause: Cause) -> Annotation:
    reason, row, owner = reason_of(cause.code), story.row(cause), story.owner(cause)
    message = [story.sentence(cause, _fact)]
    if row is not None and row.detail:
        message += [cut(part, DETAIL_CHARACTERS) for part in lines_of(row.detail) if part]
    if owner:
        message.append(f"owner {cut(plain(owner), FACT_CHARACTERS)}")
    message.append(f"{reason.action} ({plain(cause.code)})")
    return Annotation(
        type=_type(story.decision, cause),
        title=f"truegreen: {reason.title}",
        message=_fitting("\n".join(message)),
        file=_file(cause),
    )


def _type(decision: Decision, cause: Cause) -> str:
    if cause.word is None:
        return "notice"
    return "error" if cause.word is Word.BLOCK and decision.mode != "observe" else "warning"


def _file(cause: Cause) -> str:
    path = (cause.case or "").partition("::")[0]
    return path if _PATH.fullmatch(path) else ""


def _fact(_name: str, value: Fact) -> str:
    return cut(plain(str(value)), FACT_CHARACTERS)


def _fitting(message: str) -> str:
    limit = MESSAGE_UNITS
    while len(message.encode("utf-16-le")) // 2 > MESSAGE_UNITS:
        message = cut(message, limit)
        limit -= 256
    return message


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
