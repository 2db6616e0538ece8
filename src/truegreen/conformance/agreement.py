# SPDX-License-Identifier: Apache-2.0
"""Whether an answer agrees with the right one.

- The verdict is equal, and so is every expected fact that the answer names. A fact that was not computed is
  listed, so that nobody takes silence for agreement.
- Codes and states are words that people spell differently: there ``duplicate_key`` and ``duplicate-key`` are one.
  Everything else is equal exactly; a boolean is no number.
- A result for each of several inputs may be expected as the list of results in the order of the inputs, or as a mapping
  that leaves out inputs without one.
- ``unsupported`` agrees with nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from truegreen.conformance.shapes import UNSUPPORTED, Answer
from truegreen.core.quoted import quoted

CODED = frozenset({"reason", "sample", "state"})
"""Expected facts whose values are codes."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer compares."""

    agrees: bool
    """Verdict and every computed fact are right."""
    is_verdict_right: bool
    """The verdict alone is right."""
    differing: tuple[str, ...]
    """What differs, in words."""
    not_computed: tuple[str, ...]
    """Expected facts that the answer does not name."""


def compare(found: Answer, *, verdict: str, expect: Mapping[str, Any]) -> Agreement:
    """The answer beside the right verdict and the expected facts."""
    if found.verdict == UNSUPPORTED:
        return Agreement(agrees=False, is_verdict_right=False, differing=(), not_computed=tuple(expect))
    is_right = found.verdict == verdict
    differing = [] if is_right else [f"verdict {found.verdict}, right is {verdict}"]
    differing += [
        f"{name} {_shown(found.facts[name])}, right is {_shown(right)}"
        for name, right in expect.items()
        if name in found.facts and not _same(name, found.facts[name], right)
    ]
    return Agreement(
        agrees=not differing,
        is_verdict_right=is_right,
        differing=tuple(differing),
        not_computed=tuple(name for name in expect if name not in found.facts),
    )


def _same(name: str, found: Any, right: Any) -> bool:
    if name in CODED and isinstance(found, str) and isinstance(right, str):
        return _code(found) == _code(right)
    return _equal(found, right)


def _equal(found: Any, right: Any) -> bool:
    if isinstance(found, bool) or isinstance(right, bool):
        return found is right
    if isinstance(found, int | float) and isinstance(right, int | float):
        return math.isclose(found, right, rel_tol=0, abs_tol=1e-9)
    if isinstance(found, Mapping) and isinstance(right, Mapping):
        left_out = [key for key in found.keys() - right.keys() if found[key] is not None]
        return not left_out and all(key in found and _equal(found[key], right[key]) for key in right)
    if isinstance(found, Mapping) and _is_list(right):
        return _equal(list(found.values()), right)
    if _is_list(found) and _is_list(right):
        return len(found) == len(right) and all(map(_equal, found, right))
    return bool(found == right)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _code(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else quoted(repr(value))[1:-1]
