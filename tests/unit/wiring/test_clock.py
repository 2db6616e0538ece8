# SPDX-License-Identifier: Apache-2.0
"""The clock speaks UTC RFC 3339 in whole seconds."""

from datetime import UTC, datetime, timedelta

from truegreen.wiring.clock import SystemClock


def test_now_is_now_in_whole_seconds():
    """It reads back as an instant between before and after."""
    before = datetime.now(UTC) - timedelta(seconds=1)
    told = SystemClock().now()
    assert before <= datetime.fromisoformat(told) <= datetime.now(UTC)
    assert 20 == len(told)
    assert told.endswith("Z")
