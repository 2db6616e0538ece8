# SPDX-License-Identifier: Apache-2.0
"""A decision in each form, and the files of a runner."""

import pytest

from factories.decisions import decision
from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Word
from truegreen.wiring.gate import decision_record
from truegreen.wiring.screens import FORMATS, screen


@pytest.fixture
def made():
    """A decision and its record."""
    one = decision(Word.ADMIT, ())
    return one, decision_record(one, "1")


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_ends_with_a_newline(made, form):
    """A prompt never stands behind a decision."""
    assert screen(*made, form, {}).endswith("\n")


def test_without_a_runner_nothing_is_written(made, tmp_path, monkeypatch):
    """The form for GitHub can be looked at anywhere."""
    monkeypatch.chdir(tmp_path)
    screen(*made, "github", {"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""})
    assert [] == list(tmp_path.iterdir())


def test_a_runner_s_files_are_appended_to(made, tmp_path):
    """Steps before and after keep what they wrote."""
    file = tmp_path / "outputs"
    file.write_text("a=b\n", encoding="utf-8")
    for _ in range(2):
        screen(*made, "github", {"GITHUB_OUTPUT": str(file)})
    text = file.read_text(encoding="utf-8")
    assert text.startswith("a=b\n")
    assert 2 == text.count("decision<<")


def test_a_file_that_cannot_be_written_is_named(made, tmp_path):
    """Nothing is lost in silence."""
    with pytest.raises(ReachProblem) as caught:
        screen(*made, "github", {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert "file-unwritable" == caught.value.code
