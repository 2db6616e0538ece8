# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schemas of every record and committed file from the types that read them.

Shapes, required fields and descriptions come from the types; what a type cannot say (digests, ids, times, closed
sets of words, ranges) is added here by hand. ``./dev golden`` runs it, and a test asks for an empty difference.

usage: schemas.py [FOLDER]
"""

import ast
import inspect
import itertools
import json
import re
import sys
import textwrap
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from truegreen.cassettes import cassette, contract_check
from truegreen.core import baseline, decision, index, policy, record, replay_session, subject
from truegreen.core.digest import Sha256
from truegreen.core.policy_keys import ANY_LANE, KEYS, LANE_NAME_SHAPE, Key
from truegreen.core.schema import HOMES
from truegreen.gate.kinds import KINDS
from truegreen.quarantine import entries
from truegreen.sampling import ledger
from truegreen.sampling.recount import NOT_SAMPLED
from truegreen.sampling.states import State

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def whole(pattern: str) -> Schema:
    """A text that matches from beginning to end."""
    return {"pattern": f"^(?:{pattern})$"}


OBJECT_ID = whole("[0-9a-f]{40}|[0-9a-f]{64}")
INSTANT = whole("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z") | {"format": "instant"}
DIGEST = whole("sha256:[0-9a-f]{64}")
ANY_DIGEST = whole("sha256:[0-9a-f]{64}|h1:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")
H1 = whole("h1:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")
KEBAB = whole("[a-z0-9]+(?:-[a-z0-9]+)*")
NOT_BLANK = {  # what Python calls white space: engines of JSON Schema differ about \\s
    "pattern": r"[^\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
}
LANE = whole(record.LANE_NAME.pattern)
COUNTED = {"minimum": 1}
DISTINCT = {"uniqueItems": True}

BY_TYPE: Mapping[Any, Schema] = {
    Sha256: DIGEST,
    subject.CommitId: OBJECT_ID,
    subject.TreeId: OBJECT_ID,
}
"""What a named type adds wherever it stands."""

BY_FIELD: Mapping[tuple[type, str], Schema] = {
    (record.Envelope, "schema"): whole("truegreen/[a-z][a-z0-9-]{0,40}/v[1-9][0-9]{0,3}"),
    (record.Envelope, "lane"): LANE,
    (record.Envelope, "part"): LANE,
    (record.Envelope, "issued_at"): INSTANT,
    (subject.Subject, "event"): {"enum": list(subject.EVENTS)},
    (subject.Subject, "run_attempt"): COUNTED,
    (baseline.Baseline, "schema"): {"const": baseline.SCHEMA},
    (baseline.LaneBaseline, "components"): {"additionalProperties": {"type": "string"} | ANY_DIGEST},
    (baseline.LaneBaseline, "reason"): NOT_BLANK,
    (baseline.LaneBaseline, "case_ids"): DISTINCT,
    (baseline.RemovedFile, "schema"): {"const": baseline.REMOVED_SCHEMA},
    **{(baseline.Removed, field): NOT_BLANK for field in ("id", "lane", "reason", "owner")},
    (baseline.Removed, "renamed_to"): {"type": "string"},  # TOML has no null
    (index.RunIndex, "schema"): {"const": index.SCHEMA},
    (index.RunIndex, "fetched_at"): INSTANT,
    (index.RunIndex, "head_sha"): OBJECT_ID,
    (index.RunIndex, "earlier_heads"): {"items": {"type": "string"} | OBJECT_ID},
    (index.Run, "head_sha"): OBJECT_ID,
    (index.Attempt, "attempt"): COUNTED,
    (index.Attempt, "started_at"): INSTANT,
    (index.Job, "started_at"): INSTANT,
    (index.Run, "attempts"): {"minItems": 1},
    (decision.Decision, "schema"): {"const": decision.SCHEMA},
    (decision.Decision, "line"): {"maxLength": 140},
    (decision.Decision, "now"): INSTANT,
    (decision.Cause, "facts"): {"additionalProperties": {"type": ["integer", "string"]}},
    (decision.LaneRow, "role"): {"enum": list(policy.ROLES)},
    (replay_session.ReplaySession, "schema"): {"const": replay_session.SCHEMA},
    (replay_session.ReplaySession, "guard"): {"enum": list(replay_session.GUARDS)},
    (replay_session.ReplaySession, "started_at"): INSTANT,
    (replay_session.ReplaySession, "ended_at"): INSTANT,
    (replay_session.ReplaySession, "command_exit"): {"minimum": -255},
    (replay_session.ReplaySession, "incomplete_because"): {"maxLength": 500},
    **{(replay_session.ReplaySession, field): H1 for field in ("before", "after")},
    (replay_session.Played, "count"): COUNTED,
    (replay_session.Missed, "count"): COUNTED,
    (replay_session.Missed, "code"): KEBAB,
    (contract_check.Finding, "code"): KEBAB,
    (contract_check.Finding, "weight"): {"enum": list(contract_check.WEIGHTS)},
    (contract_check.Finding, "problem"): {"maxLength": 500},
    (contract_check.Made, "components"): {"additionalProperties": {"type": "string"} | ANY_DIGEST},
    (ledger.Sample, "n"): COUNTED,
    (ledger.Sample, "bucket"): {"enum": list(ledger.BUCKETS)},
    (ledger.Sample, "detail"): {"maxLength": 500},
    (ledger.Case, "id"): {"minLength": 1},
    (ledger.Case, "blast_radius"): {"enum": ["low", "normal", "high"]},
    (ledger.Case, "state"): {"enum": [*sorted(state.value for state in State), NOT_SAMPLED]},
    (ledger.CaseSamples, "id"): {"minLength": 1},
    (ledger.Link, "run_attempt"): COUNTED,
    (ledger.Link, "head_sha"): OBJECT_ID,
    (ledger.Link, "standing"): {"enum": list(ledger.STANDINGS)},
    (ledger.Components, "components"): {"additionalProperties": {"type": "string"} | ANY_DIGEST},
    (ledger.RuleUsed, "name"): {"enum": list(policy.RULES)},
    (ledger.RuleUsed, "j"): COUNTED,
    (cassette.Cassette, "schema"): {"const": cassette.SCHEMA},
    (cassette.Cassette, "responses"): {"minItems": 1},
    (cassette.StoredAnswer, "recorded_at"): INSTANT,
    (cassette.StoredAnswer, "status"): {"minimum": 200, "maximum": 599},
    (ledger.LedgerBody, "started_at"): INSTANT,
    (ledger.LedgerBody, "ended"): {"enum": list(ledger.ENDED)},
    (ledger.LedgerBody, "planned"): DISTINCT,
}
"""What one field adds. A whole number that is not named here is a count: 0 or more."""

TYPES: Mapping[str, type] = {
    "baseline.v1": baseline.Baseline,
    "cassette.v1": cassette.Cassette,
    "contract-check.v1": contract_check.ContractCheckBody,
    "decision.v1": decision.Decision,
    "record.v1": record.Envelope,
    "removed.v1": baseline.RemovedFile,
    "replay-session.v1": replay_session.ReplaySession,
    "run-index.v1": index.RunIndex,
    "sample-ledger.v1": ledger.LedgerBody,
}
"""Schemas that are made from a type."""


def from_type(name: str) -> Schema:
    """The schema of one of ``TYPES``."""
    root = TYPES[name]
    _, parts = msgspec.json.schema_components([root], ref_template="#/$defs/{name}")
    classes = {found.__name__: found for found in _classes(root)}
    parts = {title: _enriched(part, classes[title]) for title, part in parts.items()}
    body = parts.pop(root.__name__)
    return _headed(name, body) | ({"$defs": parts} if parts else {})


def _headed(name: str, body: Schema) -> Schema:
    return {"$schema": DRAFT, "$id": f"urn:truegreen:{name}", **body, "title": f"truegreen {name}"}


def _classes(root: type) -> list[type]:
    """The type and every structure and enumeration inside it."""
    found, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        if typing.get_args(one):
            waiting += typing.get_args(one)
        elif isinstance(one, type) and one not in found and one.__module__.startswith("truegreen."):
            found.append(one)
            waiting += typing.get_type_hints(one).values() if hasattr(one, "__struct_fields__") else []
    return found


def _enriched(part: Schema, owner: type) -> Schema:
    if "properties" not in part:
        return part
    hints, texts = typing.get_type_hints(owner), _descriptions(owner)
    properties = {
        field: _described(_narrowed(shape, hints[field], BY_FIELD.get((owner, field))), texts[field])
        for field, shape in part["properties"].items()
    }
    return part | {"properties": properties, "additionalProperties": False}


def _narrowed(shape: Schema, hint: Any, more: Schema | None) -> Schema:
    shape = _one_type(shape)
    for named in _parts(hint):
        added = BY_TYPE.get(named)
        if added:
            target = shape["items"] if shape.get("type") == "array" else shape
            target |= added
    if "integer" in _types(shape) and not more:
        shape |= {"minimum": 0}
    if more and "type" in more:
        shape.pop("default", None)
    return shape | (more or {})


def _one_type(shape: Schema) -> Schema:
    """``anyOf`` of plain types written as one list of types: a refusal then names both."""
    options = shape.get("anyOf", [])
    if not options or any(set(option) != {"type"} for option in options):
        return dict(shape)
    rest = {key: value for key, value in shape.items() if key != "anyOf"}
    return {"type": [option["type"] for option in options], **rest}


def _types(shape: Schema) -> list[str]:
    found = shape.get("type", [])
    return [found] if isinstance(found, str) else found


def _parts(hint: Any) -> list[Any]:
    return [hint, *(inner for one in typing.get_args(hint) for inner in _parts(one))]


def _described(shape: Schema, text: str) -> Schema:
    plain = re.sub(r"ne of ``[A-Z_]+``", "ne of the words listed here", text)
    return shape | {"description": plain.replace("``", "")}


def _descriptions(owner: type) -> dict[str, str]:
    """Field to the text below it in the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def policy_schema() -> Schema:
    """The schema of ``truegreen.toml``, from the table of its keys."""
    lane = _table("One lane.", ("lanes", ANY_LANE))
    lane["properties"]["kind"] |= {"enum": sorted(KINDS)}
    never_required = {
        "type": "object",
        "properties": {"role": {"enum": ["consulted", "advisory"]}},
        "required": ["role"],
    }
    lanes = {
        "type": "object",
        "description": "The lanes by name; at least one of them is required.",
        "propertyNames": LANE_NAME_SHAPE.schema(),
        "additionalProperties": lane,
        "minProperties": 1,
        "not": {"additionalProperties": never_required},
    }
    top = _table("The policy: truegreen.toml as JSON.", ())
    limiter = _table(
        "Limits that all callers of an endpoint share; at least one of them is there.", ("limiter",)
    )
    limiter["anyOf"] = [{"required": [name]} for name in ("capacity", "rate", "tokens_per_minute")]
    limiter["dependentRequired"] = {
        "burst": ["rate"],
        "contract": ["rate"],
        "token_burst": ["tokens_per_minute"],
    }
    top["properties"] |= {
        "check": _table("The check that the forge shows.", ("check",)),
        "cassettes": _table("Whose recordings count.", ("cassettes",)),
        "limiter": limiter,
        "lanes": lanes,
    }
    top["required"] += ["lanes"]
    return _headed("policy.v1", top)


