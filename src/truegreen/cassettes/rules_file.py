# SPDX-License-Identifier: Apache-2.0
"""The file ``rules.toml`` beside recordings: what a repository adds to the rules of their keys.

What it decides: which keys the file has and what they mean. What it leaves: the folder, to wiring.

- It lies with the recordings, so that whoever records and whoever plays read the same one, and is reviewed and
  vouched for like them.
- Names are added to the built-in tables, never taken from them. A header that holds a credential cannot be keyed.
- Read strictly: an unknown key, an empty name or a pattern that means no place is refused with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from truegreen.cassettes.paths import pattern_of
from truegreen.cassettes.places import places
from truegreen.cassettes.rules import MAY_BE_VOLATILE, KeyRules
from truegreen.core.errors import UsageProblem
from truegreen.core.shapes import ListOf, OneOf, Rule, Shape, Text, asked
from truegreen.core.toml import TomlFile, read_toml

FILE: Final = "rules.toml"
"""Its name."""
SCHEMA: Final = "truegreen/cassette-rules/v1"
"""Version of its form."""

_HEADER: Final = Text(
    meaning="the name of a header",
    max_characters=100,
    rules=(
        Rule(pattern=r"[A-Za-z0-9!#$%&'+.^_`|~-]+", asked="the exact name of a header, such as x-run-id"),
    ),
)
_HEADERS: Final = Text(
    meaning="the name of a header",
    max_characters=100,
    rules=(
        Rule(
            pattern=r"[A-Za-z0-9!#$%&'+.^_`|~-]+\*?",
            asked="the name of a header, or its beginning and *, such as x-run-*",
        ),
    ),
)
_QUERY: Final = Text(
    meaning="a name in the query",
    max_characters=100,
    rules=(Rule(pattern=r"[^\x00-\x20&=#*]+", asked="a name in the query, such as ticket"),),
)
_PATH: Final = Text(meaning="a path such as body.messages[*].id", max_characters=400)
KEYS: Final[Mapping[str, Shape]] = {
    "schema": OneOf(values=(SCHEMA,)),
    "numbers": OneOf(values=("by-type", "by-value")),
    "volatile": ListOf(item=_PATH, meaning="a list of paths"),
    "semantic_headers": ListOf(item=_HEADER, meaning="a list of headers"),
    "ignored_headers": ListOf(item=_HEADERS, meaning="a list of headers"),
    "credential_headers": ListOf(item=_HEADER, meaning="a list of headers"),
    "credential_query": ListOf(item=_QUERY, meaning="a list of names in the query"),
}
"""Every key of the file."""


def extended(rules: KeyRules, data: bytes, *, name: str = FILE) -> KeyRules:
    """The rules with what the file adds.

    Raises: UsageProblem ``bad-toml``, ``bad-cassette-rules``.
    """
    file = read_toml(data, name)
    _check(file)
    given = file.root
    added = places(
        credential_headers=tuple(given.get("credential_headers", ())),
        credential_query=tuple(given.get("credential_query", ())),
        semantic_headers=tuple(given.get("semantic_headers", ())),
        ignored_headers=tuple(given.get("ignored_headers", ())),
        table=rules.places,
    )
    return msgspec.structs.replace(
        rules,
        places=added,
        volatile=tuple(dict.fromkeys((*rules.volatile, *given.get("volatile", ())))),
        ignores_number_types=rules.ignores_number_types or given.get("numbers") == "by-value",
    )


def _check(file: TomlFile) -> None:
    if "schema" not in file.root:
        raise file.problem_at((), "bad-cassette-rules", f'no schema, asked schema = "{SCHEMA}"')
    for key, value in file.root.items():
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise file.problem_at((key,), "bad-cassette-rules", f"unknown key {key}, one of {known} is asked")
        refused = KEYS[key].wrong(value)
        if refused is not None:
            raise file.problem_at((key, *refused.steps), "bad-cassette-rules", f"{key}: {asked(refused)}")
    for number, text in enumerate(file.root.get("volatile", ())):
        _check_path(file, number, text)


def _check_path(file: TomlFile, number: int, text: str) -> None:
    try:
        pattern = pattern_of(text)
    except UsageProblem as err:
        raise file.problem_at(("volatile", number), "bad-cassette-rules", f"volatile: {err.message}") from err
    if pattern[0] not in MAY_BE_VOLATILE or len(pattern) == 1:
        below = ", ".join(MAY_BE_VOLATILE)
        raise file.problem_at(
            ("volatile", number), "bad-cassette-rules", f"volatile: asked a path below {below}"
        )
