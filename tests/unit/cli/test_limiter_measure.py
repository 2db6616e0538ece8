# SPDX-License-Identifier: Apache-2.0
"""``truegreen limiter measure`` as a person calls it."""

import json

from truegreen.cli import main
from truegreen.core.call_log import CallEntry, line_of

S = 1_000_000
UNTIL = ("--until", "1970-01-09T00:00:00Z")


def written(tmp_path, *entries):
    """A log."""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"".join(map(line_of, entries)))
    return str(path)


def run(capsys, *arguments):
    """Exit code and standard output."""
    code = main.run(["limiter", "measure", *arguments])
    return code, capsys.readouterr().out


REFUSED = CallEntry(ended_us=86_400 * S, status=429, run="\x1b[31m", layer="##[error]")


def test_a_verdict_exits_0_and_hostile_text_is_shown_not_obeyed(capsys, tmp_path):
    """A log may come from anybody."""
    code, out = run(capsys, written(tmp_path, REFUSED), *UNTIL)
    assert (0, True, False) == (code, "lower-concurrency" in out, "##[" in out)
    code, out = run(capsys, written(tmp_path, REFUSED), *UNTIL, "--format", "json")
    assert (0, 1, False) == (code, json.loads(out)["rate_limited"], "##[" in out)


def test_too_few_numbers_exit_3(capsys, tmp_path):
    """Nothing was turned away, and the log is young."""
    path = written(tmp_path, CallEntry(ended_us=7 * 86_400 * S, status=200, is_ok=True))
    assert 3 == run(capsys, path, *UNTIL)[0]
    assert 3 == run(capsys, written(tmp_path), *UNTIL)[0]


def test_the_numbers_are_written_beside_the_screen(capsys, tmp_path):
    """One call for both."""
    target = tmp_path / "numbers.toml"
    assert 0 == run(capsys, written(tmp_path, REFUSED), *UNTIL, "--write", str(target))[0]
    assert 'verdict = "lower-concurrency"' in target.read_text()


def test_without_a_log_or_with_a_bad_window_it_exits_2(capsys, tmp_path):
    """A mistake of the caller."""
    assert 2 == run(capsys)[0]
    assert 2 == run(capsys, written(tmp_path, REFUSED), "--window", "a week")[0]