def _table(description: str, pattern: tuple[str, ...]) -> Schema:
    keys = [key for key in KEYS.values() if key.path[:-1] == pattern]
    return {
        "type": "object",
        "description": description,
        "properties": {key.path[-1]: _property(key) for key in keys},
        "required": [key.path[-1] for key in keys if key.is_required],
        "additionalProperties": False,
    }


def _property(key: Key) -> Schema:
    default = {} if key.default is None else {"default": key.default}
    return key.shape.schema() | default | {"description": key.meaning.replace("`", "")}


def quarantine_schema() -> Schema:
    """The schema of ``truegreen.quarantine.toml``, from the table of an entry's keys."""
    entry = {
        "type": "object",
        "properties": {
            name: key.shape.schema() | {"description": key.meaning}
            for name, key in entries.ENTRY_KEYS.items()
        },
        "required": [name for name, key in entries.ENTRY_KEYS.items() if key.is_required],
        "additionalProperties": False,
    }
    top = {
        "type": "object",
        "description": "The quarantine: truegreen.quarantine.toml as JSON, dates as texts.",
        "properties": {
            "schema": entries.FILE_SCHEMA_SHAPE.schema(),
            "entry": {"type": "array", "items": entry},
        },
        "required": ["schema"],
        "additionalProperties": False,
    }
    return _headed("quarantine.v1", top)


def every() -> dict[str, Schema]:
    """Each schema by name."""
    made = {name: from_type(name) for name in TYPES}
    return made | {"policy.v1": policy_schema(), "quarantine.v1": quarantine_schema()}


def main() -> None:
    """Write each schema into the room that it belongs to."""
    source = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src")
    for name, content in every().items():
        folder = source.joinpath(*HOMES[name].split("."), "schemas")
        folder.mkdir(exist_ok=True)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (folder / f"{name}.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
