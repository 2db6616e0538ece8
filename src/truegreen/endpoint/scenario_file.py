# SPDX-License-Identifier: Apache-2.0
"""Reads a scenario file, or says what is wrong with it and on which line.

What it decides: whether a TOML file is a scenario. What it leaves: which keys exist, to ``scenario_keys``; TOML
itself, to ``core.toml``.

- An unknown key is an error that names the nearest key.
- Rules have distinct ids; probabilities of one rule sum to no more than 1; where something is left over, there
  are failing answers; a fault has a share or a first, and only the keys of its kind.
- A rule that can never be reached, because an earlier one matches everything, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted
from truegreen.core.shapes import asked, written
from truegreen.core.toml import MAX_BYTES, TomlFile, dotted, read_toml
from truegreen.core.toml_lines import TomlPath
from truegreen.endpoint.scenario import (
    TOLERANCE,
    Allowance,
    Fault,
    Latency,
    Match,
    PrefixCache,
    ResponseCache,
    Rule,
    Scenario,
)
from truegreen.endpoint.scenario_keys import INNER, LISTS, SCHEMA, TABLES, answer_text

CODE: Final = "bad-scenario"
LONGEST_COMPARED: Final = 64
KEYS_OF_KIND: Final[Mapping[str, frozenset[str]]] = {
    "status": frozenset({"status", "retry_after", "retry_in_s", "retry_as", "should_retry"}),
    "hang": frozenset({"at"}),
    "cut": frozenset({"at"}),
    "malformed": frozenset({"how"}),
    "error-inside": frozenset({"status"}),
}
ANY_KIND: Final = frozenset({"kind", "share", "first", "per"})


def read_scenario(data: bytes, name: str) -> Scenario:
    """The scenario in ``data``; ``name`` is the file's name in problems.

    Raises: UsageProblem ``bad-toml`` or ``bad-scenario``, the first in the file, with its line.
    """
    file = read_toml(data, name)
    if file.root.get("schema") != SCHEMA:
        said = written(file.root["schema"]) if "schema" in file.root else "missing"
        raise file.problem_at(("schema",), CODE, f'schema is {said}, asked "{SCHEMA}"')
    problems = sorted(_problems(file), key=lambda found: file.lines.get(found[0], 0))
    for path, sentence in problems:
        raise file.problem_at(path, CODE, sentence)
    return _scenario(file.root)


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file.

    Raises: UsageProblem as ``read_scenario``, ReachProblem ``unreadable-scenario``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as err:
        raise ReachProblem(
            "unreadable-scenario", f"the scenario {quoted(str(path))} cannot be read: {err.strerror}"
        ) from err
    return read_scenario(data, path.name)


Found = tuple[TomlPath, str]


def _problems(file: TomlFile) -> Iterator[Found]:
    shapes = list(_table_problems(file.root, (), ""))
    yield from shapes or _meaning_problems(file.root)


def _table_problems(table: Mapping[str, Any], path: TomlPath, name: str) -> Iterator[Found]:
    keys = TABLES[name]
    for word, value in table.items():
        here: TomlPath = (*path, word)
        if word in INNER.get(name, ()):
            yield from _inner_problems(value, here, f"{name}.{word}" if name else word)
        elif word not in keys:
            yield here, _unknown(word, [*keys, *INNER.get(name, ())], here)
        else:
            refused = keys[word].shape.wrong(value)
            if refused:
                found = value
                for step in refused.steps:
                    found = found[step]
                yield (
                    (*here, *refused.steps),
                    f"{dotted((*here, *refused.steps))} is {written(found)}, {asked(refused)}",
                )
    for word, key in keys.items():
        if key.is_required and word not in table:
            yield path, f"{dotted((*path, word))} is missing, asked {key.shape.words()}"
    if not name and "rules" not in table:
        yield path, "rules is missing, asked at least one [[rules]]"


def _inner_problems(value: Any, here: TomlPath, name: str) -> Iterator[Found]:
    if name in LISTS:
        if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
            yield here, f"{dotted(here)} is {written(value)}, asked tables, at least one"
            return
        for place, one in enumerate(value):
            yield from _table_problems(one, (*here, place), name)
    elif isinstance(value, dict):
        yield from _table_problems(value, here, name)
    else:
        yield here, f"{dotted(here)} is {written(value)}, asked a table"


def _unknown(word: str, known: list[str], here: TomlPath) -> str:
    near = get_close_matches(word[:LONGEST_COMPARED], known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{dotted(here)} is no key of a scenario{hint}"


def _meaning_problems(root: dict[str, Any]) -> Iterator[Found]:
    limits = root.get("limits")
    if limits is not None and not {"per_s", "in_flight"} & limits.keys():
        yield ("limits",), "limits has neither per_s nor in_flight, asked at least one of them"
    elif limits is not None and "burst" in limits and "per_s" not in limits:
        yield ("limits", "burst"), "burst is of per_s, and there is no per_s"
    yield from _rule_problems(root["rules"])


def _rule_problems(rules: list[dict[str, Any]]) -> Iterator[Found]:
    seen: dict[str, int] = {}
    total: str | None = None
    for place, rule in enumerate(rules):
        path: TomlPath = ("rules", place)
        shown = quoted(rule["id"])
        if rule["id"] in seen:
            yield (*path, "id"), f"the id {shown} is used twice"
        seen[rule["id"]] = place
        if total is not None:
            yield path, f"rule {shown} can never answer: rule {quoted(total)} before it matches everything"
        elif not rule.get("when"):
            total = rule["id"]
        yield from _chance_problems(rule, path)
        for number, fault in enumerate(rule.get("faults", ())):
            yield from _fault_problems(fault, (*path, "faults", number))


def _chance_problems(rule: dict[str, Any], path: TomlPath) -> Iterator[Found]:
    spent = rule.get("pass", 1.0 if not {"refuse", "truncate", "fails"} & rule.keys() else None)
    if spent is None:
        yield path, "pass is missing, asked a number from 0 to 1 beside refuse, truncate or fails"
        return
    total = spent + rule.get("refuse", 0) + rule.get("truncate", 0)
    if total > 1 + TOLERANCE:
        yield (*path, "pass"), f"pass, refuse and truncate sum to {total:g}, asked no more than 1"
    elif total < 1 - TOLERANCE and "fails" not in rule:
        yield path, f"fails is missing: {1 - total:g} of the samples fail and have no answer"
    elif total >= 1 - TOLERANCE and "fails" in rule:
        yield (*path, "fails"), "fails can never be an answer: pass, refuse and truncate sum to 1"


def _fault_problems(fault: dict[str, Any], path: TomlPath) -> Iterator[Found]:
    if ("share" in fault) == ("first" in fault):
        yield path, "a fault has a share or a first, not both and not neither"
    if "per" in fault and "first" not in fault:
        yield (*path, "per"), "per is what first counts by, and there is no first"
    if "retry_after" in fault and "retry_in_s" in fault:
        yield (*path, "retry_in_s"), "a wait is told by retry_after or by retry_in_s, not by both"
    if "retry_as" in fault and "retry_in_s" not in fault:
        yield (*path, "retry_as"), "retry_as is the form of retry_in_s, and there is none"
    allowed = ANY_KIND | KEYS_OF_KIND[fault["kind"]]
    for word in fault.keys() - allowed:
        yield (*path, word), f"{word} is no key of a fault of kind {fault['kind']}"


def _scenario(root: dict[str, Any]) -> Scenario:
    return Scenario(
        seed=root["seed"],
        rules=tuple(_rule(rule) for rule in root["rules"]),
        models=tuple(root.get("models", ())),
        served=root.get("served"),
        fingerprint=root.get("fingerprint"),
        piece_chars=root.get("piece_chars", 16),
        allowance=Allowance(**root.get("limits", {})),
    )


def _rule(rule: dict[str, Any]) -> Rule:
    when = dict(rule.get("when", {}))
    pattern = when.pop("pattern", None)
    warm, stored = rule.get("prefix_cache"), rule.get("response_cache")
    return Rule(
        id=rule["id"],
        when=Match(pattern=re.compile(pattern) if pattern else None, **when),
        answer=answer_text(rule["answer"]),
        fails=tuple(answer_text(value) for value in rule.get("fails", ())),
        pass_rate=float(rule.get("pass", 1.0)),
        refuse_rate=float(rule.get("refuse", 0.0)),
        truncate_rate=float(rule.get("truncate", 0.0)),
        served=rule.get("served"),
        latency=Latency(**rule.get("latency", {})),
        faults=tuple(Fault(**fault) for fault in rule.get("faults", ())),
        prefix_cache=PrefixCache(**warm) if warm else None,
        response_cache=_response_cache(stored) if stored else None,
    )


def _response_cache(table: dict[str, Any]) -> ResponseCache:
    given = {key: value for key, value in table.items() if key != "silent"}
    return ResponseCache(**given | ({"header": ""} if table.get("silent") else {}))
