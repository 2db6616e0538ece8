# SPDX-License-Identifier: Apache-2.0
"""Current SDKs and plain clients through the proxy in every mode, and past it.

What an SDK upgrade does to patches (openai 3 left httpx, and every patched replay went live without a word) cannot
happen here: the SDK is pointed elsewhere by its own variable, and whatever ignores that meets the guard.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
WORD = '{"word":"grün ✓"}'
CLIENTS = {
    "openai": ("python", "openai_sdk.py", 5),
    "anthropic": ("python", "anthropic_sdk.py", 4),
    "plain": ("python", "plain_clients.py", 4),
    "curl": ("curl", "curl_child.py", 1),
    "node": ("node", "node_fetch.mjs", 2),
}
"""What must be on this machine, the program that runs, and how many calls it makes."""


def flat(printed):
    """All answers that a program printed, each as the same JSON text."""
    found = []
    for each in json.loads(printed):
        found += each if isinstance(each, list) else [each]
    return [json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) for text in found]


@pytest.fixture(params=CLIENTS)
def client(request):
    """A client that this machine has."""
    needed, program, calls = CLIENTS[request.param]
    if needed != "python" and shutil.which(needed) is None:
        pytest.skip(f"NOT RUN: there is no {needed} on this machine, so this client is not covered here")
    runner = sys.executable if program.endswith(".py") else needed
    return [runner, str(PROGRAMS / program)], calls


def test_what_was_recorded_is_replayed(client, run, reached, key, tmp_path):
    """The same answers, whole and streamed, without a call, a key, or a trace of the key on disk."""
    command, calls = client
    recorded = run("record", *command)
    assert (0, calls) == (recorded.code, reached()), recorded.err
    assert [WORD] * calls == flat(recorded.out)
    replayed = run("replay", *command, environment={"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""})
    assert (0, calls, recorded.out) == (replayed.code, reached(), replayed.out), replayed.err
    assert (
        f"{calls} hits, 0 misses, 0 recordings unused, 0 attempts past the proxy refused" in replayed.counts()
    )
    assert [] == [path for path in tmp_path.rglob("*.json") if key in path.read_text(encoding="utf-8")]


def test_live_calls_pass(client, run, reached):
    """Nothing is written, every call arrives."""
    command, calls = client
    ran = run("live", *command)
    assert (0, calls, [WORD] * calls) == (ran.code, reached(), flat(ran.out)), ran.err


FALLS_BACK = """
from openai import OpenAI
try:
    print(OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "never recorded"}]))
except Exception:
    print("a fallback")
"""
PAST_THE_VARIABLE = """
import sys
from openai import OpenAI
try:
    client = OpenAI(base_url=sys.argv[1], max_retries=0)
    print(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "the first word"}]))
except Exception as err:
    print("a fallback", err.__cause__ or err)
"""


def test_a_miss_is_red_although_the_program_swallowed_it(run, reached):
    """Asked once, for nothing tells the SDK to try again; the endpoint is not asked at all."""
    ran = run("replay", sys.executable, "-c", FALLS_BACK)
    assert (1, 0, "a fallback\n") == (ran.code, reached(), ran.out)
    assert "0 hits, 1 misses" in ran.counts()
    assert "[cassette-missing]" in ran.err


@pytest.mark.parametrize("guard", ["auto", "audit"])
def test_a_client_that_ignores_its_variable_is_red_before_a_call(endpoint, run, reached, guard):
    """As after an upgrade to another HTTP stack, or with a second code path: no bill, a red build."""
    ran = run("replay", sys.executable, "-c", PAST_THE_VARIABLE, endpoint.url, options=["--guard", guard])
    assert (1, 0) == (ran.code, reached()), ran.err
    assert "a fallback" in ran.out
    assert f"refused: connect 127.0.0.1:{endpoint.port}" in ran.err


@pytest.mark.parametrize(
    "client", ["curl -s -m 5 {url}/models || true", "node -e \"fetch('{url}/models').catch(() => 0)\""]
)
def test_a_client_that_is_not_python_is_red_too(endpoint, run, client):
    """Whatever the outer layer of this machine is."""
    if shutil.which(client.split()[0]) is None:
        pytest.skip(f"NOT RUN: there is no {client.split()[0]} on this machine")
    ran = run("replay", "sh", "-c", client.format(url=endpoint.url))
    if "guard audit:" in ran.err:
        pytest.skip("NOT RUN: this machine allows no outer layer")
    assert (1, True) == (ran.code, f"connect 127.0.0.1:{endpoint.port}" in ran.err), ran.err


def test_another_answer_of_an_identical_request_is_the_next_one(run, reached):
    """Recorded a and b, replayed a and b, then a miss: never a again."""
    text = (
        "from openai import OpenAI\nimport sys\nclient = OpenAI()\nfor n in range(int(sys.argv[1])):\n"
        "    try:\n        print(client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'the first word'}]).id)\n"
        "    except Exception as err:\n        print(type(err).__name__)"
    )
    recorded = run("record", sys.executable, "-c", text, "2")
    one, two = recorded.out.splitlines()
    replayed = run("replay", sys.executable, "-c", text, "3")
    assert one != two
    assert (1, 2, [one, two, "APIStatusError"]) == (replayed.code, reached(), replayed.out.splitlines())
    assert "[cassette-exhausted]" in replayed.err


@pytest.mark.slow
def test_nodes_openai_is_replayed(run, reached, tmp_path, tmp_path_factory):
    """The package is installed from its registry into a folder of the test run."""
    if shutil.which("npm") is None:
        pytest.skip("NOT RUN: there is no npm on this machine, so Node's openai is not covered here")
    folder = tmp_path_factory.mktemp("npm")
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "openai"],
        env={**os.environ, "HOME": str(folder), "npm_config_update_notifier": "false"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"NOT RUN: npm could not install openai: {done.stderr.strip()[-200:]}")
    program = shutil.copy(PROGRAMS / "openai_sdk.mjs", folder)
    recorded = run("record", "node", program)
    assert (0, 3, [WORD] * 3) == (recorded.code, reached(), flat(recorded.out)), recorded.err
    replayed = run("replay", "node", program)
    assert (0, 3, recorded.out) == (replayed.code, reached(), replayed.out), replayed.err
