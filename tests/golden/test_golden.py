# SPDX-License-Identifier: Apache-2.0
"""Generated files are those that the source gives now."""

from pathlib import Path

import rebuild

HERE = Path(__file__).parent


def test_every_generated_file_is_current():
    """Whoever changes a word sees the whole screen change; ``./dev golden`` writes it."""
    stale = [
        path.name
        for path, content in rebuild.wanted().items()
        if not path.exists() or path.read_text(encoding="utf-8") != content
    ]
    assert [] == stale, "run ./dev golden and look at the difference"


def test_no_generated_file_is_left_over():
    """A screen of a defect that has no decision any more is gone."""
    assert set() == set(HERE.glob("screens/*")) - set(rebuild.wanted())
