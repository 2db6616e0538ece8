# SPDX-License-Identifier: Apache-2.0
"""Pytest runs whose model calls are replayed, as separate processes."""

import json
import os
import subprocess
import sys

import pytest

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.errors import ReachProblem
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.core.replay_session import read_session
from truegreen.wiring.atomic import write_atomic

NOW = "2026-11-29T17:00:00Z"
SUITE = """
import json, os, urllib.error, urllib.request
import pytest

def ask(text):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    sent = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as err:
        err.close()
        return "fallback"

@pytest.mark.parametrize("number", range(4))
def test_recorded(number):
    assert ask(f"question {number}") == f"answer {number}"
"""
SWALLOWED = "\n\ndef test_swallowed():\n    assert ask('never recorded') == 'fallback'\n"


def _recorded(folder, count=4):
    """A folder of answers of OpenAI's own host."""
    rules = KeyRules(host="api.openai.com")
    store = Store(Folder(folder, write_atomic), rules, Recorder(now=lambda: NOW, since=NOW))
    for number in range(count):
        body = {"messages": [{"role": "user", "content": f"question {number}"}], "model": "m"}
        message = {"role": "assistant", "content": f"answer {number}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        store.keep(
            Asked(
                method="POST",
                path="/v1/chat/completions",
                headers=(("content-type", "application/json"),),
                body=json.dumps(body).encode(),
            ),
            Answered(
                status=200,
                headers=(("content-type", "application/json"),),
                chunks=(Chunk(after_s=0.0, data=json.dumps(answer).encode()),),
            ),
        )


@pytest.fixture
def run(tmp_path):
    """Run pytest in a folder with recordings; output and exit code."""
    _recorded(tmp_path / "cassettes")

    def go(*arguments, plugins=(), **more):
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}
        named = [part for plugin in ("truegreen", *plugins) for part in ("-p", plugin)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *named, "-q", "-rN", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr, done.returncode

    return go


REPLAY = ("--truegreen-replay", "cassettes", "--truegreen-session", "account.json")


def test_a_whole_run_is_green_and_accounted(suite, run, tmp_path):
    """Every recording was played, nothing left, no key was needed, and the account says that it is whole."""
    suite(test_it=SUITE)
    out, code = run(*REPLAY)
    assert (0, True) == (code, "truegreen replay: 4 requests, 4 replayed, 0 without a recording" in out)
    session = read_session((tmp_path / "account.json").read_bytes())
    assert (True, 0, 4, (), ()) == (
        session.complete,
        session.command_exit,
        len(session.hits),
        session.misses,
        session.unused,
    )


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_swallowed_miss_turns_the_run_red(suite, run, tmp_path, arguments):
    """Every test passes; the exit is 1, in one process and over the workers of pytest-xdist."""
    suite(test_it=SUITE + SWALLOWED)
    out, code = run(*REPLAY, *arguments, plugins=("xdist",) if arguments else ())
    assert (1, True) == (code, "5 passed" in out)
    assert "truegreen replay: 5 requests, 4 replayed, 1 without a recording" in out
    assert "[cassette-missing]" in out
    assert "this run is red, whatever its tests said" in out
    session = read_session((tmp_path / "account.json").read_bytes())
    assert (4, ["cassette-missing"]) == (len(session.hits), [miss.code for miss in session.misses])


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (("-k", "0"), "the option keyword selects"),
        (("tests/test_it.py",), "paths or ids were given"),
        (("-x",), "the option maxfail selects"),
        (("--collect-only",), "the option collectonly selects"),
        (("--setup-only",), "the option setuponly selects"),
        (("--fixtures",), "the option showfixtures selects"),
        (("-o", "python_functions=test_recorded"), "the setting python_functions selects"),
    ],
)
def test_a_part_of_a_run_is_not_whole(suite, run, tmp_path, arguments, because):
    """After it no recording may count as unused."""
    suite(test_it=SUITE)
    _, code = run(*REPLAY, *arguments)
    session = read_session((tmp_path / "account.json").read_bytes())
    assert (0, False, because) == (code, session.complete, session.incomplete_because)


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "workers"])
def test_tests_that_a_plugin_deselects_are_seen(suite, run, tmp_path, arguments):
    """No option says so; the hook does, and of a worker only the worker itself hears it."""
    suite(
        {
            "tests/conftest.py": "def pytest_collection_modifyitems(config, items):\n"
            "    config.hook.pytest_deselected(items=items[:1])\n    items[:] = items[1:]\n"
        },
        test_it=SUITE,
    )
    run(*REPLAY, *arguments, plugins=("xdist",) if arguments else ())
    assert (
        "1 tests were deselected" == read_session((tmp_path / "account.json").read_bytes()).incomplete_because
    )


