# SPDX-License-Identifier: Apache-2.0
"""``truegreen proxy run`` from start to end, as a process; real clients are in tests/sdks."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from truegreen.core.replay_session import joined, read_session
from truegreen.endpoint.fake import FakeEndpoint

SCENARIO = """
schema = "truegreen/scenario/v1"
seed = "run"
[[rules]]
id = "any"
when = { contains = "hi" }
answer = { ok = true }
"""
ASK = """
import json, os, sys, urllib.request
for text in sys.argv[1:]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(os.environ["MODEL_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["MODEL_API_KEY"]})
    try:
        print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
    except OSError as err:
        print("swallowed", getattr(err, "code", err))
"""
KEY = "sk-made-up-abcdefghijklmnop0123456789"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """An endpoint that counts."""
    path = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    with FakeEndpoint.from_file(path) as serving:
        yield serving


@pytest.fixture
def run(endpoint, tmp_path):
    """Exit code, output and error lines of one run in the test's folder."""

    def start(mode, *command, options=(), environment=None):
        named = ["--upstream", f"openai={endpoint.url}"]
        done = subprocess.run(
            [sys.executable, "-m", "truegreen", "proxy", "run", "--mode", mode, *named, *options, *command],
            cwd=tmp_path,
            env={
                **os.environ,
                "MODEL_API_KEY": KEY,
                "XDG_CACHE_HOME": str(tmp_path / "c"),
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.splitlines()

    return start


def asked(*texts):
    """A program that asks these, one after another."""
    return ["--", sys.executable, "-c", ASK, *texts]


def test_the_whole_way_from_recording_to_replay(run, tmp_path):
    """What was asked is played, what was not is missed, and the account says both."""
    assert 0 == run("record", *asked("hi one", "hi two"))[0]
    code, out, told = run("replay", *asked("hi one", "hi three"), options=["--session", "s.json", "--whole"])
    assert (1, ['{"ok":true}', "swallowed 424"]) == (
        code,
        [line.replace(" ", "") if line[0] == "{" else line for line in out.splitlines()],
    )
    assert "1 hits, 1 misses, 1 recordings unused, 0 attempts past the proxy refused" in told[0]
    session = read_session((tmp_path / "s.json").read_bytes())
    assert (1, 1, 1, 1) == (
        len(session.hits),
        session.hits[0].count,
        len(session.misses),
        len(session.unused),
    )
    assert ("cassettes", True, 0, 0, 0) == (
        session.cassettes, session.complete, session.command_exit, session.upstream_calls, session.guard_stops,
    )  # fmt: skip
    assert session.guard in told[0]
    assert session.before == session.after
    assert session == joined([session])


def test_an_account_says_that_nobody_knows_whether_everything_ran(run, tmp_path):
    """Unless the caller says so; an attempt past the proxy stands in it."""
    past = "import socket\ntry:\n    socket.create_connection(('1.2.3.4', 80), 1)\nexcept OSError:\n    pass"
    code, _, _ = run("replay", "--", sys.executable, "-c", past, options=["--session", "s.json"])
    session = read_session((tmp_path / "s.json").read_bytes())
    assert (1, False, 1) == (code, session.complete, session.guard_stops)
    assert "--whole" in session.incomplete_because


def test_a_command_that_was_killed_did_not_run_everything(run, tmp_path):
    """Whatever the caller says."""
    code, _, _ = run("replay", "--", "sh", "-c", "kill -KILL $$", options=["--session", "s.json", "--whole"])
    session = read_session((tmp_path / "s.json").read_bytes())
    assert (137, False, "the command was ended by signal 9") == (
        code,
        session.complete,
        session.incomplete_because,
    )


def test_a_whole_replay_that_asked_for_nothing_is_no_pass(run):
    """A suite that collects nothing, say: exit 3, unless the command failed by itself; without --whole nobody claims it."""
    code, _, told = run("replay", "--", "true", options=["--whole"])
    assert (3, True) == (code, "nothing was asked for" in " ".join(told))
    assert 7 == run("replay", "--", "sh", "-c", "exit 7", options=["--whole"])[0]
    assert 0 == run("replay", "--", "true")[0]


def test_a_command_sees_stand_ins_in_replay_and_its_own_keys_otherwise(run):
    """And the mode, and the proxy's address wherever an SDK looks for one."""
    show = ["--", sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    replay, live = (json.loads(run(mode, *show)[1]) for mode in ("replay", "live"))
    names = ("MODEL_API_KEY", "TRUEGREEN_PROXY_MODE")
    assert ("truegreen-replay", "replay") == tuple(replay[name] for name in names)
    assert (KEY, "live") == tuple(live[name] for name in names)
    assert 1 == len({replay[name] for name in ("OPENAI_BASE_URL", "MODEL_BASE_URL", "TRUEGREEN_PROXY")})
    assert "http://127.0.0.1:" == replay["OPENAI_BASE_URL"][:17]


@pytest.mark.parametrize("code", [0, 5, 130])
def test_the_exit_code_is_the_commands(run, code):
    """Where nothing else is wrong; options of the command are its own."""
    assert code == run("replay", sys.executable, "-c", f"raise SystemExit({code})")[0]


def test_a_miss_is_1_whatever_the_command_returned(run):
    """Also where it failed by itself, with another code."""
    program = ["--", "sh", "-c", f"{sys.executable} -c '{ASK}' 'hi never'; exit 7"]
    assert 1 == run("replay", *program)[0]


def test_recording_refuses_in_ci(run, endpoint):
    """Before a guard is taken or a command started."""
    before = endpoint.oracle().calls
    code, out, told = run("record", *asked("hi"), environment={"CI": "true"})
    assert (2, "", before) == (code, out, endpoint.oracle().calls)
    assert "[recording-in-ci]" in told[0]


@pytest.mark.parametrize(
    "wrong",
    [
        ("record", ["--guard", "landlock"], 2, "[guard-needs-replay]"),
        ("live", ["--session", "s.json"], 2, "--session does nothing beside --mode live"),
        ("replay", ["--keep-errors"], 2, "--keep-errors does nothing beside --mode replay"),
        ("replay", ["--log", "calls.jsonl"], 2, "[log-not-used]"),
        ("replay", ["--upstream", "http://other.example/v1"], 2, "[provider-twice]"),
        ("replay", ["--guard", "jail"], 2, "--guard"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(run, tmp_path, wrong):
    """One line with its code."""
    mode, options, code, said = wrong
    found, out, told = run(mode, "--", "touch", "ran", options=options)
    assert (code, "", True) == (found, out, said in told[0]), told
    assert not (tmp_path / "ran").exists()


def test_a_guard_that_is_not_allowed_here_stops_everything(run, tmp_path):
    """A machine without a compiler on its path has no preload, and nothing stands in for it."""
    code, _, told = run(
        "replay", "--", "touch", "ran", options=["--guard", "preload"], environment={"PATH": "/nowhere"}
    )
    assert (3, True) == (code, "[guard-unavailable]" in told[0])
    assert not (tmp_path / "ran").exists()


def test_an_http_proxy_of_the_environment_is_not_asked(run):
    """It stands outside; the program asks ours."""
    run("record", *asked("hi"))
    code, out, told = run(
        "replay",
        *asked("hi"),
        environment={"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"},
    )
    assert (0, True) == (code, '"ok"' in out), told


def test_interrupted_at_the_terminal_everything_ends(tmp_path):
    """130, as the command itself answers; its temporary folder and its children are gone."""
    script = "trap 'exit 130' INT; sleep 600 & echo $! > child; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "truegreen", "proxy", "run", "--mode", "replay", "--guard", "audit", "--", "sh", "-c", script],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    child = tmp_path / "child"
    while not (child.exists() and child.read_text(encoding="utf-8").strip()):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (130, True) == (process.returncode, "1 processes that the command left behind" in told), told
    assert [] == list(tmp_path.glob("truegreen-run-*"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text(encoding="utf-8")), 0)


WORKERS = """
import os, socket, urllib.request, json, pytest
@pytest.mark.parametrize("n", range(4))
def test_it(n):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"hi {n}"}]}).encode()
    request = urllib.request.Request(os.environ["MODEL_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
    assert json.load(urllib.request.urlopen(request))["choices"]
    if os.environ.get("PAST") and n == 3:
        try:
            socket.create_connection(("1.2.3.4", 80), 1)
        except OSError:
            pass
"""


def test_workers_of_xdist_are_held_too(run, tmp_path):
    """Their recordings are played, and what one of them swallowed is red although all tests pass."""
    (tmp_path / "test_workers.py").write_text(WORKERS, encoding="utf-8")
    options = ("-q", "-p", "xdist", "-p", "no:cacheprovider", "-n", "2")
    command = ["--", sys.executable, "-m", "pytest", *options, "test_workers.py"]
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    assert 0 == run("record", *command, environment=plain)[0]
    code, out, told = run("replay", *command, environment={"PAST": "1", **plain})
    assert (1, True) == (code, "4 passed" in out), told
    assert "4 hits, 0 misses, 0 recordings unused, 1 attempts past the proxy refused" in told[0]


BROKEN = """
import os, socket, urllib.parse
at = urllib.parse.urlsplit(os.environ["MODEL_BASE_URL"])
with socket.create_connection((at.hostname, at.port)) as client:
    client.sendall(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: many\\r\\n\\r\\n")
    print(client.recv(20).split()[1])
"""


def test_what_was_no_request_fails_the_account_of_its_replay(run, tmp_path):
    """The program swallowed it, one recording answered, and neither the run nor its account is green."""
    assert 0 == run("record", *asked("hi one"))[0]
    program = ["--", sys.executable, "-c", ASK + BROKEN, "hi one"]
    code, out, told = run("replay", *program, options=["--session", "s.json", "--whole"])
    session = read_session((tmp_path / "s.json").read_bytes())
    assert (1, "b'400'", 1, (), 1) == (
        code,
        out.splitlines()[-1],
        len(session.hits),
        session.misses,
        session.command_exit,
    )
    assert "  no request that can be served: 1" in told
