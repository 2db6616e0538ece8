# SPDX-License-Identifier: Apache-2.0
"""The article's run log: a row for everything, whoever writes beside us."""

import json
import threading

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.wiring.run_log import RunLog, row


@pytest.mark.parametrize(
    ("bucket", "reason", "more"),
    [
        ("pass", "", {}),
        ("fail", "assertion", {}),
        ("invalid", "skipped", {"bucket": "invalid", "reason": "skipped"}),
        ("transport", "status-503", {"bucket": "transport", "reason": "status-503"}),
    ],
)
def test_a_row_has_the_article_s_fields_and_says_what_is_no_answer(bucket, reason, more):
    """Whoever counts ``passed`` alone counts nothing as a pass that is none."""
    assert {"run": "r", "case": "c", "passed": bucket == "pass", **more} == row("r", "c", bucket, reason)


def test_nothing_is_written_unless_asked(tmp_path):
    """The variable names the file, from the folder of the call."""
    RunLog.named_in({}, tmp_path).write("r", "c", "pass")
    RunLog.named_in({"MODEL_RUN_LOG": " "}, tmp_path).write("r", "c", "pass")
    assert [] == list(tmp_path.iterdir())
    RunLog.named_in({"MODEL_RUN_LOG": "a/run.jsonl"}, tmp_path).write("r", "ü\n", "pass")
    assert (
        b'{"run": "r", "case": "\\u00fc\\n", "passed": true}\n' == (tmp_path / "a" / "run.jsonl").read_bytes()
    )


def test_writers_at_once_do_not_mix_lines(tmp_path):
    """A row is one write."""
    log = RunLog(tmp_path / "run.jsonl")
    threads = [
        threading.Thread(target=lambda: [log.write("r", "c" * 300, "pass") for _ in range(50)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [{"run": "r", "case": "c" * 300, "passed": True}] * 400 == rows


def test_a_log_that_cannot_be_written_is_an_error(tmp_path):
    """A folder stands in its place."""
    with pytest.raises(ReachProblem) as caught:
        RunLog(tmp_path).write("r", "c", "pass")
    assert "not-written" == caught.value.code
