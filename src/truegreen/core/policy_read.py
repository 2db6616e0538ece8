# SPDX-License-Identifier: Apache-2.0
"""Reads ``truegreen.toml``: every key with its value and source, or what is wrong and on which line.

What it decides: whether a file is a policy, and the value of each key that it leaves out. What it leaves: which
keys exist, to ``policy_keys``; which revision's file counts, to the gate; whether ``irrelevant`` matches a file
that judges, to the gate, which has the tree.

- An unknown key is an error that names the nearest key. A key or value that is known and not built is
  ``not-in-this-version``.
- A file of another schema is judged by nothing but its schema.
- No policy is without a required lane, and no kind whose outcome is a model's judgement is required.
- A lane's ``workflow`` follows ``check.workflow``; its ``job`` is called like the lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from truegreen.core.digest import sha256_of
from truegreen.core.errors import UsageProblem
from truegreen.core.policy import CONTRACT_CHECK, POLICY_FILE, KindFacts, Policy
from truegreen.core.policy_keys import (
    ANY_LANE,
    KEYS,
    LANE_NAME_SHAPE,
    LATER_KEYS,
    REPLAY_KEYS,
    SAMPLE_KEYS,
    TABLES,
    Key,
    KeyPath,
)
from truegreen.core.quoted import quoted
from truegreen.core.rates import contract_problem
from truegreen.core.shapes import asked, written
from truegreen.core.toml import TomlFile, dotted, read_toml
from truegreen.core.toml_lines import TomlPath

MOST_PROBLEMS = 50
"""Problems that one reading collects before it stops."""
DEFAULT_SOURCE = "default"
"""Source of a value that the file leaves out."""
LANE_CONSTANTS: Mapping[str, int] = {"retries": 2}
"""Values of a lane that no key of this version can change."""
_LONGEST_COMPARED = 64
"""Longest key that is compared with the known ones, in characters."""

Kinds = Mapping[str, KindFacts]


def read_policy(data: bytes, *, kinds: Kinds, name: str = POLICY_FILE) -> Policy:
    """The policy in ``data``, every key filled; ``kinds`` are the record kinds of the design by name.

    Raises: UsageProblem, the first in the file, with code ``bad-toml``, ``missing-key``, ``unknown-key``,
    ``policy-type``, ``policy-value``, ``no-required-lane``, ``model-backed-required`` or ``not-in-this-version``.
    """
    file = read_toml(data, name)
    for problem in _in_order(file, kinds):
        raise problem
    return _Filled(file).policy(data)


def policy_problems(data: bytes, *, kinds: Kinds, name: str = POLICY_FILE) -> tuple[UsageProblem, ...]:
    """Everything that is wrong with a policy, in the order of its lines; empty for one that can be read."""
    try:
        file = read_toml(data, name)
    except UsageProblem as problem:
        return (problem,)
    return _in_order(file, kinds)


class _Found(msgspec.Struct, frozen=True):
    path: TomlPath
    problem: UsageProblem


def _in_order(file: TomlFile, kinds: Kinds) -> tuple[UsageProblem, ...]:
    found = [*islice(_problems(file, kinds), MOST_PROBLEMS)]
    found.sort(key=lambda one: file.lines.get(one.path, 0))
    return tuple(one.problem for one in found)


def _problems(file: TomlFile, kinds: Kinds) -> Iterator[_Found]:
    schema = [*_key_problems(file, ("schema",), KEYS["schema",])]
    if schema:
        yield from schema
        return
    yield from _table_problems(file, (), ())
    lanes = file.root.get("lanes", {})
    if not isinstance(lanes, dict):
        return
    for name, lane in lanes.items():
        if isinstance(lane, dict):
            yield from _kind_problems(file, name, lane, kinds)
            yield from _idle_problems(file, name, lane)
    yield from _role_problems(file, lanes)
    yield from _limiter_problems(file)


def _table_problems(file: TomlFile, path: TomlPath, pattern: KeyPath) -> Iterator[_Found]:
    table = _value_at(file.root, path)
    for name in table:
        here: TomlPath = (*path, name)
        known: KeyPath = (*pattern, ANY_LANE if pattern == ("lanes",) else name)
        if known in TABLES:
            yield from _inner_table(file, here, known)
        elif known in LATER_KEYS:
            yield _later(file, here, dotted(here), LATER_KEYS[known])
        elif known not in KEYS:
            yield _unknown(file, here, pattern)
    for key in KEYS.values():
        if key.path[:-1] == pattern and key.path != ("schema",):
            yield from _key_problems(file, (*path, key.path[-1]), key)


def _inner_table(file: TomlFile, here: TomlPath, known: KeyPath) -> Iterator[_Found]:
    if known == ("lanes", ANY_LANE):
        refused = LANE_NAME_SHAPE.wrong(here[-1])
        if refused:
            sentence = f"the lane is called {quoted(str(here[-1]))}, {asked(refused)}"
            yield _Found(here, file.problem_at(here, "policy-value", sentence))
    value = _value_at(file.root, here)
    if isinstance(value, dict):
        yield from _table_problems(file, here, known)
    else:
        sentence = f"{dotted(here)} is {written(value)}, asked a table"
        yield _Found(here, file.problem_at(here, "policy-type", sentence))


def _key_problems(file: TomlFile, path: TomlPath, key: Key) -> Iterator[_Found]:
    table = _value_at(file.root, path[:-1])
    if path[-1] not in table:
        if key.is_required:
            whole = dotted(path[:-1]) or "the file"
            sentence = f"{whole} has no {path[-1]}, asked {key.shape.words()}"
            yield _Found(path[:-1], file.problem_at(path[:-1], "missing-key", sentence))
        return
    value = table[path[-1]]
    refused = key.shape.wrong(value)
    if refused is None:
        return
    at = (*path, *refused.steps)
    shown = _value_at(file.root, at)
    if isinstance(shown, str) and shown in key.later:
        yield _later(file, at, f"{dotted(at)} = {written(shown)}", key.later[shown])
        return
    sentence = f"{dotted(at)} is {written(shown)}, {asked(refused)}"
    yield _Found(at, file.problem_at(at, "policy-type" if refused.is_type else "policy-value", sentence))


def _kind_problems(file: TomlFile, name: str, lane: dict[str, Any], kinds: Kinds) -> Iterator[_Found]:
    path: TomlPath = ("lanes", name, "kind")
    kind = lane.get("kind", KEYS["lanes", ANY_LANE, "kind"].default)
    if KEYS["lanes", ANY_LANE, "kind"].shape.wrong(kind):
        return
    facts = kinds.get(kind)
    if facts is None:
        built = ", ".join(sorted(name for name, known in kinds.items() if known.built))
        sentence = f"{dotted(path)} is {written(kind)}, one of {built}"
        yield _Found(path, file.problem_at(path, "policy-value", sentence))
        return
    if facts.model_backed and lane.get("role", KEYS["lanes", ANY_LANE, "role"].default) == "required":
        sentence = f"{dotted(path[:2])} is required and its kind {kind} is a model's judgement, asked consulted or advisory"
        yield _Found(path, file.problem_at(path, "model-backed-required", sentence))
    if not facts.built:
        yield _later(file, path, f"{dotted(path)} = {written(kind)}", "records of a later kind")


def _idle_problems(file: TomlFile, name: str, lane: dict[str, Any]) -> Iterator[_Found]:
    """A key that the lane's kind has no use for would be read and do nothing."""
    is_replayed = lane.get("kind", KEYS["lanes", ANY_LANE, "kind"].default) == CONTRACT_CHECK
    replays = is_replayed or "no_secrets" in lane
    idle = SAMPLE_KEYS if is_replayed else () if replays else REPLAY_KEYS
    for key in (key for key in idle if key in lane):
        path: TomlPath = ("lanes", name, key)
        asked_for = "a lane that is sampled" if is_replayed else 'a lane that replays (no_secrets = "replay")'
        sentence = (
            f"{dotted(path)} does nothing for the kind {lane.get('kind', 'sample-ledger')}, asked {asked_for}"
        )
        yield _Found(path, file.problem_at(path, "policy-value", sentence))


