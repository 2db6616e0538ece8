# SPDX-License-Identifier: Apache-2.0
"""Evidence that is damaged, oversized or of another kind: one clear line, never green, no traceback.

Each input lies as a file in the place of the honest record and goes through the real reader and the whole gate. Zips and
folders have their tests in tests/unit/gate/test_intake.py and test_archive.py.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest

from factories.github_event import github_event
from truegreen.core.outcome import Word
from truegreen.core.record import write_record
from truegreen.report.line import LIMIT
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.tricks import put, record_of, without_evidence

PATH = {"PATH": os.environ["PATH"]}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    made = honest(tmp_path_factory.mktemp("stage"), PATH)
    with made.stage.git.asking():
        yield made


def text_with(**changes):
    """The honest record's text with other values, in a JSON that canonical form knows nothing of."""
    return lambda honest: json.dumps({**json.loads(honest), **changes}).encode()


def body_with(**changes):
    """The honest record's text with other values in its body."""

    def damaged(honest):
        record = json.loads(honest)
        return json.dumps({**record, "body": {**record["body"], **changes}}).encode()

    return damaged


def subject_with(**changes):
    """The honest record's text with other values in its subject."""

    def damaged(honest):
        record = json.loads(honest)
        return json.dumps({**record, "subject": {**record["subject"], **changes}}).encode()

    return damaged


def replaced(old, new):
    """The honest record's text with a piece exchanged."""
    return lambda honest: honest.replace(old, new, 1)


