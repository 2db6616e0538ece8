# SPDX-License-Identifier: Apache-2.0
"""Project options that would cut, repeat or redirect samples do not."""

import pytest

HALF = """
    import os
    import random
    import pytest

    @pytest.fixture(scope="module")
    def keeps_the_process():
        pass

    def test_odd_numbers_fail(keeps_the_process):
        assert int(os.environ["TRUEGREEN_SAMPLE"]) % 2 == 0

    @pytest.mark.flaky(reruns=3)
    def test_marked_for_reruns(keeps_the_process):
        with open("drawn", "a") as drawn:
            drawn.write(f"{random.random()}\\n")
        assert int(os.environ["TRUEGREEN_SAMPLE"]) % 2 == 0
"""


@pytest.mark.parametrize("engine", ["fork", "serial", "xdist"])
def test_no_option_changes_what_is_counted(suite, drive, engine):
    """A failing sample is a failure of its own, the run goes on after it, and no two draw the same numbers."""
    root = suite(
        {
            "pytest.ini": "[pytest]\naddopts = -p xdist -x --maxfail=1 --reruns 2 -p rerunfailures -p randomly --max-worker-restart=0 --lf --sw\n"
        },
        test_half=HALF,
    )
    found, ends = drive(root, engine=engine, runs=6, slots=2)
    for index in range(2):
        assert ["failed", "passed"] * 3 == [end.status for end in ends if end.index == index]
    assert 6 == len(set((root / "drawn").read_text().split()))
    if engine != "xdist":
        assert "-x and --maxfail is switched off while samples are taken" in found.notices
        assert "reruns are switched off: each run of a test is a sample of its own" in found.notices


def test_another_distribution_and_a_report_file_are_left_out(suite, statuses, tmp_path):
    """``-n`` in the project's options starts no workers, and no report file describes a run that was none."""
    root = suite(
        {"pytest.ini": "[pytest]\naddopts = -p xdist -n 2 --dist loadfile --junitxml=out.xml\n"},
        test_half=HALF,
    )
    told = statuses(root, runs=2)
    assert ["failed", "passed"] == told["test_odd_numbers_fail"]
    assert not (tmp_path / "out.xml").exists()
