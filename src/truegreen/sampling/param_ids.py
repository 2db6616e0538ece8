# SPDX-License-Identifier: Apache-2.0
"""Ids that pytest makes of parameters, and which of them can name a case for good.

What it decides: the id of each parameter set, and whether it depends on its neighbours. What it leaves:
collecting, to pytest.

- An id to which pytest had to add a counter (``None0``, ``None1``) depends on the order of the list: one more
  equal value in front gives an old id to another case.
- An id that pytest makes of the place (``value0``) depends on the order all the more.
- Neither can carry history: give such parameters ids of their own.

Source: pytest 9, ``_pytest.python.IdMaker``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

LONGEST_TEXT = 100
"""Longest text, in characters or bytes, that pytest shows as its own id."""

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127)} | {9: "\\t", 10: "\\n", 13: "\\r"}


class ParamIds(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of a list of parameters."""

    ids: tuple[str, ...]
    """One id for each value, as pytest shows it between brackets."""
    unstable: frozenset[str]
    """Those that depend on their neighbours."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """What became of ids between two lists of parameters."""

    base: ParamIds
    """Ids before."""
    head: ParamIds
    """Ids after."""
    changed_meaning: tuple[str, ...]
    """Ids that both have and that stand for different values."""
    gone: tuple[str, ...]
    """Ids that only the first has."""

    @property
    def is_stable(self) -> bool:
        """Whether history may be joined by these ids."""
        return not (self.base.unstable or self.head.unstable or self.changed_meaning)


def ids_of(values: Sequence[Any], *, argument: str = "value") -> ParamIds:
    """The ids of single values for one argument of that name."""
    plain = [_plain(value) for value in values]
    named = [f"{argument}{place}" if one is None else one for place, one in enumerate(plain)]
    ids = _told_apart(named)
    unstable = {
        found for found, name, own in zip(ids, named, plain, strict=True) if own is None or found != name
    }
    return ParamIds(ids=tuple(ids), unstable=frozenset(unstable))


def moved(base: Sequence[Any], head: Sequence[Any], *, argument: str = "value") -> Moved:
    """Ids of two versions of one list, and which of them no longer mean what they meant."""
    before, after = ids_of(base, argument=argument), ids_of(head, argument=argument)
    meant = dict(zip(before.ids, base, strict=True))
    means = dict(zip(after.ids, head, strict=True))
    return Moved(
        base=before,
        head=after,
        changed_meaning=tuple(one for one in meant if one in means and not _same(meant[one], means[one])),
        gone=tuple(one for one in meant if one not in means),
    )


def _plain(value: Any) -> str | None:
    """The id that a value has by itself; None if pytest names it by its place."""
    match value:
        case str() if len(value) <= LONGEST_TEXT:
            return value.encode("unicode_escape").decode("ascii")
        case bytes() if len(value) <= LONGEST_TEXT:
            return value.decode("ascii", "backslashreplace").translate(_CONTROLS)
        case None | bool() | int() | float() | complex():
            return str(value)
    return None


def _told_apart(names: list[str]) -> list[str]:
    """The names with a counter behind each that comes more than once."""
    counts = Counter(names)
    next_number: defaultdict[str, int] = defaultdict(int)
    ids = list(names)
    for place, name in enumerate(names):
        if counts[name] > 1:
            separator = "_" if name[-1:].isdigit() else ""
            while (numbered := f"{name}{separator}{next_number[name]}") in ids:
                next_number[name] += 1
            ids[place] = numbered
            next_number[name] += 1
    return ids


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