def test_an_interrupted_run_is_not_whole(suite, run, tmp_path):
    """Nor has it an exit that a command gave."""
    suite(test_it="def test_it():\n    raise KeyboardInterrupt\n")
    _, code = run(*REPLAY)
    session = read_session((tmp_path / "account.json").read_bytes())
    assert (2, None, "pytest ended with 2") == (code, session.command_exit, session.incomplete_because)


def test_a_run_that_failed_stays_failed(suite, run):
    """Red by its tests and by its miss is exit 1."""
    suite(test_it=SUITE + SWALLOWED + "\ndef test_bad():\n    assert False\n")
    assert 1 == run(*REPLAY)[1]


def test_the_fixture_gives_the_addresses_also_in_workers(suite, run):
    """For clients that no variable reaches."""
    suite(
        test_it="""
        import urllib.request

        def test_one(model_proxy):
            url = model_proxy["ANTHROPIC_BASE_URL"]
            with urllib.request.urlopen(f"{url}/_truegreen/health", timeout=10) as answer:
                assert b'"replay"' in answer.read()
            assert model_proxy["OPENAI_BASE_URL"] == model_proxy["MODEL_BASE_URL"]

        def test_two(model_proxy):
            assert model_proxy["ANTHROPIC_BASE_URL"] != model_proxy["OPENAI_BASE_URL"]
        """
    )
    for more in ((), ("-n", "2")):
        out, code = run(*REPLAY, *more, plugins=("xdist",) if more else ())
        assert 0 == code, out


def test_without_the_option_the_fixture_says_what_it_needs(suite, run):
    """Never an address that is not there."""
    suite(test_it="def test_it(model_proxy):\n    pass\n")
    out, code = run()
    assert (1, True) == (code, "needs --truegreen-replay DIR" in out)


def test_the_configuration_can_make_it_the_default(suite, run):
    """Plain ``pytest`` replays, from the folder of the configuration."""
    suite({"pytest.ini": "[pytest]\ntruegreen_replay = cassettes\n"}, test_it=SUITE)
    out, code = run()
    assert (0, True) == (code, "4 replayed" in out)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--truegreen-replay", "nowhere"), "nothing-to-replay"),
        (("--truegreen-session", "x.json"), "needs --truegreen-replay"),
    ],
)
def test_what_cannot_be_replayed_is_exit_4_of_pytest(suite, run, arguments, says):
    """A usage error, before a test runs."""
    suite(test_it="def test_it():\n    raise AssertionError('ran')\n")
    out, code = run(*arguments)
    assert (4, True) == (code, says in out)


def test_samples_are_not_replayed(suite, drive, tmp_path):
    """A sampler's child refuses the option: one recording is one answer."""
    (tmp_path / "cassettes").mkdir()
    root = suite(test_it="import pytest\n@pytest.mark.model\ndef test_it():\n    pass\n")
    with pytest.raises(ReachProblem, match="a replayed answer is no sample"):
        drive(root, "--truegreen-replay", "cassettes")


def test_the_environment_is_given_back(suite, run):
    """A second run in the same process finds it as it was."""
    suite(test_it=SUITE)
    (suite() / "twice.py").write_text(
        "import os, pytest\n"
        "before = dict(os.environ)\n"
        "codes = [pytest.main(['-p', 'truegreen', '-q', '--truegreen-replay', 'cassettes']) for _ in range(2)]\n"
        "changed = {k for k in os.environ if os.environ[k] != before.get(k)} - {'PYTEST_VERSION', 'PYTEST_CURRENT_TEST'}\n"
        "print(codes == [0, 0], sorted(changed))\n"
    )
    done = subprocess.run(
        [sys.executable, "twice.py"], cwd=suite(), capture_output=True, text=True, timeout=120, check=False
    )
    assert "True []" == done.stdout.splitlines()[-1], done.stdout + done.stderr


NO_REQUEST = """

def test_no_request():
    import socket, urllib.parse
    at = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    with socket.create_connection((at.hostname, at.port)) as client:
        client.sendall(b"POST nowhere\\r\\n\\r\\n")
        assert client.recv(20)
"""


def test_what_was_no_request_is_red_in_run_and_account(suite, run, tmp_path):
    """No recording answered it, and no miss says so: the account's exit does."""
    suite(test_it=SUITE + NO_REQUEST)
    told, code = run(*REPLAY)
    account = read_session((tmp_path / "account.json").read_bytes())
    assert (1, 1, ()) == (code, account.command_exit, account.misses), told
