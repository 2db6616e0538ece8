# SPDX-License-Identifier: Apache-2.0
"""All pages of one list of GitHub's REST API, with the honest answer whether they are all.

What it decides: when a list is complete. What it leaves: single requests, to ``github_http``; what rows mean, to
``github_runs``.

- Complete means: as many different ids as ``total_count`` says, and every page says the same. Rows that move from
  page to page while they are read are seen twice or not at all; then the list is read once more, and after that it
  is incomplete.
- A search gives at most ``SEARCH_LIMIT`` rows, whatever its count says; a list that is not there is incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from truegreen.core.errors import ReachProblem

PER_PAGE = 100
"""Most rows that GitHub puts on a page."""
SEARCH_LIMIT = 1000
"""Most rows that a filtered list of runs gives (GitHub Docs, "List workflow runs for a repository")."""
MOST_PAGES = 50
READINGS = 2


class Identified(Protocol):
    """A row with an id."""

    id: int


Row = TypeVar("Row", bound=Identified)


class Api(Protocol):
    """What gives single answers: ``github_http.GithubApi``."""

    def get(self, path: str, query: Mapping[str, str | int] | None = None) -> Any:
        """The JSON value, or None if there is no such thing."""
        ...


class Listing(msgspec.Struct, Generic[Row], frozen=True):
    """Rows in the forge's order, each once."""

    rows: tuple[Row, ...]
    """What was read."""
    complete: bool
    """Whether that is all."""


def listing(
    api: Api, path: str, key: str, shape: type[Row], query: Mapping[str, str | int] | None = None
) -> Listing[Row]:
    """All rows of a list; ``key`` names them in the answer.

    Raises: ReachProblem ``forge-unreachable``, also for an answer of another shape, or ``forge-refused``.
    """
    found: Listing[Row] = Listing((), False)
    for _ in range(READINGS):
        found = _read(api, path, key, shape, query or {})
        if found.complete:
            break
    return found


def shaped(value: Any, shape: type[Row], path: str) -> Row:
    """The value as that shape.

    Raises: ReachProblem ``forge-unreachable``.
    """
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError as err:
        raise ReachProblem("forge-unreachable", f"{path} answers in another shape: {err}") from err


def _read(api: Api, path: str, key: str, shape: type[Row], query: Mapping[str, str | int]) -> Listing[Row]:
    rows: dict[int, Row] = {}
    totals: set[int] = set()
    total = 0
    for page in range(1, MOST_PAGES + 1):
        answer = api.get(path, {**query, "per_page": PER_PAGE, "page": page})
        if answer is None:
            return Listing(tuple(rows.values()), False)
        listed, total = _page(answer, key, path)
        totals.add(total)
        for value in listed:
            row = shaped(value, shape, path)
            rows[row.id] = row
        if not listed or page * PER_PAGE >= total:
            break
    limited = bool(query) and total > SEARCH_LIMIT
    return Listing(tuple(rows.values()), totals == {len(rows)} and not limited)


def _page(answer: Any, key: str, path: str) -> tuple[list[Any], int]:
    listed = answer.get(key) if isinstance(answer, dict) else None
    total = answer.get("total_count") if isinstance(answer, dict) else None
    if not isinstance(listed, list) or type(total) is not int:
        raise ReachProblem("forge-unreachable", f"{path} answers without {key} or total_count")
    return listed, total
