# SPDX-License-Identifier: Apache-2.0
"""Contracts: what the answer of each prompt template must look like, who owns the prompt, which model answers.

What it decides: strict reading of ``contracts.toml`` and of the JSON Schemas that it names. What it leaves: whether
an answer keeps its contract, to ``kept``; whether a contract is too loose, to ``loose``.

- The file lies in the folder of the recordings, and so do the schemas: what judges is committed beside what is
  judged, and needs the same voucher.
- A template is one id at one version. A recording of another version is stale, older or newer.
- ``[template.default]`` speaks for recordings that name no template; without it such a recording has no contract.
- Schemas are JSON Schema 2020-12 and refer only to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from truegreen.cassettes.paths import pattern_of
from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem
from truegreen.core.shapes import LINE, ListOf, OneOf, Rule, Shape, Text, Whole, Wrong, asked, written
from truegreen.core.toml import TomlFile, dotted, read_toml
from truegreen.core.toml_lines import TomlPath

FILE: Final = "contracts.toml"
SCHEMA: Final = "truegreen/contracts/v1"
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
DEFAULT: Final = "default"
"""Template that recordings belong to which name none."""
ANSWERS: Final = ("json", "text", "tools")
ORDINARY: Final = ("stop", "end_turn", "stop_sequence", "completed", "STOP", "tool_calls", "tool_use")
"""Finish reasons of an answer that came to its end, in the vendors' words."""


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """One template's contract."""

    template: str
    """Template id."""
    version: str
    """Template version that counts."""
    owner: str
    """Who answers for the prompt."""
    model: str
    """Model identifier that requests must name."""
    answer: str
    """``json``: every choice's text is one JSON value; ``text``: its text; ``tools``: its calls of tools."""
    schema_file: str
    """JSON Schema of each answer, from the folder of the recordings."""
    schema: Any
    """The schema itself."""
    decision: tuple[str, ...]
    """Paths in the answer that a decision hangs on; a drift lane compares them."""
    max_characters: int
    """Most characters of an answer's text."""
    finish: tuple[str, ...]
    """Finish reasons of an answer that is whole."""
    most: int
    """Recordings of the template beyond which somebody is told that they explode."""


class Contracts(msgspec.Struct, frozen=True, kw_only=True):
    """Every contract of a folder."""

    by_template: Mapping[str, Contract]
    """Template id to its contract."""

    def of(self, template: str | None) -> Contract | None:
        """The contract of a template; of recordings that name none, the default one."""
        return self.by_template.get(DEFAULT if template is None else template)


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A version: a whole number or a short text; ``4`` and ``"4"`` are one."""

    def wrong(self, value: Any) -> Wrong | None:
        """Anything else."""
        is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_VERSION
        return None if is_number else _NAME.wrong(value)

    def words(self) -> str:
        """With an example."""
        return 'a version such as 4 or "2026-11"'


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    shape: Shape | Version
    default: Any = None


_NAME: Final = Text(meaning="a name", max_characters=100, rules=(LINE,))
_MOST_VERSION: Final = 10**15
_FINISH: Final = Text(meaning="a finish reason", max_characters=64, rules=(LINE,))
_PLACE: Final = Text(meaning="a path in the answer, such as label", max_characters=200, rules=(LINE,))
_SCHEMA_FILE: Final = Text(
    meaning="the path of a JSON Schema",
    max_characters=200,
    rules=(
        Rule(
            pattern=r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\\]+(?:/(?!\.{1,2}(?:/|$))[^/\x00-\x1f\\]+)*\.json",
            asked="a path of a .json file from the folder of the recordings, such as contracts/labels.json",
        ),
    ),
)
KEYS: Final[Mapping[str, _Key]] = {
    "version": _Key(shape=Version()),
    "owner": _Key(shape=_NAME),
    "model": _Key(shape=Text(meaning="a model identifier", max_characters=200, rules=(LINE,))),
    "schema": _Key(shape=_SCHEMA_FILE),
    "answer": _Key(shape=OneOf(values=ANSWERS), default="json"),
    "decision": _Key(shape=ListOf(item=_PLACE, meaning="a list of paths in the answer"), default=[]),
    "max_characters": _Key(shape=Whole(least=1, most=10_000_000), default=20_000),
    "finish": _Key(
        shape=ListOf(item=_FINISH, meaning="a list of finish reasons", least=1), default=list(ORDINARY)
    ),
    "most": _Key(shape=Whole(least=1, most=100_000), default=20),
}
"""Every key of a template's table; one without a default is asked."""


