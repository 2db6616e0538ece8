# SPDX-License-Identifier: Apache-2.0
"""Which part of a shared configuration file is pytest's."""

import pytest

from truegreen.core.pytest_sections import pytest_section


def _toml(text):
    return pytest_section("pyproject.toml", text.encode())


def test_the_table_of_pyproject_counts_as_a_value():
    """Order, comments and other tables do not count; every value does, dates too."""
    one = _toml('[tool.pytest.ini_options]\naddopts = ["-q"]\nsince = 2026-01-01\n')
    assert one == _toml(
        '[project]\nname = "x"\n[tool.pytest.ini_options] # why\nsince = 2026-01-01\naddopts = ["-q"]'
    )
    assert one != _toml('[tool.pytest.ini_options]\naddopts = ["-qq"]\nsince = 2026-01-01\n')
    assert one != _toml('[tool.pytest.ini_options]\naddopts = ["-q"]\nsince = 2026-01-02\n')
    assert b'{"strict":true}' == _toml("[tool.pytest]\nstrict = true")


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'", "[tool.ruff]\n", "tool = 3"])
def test_without_a_pytest_table_there_is_no_section(text):
    """Other tools' tables are theirs."""
    assert None is _toml(text)


@pytest.mark.parametrize(
    "data", [b"[tool", b"\xff", b"[tool.pytest]\nx = nan", b"[tool.pytest]\nx = 99999999999999999999"]
)
def test_a_file_that_cannot_be_read_counts_whole(data):
    """What pytest would make of it is not known, so every change of it moves the ruler."""
    assert data == pytest_section("pyproject.toml", data)


def test_a_table_too_deep_to_walk_counts_whole():
    """Hostile nesting is no traceback."""
    data = b"[tool.pytest]\nx = " + b"[" * 300 + b"]" * 300
    assert data == pytest_section("pyproject.toml", data)


@pytest.mark.parametrize(("name", "header"), [("setup.cfg", b"tool:pytest"), ("tox.ini", b"pytest")])
def test_the_lines_of_an_ini_section_count_as_they_stand(name, header):
    """From its header to the next, wherever it stands and however often; line ends do not count."""
    text = b"[other]\na = 1\n[%s]\naddopts =\n  -q\n  [x]\n\n[last]\nb = 2\n[%s]\nc = 3\n" % (header, header)
    section = b"[%s]\naddopts =\n  -q\n  [x]\n\n[%s]\nc = 3" % (header, header)
    assert section == pytest_section(name, text) == pytest_section(name, text.replace(b"\n", b"\r\n"))
    assert None is pytest_section(name, b"[other]\npytest = 1\n")
    assert None is pytest_section(name, b"")