UNREADABLE = {
    "empty": lambda honest: b"",
    "white space alone": lambda honest: b" \n\t ",
    "cut in the middle": lambda honest: honest[: len(honest) // 2],
    "cut before its end": lambda honest: honest[:-1],
    "more behind its end": lambda honest: honest + b"{}",
    "twice in a row": lambda honest: honest * 2,
    "zeros": lambda honest: b"\0" * 4096,
    "not UTF-8": replaced(b"model-tests", b"model-\xfftests"),
    "half a surrogate": replaced(b'"model-tests"', b'"model-tests\\ud800"'),
    "UTF-16": lambda honest: honest.decode().encode("utf-16"),
    "a byte order mark": lambda honest: b"\xef\xbb\xbf" + honest,
    "oversized": lambda honest: honest + b" " * (16 * MIB),
    "a hundred thousand deep": lambda honest: b"[" * 100_000 + b"]" * 100_000,
    "deep inside of its body": body_with(engine=[[[[[[[[[[[[]]]]]]]]]]]] * 2),
    "NaN": replaced(b'"wall_ms":1000', b'"wall_ms":NaN'),
    "Infinity": replaced(b'"wall_ms":1000', b'"wall_ms":-Infinity'),
    "a number that no double holds": replaced(b'"wall_ms":1000', b'"wall_ms":9007199254740993'),
    "a number of a million digits": replaced(b'"wall_ms":1000', b'"wall_ms":1' + b"0" * MIB),
    "single quotes": lambda honest: honest.replace(b'"', b"'"),
    "YAML": lambda honest: b"schema: truegreen/sample-ledger/v1\nlane: model-tests\n",
    "a list": lambda honest: b"[" + honest + b"]",
    "a text": lambda honest: json.dumps(honest.decode()).encode(),
    "null": lambda honest: b"null",
    "another schema": text_with(schema="truegreen/sample-ledger/v2"),
    "a schema of nobody": text_with(schema="ledger"),
    "a schema that is no text": text_with(schema=1),
    "an unknown field": text_with(aside=1),
    "a missing field": lambda honest: json.dumps(
        {key: value for key, value in json.loads(honest).items() if key != "producer"}
    ).encode(),
    "a field of another type": text_with(lane=7),
    "an unknown field in its body": body_with(aside=1),
    "a body that is a list": text_with(body=[]),
    "an empty body": text_with(body={}),
    "a count below 0": body_with(wall_ms=-1),
    "a count with a fraction": body_with(wall_ms=1.5),
    "a number that is a text": body_with(wall_ms="1000"),
    "a truth that is a number": subject_with(dirty=0),
    "a bucket of nobody": replaced(b'"bucket":"pass"', b'"bucket":"passed"'),
    "a shortened commit": subject_with(head_sha="3f2c1d9"),
    "a commit in capitals": subject_with(head_sha="A" * 40),
    "an event of nobody": subject_with(event="workflow_dispatch"),
    "attempt 0": subject_with(run_attempt=0),
    "a lane that is a path": text_with(lane="../model-tests"),
    "a day that does not exist": text_with(issued_at="2026-02-30T10:00:00Z"),
    "a time without a zone": text_with(issued_at="2026-01-01T11:30:00"),
    "a time in another zone": text_with(issued_at="2026-01-01T11:30:00+01:00"),
    "a time with a fraction": text_with(issued_at="2026-01-01T11:30:00.5Z"),
    "a leap second": text_with(issued_at="2026-01-01T11:30:60Z"),
    "digits of another script": text_with(issued_at="२०२६-01-01T11:30:00Z"),
}
"""What nobody can read, or what the schema refuses: hold."""
CONTRADICTORY = {
    "a key twice": replaced(b'"lane":"model-tests"', b'"lane":"model-tests","lane":"model-tests"'),
    "a key twice in its body": replaced(b'"wall_ms":1000', b'"wall_ms":1000,"wall_ms":1000'),
    "a key twice, once escaped": replaced(b'"wall_ms":1000', b'"wall_ms":1000,"\\u0077all_ms":1'),
    "a sample twice": replaced(b'"n":2', b'"n":1'),
    "calls without a sample": body_with(planned=[], cases=[]),
}
"""What says two things: block."""


def one_line(decision):
    """The line is one line, short enough for a forge, and says its word and an action."""
    line = decision.line
    assert len(line) <= LIMIT
    assert 1 == len(line.splitlines())
    assert " · " in line
    assert line.startswith(decision.word.value.upper())
    return decision


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_nobody_can_read_holds(name, actors, tmp_path):
    """In the honest record's place, and beside a full set."""
    data = UNREADABLE[name](write_record(record_of(actors)))
    alone = one_line(decide_stage(put(actors, data), tmp_path / "alone"))
    beside = actors.stage.with_evidence("more/model-tests.all.1.truegreen.json", data)
    full = one_line(decide_stage(beside, tmp_path / "beside"))
    assert [(Word.HOLD, 3)] * 2 == [(made.word, made.exit_code) for made in (alone, full)]
    assert {"refused"} == {seen.standing for seen in alone.files if seen.container != "more"}


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_what_says_two_things_blocks(name, actors, tmp_path):
    """A record that one reader takes for a pass and another for a failure."""
    data = CONTRADICTORY[name](write_record(record_of(actors)))
    made = one_line(decide_stage(put(actors, data), tmp_path))
    assert Word.BLOCK is made.word


def test_a_missing_record_holds(actors, tmp_path):
    """An empty folder is no evidence."""
    made = one_line(decide_stage(without_evidence(actors), tmp_path))
    assert (Word.HOLD, "missing-record") == (made.word, made.code)


CLOCKS = {
    # name: (issued_at, now, code)
    "the producer's clock ran ahead": ("2026-01-01T13:00:00Z", "2026-01-01T12:00:00Z", "from-the-future"),
    "the gate's clock stepped back": ("2026-01-01T11:30:00Z", "2026-01-01T11:00:00Z", "from-the-future"),
    "the gate's clock stepped back for years": (
        "2026-01-01T11:30:00Z",
        "1970-01-01T00:00:00Z",
        "from-the-future",
    ),
    "the producer's clock stepped back": ("2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "before-its-job"),
    "the producer's clock was never set": ("1970-01-01T00:00:00Z", "2026-01-01T12:00:00Z", "before-its-job"),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_steps_holds(name, actors, tmp_path):
    """Until it is known which of the two is wrong, neither age nor order can be trusted."""
    issued_at, now, code = CLOCKS[name]
    record = msgspec.structs.replace(record_of(actors), issued_at=issued_at)
    stage = replace(put(actors, record), now=now)
    made = one_line(decide_stage(stage, tmp_path))
    assert (Word.HOLD, code) == (made.word, made.code)


@pytest.mark.parametrize("name", ["empty", "not UTF-8", "a hundred thousand deep", "NaN", "a list"])
def test_the_command_says_it_in_one_line_and_without_a_traceback(name, actors, tmp_path):
    """Exit 3, the line first, nothing on the error stream."""
    stage = put(actors, UNREADABLE[name](write_record(record_of(actors))))
    index = tmp_path / "run-index.json"
    index.write_bytes(stage.index_bytes())
    command = [sys.executable, "-I", "-m", "truegreen", "gate", "--repo", str(stage.git.folder)]
    command += ["--evidence", str(stage.write(tmp_path / "evidence")), "--run-index", str(index)]
    done = subprocess.run(
        command,
        env=PATH | github_event(stage.facts, tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (3, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("HOLD ")
    assert "Traceback" not in done.stdout
