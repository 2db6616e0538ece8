# SPDX-License-Identifier: Apache-2.0
"""Reads YAML case files.

What it decides: which keys a case has, with file and line for whatever is wrong. What it leaves: the YAML, to
``core.plain_yaml``; expectations, to ``expect_read``; which files there are, to the caller.

- A file holds one case, a list of cases, or several documents of either; an empty one is an error.
- Unknown keys, wrong types and values with two readings are refused.
- ``input``, ``prompt`` and a schema's path are looked for beside the case file, then from the root; ``./`` means
  beside the case file only. What both places have, or what leads outside the root, through ``..`` or a link, or
  to anything but a regular file, is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.file_names import check_name, file_name_text, nfc
from truegreen.core.plain_yaml import Document, read_yaml
from truegreen.core.plain_yaml import Path as Place
from truegreen.core.quoted import quoted
from truegreen.sampling.cases import BLAST_RADII, Case, check_ids
from truegreen.sampling.expect_read import expect_of

KEYS = (
    "id",
    "input",
    "prompt",
    "expect",
    "blast_radius",
    "owner",
    "feature",
    "golden",
    "model",
    "settings",
)
SETTINGS: dict[str, type | tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": int,
    "max_completion_tokens": int,
    "seed": int,
    "stop": (str, list),
    "presence_penalty": (int, float),
    "frequency_penalty": (int, float),
    "reasoning_effort": str,
    "response_format": dict,
}
"""Keys of ``settings``, which go into the request as they are, and the types of their values."""
LONGEST_ID = 200
"""Characters of an id."""


def read_case_file(file: Path, root: Path) -> tuple[Case, ...]:
    """The cases of one file below ``root``, in file order; both paths are absolute.

    Raises: UsageProblem ``bad-case`` for what is no case, ``unstable-id``, ``case-path``, and what the readers of
    YAML and of expectations raise; ReachProblem ``file-unreadable`` if the file cannot be read.
    """
    name = _name_from_root(file, root)
    if file.exists() and not _is_regular(file, root):
        raise UsageProblem("case-path", f"{name}:1: the case file is a link or no regular file")
    documents = read_yaml(_bytes(file, name), name=name)
    cases = tuple(
        _Reader(name, file.parent, root, document, place).case()
        for document in documents
        for place in _places(document)
    )
    if not cases:
        raise UsageProblem("bad-case", f"{name}:1: the file holds no case")
    check_ids(cases)
    return cases


def _places(document: Document) -> Iterator[Place]:
    """Where in a document cases stand; a document without content has none."""
    if isinstance(document.value, list):
        yield from ((number,) for number in range(len(document.value)))
    elif document.value is not None:
        yield ()


class _Reader:
    """Reads the case at one place of a document."""

    def __init__(self, name: str, folder: Path, root: Path, document: Document, place: Place) -> None:
        self._name = name
        self._folder = folder
        self._root = root
        self._document = document
        self._place = place
        self._schema_file: str | None = None

    def case(self) -> Case:
        given = self._document.value
        for step in self._place:
            given = given[step]
        if not isinstance(given, Mapping):
            raise self._bad((), "a case is a mapping of keys such as id, input and expect")
        for key in given:
            if key not in KEYS:
                raise self._bad((key,), f"unknown key {quoted(key)}, known are {', '.join(KEYS)}")
        self._given = given
        expect = expect_of(given.get("expect"), at=self._at_expect, read_schema=self._read_schema)
        found = Case(
            id=f"{self._name}::{self._id()}",
            file=self._name,
            line=self._document.line_of(self._place),
            input=self._path("input"),
            prompt=self._path("prompt"),
            expect=expect,
            schema_file=self._schema_file,
            blast_radius=self._one_of("blast_radius", BLAST_RADII, "normal"),
            owner=self._text("owner"),
            feature=self._text("feature"),
            golden=self._flag("golden"),
            model=self._text("model"),
            settings=self._settings(),
        )
        if found.input is None and found.prompt is None:
            raise self._bad((), "neither input nor prompt: there is nothing to send to the model")
        return found

    def _id(self) -> str:
        given = self._text("id")
        if given is None:
            raise self._bad((), "a case needs an id")
        given = nfc(given)
        if not given.isprintable() or given != given.strip() or "::" in given or "\\" in given:
            raise UsageProblem(
                "unstable-id",
                f"{self._at(('id',))}: {quoted(given)} has blanks at its ends, control characters, :: or a backslash",
            )
        if len(given) > LONGEST_ID:
            raise self._bad(("id",), f"id has {len(given)} characters, more than {LONGEST_ID}")
        return given

    def _text(self, key: str) -> str | None:
        given = self._given.get(key)
        if key in self._given and (not isinstance(given, str) or not given.strip()):
            raise self._bad((key,), f"{key} is {quoted(str(given), 40)}, a text is asked: put it in quotes")
        return given

    def _one_of(self, key: str, values: tuple[str, ...], default: str) -> str:
        given = self._text(key)
        if given is not None and given not in values:
            raise self._bad((key,), f"{key} is {quoted(given)}, not one of {', '.join(values)}")
        return default if given is None else given

    def _flag(self, key: str) -> bool:
        given = self._given.get(key, False)
        if not isinstance(given, bool):
            raise self._bad((key,), f"{key} is {quoted(str(given), 40)}, true or false is asked")
        return given

    def _settings(self) -> dict[str, Any]:
        given = self._given.get("settings", {})
        if not isinstance(given, Mapping):
            raise self._bad(("settings",), "settings is no mapping of names to values")
        for key, value in given.items():
            if key not in SETTINGS:
                known = ", ".join(SETTINGS)
                raise self._bad(("settings", key), f"unknown setting {quoted(key)}, known are {known}")
            if isinstance(value, bool) or not isinstance(value, SETTINGS[key]):
                raise self._bad(
                    ("settings", key), f"{key} is {quoted(str(value), 40)}, which is of another type"
                )
        return dict(given)

    def _path(self, key: str) -> str | None:
        given = self._text(key)
        return None if given is None else _name_from_root(self._found(given, (key,)), self._root)

    def _read_schema(self, given: str) -> Any:
        place = ("expect", "json_schema")
        file = self._found(given, place)
        self._schema_file = _name_from_root(file, self._root)
        try:
            return read_json(_bytes(file, self._schema_file))
        except EvidenceProblem as err:
            raise self._bad(place, f"{self._schema_file} is no JSON: {err.message}") from err

    def _found(self, given: str, place: Place) -> Path:
        """The regular file below the root that a path means."""
        relative = given.removeprefix("./")
        try:
            check_name(relative)
        except EvidenceProblem as err:
            raise self._bad_path(place, err.message) from err
        folders = [self._folder] if given.startswith("./") else dict.fromkeys((self._folder, self._root))
        candidates = [folder / relative for folder in folders if os.path.lexists(folder / relative)]
        if not candidates:
            raise self._bad_path(place, f"{quoted(given)} is not there")
        if len(candidates) > 1:
            raise self._bad_path(
                place, f"{quoted(given)} is there twice, beside the case file and from the root"
            )
        if not _is_regular(candidates[0], self._root):
            raise self._bad_path(place, f"{quoted(given)} is a link or no regular file")
        return candidates[0]

    def _bad_path(self, place: Place, sentence: str) -> UsageProblem:
        return UsageProblem("case-path", f"{self._at(place)}: {sentence}")

    def _at(self, place: Place) -> str:
        return f"{self._name}:{self._document.line_of((*self._place, *place))}"

    def _at_expect(self, place: Place) -> str:
        return self._at(("expect", *place))

    def _bad(self, place: Place, sentence: str) -> UsageProblem:
        return UsageProblem(
            "bad-case", f"{self._at(place)}: {sentence}", hint="docs/cases.md lists every key"
        )


def _bytes(file: Path, name: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as err:
        raise ReachProblem("file-unreadable", f"{name} cannot be read: {err.strerror or err}") from err


def _is_regular(file: Path, root: Path) -> bool:
    """Whether every step from the root to the file is a folder and not a link, and the file a regular file."""
    steps = [file, *file.parents]
    inside = steps[: steps.index(root)] if root in steps else []
    return (
        bool(inside) and not any(step.is_symlink() for step in inside) and stat.S_ISREG(file.lstat().st_mode)
    )


def _name_from_root(file: Path, root: Path) -> str:
    try:
        relative = PurePosixPath(*file.relative_to(root).parts)
    except ValueError as err:
        raise UsageProblem(
            "case-path", f"{quoted(str(file))} is not below the root {quoted(str(root))}"
        ) from err
    return nfc(file_name_text(bytes(relative)))
