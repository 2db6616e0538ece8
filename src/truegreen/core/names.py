# SPDX-License-Identifier: Apache-2.0
"""Path patterns of the policy: the rules of a ``.gitignore`` line, without negation and comments.

What it decides: whether a path of the repository is meant by a pattern. What it leaves: what follows from it, to
the key that holds the pattern.

- ``*`` and ``?`` never match ``/``; ``**`` as a whole part matches any number of folders.
- A pattern with ``/`` at its start or in its middle is anchored at the root; any other matches at every depth.
- A pattern that matches a folder means every file below it; with ``/`` at its end it means folders only.
- ``[a-z]``, ``[!a-z]`` and a backslash before a special character work as in a shell.
- Case counts. Pattern and path are compared in NFC, character by character (git compares bytes).
- What could not match any path, or would be a comment or a negation in a ``.gitignore``, is refused.

=================  ==================================  ============================
pattern            means                               does not mean
=================  ==================================  ============================
``*.md``           ``README.md``, ``docs/a/b.md``      ``README.mdx``
``docs/**``        ``docs/a``, ``docs/a/b.md``         ``docs``, ``src/docs/a``
``docs/``          ``docs/a``, ``src/docs/a/b``        ``docs`` (a file)
``/docs``          ``docs`` (a file), ``docs/a``       ``src/docs``
``docs/*.md``      ``docs/a.md``                       ``docs/a/b.md``, ``x/docs/a.md``
``**/x``           ``x``, ``a/b/x``, ``a/x/y``         ``ax``
``a/**/b``         ``a/b``, ``a/x/y/b``                ``ab``, ``x/a/b``
``v?.[ch]``        ``v1.c``, ``src/v2.h``              ``v10.c``, ``v1.cc``
=================  ==================================  ============================

Time is linear in the path for a given pattern: each ``*`` and ``**`` but the last takes the first place that fits
and is never asked again, which loses nothing because what stands between two stars has a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from truegreen.core.errors import UsageProblem
from truegreen.core.file_names import nfc
from truegreen.core.quoted import quoted

MAX_PATTERN = 1000
"""Characters of one pattern."""

_PIECE = re.compile(
    r"""\\(?P<literal>.)
    | \[(?P<negation>[!^]?)(?P<set>\]?(?:\\[^/]|[^\]\\/])*)\]
    | (?P<star>\*)(?!\*)
    | (?P<one>\?)
    | (?P<plain>[^\\\[*?]+)""",
    re.VERBOSE,
)
_SET_PIECE = r"(?s)\\?(?P<first>.)(?:-\\?(?P<last>.))?"
_FOLDERS = "(?:[^/]+/)*?"
_END_OF_PART = r"(?=/|\Z)"


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern means the file at ``path`` (relative to the root, ``/`` between parts).

    Raises: UsageProblem ``bad-pattern``.
    """
    return Globs((pattern,)).match(path) is not None


class Globs:
    """Several patterns; a path is meant when one of them means it."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises: UsageProblem ``bad-pattern``."""
        self._patterns = tuple(map(_read, patterns))

    def match(self, path: str) -> str | None:
        """The first pattern that means the path, or None."""
        composed = nfc(path)
        return next(
            (
                pattern
                for pattern, needle, expression in self._patterns
                if needle in composed and _compiled(expression).match(composed)
            ),
            None,
        )


@lru_cache(maxsize=512)
def _read(pattern: str) -> tuple[str, str, str]:
    """The pattern, a text without which nothing matches it, and the expression that decides."""
    return pattern, _needle(pattern), _expression(pattern)


def _needle(pattern: str) -> str:
    """A text that stands in every path that the pattern means: most paths are not asked any further."""
    if "\\" in pattern or "[" in pattern:
        return ""
    return max(nfc(pattern).replace("*", "/").replace("?", "/").split("/"), key=len)


@lru_cache(maxsize=512)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _expression(pattern: str) -> str:
    body = nfc(pattern)
    parts = body.removeprefix("/").removesuffix("/").split("/")
    if (
        len(body) > MAX_PATTERN
        or body[:1] in {"", "!", "#"}
        or body != body.strip()
        or {"", ".", ".."} & {*parts}
    ):
        raise _refused(pattern)
    if "/" not in body[:-1]:
        parts = ["**", *parts]
    end = "/" if body.endswith("/") else r"(?:/|\Z)"
    return _path_expression(parts, pattern) + end


def _path_expression(parts: list[str], pattern: str) -> str:
    """Runs of parts between whole-part ``**``; each run but the last takes the first folder where it fits."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_part_expression(part, pattern))
    start, *later = ("/".join(run) for run in runs)
    if not later:
        return start
    *middle, last = later
    between = "".join(f"(?>{_FOLDERS}{run}/)" for run in middle if run)
    return (f"{start}/" if start else "") + between + (_FOLDERS + last if last else "[^/]+")


def _part_expression(part: str, pattern: str) -> str:
    """Chunks of fixed length between stars; each chunk but the last takes the first place where it fits."""
    chunks = [""]
    position = 0
    while position < len(part):
        piece = _PIECE.match(part, position)
        if not piece:
            raise _refused(pattern)
        position = piece.end()
        if piece["star"]:
            chunks.append("")
        else:
            chunks[-1] += _one_character(piece, pattern)
    first, *rest = chunks
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in rest[:-1])
    return f"(?>{first}{middle}[^/]*{rest[-1]}{_END_OF_PART})"


def _one_character(piece: re.Match[str], pattern: str) -> str:
    if piece["one"]:
        return "[^/]"
    if piece["set"] is None:
        return re.escape(piece["literal"] or piece["plain"])
    ranges = [
        (item["first"], item["last"] or item["first"]) for item in re.finditer(_SET_PIECE, piece["set"])
    ]
    if "[:" in piece["set"] or not ranges or any(first > last for first, last in ranges):
        raise _refused(pattern)
    listed = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)
    return f"(?!/)[{'^' if piece['negation'] else ''}{listed}]"


def _refused(pattern: str) -> UsageProblem:
    return UsageProblem(
        "bad-pattern",
        f"the path pattern {quoted(pattern)} is empty, negated, unfinished or can match no path",
    )
