# SPDX-License-Identifier: Apache-2.0
"""The fork engine: one process, one sample, whatever the test does to it."""

import os
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")

ENDS = """
    import ctypes, os, sys, time
    import pytest

    def test_passes():
        pass

    def test_fails():
        assert "expected" == "got"

    def test_leaves():
        os._exit(7)

    def test_faults():
        ctypes.string_at(0)

    def test_hangs():
        time.sleep(600)

    def test_stops_pytest():
        pytest.exit("enough")

    def test_exits():
        sys.exit(0)

    def test_skips():
        pytest.skip("not here")

    @pytest.mark.xfail
    def test_expected_to_fail():
        assert False

    @pytest.mark.xfail
    def test_expected_to_fail_and_passes():
        pass

    @pytest.fixture
    def broken():
        raise OSError("no set-up")

    def test_without_set_up(broken):
        pass

    @pytest.fixture
    def breaks_later():
        yield
        raise OSError("no tear-down")

    def test_without_tear_down(breaks_later):
        pass
"""


def test_every_way_to_end_is_one_sample_and_the_run_goes_on(suite, statuses):
    """A crash, a fault, a hang and an exit cost one sample each; set-up errors and skips have rows of their own."""
    told = statuses(suite(test_ends=ENDS), runs=2, timeout_s=4.0)
    assert {
        "test_passes": ["passed"] * 2,
        "test_fails": ["failed"] * 2,
        "test_leaves": ["crashed"] * 2,
        "test_faults": ["crashed"] * 2,
        "test_hangs": ["time-limit"] * 2,
        "test_stops_pytest": ["left-early"] * 2,
        "test_exits": ["failed"] * 2,
        "test_skips": ["skipped"] * 2,
        "test_expected_to_fail": ["xfail"] * 2,
        "test_expected_to_fail_and_passes": ["xfail"] * 2,
        "test_without_set_up": ["setup-error"] * 2,
        "test_without_tear_down": ["teardown-error"] * 2,
    } == told


def test_an_end_says_how(suite, drive):
    """Signal, exit code, expected and got are in the end."""
    collected, ends = drive(suite(test_ends=ENDS), "-k", "leaves or faults or hangs or fails", timeout_s=4.0)
    said = {collected.cases[end.index].id.rpartition("_")[2]: (end.reason, end.detail) for end in ends}
    assert ("exit-7", "the process left with exit code 7 before the test ended") == said["leaves"]
    assert ("signal-11", "the process was ended by SIGSEGV before the test did") == said["faults"]
    assert ("time-limit", "no end within 4 s; its process was killed") == said["hangs"]
    assert said["fails"][1].startswith("AssertionError: assert 'expected' == 'got'")
    assert 8 == collected.deselected


def test_a_killed_sample_takes_its_own_children_along(suite, drive, tmp_path):
    """A server that a hung test started is ended with it."""
    root = suite(
        test_hang="""
        import subprocess, sys, time
        from pathlib import Path

        def test_hangs():
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path("child").write_text(str(child.pid))
            time.sleep(600)
        """
    )
    _, ends = drive(root, timeout_s=4.0)
    assert ["time-limit"] == [end.status for end in ends]
    pid = int((root / "child").read_text())
    until = time.monotonic() + 10
    while _is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_alive(pid)


def _is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_each_sample_starts_from_the_state_after_collection(suite, statuses):
    """A cache in the code under test, a module global and a changed parameter do not reach the next sample."""
    root = suite(
        {
            "app.py": "import functools\ncalls = []\n\n@functools.lru_cache\ndef answer():\n    calls.append(1)\n    return 1\n"
        },
        conftest="import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1]))\n",
        test_fresh="""
        import app
        import pytest

        def test_cached():
            app.answer()
            assert [1] == app.calls and 0 == app.answer.cache_info().hits

        @pytest.mark.parametrize("seen", [[]])
        def test_parameter(seen):
            seen.append(1)
            assert [1] == seen
        """,
    )
    assert {"test_cached": ["passed"] * 5, "test_parameter[seen0]": ["passed"] * 5} == statuses(
        root, runs=5, slots=2
    )


def test_wider_fixtures_are_set_up_once_a_process_and_torn_down_at_the_end(suite, statuses):
    """Four processes, twenty samples: the module fixture ran at most four times, and each was torn down."""
    root = suite(
        test_wide="""
        import os
        from pathlib import Path
        import pytest

        @pytest.fixture(scope="module")
        def server():
            with open("up", "a") as up:
                up.write(f"{os.getpid()}\\n")
            yield os.getpid()
            with open("down", "a") as down:
                down.write(f"{os.getpid()}\\n")

        def test_uses_it(server):
            assert server == os.getpid()
        """
    )
    assert {"test_uses_it": ["passed"] * 20} == statuses(root, runs=20)
    up = sorted((root / "up").read_text().split())
    assert up == sorted((root / "down").read_text().split())
    assert 1 <= len(up) <= 4
    assert len(set(up)) == len(up)


def test_random_numbers_differ_between_samples(suite, drive):
    """Neither a fork nor a seeding plugin gives each sample the same draw, in Python's generator or numpy's."""
    root = suite(
        test_draw="""
        import random
        import numpy

        def test_draws():
            with open("drawn", "a") as drawn:
                drawn.write(f"{random.random()} {numpy.random.random()}\\n")
        """
    )
    drive(root, "-p", "randomly", runs=12)
    rows = [row.split() for row in (root / "drawn").read_text().splitlines()]
    assert 12 == len({python for python, _ in rows})
    assert 12 == len({numpy for _, numpy in rows})


def test_the_collecting_process_has_one_thread_and_says_so(suite, drive):
    """Threads that a fork would lose are told, so that another engine is chosen."""
    alone, _ = drive(suite(test_one="def test_one():\n    pass\n"))
    assert () == alone.threads
    many, _ = drive(
        suite(
            conftest="import threading, time\nthreading.Thread(target=time.sleep, args=(60,), name='poller', daemon=True).start()\n"
        )
    )
    assert ("poller",) == many.threads


@pytest.mark.parametrize("engine", ["fork", "serial"])
def test_a_wide_fixture_that_failed_is_set_up_anew_for_the_next_sample(suite, statuses, engine):
    """Pytest would raise its first failure again for every later sample of the process."""
    root = suite(
        test_wide="""
        import os
        import pytest

        @pytest.fixture(scope="session")
        def server():
            if os.environ["TRUEGREEN_SAMPLE"] == "1":
                raise OSError("not yet")

        def test_uses_it(server):
            pass
        """
    )
    assert {"test_uses_it": ["setup-error", "passed", "passed"]} == statuses(
        root, engine=engine, runs=3, slots=1
    )
