# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen why``: finds out whether a code or a file is meant, reads it, and has it explained.

- A name of the catalogue is a code, whatever files lie around; a name with a dot or a slash, or one that is there, is a
  file; any other name is a code that nobody knows, answered with the nearest ones.
- Without a name the decision is taken that ``gate --decision`` left here.
- A file is read up to a bound and must be a decision's record.
"""

from __future__ import annotations

from pathlib import Path

from truegreen.core.canonical import DEFAULT
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.report.as_json import read_decision
from truegreen.report.explained import Explained, explain_code, explain_decision
from truegreen.report.explanation_pages import explanation_json, explanation_markdown
from truegreen.report.explanation_text import explanation_screen
from truegreen.report.line import line_of
from truegreen.report.reasons import catalogue, nearest
from truegreen.report.screen import Screen, plain_screen
from truegreen.report.story import Story

FORMATS = ("text", "json", "markdown")
USUAL_PLACES = ("decision.truegreen.json", ".truegreen/decision.truegreen.json")
"""Where a decision is looked for when none is named, below the working folder."""
HINT = "truegreen gate --decision decision.truegreen.json"


class Answer:
    """What there is to say, before it has a form."""

    def __init__(self, told: tuple[Explained, ...], head: str = "", digest: str | None = None) -> None:
        """``head`` and ``digest`` are the decision's; a code alone has none."""
        self._told = told
        self._head = head
        self._digest = digest

    def screen(self) -> Screen:
        """For a terminal."""
        return explanation_screen(self._told, self._head)

    def text(self, form: str) -> str:
        """In one of ``FORMATS``, ended by LF."""
        match form:
            case "json":
                return explanation_json(self._told, self._head, self._digest)
            case "markdown":
                return explanation_markdown(self._told, self._head)
            case _:
                return plain_screen(self.screen())


def why(target: str | None, folder: Path) -> Answer:
    """The explanation of a code or of a decision's file.

    Raises: UsageProblem ``unknown-reason-code``; ReachProblem ``no-decision``; EvidenceProblem ``not-a-decision`` and
    what the strict reader raises.
    """
    if target is None:
        return _of_file(_usual(folder))
    if target in catalogue():
        return Answer((explain_code(catalogue()[target]),))
    path = folder / target
    if target and ("." in target or "/" in target or _is_there(path)):
        return _of_file(path)
    near = nearest(target)
    raise UsageProblem(
        "unknown-reason-code",
        f"there is no reason {quoted(target)}, the nearest are {', '.join(near)}"
        if near
        else f"there is no reason {quoted(target)}, and none is called like it",
        hint=f"truegreen why {near[0]}" if near else "truegreen why DECISION.json",
    )


def _of_file(path: Path) -> Answer:
    decision, digest = read_decision(_bytes(path))
    return Answer(explain_decision(Story(decision)), line_of(decision), digest)


def _usual(folder: Path) -> Path:
    found = next((folder / name for name in USUAL_PLACES if _is_there(folder / name)), None)
    if found is None:
        raise ReachProblem("no-decision", f"no decision lies here as {' or '.join(USUAL_PLACES)}", hint=HINT)
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _bytes(path: Path) -> bytes:
    """At most one byte more than the strict reader takes."""
    try:
        with path.open("rb") as file:
            return file.read(DEFAULT.max_bytes + 1)
    except OSError as err:
        raise ReachProblem(
            "no-decision", f"the decision {quoted(str(path))} cannot be read: {err.strerror}", hint=HINT
        ) from err
    except ValueError as err:
        raise ReachProblem("no-decision", f"{quoted(str(path))} is no name of a file", hint=HINT) from err
