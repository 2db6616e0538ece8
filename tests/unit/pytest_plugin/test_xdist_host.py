# SPDX-License-Identifier: Apache-2.0
"""The portable engine."""

ENDS = """
    import os, time
    import pytest

    def test_passes():
        pass

    def test_leaves():
        os._exit(7)

    def test_hangs():
        time.sleep(600)

    def test_skips():
        pytest.skip("not here")
"""


def test_a_crash_or_a_hang_costs_one_sample_and_one_worker(suite, statuses):
    """The last case does not wait for another index."""
    told = statuses(suite(test_ends=ENDS), engine="xdist", runs=2, slots=2, timeout_s=5.0)
    assert {
        "test_passes": ["passed"] * 2,
        "test_leaves": ["crashed"] * 2,
        "test_hangs": ["time-limit"] * 2,
        "test_skips": ["skipped"] * 2,
    } == told


def test_workers_that_find_different_cases_are_unstable(suite, drive, tmp_path, monkeypatch):
    """An id that holds the process id is another case in every worker; nothing is left in the temporary folder."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    root = suite(
        test_ids="""
        import os
        import pytest

        @pytest.mark.parametrize("pid", [os.getpid()])
        def test_one(pid):
            pass
        """
    )
    found, _ = drive(root, engine="xdist", slots=2)
    assert ["unstable-id"] == [problem.code for problem in found.problems]
    assert [] == list((tmp_path / "tmp").glob("truegreen-*"))
