# SPDX-License-Identifier: Apache-2.0
"""``truegreen conformance`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truegreen.cli import main

HERE = Path(__file__).parents[2] / "conformance"
DIFFERING = "id: d\ninput:\n  expectations: {format: json}\n  output: '1'\nright_answer: {verdict: block}\n"


def run(capsys, *arguments: str) -> tuple[int, str]:
    """Exit code and standard output."""
    code = main.run(["conformance", *arguments])
    return code, capsys.readouterr().out


def test_a_folder_in_which_all_agree_exits_0(capsys):
    """The mended neighbours: a line a case, the counts, the constants."""
    code, out = run(capsys, str(HERE / "mended"))
    count = len(list((HERE / "mended").glob("*.yaml")))
    assert (0, count + 3) == (code, len(out.splitlines()))
    assert (
        f"{count} of {count} answered cases agree, 0 differ; 0 unsupported and 0 unreadable of {count}" in out
    )


def test_what_could_not_be_answered_exits_3(capsys):
    """A JUnit case is not understood by this version, so the folder is not green."""
    code, out = run(capsys, str(HERE / "cases"), "--json")
    summary = json.loads(out)["summary"]
    assert (3, summary["cases"] - 1, 1) == (code, summary["agree"], summary["unsupported"])


def test_what_differs_exits_1(capsys, tmp_path):
    """One wrong answer decides."""
    (tmp_path / "d.yaml").write_text(DIFFERING, encoding="utf-8")
    code, out = run(capsys, str(tmp_path))
    assert (1, True) == (code, out.startswith("DIFFERS     d: verdict admit, right is block"))


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_cases_exits_2(capsys, tmp_path, folder):
    """Zero cases are a mistake of the caller."""
    assert 2 == run(capsys, str(tmp_path / folder))[0]


def test_the_name_of_a_file_is_shown_and_not_obeyed(capsys, tmp_path):
    """A folder of cases may come from anybody."""
    (tmp_path / "a\x1b[31m##[error].yaml").write_text("x: [", encoding="utf-8")
    for more in ((), ("--json",)):
        _, out = run(capsys, str(tmp_path), *more)
        assert all(line.isprintable() for line in out.splitlines())
        assert "##[" not in out
    _, out = run(capsys, str(tmp_path))
    assert 2 == out.count(r"a\x1b[31m##\[error].yaml")