def _role_problems(file: TomlFile, lanes: dict[str, Any]) -> Iterator[_Found]:
    """A lane whose role cannot be read is not counted against the policy a second time."""
    roles = [
        lane.get("role", "required") if isinstance(lane, dict) else "required" for lane in lanes.values()
    ]
    if all(role in ("consulted", "advisory") for role in roles):
        sentence = f"of {len(roles)} lanes none is required, asked at least one"
        yield _Found(("lanes",), file.problem_at(("lanes",), "no-required-lane", sentence))


def _limiter_problems(file: TomlFile) -> Iterator[_Found]:
    """Limits that limit nothing, and a bucket that lets more through than the endpoint allows."""
    path: TomlPath = ("limiter",)
    table = file.root.get("limiter")
    if not isinstance(table, dict):
        return
    if not any(name in table for name in ("capacity", "rate", "tokens_per_minute")):
        sentence = "limiter limits nothing, asked capacity, rate or tokens_per_minute"
        yield _Found(path, file.problem_at(path, "missing-key", sentence))
    for name, needs in (("burst", "rate"), ("contract", "rate"), ("token_burst", "tokens_per_minute")):
        if name in table and needs not in table:
            sentence = f"limiter.{name} does nothing without limiter.{needs}"
            yield _Found((*path, name), file.problem_at((*path, name), "policy-value", sentence))
    said: dict[str, Any] = {"burst": 1, **table}
    names = ("rate", "burst", "contract")
    if all(name in said and not KEYS["limiter", name].shape.wrong(said[name]) for name in names):
        broken = contract_problem(said["rate"], said["burst"], said["contract"])
        if broken:
            at = (*path, "contract")
            yield _Found(at, file.problem_at(at, "bucket-breaks-contract", broken))


