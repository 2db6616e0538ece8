# SPDX-License-Identifier: Apache-2.0
"""``truegreen cassette record``: what is shown before anything is sent, and how it exits."""

import pytest

from truegreen.cli import cassette_record
from truegreen.cli.main import run as truegreen
from truegreen.core.digest import Sha256
from truegreen.core.recording import Asked
from truegreen.core.replay_session import Missed
from truegreen.wiring.cassette_record import Recorded, Wanted
from truegreen.wiring.cassette_seal import Sealed

MISS = Missed(code="cassette-missing", key=Sha256("sha256:" + "1" * 64), count=1)
GOOD = Wanted(miss=MISS, asked=Asked(method="POST", path="/v1/messages", body=b"{}"), refused="")
BAD = Wanted(miss=MISS, asked=None, refused="GET does not ask a model for an answer")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Exit code and output, with these requests wanted and this outcome."""

    def call(found, done=None, *options):
        monkeypatch.setattr(cassette_record, "wanted", lambda request, environment: found)
        monkeypatch.setattr(cassette_record, "record_them", lambda request, asked, environment: done)
        code = truegreen(
            [
                "cassette",
                "record",
                "--pr",
                "7",
                "--evidence",
                str(tmp_path),
                "--upstream",
                "http://x/v1",
                *options,
            ]
        )
        return code, capsys.readouterr().out

    return call


def test_without_leave_nothing_is_sent(run):
    """Each request is shown, those that are refused too."""
    code, out = run((GOOD, BAD))
    assert (3, "1 of 2 requests can be sent; nothing was sent") == (code, out.splitlines()[-1])
    assert "POST /v1/messages, 2 bytes: {}\n" in out
    assert "not sent: GET does not ask a model for an answer\n" in out


def test_nothing_that_may_be_sent_is_a_failure(run):
    """With leave or without."""
    assert 1 == run((BAD,), None, "--yes")[0]


def test_what_was_recorded_comes_with_the_commands_to_push_it(run, tmp_path):
    """Ready to paste, the seal among the files."""
    sealed = Sealed(path=tmp_path / "s.dsse.json", files=("a.json",), key="k")
    code, out = run((GOOD,), Recorded(kept=1, failed=(), files=("a.json",), sealed=sealed), "--yes")
    assert (0, True) == (code, f"  git add cassettes/a.json {sealed.path}\n" in out)
    assert "  gh pr checkout 7\n" in out


def test_what_was_not_recorded_fails(run):
    """One request had no answer to keep; another was never sent."""
    failed = Recorded(
        kept=0, failed=("POST /v1/messages was answered 502, nothing is kept",), files=(), sealed=None
    )
    code, out = run((GOOD,), failed, "--yes")
    assert (1, True) == (code, "was answered 502" in out)
    assert 1 == run((GOOD, BAD), Recorded(kept=1, failed=(), files=("a.json",), sealed=None), "--yes")[0]


def test_hostile_requests_are_shown_harmless(run):
    """A stranger wrote them."""
    odd = Wanted(
        miss=MISS, asked=Asked(method="POST", path="/v1/messages", body=b"\x1b[2J\n\xe2\x80\xae"), refused=""
    )
    assert "\x1b" not in run((odd,))[1]
