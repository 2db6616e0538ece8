# SPDX-License-Identifier: Apache-2.0
"""Leave for shells and commands, as processes use it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from truegreen.cli.main import run
from truegreen.limiter.backend import Key
from truegreen.limiter.file import File
from truegreen.limiter.limits import Limits, checked
from truegreen.wiring.limiter_leave import limiter_token

TRUEGREEN = [sys.executable, "-m", "truegreen", "limiter"]
LIMITS = checked(Limits(in_flight=1))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a policy of one place, and its count."""

    def written(*lines):
        (tmp_path / "truegreen.toml").write_text(
            'schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n[limiter]\nowner = "@ana"\n'
            + "".join(f"{line}\n" for line in lines or ("capacity = 1", "wait_s = 60"))
            + f'backend = "file:{tmp_path}/count"\n',
            encoding="utf-8",
        )

    written()
    monkeypatch.chdir(tmp_path)
    return written


@pytest.fixture
def count(place, tmp_path):
    """The count itself."""
    made = File(tmp_path / "count", LIMITS)
    yield made
    made.close()


def patient(condition):
    """Wait until it is so."""
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


def test_a_shell_gets_a_lease_and_hands_it_back(place, count, capfd):
    """The lease alone is printed, so that a shell can keep it; handing back twice is no error."""
    assert 0 == run(["limiter", "acquire"])
    lease = capfd.readouterr().out.strip()
    assert [lease] == [held.id for held in count.state(Key()).places]
    assert 3 == run(["limiter", "acquire", "--wait", "0"])
    told = capfd.readouterr().err
    assert "1 of 1 places are taken and the ask does not wait [leave-refused]" in told
    assert "hint: truegreen limiter status; the limits are @ana's to change" in told
    assert 3 == run(["limiter", "run", "--wait", "0", "--", "true"])
    assert "the limits are @ana's to change" in capfd.readouterr().err
    assert (0, 0) == (run(["limiter", "release", lease]), run(["limiter", "release", lease]))
    assert () == count.state(Key()).places
    assert 0 == run(["limiter", "acquire", "--format", "json", "--cost", "1"])
    told = json.loads(capfd.readouterr().out)
    assert ("truegreen/limiter-lease/v1", 2) == (told["schema"], told["ticket"])


def test_status_says_who_holds_what(place, capfd):
    """In words and as JSON; the same ledger."""
    assert 0 == run(["limiter", "status"])
    assert "nobody has asked yet\n" == capfd.readouterr().out
    run(["limiter", "acquire", "--resource", "gpt"])
    capfd.readouterr()
    assert 0 == run(["limiter", "status"])
    lines = capfd.readouterr().out.splitlines()
    assert "gpt of default: 1 of 1 in flight, 0 waiting; no rate" == lines[0]
    assert lines[1].startswith("  ticket 1: ")
    assert "  1 given, 0 refused, 0 cancelled, 0 dropped, 0 leases ended by themselves" == lines[2]
    assert 0 == run(["limiter", "status", "--format", "json", "--resource", "gpt"])
    (ledger,) = json.loads(capfd.readouterr().out)["ledgers"]
    assert ("gpt", 1, 1) == (ledger["resource"], ledger["capacity"], len(ledger["in_flight"]))


