# SPDX-License-Identifier: Apache-2.0
"""The pytest sections of configuration files that also serve other tools.

What it decides: which part of ``pyproject.toml``, ``setup.cfg`` and ``tox.ini`` belongs to the ruler. What it
leaves: which of these files lie on the way from the tests to the root, to ``partition``.

- ``pyproject.toml``: the table ``tool.pytest`` as a value, so that comments and order do not count.
- ``setup.cfg``: ``[tool:pytest]``; ``tox.ini``: ``[pytest]``; their lines as they stand.
- A TOML file that cannot be read counts whole: what pytest would make of it is not known.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.errors import EvidenceProblem

SECTION_OF = {"setup.cfg": b"tool:pytest", "tox.ini": b"pytest"}
"""File name to the header of its pytest section (pytest, "Configuration file formats")."""
FILES = frozenset({"pyproject.toml", *SECTION_OF})
"""Names of the files that may hold a pytest section."""

_HEADER = rb"\[([^\]]*)\]"


def pytest_section(name: str, data: bytes) -> bytes | None:
    """The pytest section in ``data`` as bytes that can be digested, or None if the file has none.

    ``name`` is the file's own name, one of ``FILES``.
    """
    section = SECTION_OF.get(name)
    return _toml_table(data) if section is None else _ini_lines(data, section)


def _toml_table(data: bytes) -> bytes | None:
    try:
        tool = tomllib.loads(data.decode()).get("tool")
        table = tool.get("pytest") if isinstance(tool, dict) else None
        return None if table is None else write_json(_plain(table))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, EvidenceProblem):
        return data


def _plain(value: Any) -> Any:
    """TOML's dates and times as text; everything else is JSON already."""
    return msgspec.to_builtins(value, builtin_types=())


def _ini_lines(data: bytes, section: bytes) -> bytes | None:
    inside = False
    lines: list[bytes] = []
    for line in data.splitlines():
        header = re.match(_HEADER, line)
        if header:
            inside = header[1].strip() == section
        if inside:
            lines.append(line)
    return b"\n".join(lines) if lines else None