def _later(file: TomlFile, path: TomlPath, what: str, purpose: str) -> _Found:
    sentence = f"{what} ({purpose}) is not in this version of truegreen"
    return _Found(path, file.problem_at(path, "not-in-this-version", sentence))


def _unknown(file: TomlFile, path: TomlPath, pattern: KeyPath) -> _Found:
    nearest = _nearest(str(path[-1])[:_LONGEST_COMPARED], path[:-1], pattern)
    ending = f", the nearest is {nearest}" if nearest else ""
    return _Found(path, file.problem_at(path, "unknown-key", f"{dotted(path)} is no key of a policy{ending}"))


def _nearest(name: str, table: TomlPath, pattern: KeyPath) -> str:
    """The key that was probably meant: one of the same table, or the same name in another."""
    from difflib import get_close_matches  # noqa: PLC0415 - nobody else in a gate compares texts

    near = [known[-1] for known in (*KEYS, *TABLES) if known[:-1] == pattern]
    for match in get_close_matches(name, near, n=1):
        return dotted((*table, match))
    elsewhere = (known for known in KEYS if known[-1] == name)
    return next((".".join("NAME" if step == ANY_LANE else step for step in known) for known in elsewhere), "")


def _value_at(root: Any, path: TomlPath) -> Any:
    for step in path:
        root = root[step]
    return root


class _Filled:
    """A file without problems, every key with its value and its source."""

    def __init__(self, file: TomlFile) -> None:
        self.file = file
        self.sources: dict[str, str] = {}

    def policy(self, data: bytes) -> Policy:
        check = self.table(("check",), ("check",))
        limiter = self.table(("limiter",), ("limiter",)) if "limiter" in self.file.root else None
        lanes = [self.lane(name, check) for name in self.file.root["lanes"]]
        trust = self.table(("cassettes",), ("cassettes",))
        whole = {
            **self.table((), ()),
            "check": check,
            "cassettes": trust,
            "limiter": limiter,
            "lanes": lanes,
            "sources": self.sources,
        }
        del whole["schema"]
        return msgspec.convert({**whole, "digest": sha256_of(data), "text": self.file.text}, Policy)

    def lane(self, name: str, check: dict[str, Any]) -> dict[str, Any]:
        path: TomlPath = ("lanes", name)
        lane = {"name": name, **LANE_CONSTANTS, **self.table(path, ("lanes", ANY_LANE))}
        if lane["job"] is None:
            lane["job"] = name
        if lane["workflow"] is None:
            lane["workflow"] = check["workflow"]
            self.sources[dotted((*path, "workflow"))] = self.sources["check.workflow"]
        return lane

    def table(self, path: TomlPath, pattern: KeyPath) -> dict[str, Any]:
        given: Any = self.file.root
        for step in path:
            given = given.get(step, {})
        keys = {key.path[-1]: key for key in KEYS.values() if key.path[:-1] == pattern}
        for name in keys:
            here = (*path, name)
            self.sources[dotted(here)] = self.file.at(here) if name in given else DEFAULT_SOURCE
        return {name: given.get(name, key.default) for name, key in keys.items()}
