# SPDX-License-Identifier: Apache-2.0
"""Model tests in plain pytest. The parameters have ids of their own, so that no reordering renames a case."""

from pathlib import Path

import pytest
import urgency

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.model(owner="@bo")
@pytest.mark.parametrize(
    ("release", "word"),
    [
        pytest.param("release-2.3.9.txt", "now", id="security"),
        pytest.param("release-2.4.1.txt", "whenever", id="patch"),
    ],
)
def test_urgency(release, word):
    assert urgency.urgency((FIXTURES / release).read_text(encoding="utf-8")) == word
