# SPDX-License-Identifier: Apache-2.0
"""The limits of the policy that holds where a command runs, and a proxy under them."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario
from truegreen.limiter.divided import Divided
from truegreen.limiter.file import File
from truegreen.limiter.limits import Limits, checked
from truegreen.wiring.policy_ledger import ledger_at

HEAD = 'schema = "truegreen/policy/v1"\n[lanes.a]\ntests = "t"\n'
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()


def written(folder, *lines):
    """A policy with these lines in its table of limits."""
    table = "".join(
        f"{line}\n" for line in ('[limiter]\nowner = "@ana"', f'backend = "file:{folder}/count"', *lines)
    )
    (folder / "truegreen.toml").write_text(HEAD + (table if lines else ""), encoding="utf-8")


def test_the_limits_are_those_of_the_repository_that_holds_the_folder(tmp_path):
    """Without a policy, or without its table, there are none."""
    (tmp_path / ".git").mkdir()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert ledger_at(below, print) is None
    written(tmp_path)
    assert ledger_at(below, print) is None
    written(tmp_path, "capacity = 2")
    ledger = ledger_at(below, print)
    assert (f"file:{tmp_path}/count", 2) == (ledger.backend.name, ledger.backend.limits.in_flight)
    ledger.close()


def test_shares_are_used_where_the_policy_says_so(tmp_path):
    """The same as for a shell."""
    written(tmp_path, "capacity = 4", 'on_unreachable = "divide"', "shares = 2")
    ledger = ledger_at(tmp_path, print)
    assert isinstance(ledger.backend, Divided)
    ledger.close()


def test_a_policy_that_cannot_be_read_is_not_no_limits(tmp_path):
    """And another machine is refused."""
    written(tmp_path, "capacity = 0")
    with pytest.raises(UsageProblem, match=r"limiter\.capacity is 0"):
        ledger_at(tmp_path, print)
    written(tmp_path, "capacity = 1", 'host = "some-other-machine"')
    with pytest.raises(UsageProblem, match="the count belongs to some-other-machine"):
        ledger_at(tmp_path, print)


def test_a_proxy_asks_the_count_of_the_policy(tmp_path):
    """Two calls through it are two leaves in the ledger that shells and other jobs share."""
    written(tmp_path, "capacity = 1")
    with FakeEndpoint(Scenario(seed="s", rules=(Rule(id="r", answer="yes"),))) as endpoint:
        command = ["proxy", "serve", "--mode", "live", "--upstream", endpoint.url]
        with subprocess.Popen(
            [sys.executable, "-m", "truegreen", *command],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as proxy:
            url = json.loads(proxy.stdout.readline())["url"]
            for _ in range(2):
                sent = urllib.request.Request(
                    f"{url}/chat/completions", data=BODY, headers={"Content-Type": "application/json"}
                )
                with urllib.request.urlopen(sent, timeout=20) as answer:
                    assert 200 == answer.status
            proxy.send_signal(signal.SIGTERM)
            _, err = proxy.communicate(timeout=30)
    count = File(tmp_path / "count", checked(Limits(in_flight=1)))
    states = [count.state(key) for key in count.keys()]  # noqa: SIM118 - a backend is no mapping
    count.close()
    assert (0, "") == (proxy.returncode, err)
    assert (2, ()) == (
        sum(state.counts.granted for state in states),
        sum((state.places for state in states), ()),
    )