def read_contracts(files: Mapping[str, bytes | None]) -> Contracts:
    """The contracts of a folder, by the files that it holds.

    Raises: EvidenceProblem ``contracts-unreadable``, with file and line, for the first thing that is wrong.
    """
    data = files.get(FILE)
    if data is None:
        raise _problem(f"{FILE} is not there, a contract for every template is asked")
    try:
        file = read_toml(data, FILE)
        for path, sentence in sorted(_found(file), key=lambda one: file.lines.get(one[0], 0)):
            raise _problem(f"{file.at(path)}: {sentence}")
        found = {name: _contract(name, table, files, file) for name, table in file.root["template"].items()}
    except UsageProblem as err:
        raise _problem(err.message) from err
    return Contracts(by_template=found)


def _found(file: TomlFile) -> Iterator[tuple[TomlPath, str]]:
    if file.root.get("schema") != SCHEMA:
        yield ("schema",), f"schema is {written(file.root.get('schema'))}, asked {SCHEMA}"
        return
    for name in file.root:
        if name not in ("schema", "template"):
            yield (name,), f"{dotted((name,))} is no key of this file, which has schema and [template.NAME]"
    templates = file.root.get("template")
    if not isinstance(templates, dict) or not templates:
        yield ("template",), "no template is named, asked at least one table [template.NAME]"
        return
    for name, table in templates.items():
        path: TomlPath = ("template", name)
        if isinstance(table, dict):
            yield from _template_problems(path, table)
        else:
            yield path, f"{dotted(path)} is {written(table)}, asked a table"


def _template_problems(path: TomlPath, table: Mapping[str, Any]) -> Iterator[tuple[TomlPath, str]]:
    for name in table:
        if name not in KEYS:
            yield (
                (*path, name),
                f"{dotted((*path, name))} is no key of a template, which has {', '.join(KEYS)}",
            )
    for name, key in KEYS.items():
        if name not in table:
            if key.default is None:
                yield path, f"{dotted(path)} has no {name}, asked {key.shape.words()}"
            continue
        refused = key.shape.wrong(table[name])
        if refused:
            yield (*path, name), f"{dotted((*path, name))} is {written(table[name])}, {asked(refused)}"


def _contract(
    name: str, table: Mapping[str, Any], files: Mapping[str, bytes | None], file: TomlFile
) -> Contract:
    value: dict[str, Any] = {key: table.get(key, known.default) for key, known in KEYS.items()}
    schema_file = value.pop("schema")
    value["version"] = str(value["version"])
    for place in value["decision"]:
        pattern_of(place)
    where = file.at(("template", name, "schema"))
    more = {key: tuple(one) if isinstance(one, list) else one for key, one in value.items()}
    schema = _schema(schema_file, files.get(schema_file), where)
    return msgspec.convert({"template": name, "schema_file": schema_file, "schema": schema, **more}, Contract)


def _schema(name: str, data: bytes | None, where: str) -> Any:
    """The JSON Schema in a file of the folder, proved to be one."""
    if data is None:
        raise _problem(f"{where}: the schema {written(name)} is not there")
    try:
        content = read_json(data)
    except TruegreenProblem as err:
        raise _problem(f"{name}: {err.message}") from err
    if not isinstance(content, dict) or content.get("$schema", DRAFT) != DRAFT:
        raise _problem(f"{name}: no JSON Schema 2020-12, which is asked")
    if problem := _invalid(content):
        raise _problem(f"{name}: no JSON Schema that can be used: {problem}")
    return content


def _invalid(content: dict[str, Any]) -> str:
    """Why a schema cannot be used; empty if it can."""
    import jsonschema_rs  # noqa: PLC0415 - costs more than the rest of a start together

    try:
        jsonschema_rs.Draft202012Validator(content, validate_formats=True, offline=True)
    except ValueError as err:
        return written(str(err).partition("\n")[0])
    return ""


def _problem(sentence: str) -> EvidenceProblem:
    return EvidenceProblem("contracts-unreadable", sentence, hint="truegreen cassette check")
