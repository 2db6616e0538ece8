# SPDX-License-Identifier: Apache-2.0
"""From recording to pruning with real processes: what a replay leaves is what logging and pruning read."""

import json
import os
import subprocess
import sys

import pytest

from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario

ASK = """
import os, sys, urllib.request, json
for number in sys.argv[1:]:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": number}]}).encode()
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"content-type": "application/json"}
    )
    try:
        urllib.request.urlopen(request).read()
    except urllib.error.HTTPError as err:
        print("swallowed", err.code)
"""


@pytest.fixture
def truegreen(tmp_path):
    """Run the program in a folder with a script that asks, and in an environment without CI."""
    (tmp_path / "ask.py").write_text(ASK)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "truegreen", *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def recorded(truegreen, tmp_path):
    """Three recordings of an endpoint that is gone afterwards; its address."""
    with FakeEndpoint(Scenario(seed="l", rules=(Rule(id="r", answer="yes"),))) as live:
        url = live.url
        code, _, err = truegreen(
            "proxy", "run", "--mode", "record", "--upstream", url, "--", sys.executable, "ask.py", 1, 2, 3
        )
        assert (0, 3) == (code, live.oracle().calls), err
    assert 3 == len(list((tmp_path / "cassettes").glob("*.json")))
    return url


def _replay(truegreen, url, *numbers, session="s.json", whole=True):
    options = ["--mode", "replay", "--upstream", url, "--session", session, *(["--whole"] if whole else [])]
    return truegreen("proxy", "run", *options, "--", sys.executable, "ask.py", *numbers)[0]


def test_what_a_whole_replay_did_not_play_is_logged_and_pruned(truegreen, recorded, tmp_path):
    """Two of three were asked for: the third goes, and the two still play."""
    assert 0 == _replay(truegreen, recorded, 1, 2)
    assert "1 run added" in truegreen("cassette", "log", "s.json")[1]
    stats = json.loads(truegreen("cassette", "stats", "cassettes", "--format", "json")[1])
    assert (3, [(2, 0)]) == (stats["recordings"], [(week["hits"], week["misses"]) for week in stats["weeks"]])
    code, out, err = truegreen("cassette", "prune", "cassettes", "s.json", "--delete")
    assert (0, True) == (code, out.endswith("1 recordings removed\n")), err
    assert 2 == len(list((tmp_path / "cassettes").glob("*.json")))
    assert 0 == _replay(truegreen, recorded, 1, 2)
    assert 1 == _replay(truegreen, recorded, 3)


def test_a_part_of_a_run_prunes_nothing(truegreen, recorded, tmp_path):
    """Nobody said that everything ran."""
    assert 0 == _replay(truegreen, recorded, 1, whole=False)
    code, _, err = truegreen("cassette", "prune", "cassettes", "s.json", "--delete")
    assert (3, True, 3) == (code, "[cannot-prune]" in err, len(list((tmp_path / "cassettes").glob("*.json"))))


def test_a_swallowed_miss_is_counted_and_prunes_nothing(truegreen, recorded, tmp_path):
    """The run is red, the log has the miss, and above one in ten templates churn."""
    assert 1 == _replay(truegreen, recorded, 1, 9)
    assert 0 == truegreen("cassette", "log", "s.json")[0]
    assert "templates churn" in truegreen("cassette", "stats", "cassettes")[1]
    assert 3 == truegreen("cassette", "prune", "cassettes", "s.json", "--delete")[0]
    assert 3 == len(list((tmp_path / "cassettes").glob("*.json")))


def test_two_shards_are_one_run(truegreen, recorded, tmp_path):
    """What either of them played stays."""
    assert [0, 0] == [_replay(truegreen, recorded, number, session=f"{number}.json") for number in (1, 2)]
    assert 3 == truegreen("cassette", "prune", "cassettes", "1.json", "--parts", 2)[0]
    code, out, _ = truegreen("cassette", "prune", "cassettes", "1.json", "2.json", "--parts", 2, "--delete")
    assert (0, 1, 2) == (code, len(out.splitlines()) - 1, len(list((tmp_path / "cassettes").glob("*.json"))))
