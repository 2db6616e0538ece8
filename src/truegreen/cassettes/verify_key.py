# SPDX-License-Identifier: Apache-2.0
"""The proof that a key covers a recorded request: each value is changed, retyped and taken away, and the key moves.

What it decides: which changes are tried, and what a key that does not move means. What it leaves: reading files, to
``cassette_file``; printing, to the command line.

- The stored request is rebuilt as it went over the wire, and keyed by the same function as any request: it must have
  the key of the file (where no secret was taken out), and every change of it another one.
- A value may stay without effect only where the cassette itself declares its path as volatile, or the type of numbers
  as ignored; these are counted.
- Tried are: another value of the same type, every other JSON type, a missing value, a further value in every list and
  object; for bytes other bytes at both ends and in the middle, fewer and more; for query, headers, template, method,
  path and alias another value and none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import rules_of, stored_document
from truegreen.cassettes.key import key_of
from truegreen.cassettes.paths import Path, leaves, matches, pattern_of, spelled
from truegreen.cassettes.places import places
from truegreen.cassettes.plain import by_value, plain
from truegreen.cassettes.rebuilt import rebuilt
from truegreen.cassettes.rules import KeyRules
from truegreen.core.canonical import Spelled, write_json
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

TYPES: Final[tuple[Any, ...]] = (
    Spelled("0"),
    Spelled("0.0"),
    Spelled("-0"),
    Spelled("1"),
    Spelled("1.0"),
    Spelled("1e2"),
    Spelled("100"),
    Spelled("12345678901234567890"),
    False,
    True,
    None,
    "",
    "0",
    "1",
    "true",
    "null",
    [],
    {},
)
"""What a JSON value is replaced by, where it is not the same."""
DERIVED: Final = frozenset({"stream", "body_form"})
"""Members of the document that are read off others, and move with these."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a request."""

    path: Path
    """Where."""
    what: str
    """What was done, in a few words."""
    document: dict[str, Any]
    """The request afterwards."""


class Unmoved(msgspec.Struct, frozen=True, kw_only=True):
    """A change that the key does not tell."""

    path: str
    """JSON path."""
    what: str
    """What was done there."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one recording."""

    name: str
    """File."""
    values: int
    """Values of the request that were changed."""
    changes: int
    """Changes that were tried."""
    declared: tuple[str, ...]
    """Paths of values that are declared volatile, or of numbers whose type is declared ignored."""
    redacted: int
    """Places where a mark stands for a secret; they are changed as they stand in the file."""
    unmoved: tuple[Unmoved, ...]
    """Changes without another key: none, if the key covers the request."""


def prove(cassette: Cassette, name: str) -> Proof:
    """Try all changes of a recorded request.

    Raises: EvidenceProblem ``cassette-wrong-key`` if the request as it is rebuilt has another key than the file,
    and as ``rebuilt``.
    """
    document = stored_document(cassette)
    rules = rules_of(cassette)
    key = _key(document, rules)
    if not cassette.about.redactions and key != cassette.key:
        raise EvidenceProblem(
            "cassette-wrong-key",
            f"{quoted(name)}: the request that it holds has the key {key}, the file says {cassette.key}",
            contradictory=True,
        )
    patterns = [pattern_of(text) for text in rules.volatile]
    body = _canonical(by_value(document["body"]))
    tried: set[Path] = set()
    declared: set[str] = set()
    unmoved, count = [], 0
    for change in changes_of(document):
        if any(matches(pattern, change.path[: len(pattern)]) for pattern in patterns):
            declared.add(spelled(change.path))
            continue
        if (
            rules.ignores_number_types
            and change.path[0] == "body"
            and _canonical(by_value(change.document["body"])) == body
        ):
            declared.add(f"{spelled(change.path)} (type of the number)")
            continue
        tried.add(change.path)
        count += 1
        if _key(change.document, rules) == key:
            unmoved.append(Unmoved(path=spelled(change.path), what=change.what))
    return Proof(
        name=name,
        values=len(tried),
        changes=count,
        declared=tuple(sorted(declared)),
        redacted=len(cassette.about.redactions),
        unmoved=tuple(unmoved),
    )


def changes_of(document: dict[str, Any]) -> Iterator[Change]:
    """All changes of a stored document; each gives a request that means something else."""
    for name in ("method", "host", "path"):
        yield _put(document, (name,), f"{document[name]}x", "another value")
    yield from _of_template(document)
    for section in ("query", "headers"):
        yield from _of_values(document, (section,), document[section])
        yield _put(document, (section, "x-added"), ["1"], "added")
    match document["body_form"]["kind"]:
        case "json":
            yield from _of_json(document)
        case "form":
            yield from _of_values(document, ("body",), document["body"])
            yield _put(document, ("body", "x-added"), ["1"], "added")
        case "multipart":
            yield from _of_parts(document)
        case "bytes":
            yield from _of_bytes(document, ("body", "base64"))
    yield from _of_form(document)


