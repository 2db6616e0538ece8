# SPDX-License-Identifier: Apache-2.0
"""The verb ``sample`` as a process."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from truegreen.core.record import read_record
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario

ASK = """
import json
import os
import urllib.request


def ask(question):
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(
        os.environ["MODEL_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def test_yes():
    assert "yes" == ask("yes?")


def test_no():
    assert "no" == ask("no?")
"""
POLICY = """
schema = "truegreen/policy/v1"
[check]
name = "truegreen"
workflow = ".github/workflows/truegreen.yml"
branches = ["main"]
[lanes.model-tests]
tests = "tests/llm"
"""


@pytest.fixture(scope="module")
def endpoint():
    """Says yes to everything."""
    with FakeEndpoint(Scenario(seed="s", rules=(Rule(id="all", answer="yes"),))) as running:
        yield running


@pytest.fixture
def root(tmp_path):
    """A repository with two model tests."""
    for name, text in {
        "truegreen.toml": POLICY,
        "tests/llm/test_yes.py": ASK,
        ".gitignore": "artifacts/\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    return tmp_path


def _command(*arguments):
    return [sys.executable, "-m", "truegreen", "sample", *arguments]


def _environment(endpoint, **more):
    return {**os.environ, "MODEL_BASE_URL": endpoint.url, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}


def test_the_whole_screen(root, endpoint):
    """Progress on the error stream, the summary on standard output."""
    done = subprocess.run(
        _command("--runs", "5"),
        cwd=root,
        env=_environment(endpoint),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode
    shown = re.sub(r"\d+\.\d s", "1.0 s", done.stdout.replace(f":{endpoint.port}", ":PORT"))
    assert [
        "   0/5  tests/llm/test_yes.py::test_no  never passed: works at most 46 % of the time (95 % sure)",
        "          sample 1 fail (assertion): AssertionError: assert 'no' == 'yes'",
        "   5/5  tests/llm/test_yes.py::test_yes  passes: works at least 54 % of the time (95 % sure)",
        shown.splitlines()[3],
        "ledger: artifacts/model-tests.all.1.truegreen.json",
    ] == shown.splitlines()
    assert re.fullmatch(
        r"2 cases · 10 calls, \d+ tokens, 1\.0 s · m at 127\.0\.0\.1:PORT · engine fork",
        shown.splitlines()[3],
    )
    assert ["sampling 2 cases (engine fork)"] == done.stderr.splitlines()[:1]
    assert 3 == len(done.stderr.splitlines())


@pytest.mark.parametrize(
    ("arguments", "more", "code", "said"),
    [
        (["--check"], {}, 1, ""),
        ([], {"MODEL_BASE_URL": ""}, 2, "no-endpoint"),
        (["--runs", "0"], {}, 2, "bad-command-line"),
        (["--lane", "other"], {}, 2, "no-such-lane"),
        ([], {"SAMPLE_RUNS": "many"}, 2, "bad-count"),
        (["tests/nothing"], {}, 2, "no-such-path"),
    ],
)
def test_exit_codes(  # noqa: PLR0913, PLR0917 - a row of the table each
    root, endpoint, arguments, more, code, said
):
    """One line on the error stream, never a traceback."""
    done = subprocess.run(
        _command(*arguments),
        cwd=root,
        env=_environment(endpoint, **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert code == done.returncode
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_collected_is_exit_3(root, endpoint):
    """An empty lane is not a passing one."""
    (root / "tests" / "llm" / "test_yes.py").write_text("")
    done = subprocess.run(
        _command(), cwd=root, env=_environment(endpoint), capture_output=True, text=True, check=False
    )
    assert 3 == done.returncode
    assert "tests/llm holds 0 model tests and cases, at least 1 is asked [nothing-collected]" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_measured(root, endpoint, number):
    """Exit 130, a runner's cancellation too; the record is whole, and what had started is missing in it."""
    (root / "tests" / "llm" / "test_hang.py").write_text(
        "import time\n\n\ndef test_hang():\n    time.sleep(600)\n"
    )
    process = subprocess.Popen(
        _command("--runs", "3", "-j", "4"), cwd=root, env=_environment(endpoint), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    for line in process.stderr:
        if "1 cases open" in line:
            break
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert 130 == process.returncode
    assert "never asked the model" not in said  # what was cut off says nothing about its test
    envelope, _ = read_record((root / "artifacts" / "model-tests.all.1.truegreen.json").read_bytes())
    body = envelope.body
    assert "interrupted" == body["ended"]
    cases = {case["id"].rpartition("_")[2]: case for case in body["cases"]}
    assert ["pass"] * 3 == [one["bucket"] for one in cases["yes"]["samples"]]
    assert {("invalid", "missing")} == {(one["bucket"], one["reason"]) for one in cases["hang"]["samples"]}
    assert "inconclusive" == cases["hang"]["state"]


def test_a_disk_that_fills_leaves_the_old_record(root, endpoint):
    """Old bytes or new, never half; the line says so."""
    record = root / "artifacts" / "model-tests.all.1.truegreen.json"
    record.parent.mkdir()
    record.write_bytes(b"old")
    limited = "import resource, sys, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)); sys.argv = ['truegreen', 'sample', '--runs', '2']; runpy.run_module('truegreen', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " + limited],
        cwd=root, env=_environment(endpoint, PYTHONDONTWRITEBYTECODE="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (3, b"old") == (done.returncode, record.read_bytes()), done.stderr
    assert "disk-full" in done.stderr
    assert ["model-tests.all.1.truegreen.json"] == [path.name for path in record.parent.iterdir()]


def test_a_kill_while_the_record_is_written_leaves_old_bytes_or_new(root, endpoint):
    """Whatever moment it hits."""
    record = root / "artifacts" / "model-tests.all.1.truegreen.json"
    record.parent.mkdir()
    record.write_bytes(b"old")
    process = subprocess.Popen(
        _command("--runs", "2"), cwd=root, env=_environment(endpoint), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    for line in process.stderr:
        if "0 cases open" in line:
            break
    process.kill()
    process.wait(30)
    process.stderr.close()
    data = record.read_bytes()
    assert data == b"old" or read_record(data)[0].lane == "model-tests"
    until = time.monotonic() + 20
    while _children_of(root) and time.monotonic() < until:
        time.sleep(0.1)
    assert [] == _children_of(root)


def _children_of(root):
    """Processes that run in the repository."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                where = str(Path(f"/proc/{entry.name}/cwd").readlink())
            except OSError:
                continue
            if where == str(root):
                found.append(int(entry.name))
    return found


def test_the_ledger_goes_where_it_is_asked_to(root, endpoint):
    """From the folder of the call."""
    done = subprocess.run(
        _command("--runs", "1", "--ledger", "mine.truegreen.json", "--rule", "fixed"),
        cwd=root, env=_environment(endpoint), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 0 == done.returncode
    assert "model-tests" == json.loads((root / "mine.truegreen.json").read_text())["lane"]
