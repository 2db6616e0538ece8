# SPDX-License-Identifier: Apache-2.0
"""Committed announcements about a lane's ruler: ``truegreen.baseline.json`` and ``truegreen.removed.toml``.

What it decides: shapes and strict reading. What it leaves: comparison with what the gate recomputes, to the
gate; writing, to ``ledger baseline``.

- The baseline holds no rates: it says which ruler is agreed on, not how well anybody did.
- ``previous`` is the ruler digest that the change starts from, so that the file's own diff says from, to and
  reason.
- ``inputs`` and ``prompts`` are the files that cases name: inputs judge, prompts are judged.
- A removed id stays announced for ever or until the id comes back; a rename says where it went.
"""

from __future__ import annotations

import tomllib

import msgspec

from truegreen.core.canonical import read_json
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem

SCHEMA = "truegreen/baseline/v1"
REMOVED_SCHEMA = "truegreen/removed/v1"


class LaneBaseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was agreed on for one lane."""

    ruler: Sha256
    """Ruler digest."""
    components: dict[str, str]
    """Its components, so that a change says what moved."""
    case_ids: tuple[str, ...]
    """Every case id, sorted."""
    inputs: tuple[str, ...]
    """Files that cases name by ``input`` or ``json_schema``, sorted."""
    prompts: tuple[str, ...]
    """Files that cases name by ``prompt``, sorted."""
    endpoint: str | None
    """Host that was sampled, or null if nothing was sampled yet."""
    models_served: tuple[str, ...]
    """Models that answered, sorted."""
    previous: Sha256 | None
    """Ruler digest of the baseline before this one; null for the first."""
    reason: str
    """Why it changed, in a sentence."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    schema: str
    """``truegreen/baseline/v1``."""
    lanes: dict[str, LaneBaseline]
    """By lane name."""


class Removed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case id that is gone on purpose."""

    id: str
    """The id that base had."""
    lane: str
    """Its lane."""
    reason: str
    """Why, in a sentence."""
    owner: str
    """Who decided."""
    renamed_to: str | None = None
    """The id that took its place."""


class _RemovedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: str
    removed: tuple[Removed, ...] = ()


def read_baseline(data: bytes) -> Baseline:
    """The baseline in ``data``.

    Raises: EvidenceProblem ``bad-baseline`` for another schema, unknown keys, wrong types or an empty reason.
    """
    try:
        baseline = msgspec.convert(read_json(data), Baseline, strict=True)
    except msgspec.ValidationError as err:
        raise EvidenceProblem("bad-baseline", f"the baseline cannot be read: {err}", hint=_HINT) from err
    if baseline.schema != SCHEMA:
        raise EvidenceProblem(
            "bad-baseline", f"the baseline says {baseline.schema[:60]!r}, asked {SCHEMA!r}", hint=_HINT
        )
    for name, lane in baseline.lanes.items():
        if not lane.reason.strip():
            raise EvidenceProblem(
                "bad-baseline", f"the baseline of lane {name[:64]!r} gives no reason", hint=_HINT
            )
        if tuple(sorted(set(lane.case_ids))) != lane.case_ids:
            raise EvidenceProblem(
                "bad-baseline", f"the case ids of lane {name[:64]!r} are not sorted and distinct", hint=_HINT
            )
    return baseline


def read_removed(data: bytes) -> tuple[Removed, ...]:
    """The removals in ``data``.

    Raises: EvidenceProblem ``bad-removed`` for a file that is no TOML, has another schema, unknown keys,
    wrong types, empty texts or an id twice in a lane.
    """
    try:
        parsed = msgspec.convert(tomllib.loads(data.decode("utf-8")), _RemovedFile, strict=True)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as err:
        raise EvidenceProblem("bad-removed", f"truegreen.removed.toml cannot be read: {err}") from err
    if parsed.schema != REMOVED_SCHEMA:
        raise EvidenceProblem(
            "bad-removed", f"truegreen.removed.toml says {parsed.schema[:60]!r}, asked {REMOVED_SCHEMA!r}"
        )
    seen: set[tuple[str, str]] = set()
    for entry in parsed.removed:
        if not (entry.reason.strip() and entry.owner.strip()):
            raise EvidenceProblem("bad-removed", f"the entry for {entry.id[:120]!r} lacks reason or owner")
        if (entry.lane, entry.id) in seen:
            raise EvidenceProblem("bad-removed", f"the entry for {entry.id[:120]!r} stands twice")
        seen.add((entry.lane, entry.id))
    return parsed.removed


_HINT = "truegreen ledger baseline"
