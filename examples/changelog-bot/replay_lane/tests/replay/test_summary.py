# SPDX-License-Identifier: Apache-2.0
"""The bot handles what the model once answered; run under ``truegreen proxy run``, it never asks it again."""

from pathlib import Path

import bot

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_a_release_is_sorted():
    """Exactly the three keys, each a list of texts."""
    (changelog, *_) = sorted(FIXTURES.glob("*.txt"))
    summary = bot.summarize(changelog.read_text(encoding="utf-8"))
    assert set(bot.KEYS) == set(summary)
