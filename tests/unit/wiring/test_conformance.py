# SPDX-License-Identifier: Apache-2.0
"""Which files of a folder are cases."""

from __future__ import annotations

import pytest

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.wiring.conformance import run_folder

CASE = b"id: %s\ninput: {x: 1}\nright_answer: {verdict: hold}\n"


def test_yaml_files_of_the_folder_and_below_are_read(tmp_path):
    """By name, both endings, folders below too; other files are left alone."""
    (tmp_path / "below").mkdir()
    (tmp_path / "b.yml").write_bytes(CASE % b"b")
    (tmp_path / "below" / "a.YAML").write_bytes(CASE % b"a")
    (tmp_path / "INDEX.md").write_text("text", encoding="utf-8")
    assert ["a", "b"] == [one.id for one in run_folder(tmp_path).results]


@pytest.mark.parametrize("name", ["none", "file.txt", "."])
def test_a_folder_without_cases_is_a_usage_problem(tmp_path, name):
    """Not there, no folder, or nothing in it: zero cases never look like success."""
    (tmp_path / "file.txt").write_text("", encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        run_folder(tmp_path / name)
    assert "no-cases" == caught.value.code


def test_a_file_that_cannot_be_read_is_no_agreement(tmp_path, monkeypatch):
    """The disk failed: exit 3, not one case fewer."""

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    (tmp_path / "a.yaml").write_bytes(CASE % b"a")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ReachProblem) as caught:
        run_folder(tmp_path)
    assert "file-unreadable" == caught.value.code