@pytest.mark.parametrize(
    ("command", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_a_command_holds_leave_and_its_exit_is_ours(place, count, command, code):
    """Its place is free afterwards, however it ended."""
    assert code == run(["limiter", "run", "--", "sh", "-c", command])
    assert ((), 1) == (count.state(Key()).places, count.state(Key()).counts.granted)


def test_a_command_that_cannot_be_started_is_exit_2_and_holds_nothing(place, count, capfd):
    """Nothing ran."""
    assert 2 == run(["limiter", "run", "--", "no-such-command-here"])
    assert "no-such-command-here cannot be started: No such file or directory [command-not-started]" in (
        capfd.readouterr().err
    )
    assert () == count.state(Key()).places


def test_a_command_is_not_started_without_leave(place, tmp_path):
    """Exit 3, and nothing happened."""
    run(["limiter", "acquire"])
    assert 3 == run(["limiter", "run", "--wait", "0", "--", "touch", "started"])
    assert not (tmp_path / "started").exists()


def test_signals_reach_the_command(place, count):
    """It decides how it ends; its place is free then."""
    program = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([*TRUEGREEN, "run", "--", "sh", "-c", program], stdout=subprocess.PIPE) as ran:
        ran.stdout.readline()
        ran.send_signal(signal.SIGTERM)
        ran.wait(60)
    assert (5, ()) == (ran.returncode, count.state(Key()).places)


@pytest.mark.parametrize("asks", [["run", "--", "touch", "started"], ["acquire"]])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_whoever_is_stopped_while_it_waits_gives_its_ticket_back(place, count, number, code, asks):
    """And starts nothing."""
    run(["limiter", "acquire"])
    with subprocess.Popen([*TRUEGREEN, *asks]) as ran:
        assert patient(lambda: count.state(Key()).queue)
        ran.send_signal(number)
        ran.wait(60)
    assert (code, ()) == (ran.returncode, count.state(Key()).queue)
    assert not Path("started").exists()


def test_a_lease_that_nobody_was_told_is_handed_back(place, count):
    """The disk behind the output is full: nobody could ever release it."""
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*TRUEGREEN, "acquire"], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (3, ()) == (ran.returncode, count.state(Key()).places)
    assert "output-lost" in ran.stderr


@pytest.mark.parametrize(
    "option",
    ["--wait=nan", "--wait=inf", "--wait=1e6", "--cost=99999999999999999999", "--output-tokens=1e3"],
)
def test_a_number_that_is_none_is_a_usage_error(place, count, option, capfd):
    """Exit 2 before anybody is asked."""
    assert 2 == run(["limiter", "acquire", option])
    assert option.partition("=")[0] in capfd.readouterr().err
    assert 0 == count.state(Key()).tickets


def test_a_service_does_not_drain_for_no_number_of_seconds(capfd):
    """As for a wait."""
    assert 2 == run(["limiter", "serve", "--in-memory", "--rate", "1/s", "--drain", "nan"])
    assert "'--drain': nan is no number of seconds" in capfd.readouterr().err


def test_a_lease_is_kept_alive_for_a_long_command(place, count):
    """Three leases long."""
    place("capacity = 1", "lease_s = 0.3")
    assert 0 == run(["limiter", "run", "--", "sleep", "1"])
    assert 0 == count.state(Key()).counts.expired


def test_commands_at_once_never_overlap(place, tmp_path):
    """Four of them append and count; one place."""
    script = "echo in >>log; sleep 0.05; echo out >>log"
    started = [subprocess.Popen([*TRUEGREEN, "run", "--", "sh", "-c", script]) for _ in range(4)]
    assert [0] * 4 == [one.wait(60) for one in started]
    assert ["in", "out"] * 4 == (tmp_path / "log").read_text().split()


def test_a_policy_without_limits_is_told(place, tmp_path, capfd):
    """Nothing is guessed."""
    (tmp_path / "truegreen.toml").write_text('schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n')
    assert 2 == run(["limiter", "acquire"])
    assert "has no table [limiter]: nothing is limited [no-limits]" in capfd.readouterr().err


def test_another_machine_does_not_count_for_itself(place, capfd):
    """The policy names the one that does."""
    place("capacity = 1", 'host = "some-other-machine"')
    for verb in (["acquire"], ["status"], ["run", "--", "true"]):
        assert 2 == run(["limiter", *verb])
        assert "the count belongs to some-other-machine" in capfd.readouterr().err


def test_a_count_that_is_away_fails_closed_or_is_divided(place, tmp_path, capfd):
    """As the policy says; a share is said on the error stream, and the first call waits for it."""
    place("capacity = 4", 'rate = "600/min"', "lease_s = 5")
    run(["limiter", "acquire"])
    (file,) = (tmp_path / "count").glob("*.ledger")
    file.unlink()
    file.symlink_to("elsewhere")
    assert 3 == run(["limiter", "run", "--", "true"])
    assert (
        "cannot be used: it is a link, which is not followed [limiter-unreachable]" in capfd.readouterr().err
    )
    place("capacity = 4", 'rate = "600/min"', 'on_unreachable = "divide"', "shares = 4")
    assert 0 == run(["limiter", "run", "--", "true"])
    assert "until then one of 4 shares of the limits is used" in capfd.readouterr().err


def test_a_count_that_cannot_even_be_opened_is_divided_as_well(place, tmp_path, capfd):
    """A file stands where its folder should be; a command that is held with a share runs."""
    (tmp_path / "count").write_bytes(b"")
    assert 3 == run(["limiter", "run", "--", "true"])
    assert "[limiter-unreachable]" in capfd.readouterr().err
    place("capacity = 4", 'on_unreachable = "divide"', "shares = 2")
    assert 0 == run(["limiter", "run", "--", "true"])
    assert "until then one of 2 shares of the limits is used" in capfd.readouterr().err
    assert 3 == run(["limiter", "status"])


def test_a_lease_for_a_shell_is_never_of_a_share(place, tmp_path, capfd):
    """The share would be counted by a process that ends at once, and given again to the next."""
    place("capacity = 4", 'on_unreachable = "divide"', "shares = 4")
    run(["limiter", "acquire"])
    capfd.readouterr()
    (file,) = (tmp_path / "count").glob("*.ledger")
    file.unlink()
    file.symlink_to("elsewhere")
    assert 3 == run(["limiter", "acquire"])
    assert ("", True) == ((told := capfd.readouterr()).out, "[limiter-unreachable]" in told.err)


def test_a_tokens_line_end_is_none_of_it(monkeypatch):
    """As a shell reads it out of a file."""
    monkeypatch.setenv("TRUEGREEN_LIMITER_TOKEN", "a-token\n")
    assert "a-token" == limiter_token()


def test_the_holder_is_the_job_of_the_runner(place, monkeypatch, capfd):
    """So that status names a job and not a number."""
    monkeypatch.setenv("GITHUB_JOB", "evals")
    monkeypatch.setenv("GITHUB_RUN_ID", "77")
    run(["limiter", "acquire"])
    run(["limiter", "status"])
    assert "  ticket 1: evals of run 77, asked " in capfd.readouterr().out
    assert os.environ["GITHUB_JOB"]
