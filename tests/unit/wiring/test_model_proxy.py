# SPDX-License-Identifier: Apache-2.0
"""A proxy with its real parts: files, retries, call log; the article's shell commands on that log."""

import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest

from truegreen.core.call_log import entries_of
from truegreen.core.errors import UsageProblem
from truegreen.core.recording import Miss
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Rule, Scenario
from truegreen.proxy.modes import Mode
from truegreen.proxy.session import Tally, Trouble
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.model_proxy import OpenedProxy, Wish, summary_of
from truegreen.wiring.replay_account import Ending

DEAD = "http://127.0.0.1:9/v1"


def _opened(wish, environment=()):
    return OpenedProxy(wish, environment=dict(environment), clock=SystemClock())


def _ask(opened, text="hello"):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    sent = urllib.request.Request(
        f"{opened.proxy.base_url()}/chat/completions",
        data=body,
        headers={"Content-Type": "application/json", "Authorization": "Bearer sk-hush-0123456789abcdef"},
    )
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as err:
        with err:
            return err.code, json.load(err)


@pytest.fixture
def endpoint():
    """A fake endpoint that turns the first call of each prompt away."""
    fault = Fault(kind="status", status=429, first=1, per="prompt", retry_after="0")
    with FakeEndpoint(Scenario(seed="w", rules=(Rule(id="r", answer="yes", faults=(fault,)),))) as started:
        yield started


def test_recorded_files_are_replayed_and_accounted(endpoint, tmp_path):
    """Retries happen inside, one file holds the answer, no key is on disk, and the account names the file."""
    folder = tmp_path / "cassettes"
    with _opened(Wish(mode=Mode.RECORD, upstream=endpoint.url, cassettes=folder)) as recorder:
        recorded = _ask(recorder)
    tally = recorder.proxy.tally()
    assert (200, 1, 1) == (recorded[0], tally.kept, tally.retries)
    (file,) = folder.glob("*.json")
    assert "sk-hush" not in file.read_text()
    with _opened(
        Wish(mode=Mode.REPLAY, upstream=DEAD, cassettes=folder, alias=recorder.proxy.host)
    ) as replay:
        assert recorded == _ask(replay)
        assert 424 == _ask(replay, "something else")[0]
    session = replay.session(Ending(command_exit=0))
    assert [file.name] == [hit.file for hit in session.hits]
    (miss,) = session.misses
    assert (file.name, "body.messages[0].content") == (miss.nearest, miss.differs_at)
    assert replay.proxy.tally().is_red


def test_the_summary_shows_the_retry_budget_that_was_used(endpoint):
    """One repetition of ten and a tenth; a replay has none."""
    with _opened(Wish(mode=Mode.LIVE, upstream=endpoint.url)) as proxy:
        _ask(proxy)
    proxy.close()
    assert "retry budget: 1 of 10 used by 1 call, 0 refused" == proxy.summary()[-1]


def test_replay_under_another_alias_misses(endpoint, tmp_path):
    """The same request at another endpoint has another key."""
    folder = tmp_path / "cassettes"
    with _opened(Wish(mode=Mode.RECORD, upstream=endpoint.url, cassettes=folder)) as recorder:
        _ask(recorder)
    with _opened(Wish(mode=Mode.REPLAY, upstream=DEAD, cassettes=folder)) as replay:
        assert 424 == _ask(replay)[0]


def _shell(command, cwd):
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    ).stdout.strip()


def test_the_articles_commands_work_on_the_call_log(endpoint, tmp_path):
    """Calls per run, rate-limited responses, seconds waited: counted by grep and awk."""
    log = tmp_path / "ci.log"
    with _opened(Wish(mode=Mode.LIVE, upstream=endpoint.url, log=log), {"GITHUB_RUN_ID": "77"}) as live:
        for text in ("a", "b"):
            assert 200 == _ask(live, text)[0]
    assert "2" == _shell("grep -c 'model_call_ok' ci.log", tmp_path)
    assert "2" == _shell("grep -c 'status=429' ci.log", tmp_path)
    entries = list(entries_of(log.read_text()))
    summed = _shell(
        "grep 'model_wait_seconds' ci.log | awk -F= '{s+=$2} END {print s\"s total wait\"}'", tmp_path
    )
    assert summed.endswith("s total wait")
    assert sum(one.waited_s for one in entries) == pytest.approx(float(summed.split("s")[0]), abs=0.01)
    assert ({"77"}, 4, 2) == (
        {one.run for one in entries},
        len(entries),
        len({one.call for one in entries}),
    )


def test_the_log_grows_and_is_never_rewritten(endpoint, tmp_path):
    """A second proxy appends."""
    log = tmp_path / "ci.log"
    for _ in range(2):
        with _opened(Wish(mode=Mode.LIVE, upstream=endpoint.url, log=log)) as live:
            _ask(live)
    assert 3 == len(log.read_text().splitlines())


@pytest.mark.parametrize(
    ("wish", "environment", "code"),
    [
        ({"mode": Mode.RECORD}, {"CI": "true"}, "recording-in-ci"),
        ({"mode": Mode.REPLAY, "log": "x.log"}, {}, "log-not-used"),
        ({"mode": Mode.LIVE}, {}, "recordings-not-used"),
        ({"mode": Mode.REPLAY, "upstream": "ftp://x"}, {}, "bad-upstream"),
    ],
)
def test_what_a_mode_cannot_use_is_refused(tmp_path, wish, environment, code):
    """Before anything listens, and without a file."""
    folder = tmp_path / "cassettes"
    if "log" in wish:
        wish = {**wish, "log": tmp_path / wish["log"]}
    with pytest.raises(UsageProblem) as caught:
        _opened(Wish(**{"upstream": DEAD, "cassettes": folder, **wish}), environment)
    assert (code, []) == (caught.value.code, list(tmp_path.iterdir()))


def test_modes_other_than_replay_have_no_account(endpoint):
    """There is nothing to account for."""
    with _opened(Wish(mode=Mode.LIVE, upstream=endpoint.url)) as live:
        pass
    assert live.session(Ending()) is None


def test_the_summary_says_everything_that_happened():
    """Counts first, then each miss and each trouble with its code."""
    tally = Tally(
        mode="record",
        requests=5,
        hits=0,
        missed=1,
        misses=(Miss(code="cassette-missing", message="no recording answers x", key="k"),),
        kept=2,
        not_kept=(("status-500", 1),),
        troubles=(Trouble(code="cannot-be-cleaned", message="a secret"),),
        upstream_calls=6,
        retries=1,
        refused_leave=1,
        waited_s=0.5,
        layers=(("openai-sdk", 2),),
        rejected=1,
    )
    assert (
        "record: 5 requests, 6 calls, 1 retries, 0.500 s waited, 2 kept",
        "not kept: 1 status-500",
        "refused leave: 1",
        "no request that can be served: 1",
        "another retry layer: openai-sdk, in 2 requests",
        "miss: no recording answers x [cassette-missing]",
        "trouble: a secret [cannot-be-cleaned]",
    ) == summary_of(tally)
