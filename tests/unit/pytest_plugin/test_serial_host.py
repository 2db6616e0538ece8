# SPDX-License-Identifier: Apache-2.0
"""One after another, in the collecting process."""

import time

import pytest

from truegreen.pytest_plugin.serial_host import OverTime, time_limit


def test_a_hang_is_interrupted_and_the_run_goes_on(suite, statuses):
    """Even where the test catches every ordinary exception."""
    root = suite(
        test_hang="""
        import time


        def test_hangs():
            try:
                time.sleep(600)
            except Exception:
                pass


        def test_passes():
            pass
        """
    )
    told = statuses(root, engine="serial", runs=2, slots=1, timeout_s=3.0)
    assert {"test_hangs": ["time-limit"] * 2, "test_passes": ["passed"] * 2} == told


def test_a_limit_that_does_not_pass_leaves_nothing_behind():
    """And none at all is no limit."""
    with time_limit(60.0) as over:
        pass
    assert [] == over
    with time_limit(0.0) as over:
        pass
    assert [] == over


def test_a_limit_that_passes_says_so():
    """Once."""
    limit = time_limit(0.01)
    over = limit.__enter__()
    with pytest.raises(OverTime):
        time.sleep(60)
    limit.__exit__(None, None, None)
    assert [True] == over
