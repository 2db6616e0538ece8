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

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

from functools import lru_cache

import msgspec

from truegreen.core.canonical import read_json
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.policy import REMOVED_FILE
from truegreen.core.quoted import quoted
from truegreen.core.schema import validate
from truegreen.core.toml import read_toml

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


class RemovedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of removals."""

    schema: str
    """``truegreen/removed/v1``."""
    removed: tuple[Removed, ...] = ()
    """The entries in file order."""


@lru_cache(maxsize=4)  # base and head hold the same one more often than not
def read_baseline(data: bytes) -> Baseline:
    """The baseline in ``data``.

    Raises: EvidenceProblem ``bad-baseline`` for another schema, unknown keys, wrong types, no whole digest or an
    empty reason, besides what the strict reader of JSON raises.
    """
    value = read_json(data)
    try:
        validate("baseline.v1", value)
    except EvidenceProblem as err:
        raise EvidenceProblem("bad-baseline", err.message, hint=_HINT) from err
    baseline = msgspec.convert(value, Baseline, strict=True)
    for name, lane in baseline.lanes.items():
        if tuple(sorted(lane.case_ids)) != lane.case_ids:
            raise EvidenceProblem(
                "bad-baseline", f"the case ids of lane {quoted(name)} are not sorted", hint=_HINT
            )
    return baseline


def read_removed(data: bytes) -> tuple[Removed, ...]:
    """The removals in ``data``.

    Raises: EvidenceProblem ``bad-removed`` for a file that is no TOML, has another schema, unknown keys,
    wrong types, empty texts or an id twice in a lane.
    """
    try:
        file = read_toml(data, REMOVED_FILE)
        parsed = msgspec.convert(file.root, RemovedFile, strict=True)
    except UsageProblem as err:
        raise EvidenceProblem("bad-removed", err.message) from err
    except msgspec.ValidationError as err:
        raise EvidenceProblem("bad-removed", f"{REMOVED_FILE} cannot be read: {err}") from err
    if parsed.schema != REMOVED_SCHEMA:
        raise EvidenceProblem(
            "bad-removed",
            f"{file.at(('schema',))}: schema is {quoted(parsed.schema)}, asked {quoted(REMOVED_SCHEMA)}",
        )
    first: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(parsed.removed):
        path = ("removed", index)
        for name in ("id", "lane", "reason", "owner"):
            if not getattr(entry, name).strip():
                raise EvidenceProblem(
                    "bad-removed", f"{file.at((*path, name))}: the entry has an empty {name}"
                )
        if first.setdefault((entry.lane, entry.id), index) != index:
            earlier = file.at(("removed", first[entry.lane, entry.id]))
            raise EvidenceProblem(
                "bad-removed", f"{file.at(path)}: {quoted(entry.id)} stands twice, first at {earlier}"
            )
    return parsed.removed


_HINT = "truegreen ledger baseline"
