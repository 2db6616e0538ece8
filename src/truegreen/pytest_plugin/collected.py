# SPDX-License-Identifier: Apache-2.0
"""What a collection found, as the measuring process is told it.

What it decides: which of the collected items are sampled, how each is described, and what is refused. What it
leaves: reading case files, to ``case_item``; ids, to ``sampling.case_ids``.

- Marked tests alone, if any is marked; case files always.
- An id that two cases share, or that pytest made by counting, is refused; one that it made of a parameter's
  place is disclosed.
- A marker that says something unknown is refused: nobody's owner is lost to a spelling mistake.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from truegreen.pytest_plugin.account import encodable
from truegreen.sampling.case_ids import case_id, duplicates
from truegreen.sampling.engines.messages import Collected, Found, Refused

MARKER = "model"
"""The marker of model-backed tests."""
MARKER_VALUES: dict[str, type] = {"blast_radius": str, "owner": str, "feature": str, "golden": bool}
"""What the marker may say."""
BLAST_RADII = ("low", "normal", "high")
_STRICT_IDS = "strict_parametrization_ids"


def collected_from(  # noqa: PLR0913 - what collection gives
    session: pytest.Session,
    root: Path,
    *,
    items: Sequence[pytest.Item],
    problems: Sequence[Refused],
    unmarked: int,
    deselected: int,
    notices: tuple[str, ...],
    read: tuple[str, ...],
) -> Collected:
    """Everything that the measuring process is told of a collection."""
    found, clashes = describe(items, root)
    return Collected(
        cases=found,
        unmarked=unmarked,
        deselected=deselected,
        problems=(*problems, *clashes),
        notices=(*notices, *_about_ids(items), *_about_cases(items)),
        threads=tuple(t.name for t in threading.enumerate() if t is not threading.main_thread()),
        answers_by_hook=answers_by_hook(session.config),
        read=read,
    )


def selected(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Case files' items and marked tests; every test if none is marked."""
    marked = [item for item in items if is_case_item(item) or item.get_closest_marker(MARKER)]
    return marked if any(not is_case_item(item) for item in marked) else list(items)


def is_case_item(item: pytest.Item) -> bool:
    """Whether an item stands in a case file."""
    return hasattr(item, "found")


def answers_by_hook(config: pytest.Config) -> bool:
    """Whether a conftest brings the answers of case files."""
    hook = getattr(config.hook, "pytest_truegreen_answer", None)
    return bool(hook is not None and hook.get_hookimpls())


def describe(items: Sequence[pytest.Item], root: Path) -> tuple[tuple[Found, ...], tuple[Refused, ...]]:
    """Each item as a case, and the ids that two of them share."""
    wrong = [
        (item, sentence) for item in items if not is_case_item(item) and (sentence := _wrong_marker(item))
    ]
    if wrong:
        return (), tuple(
            Refused(code="bad-case", message=f"{encodable(item.nodeid)}: the marker {MARKER}: {sentence}")
            for item, sentence in wrong
        )
    found = tuple(_found(item, root) for item in items)
    problems = tuple(
        Refused(
            code="unstable-id", message=f"{count} cases are called {name}, a ledger needs one id for each"
        )
        for name, count in duplicates(case.id for case in found)
    )
    return found, problems


def problem_of(report: pytest.CollectReport) -> Refused:
    """What a failed collection report says, in a sentence with its place."""
    text = report.longreprtext
    if _STRICT_IDS in text and "Duplicate" in text:
        return Refused(
            code="unstable-id",
            message=f"{report.nodeid} gives two cases one id, which pytest would tell apart by counting: {_last_line(text)}",
        )
    known = getattr(report, "truegreen_problem", None)
    if known is not None:
        return Refused(code=known[0], message=known[1])
    return Refused(code="collection-failed", message=f"{report.nodeid or 'the suite'}: {_last_line(text)}")


def _found(item: pytest.Item, root: Path) -> Found:
    name = case_id(item.path, root, item.nodeid)
    if is_case_item(item):
        found: Found = item.found(name)  # type: ignore[attr-defined] # checked by is_case_item
        return found
    said = _said(item)
    return Found(
        id=name,
        nodeid=encodable(item.nodeid),
        kind="python",
        blast_radius=said.get("blast_radius", "normal"),
        owner=said.get("owner"),
        feature=said.get("feature"),
        golden=said.get("golden", False),
    )


def _said(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker(MARKER)
    return dict(marker.kwargs) if marker else {}


def _wrong_marker(item: pytest.Item) -> str | None:
    """What is wrong with an item's marker, in a sentence part."""
    for name, value in _said(item).items():
        if name not in MARKER_VALUES:
            return f"{name} is none of {', '.join(MARKER_VALUES)}"
        kind = MARKER_VALUES[name]
        if not isinstance(value, kind) or (isinstance(value, str) and value != encodable(value)):
            return f"{name} is {value!r}, asked is a {kind.__name__}"
        if name == "blast_radius" and value not in BLAST_RADII:
            return f"blast_radius is {value!r}, not one of {', '.join(BLAST_RADII)}"
    return None


def _about_ids(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """Ids that pytest made of a parameter's place: another order gives them to other cases."""
    placed = [item.nodeid for item in items if _is_made_of_places(item)]
    if not placed:
        return ()
    told = f"{len(placed)} ids are made of a parameter's place in its list, the first is {placed[0]}"
    return (f"{told}: give such parameters ids of their own, or a new one in front moves every history",)


def _is_made_of_places(item: pytest.Item) -> bool:
    spec = getattr(item, "callspec", None)
    values = getattr(spec, "params", None) or {}
    parts = str(getattr(spec, "id", "")).split("-")
    return any(
        part.removeprefix(name).isdigit() and part.startswith(name)
        for name, value in values.items()
        if not isinstance(value, str)
        for part in parts
    )


def _about_cases(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """What should be said of case files."""
    cases = [item.case for item in items if is_case_item(item)]  # type: ignore[attr-defined] # checked
    if not cases:
        return ()
    from truegreen.sampling.cases import warnings  # noqa: PLC0415 - where there are case files

    return tuple(f"{one.file}:{one.line}: {one.message} ({one.code})" for one in warnings(cases))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("E").strip() if lines else "no reason was given"
