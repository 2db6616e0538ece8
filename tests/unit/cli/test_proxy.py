# SPDX-License-Identifier: Apache-2.0
"""``truegreen proxy serve`` as a process."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from truegreen.core.replay_session import read_session
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()


@pytest.fixture
def run(tmp_path):
    """Start the verb; what still runs is killed with the test."""
    started = []

    def start(*options):
        process = subprocess.Popen(
            [sys.executable, "-m", "truegreen", "proxy", "serve", *options],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _ask(url):
    sent = urllib.request.Request(
        f"{url}/chat/completions", data=BODY, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as err:
        with err:
            return err.code


def _stop(process, sign=signal.SIGTERM):
    process.send_signal(sign)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def test_record_then_replay_then_a_miss(run, tmp_path):
    """Each mode announces itself, serves until it is told to stop, and its exit says whether it is green."""
    with FakeEndpoint(Scenario(seed="s", rules=(Rule(id="r", answer="yes"),))) as endpoint:
        recorder = run(
            "--mode", "record", "--upstream", endpoint.url, "--cassettes", "c", "--alias", "models"
        )
        said = json.loads(recorder.stdout.readline())
        assert ("record", recorder.pid) == (said["mode"], said["pid"])
        assert 200 == _ask(said["url"])
        assert (0, "record: 1 requests, 1 calls, 0 retries, 0.000 s waited, 1 kept\n", "") == _stop(recorder)
    options = (
        "--mode",
        "replay",
        "--upstream",
        "http://127.0.0.1:9/v1",
        "--cassettes",
        "c",
        "--alias",
        "models",
    )
    replay = run(*options, "--ready-file", "ready.json", "--session", "account.json")
    line = replay.stdout.readline()
    assert line == (tmp_path / "ready.json").read_text()
    assert [200, 424] == [_ask(json.loads(line)["url"]) for _ in range(2)]
    code, out, err = _stop(replay)
    assert (1, "", "replay: 2 requests, 1 replayed, 1 without a recording") == (
        code,
        err,
        out.splitlines()[0],
    )
    assert out.splitlines()[1].endswith("[cassette-exhausted]")
    session = read_session((tmp_path / "account.json").read_bytes())
    assert (False, 1, 1, "none") == (session.complete, len(session.hits), len(session.misses), session.guard)


def test_ctrl_c_interrupts_it_and_still_says_what_happened(run):
    """130, and the summary."""
    process = run("--mode", "live", "--upstream", "http://127.0.0.1:9/v1")
    json.loads(process.stdout.readline())
    code, out, err = _stop(process, signal.SIGINT)
    assert (130, "live: 0 requests, 0 calls, 0 retries, 0.000 s waited\n", "truegreen: interrupted\n") == (
        code,
        out,
        err,
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--mode", "record", "--cassettes", "c"], "recording-in-ci"),
        (["--mode", "replay"], "recordings-needed"),
        (["--mode", "live", "--host", "0.0.0.0"], "open-proxy-refused"),
        (["--mode", "live", "--host", "example.test"], "open-proxy-refused"),
    ],
)
def test_what_cannot_be_served_is_exit_2(run, monkeypatch, tmp_path, options, code):
    """One line with the code, and no folder is made."""
    monkeypatch.setenv("CI", "true")
    process = run(*options, "--upstream", "http://127.0.0.1:9/v1")
    out, err = process.communicate(timeout=20)
    assert (2, "", True) == (process.returncode, out, f"[{code}]" in err)
    assert [] == list(tmp_path.iterdir())


def test_names_of_loopback_are_loopback(run):
    """``localhost`` and ``::1`` need no leave."""
    process = run("--mode", "live", "--upstream", "http://127.0.0.1:9/v1", "--host", "localhost")
    json.loads(process.stdout.readline())
    assert 0 == _stop(process)[0]
