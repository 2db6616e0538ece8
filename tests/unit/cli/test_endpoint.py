# SPDX-License-Identifier: Apache-2.0
"""``truegreen endpoint fake`` as a process."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

SCENARIO = (
    'schema = "truegreen/scenario/v1"\nseed = "s"\nmodels = ["m-1"]\n[[rules]]\nid = "r"\nanswer = "yes"\n'
)


@pytest.fixture
def run(tmp_path):
    """Start the verb on a scenario; what still runs is killed with the test."""
    started = []
    (tmp_path / "s.toml").write_text(SCENARIO)

    def start(*options):
        process = subprocess.Popen(
            [sys.executable, "-m", "truegreen", "endpoint", "fake", "--scenario", "s.toml", *options],
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


def _get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_serves_until_it_is_told_to_stop(run, tmp_path, sign, code):
    """It announces itself once it listens, on the screen and in the ready file, and ends with a clean code."""
    process = run("--ready-file", "ready.json")
    line = process.stdout.readline()
    said = json.loads(line)
    assert line == (tmp_path / "ready.json").read_text()
    assert process.pid == said["pid"]
    assert "m-1" == _get(f"{said['url']}/models")["data"][0]["id"]
    assert 0 == _get(said["oracle"])["calls"]
    process.send_signal(sign)
    out, err = process.communicate(timeout=20)
    assert (code, "", "" if sign == signal.SIGTERM else "truegreen: interrupted\n") == (
        process.returncode,
        out,
        err,
    )


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--scenario", "none.toml"], 3, "[unreadable-scenario]"),
        (["--port", "70000"], 2, "70000"),
        (["--ready-file", "no/such/folder/x"], 3, "[not-written]"),
    ],
)
def test_what_goes_wrong_at_the_start_is_one_line(run, options, code, said):
    """And nothing is announced that does not serve."""
    process = run(*options)
    out, err = process.communicate(timeout=20)
    assert (code, "", True) == (process.returncode, out, said in err)
    assert "Traceback" not in err


def test_a_broken_scenario_names_its_line(run, tmp_path):
    """Exit 2, before anything listens."""
    (tmp_path / "s.toml").write_text(SCENARIO + "pass = 2\n")
    process = run()
    out, err = process.communicate(timeout=20)
    wanted = "truegreen: s.toml:7: rules[0].pass is 2, asked a number from 0 to 1 [bad-scenario]"
    assert (2, "", wanted) == (process.returncode, out, err.splitlines()[0])


def test_a_port_that_is_taken_is_said(run):
    """Exit 3, with the way out."""
    port = str(json.loads(run().stdout.readline())["port"])
    process = run("--port", port)
    _, err = process.communicate(timeout=20)
    assert (3, True) == (process.returncode, "[port-taken]" in err and "--port 0" in err)


def test_a_local_model_that_is_none_is_said_before_anything_is_loaded(tmp_path):
    """Exit 2 for another format, 3 for a file that is not there; one line each."""
    (tmp_path / "x.gguf").write_bytes(b"PK")
    for name, code, said in [("x.gguf", 2, "[bad-model]"), ("none.gguf", 3, "[unreadable-model]")]:
        done = subprocess.run(
            [sys.executable, "-m", "truegreen", "endpoint", "local", "--model", name],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (code, "", True) == (done.returncode, done.stdout, said in done.stderr)
