# SPDX-License-Identifier: Apache-2.0
"""The benchmark's judgement: what is met, what is missed, and what was not measured."""

import json
import subprocess
import sys
from pathlib import Path

import measuring
import pytest
import run
from rows import gate

BENCH = Path(__file__).parents[2] / "bench"


def _row(ours, peer, *, target=1.0, rounds=3):
    return measuring.Row(name="x", peer_name="y", ours=ours, peer=peer, target=target, rounds=rounds)


def _values(*values):
    given = iter(values)
    return lambda: next(given)


def test_ratios_are_of_one_round_and_the_first_round_does_not_count():
    """Each ratio is made of neighbours in time; smallest, median and largest are kept."""
    result = measuring.measured(_row(_values(99, 1, 6, 4), _values(1, 2, 2, 2)))
    assert measuring.Spread(least=0.5, median=2.0, most=3.0) == result.ratio
    assert measuring.Spread(least=1, median=4, most=6) == result.ours
    assert "missed" == result.word


def test_ours_and_peer_take_turns_in_going_first():
    """Neither profits from a machine that warms up or slows down."""
    seen = []
    measuring.measured(_row(lambda: seen.append("o") or 1.0, lambda: seen.append("p") or 1.0))
    assert "op po op po" == " ".join("".join(seen[at : at + 2]) for at in range(0, 8, 2))


@pytest.mark.parametrize(("ours", "word"), [(1.0, "met"), (1.01, "missed"), (0.2, "met")])
def test_the_median_within_the_target_is_met(ours, word):
    """The target itself still meets it."""
    assert word == measuring.measured(_row(lambda: ours, lambda: 1.0)).word


def test_a_peer_that_is_not_there_is_not_measured():
    """A missing peer is never a met row."""

    def peer():
        raise measuring.NotMeasured("no such program")

    result = measuring.measured(_row(lambda: 1.0, peer))
    assert ("not measured", False, 1) == (result.word, result.is_met, run.code([result]))
    assert run.line(result).endswith("not measured: no such program")


def test_a_peer_of_no_size_is_not_measured():
    """A ratio to nothing says nothing."""
    assert "not measured" == measuring.measured(_row(lambda: 1.0, lambda: 0.0)).word


def test_no_row_at_all_is_no_success():
    """A benchmark that measured nothing has not met anything."""
    assert 1 == run.code([])


def test_one_missed_row_fails_the_run():
    """However many others are met."""
    met = measuring.measured(_row(lambda: 1.0, lambda: 1.0))
    missed = measuring.measured(_row(lambda: 2.0, lambda: 1.0))
    assert [0, 1] == [run.code([met]), run.code([met, missed])]


def test_every_module_of_rows_is_listed():
    """A row that nobody runs is no promise."""
    files = {path.stem for path in (BENCH / "rows").glob("*.py")} - {"__init__"}
    assert files == {module.__name__.rpartition(".")[2] for module in run.ROWS}


def test_the_whole_run_writes_what_it_prints(tmp_path):
    """One real row: the table names it, the document holds its numbers, the exit code follows its state."""
    out = tmp_path / "deep" / "bench.json"
    command = [sys.executable, BENCH / "run.py", "--json", out, "start_up"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    document = json.loads(out.read_text(encoding="utf-8"))
    [row] = document["rows"]
    assert "truegreen/bench/v1" == document["schema"]
    assert row["ratio"]["least"] <= row["ratio"]["median"] <= row["ratio"]["most"]
    assert (row["state"] == "met", True) == (ran.returncode == 0, row["name"] in ran.stdout)


def test_the_gate_s_rows_can_be_measured(tmp_path):
    """What they are made of still exists: both sides of each take some time."""
    assert all(row.ours() > 0 and row.peer() > 0 for row in gate.rows(tmp_path))


def test_an_unknown_row_is_named():
    """A misspelt row is exit 2, not an empty success."""
    ran = subprocess.run(
        [sys.executable, BENCH / "run.py", "start-upp"], capture_output=True, text=True, check=False
    )
    assert (2, "") == (ran.returncode, ran.stdout)
    assert ran.stderr.startswith("bench: no row start-upp; there are start_up")
