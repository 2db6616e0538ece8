# SPDX-License-Identifier: Apache-2.0
"""``truegreen cassette``: what it prints and how it exits."""

import json

import msgspec

from factories.cassettes import RULES, SECRET, answered, asked, recorded
from truegreen.cassettes import request
from truegreen.cli.main import run as truegreen


def run(capsys, *arguments):
    """Exit code, output, errors."""
    code = truegreen(["cassette", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_keys_that_cover_their_requests_exit_0(tmp_path, capsys):
    """With the number of changes, and what is declared or redacted."""
    rules = msgspec.structs.replace(RULES, volatile=("body.run",))
    name = recorded(tmp_path, (asked({"a": SECRET, "run": 1}), answered("4")), rules=rules)
    code, out, _ = run(capsys, "verify-key", tmp_path)
    assert 0 == code
    assert f"{name}: declared volatile: body.run\n" in out
    assert f"{name}: marks stand for secrets (1)" in out
    assert out.endswith(": every one moves the key\n")


def test_a_key_that_does_not_move_exits_1_with_the_path(tmp_path, capsys, monkeypatch):
    """In both formats."""
    recorded(tmp_path, (asked({"a": SECRET, "seed": 1}), answered("4")))
    real = request._json
    monkeypatch.setattr(request, "_json", lambda data, media: (True, {**real(data, media)[1], "seed": None}))
    code, out, _ = run(capsys, "verify-key", tmp_path)
    assert (1, True) == (code, ": body.seed: taken away does not move the key\n" in out)
    assert out.endswith(": NOT every one moves the key\n")
    code, out, _ = run(capsys, "verify-key", tmp_path, "--format", "json")
    shown = json.loads(out)
    assert (1, "truegreen/key-proof/v1") == (code, shown["schema"])
    assert {"body.seed"} == {one["path"] for one in shown["recordings"][0]["unmoved"]}


def test_no_recording_is_no_proof(tmp_path, capsys):
    """An empty folder, and one that is not there."""
    for folder in (tmp_path, tmp_path / "gone"):
        code, _, err = run(capsys, "verify-key", folder)
        assert (3, True) == (code, "[no-recordings]" in err)


def test_a_recording_that_cannot_be_read_exits_3_and_one_that_contradicts_itself_1(tmp_path, capsys):
    """The others are proved all the same."""
    recorded(tmp_path, (asked({"a": 1}), answered("4")))
    name = recorded(tmp_path / "other", (asked({"a": 2}), answered("4")))
    data = (tmp_path / "other" / name).read_bytes()
    for changed, expected in (
        (data[:-9], (3, "cassette-truncated")),
        (data.replace(b"m-1", b"m-2"), (1, "cassette-edited")),
    ):
        (tmp_path / name).write_bytes(changed)
        code, out, err = run(capsys, "verify-key", tmp_path)
        assert (expected, True) == (
            (code, expected[1] if expected[1] in err else err),
            out.startswith("recordings 1,"),
        )
