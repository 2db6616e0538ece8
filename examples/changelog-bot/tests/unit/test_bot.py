# SPDX-License-Identifier: Apache-2.0
"""What the bot makes of an answer, whatever the model says. No model is asked here."""

import bot
import pytest

SUMMARY = {"breaking": ["render() returns bytes"], "added": [], "removed": []}


def test_a_summary_is_read():
    assert SUMMARY == bot.parse('{"breaking": [" render() returns bytes "], "added": [], "removed": []}')


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("", id="nothing"),
        pytest.param("Here is your summary: {}", id="prose"),
        pytest.param("[]", id="a-list"),
        pytest.param('{"breaking": [], "added": []}', id="a-key-too-few"),
        pytest.param('{"breaking": [], "added": [], "removed": [], "fixed": []}', id="a-key-too-many"),
        pytest.param('{"breaking": "none", "added": [], "removed": []}', id="no-list"),
        pytest.param('{"breaking": [" "], "added": [], "removed": []}', id="an-empty-sentence"),
        pytest.param('{"breaking": [1], "added": [], "removed": []}', id="a-number"),
    ],
)
def test_anything_else_is_refused(answer):
    with pytest.raises(bot.NotASummaryError):
        bot.parse(answer)


def test_without_a_changelog_it_says_how_it_is_called(capsys):
    assert 2 == bot.main([])
    assert "python bot.py CHANGELOG.txt" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "code"), [("{}", 1), ('{"breaking": [], "added": [], "removed": []}', 0)])
def test_the_exit_code_says_whether_there_is_a_summary(monkeypatch, tmp_path, answer, code):
    (tmp_path / "changelog.txt").write_text("1.0.1\n", encoding="utf-8")
    monkeypatch.setattr(bot, "ask", lambda _changelog: answer)
    assert code == bot.main([str(tmp_path / "changelog.txt")])