def _of_form(document: dict[str, Any]) -> Iterator[Change]:
    form, body = document["body_form"], document["body"]
    if form["kind"] == "bytes":
        yield _put(document, ("body_form", "media"), f"{form.get('media', '')}x", "another media type")
    if "codings" in form:
        plainly = {name: item for name, item in form.items() if name != "codings"}
        yield _put(document, ("body_form", "codings"), None, "without it", {"body_form": plainly})
    if form["kind"] != "none":
        without = {"body_form": {"kind": "none"}, "body": None}
        yield _put(document, ("body",), None, "no body", without)
    if form["kind"] == "none" and body is None:
        yield _put(document, ("body",), None, "a body", {"body_form": {"kind": "json"}, "body": {}})


def _of_template(document: dict[str, Any]) -> Iterator[Change]:
    template = document["template"]
    if template is None:
        yield _put(document, ("template",), {"id": "x", "version": None}, "added")
        return
    yield _put(document, ("template",), None, "taken away")
    yield _put(document, ("template", "id"), f"{template['id']}x", "another value")
    yield _put(document, ("template", "version"), f"{template['version']}x", "another value")
    if template["version"] is not None:
        yield _put(document, ("template", "version"), None, "taken away")


def _of_values(document: dict[str, Any], at: Path, values: dict[str, list[str | None]]) -> Iterator[Change]:
    for name, listed in values.items():
        for place, value in enumerate(listed):
            path = (*at, name, place)
            yield _put(document, path, f"{value or ''}x", "another value")
            yield _without(document, path if len(listed) > 1 else path[:-1])
            if at[0] != "headers":
                yield _put(document, path, "" if value is None else None, "with or without =")
        yield _put(document, (*at, name), [*listed, "x-added"], "a further value")


def _of_json(document: dict[str, Any]) -> Iterator[Change]:
    for path, value in leaves(document["body"], ("body",)):
        yield from _of_leaf(document, path, value)
    for path, container in _containers(document["body"], ("body",)):
        if isinstance(container, dict):
            yield _put(document, (*path, "x-added"), None, "added")
        else:
            yield _put(document, path, [*container, None], "a further element")


def _of_leaf(document: dict[str, Any], path: Path, value: Any) -> Iterator[Change]:
    same = _canonical(value)
    if isinstance(value, str):
        yield _put(document, path, f"{value}x", "another text")
        yield _put(document, path, f"{value} ", "a space more")
        if value.swapcase() != value:
            yield _put(document, path, value.swapcase(), "other letter case")
    if isinstance(value, Spelled):
        yield _put(document, path, value.text, "as a text")
        others: tuple[Any, ...] = (*TYPES, Spelled(f"{value.text.lower().partition('e')[0]}e7"))
    else:
        others = TYPES
    for other in (*others, [value], {"x": value}):
        if _canonical(other) != same:
            yield _put(document, path, other, f"{_shown(other)} instead")
    if len(path) > 1:
        yield _without(document, path)


def _of_parts(document: dict[str, Any]) -> Iterator[Change]:
    for place, part in enumerate(document["body"]):
        path: Path = ("body", place)
        yield _without(document, path)
        yield from _of_values(document, (*path, "headers"), part["headers"])
        if "text" in part:
            yield _put(document, (*path, "text"), f"{part['text']}x", "another text")
            yield _put(document, (*path, "text"), part["text"][:-1] or "x", "a character fewer")
        else:
            yield from _of_bytes(document, (*path, "base64"))


def _of_bytes(document: dict[str, Any], path: Path) -> Iterator[Change]:
    data = base64.b64decode(_at(document, path))
    middle = len(data) // 2
    for what, other in (
        ("first byte", bytes([data[0] ^ 1]) + data[1:]),
        ("middle byte", data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]),
        ("last byte", data[:-1] + bytes([data[-1] ^ 1])),
        ("a byte fewer", data[:-1]),
        ("a byte more", data + b"\xff"),
    ):
        yield _put(document, path, base64.b64encode(other).decode(), what)


def _containers(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict | list):
        yield path, value
    for step, item in inner:
        yield from _containers(item, (*path, step))


def _put(
    document: dict[str, Any], path: Path, value: Any, what: str, instead: dict[str, Any] | None = None
) -> Change:
    changed = {**document, **instead} if instead is not None else _replaced(document, path, value)
    return Change(path=path, what=what, document=changed)


def _without(document: dict[str, Any], path: Path) -> Change:
    *above, last = path
    container = _at(document, tuple(above))
    if isinstance(container, dict):
        kept: Any = {name: item for name, item in container.items() if name != last}
    else:
        kept = [item for place, item in enumerate(container) if place != last]
    return Change(path=path, what="taken away", document=_replaced(document, tuple(above), kept))


def _replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: _replaced(value.get(str(step)), tuple(rest), new)}
    copy = list(value)
    copy[int(step)] = _replaced(copy[int(step)], tuple(rest), new)
    return copy


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _key(document: dict[str, Any], rules: KeyRules) -> str:
    named = places(semantic_headers=tuple(document["headers"]))
    return key_of(rebuilt(document), msgspec.structs.replace(rules, host=document["host"], places=named))


def _canonical(value: Any) -> bytes:
    return write_json(plain(value))


def _shown(value: Any) -> str:
    return value.text if isinstance(value, Spelled) else json.dumps(plain(value))[:40]
