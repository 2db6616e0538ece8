# SPDX-License-Identifier: Apache-2.0
"""A policy as people and tools read it: each value with its source, and what nobody can set yet.

What it decides: the two forms of ``policy show``, and the table of keys in ``docs/policy.md``. What it leaves:
values and sources, to the policy; printing, to the command line.

- Values come from a file, so they are shown in quotes with nothing in them that a terminal obeys.
- The sentence of a topology promises no more than that topology holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from truegreen.core.policy import Policy
from truegreen.core.policy_keys import ANY_LANE, KEYS, LATER_KEYS, Key, KeyPath
from truegreen.core.shapes import written
from truegreen.core.toml import dotted
from truegreen.report.defused import plain

SHOW_SCHEMA = "truegreen/policy-show/v1"
TOPOLOGY: Mapping[str, str] = {
    "editable": "a pull request can edit the workflow that gates it: honest mistakes are caught, nothing more is promised",
}
"""What each topology holds, in a sentence."""
WIDTH = 100
"""Columns of the list of what is not built."""


def policy_text(policy: Policy, origin: str) -> str:
    """Every key on a line: name, value, source; ``origin`` says where the file was read."""
    rows = [(name, _shown(value, key), plain(policy.sources[name])) for name, value, key in _values(policy)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}" for key, value, source in rows]
    return "\n".join(
        (
            f"policy of {origin}, {policy.digest}",
            "",
            *lines,
            "",
            f"topology {policy.check.topology}: {TOPOLOGY[policy.check.topology]}",
            *_wrapped(f"not in this version: {', '.join(later_names())}"),
            "",
        )
    )


def policy_json(policy: Policy, origin: str) -> dict[str, Any]:
    """The same as a document of schema ``truegreen/policy-show/v1``."""
    return {
        "schema": SHOW_SCHEMA,
        "origin": origin,
        "digest": policy.digest,
        "values": {
            name: {
                "value": list(value) if isinstance(value, tuple) else value,
                "source": policy.sources[name],
            }
            for name, value, _ in _values(policy)
        },
        "topology": {"name": policy.check.topology, "holds": TOPOLOGY[policy.check.topology]},
        "not_in_this_version": list(later_names()),
    }


def later_names() -> tuple[str, ...]:
    """Keys, and values of keys, that are known and not built."""
    keys = [_named(path) for path in LATER_KEYS]
    values = [f"{_named(key.path)} = {' | '.join(key.later)}" for key in KEYS.values() if key.later]
    return (*keys, *values)


def keys_table() -> str:
    """Every key as the documentation lists it: one Markdown table for each table of the file."""
    parts = []
    for heading, pattern in (
        ("At the top", ()),
        ("`[check]`", ("check",)),
        ("`[cassettes]`", ("cassettes",)),
        ("`[limiter]`", ("limiter",)),
        ("`[lanes.NAME]`", ("lanes", ANY_LANE)),
    ):
        rows = [_row(key) for key in KEYS.values() if key.path[:-1] == pattern]
        parts.append(
            "\n".join((f"### {heading}\n", "| key | value | default | meaning |", "|---|---|---|---|", *rows))
        )
    return "\n\n".join(parts) + "\n"


def later_table() -> str:
    """What is known and not built, each with what it is for, as Markdown."""
    keys = [f"| `{_named(path)}` | {purpose} |" for path, purpose in LATER_KEYS.items()]
    values = [
        f"| `{_named(key.path)}`: {', '.join(f'`{value}`' for value in group)} | {purpose} |"
        for key in KEYS.values()
        for purpose, group in _by_purpose(key).items()
    ]
    return "\n".join(("| key or value | what it is for |", "|---|---|", *keys, *values)) + "\n"


def _values(policy: Policy) -> Iterator[tuple[str, Any, Key]]:
    """Dotted name, value and key in the order of the documentation, lanes in file order."""
    for path, key in KEYS.items():
        if path != ("schema",) and ANY_LANE not in path:
            owner = getattr(policy, path[0]) if len(path) > 1 else policy
            if owner is not None:
                yield dotted(path), getattr(owner, path[-1]), key
    for lane in policy.lanes:
        for path, key in KEYS.items():
            if ANY_LANE in path:
                yield dotted(("lanes", lane.name, path[-1])), getattr(lane, path[-1]), key


def _shown(value: Any, key: Key) -> str:
    if value is None:
        return f"({key.default_words})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return f"{value:g}" if isinstance(value, float) else written(value)


def _by_purpose(key: Key) -> dict[str, list[str]]:
    """The later values of a key, those for one purpose together."""
    found: dict[str, list[str]] = {}
    for value, purpose in key.later.items():
        found.setdefault(purpose, []).append(value)
    return found


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)


def _named(path: KeyPath) -> str:
    return ".".join("NAME" if step == ANY_LANE else step for step in path)


def _row(key: Key) -> str:
    if key.is_required:
        default = "must be given"
    elif key.default is None:
        default = key.default_words
    else:
        default = f"`{_as_toml(key.default)}`"
    return f"| `{key.path[-1]}` | {key.shape.words()} | {default} | {key.meaning} |"


def _as_toml(value: Any) -> str:
    return f"[{', '.join(map(_as_toml, value))}]" if isinstance(value, list) else written(value)
