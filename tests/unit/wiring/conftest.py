# SPDX-License-Identifier: Apache-2.0
"""Repositories with model tests, and fake endpoints for them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario_file import read_scenario

sys.path.insert(0, str(Path(__file__).parent))
from sample_kit import POLICY, git  # it lies beside this file

ASK = '''
    """An application that asks the model; it uses nothing but the standard library."""

    import json
    import os
    import urllib.request


    def ask(question, base=None, timeout=20):
        base = base or os.environ["OPENAI_BASE_URL"]
        body = {"model": os.environ.get("MODEL_NAME", "m"), "messages": [{"role": "user", "content": question}]}
        request = urllib.request.Request(
            base + "/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
'''

SCENARIO = """
    schema = "truegreen/scenario/v1"
    seed = "s"
    served = "served-1"

    [[rules]]
    id = "good"
    answer = "yes"
    when = { contains = "good" }

    [[rules]]
    id = "half"
    answer = "yes"
    fails = ["no"]
    pass = 0.5
    when = { contains = "half" }

    [[rules]]
    id = "bad"
    answer = "no"
    when = { contains = "bad" }

    [[rules]]
    id = "down"
    answer = "yes"
    when = { contains = "down" }
    faults = [{ kind = "status", status = 503, share = 1 }]

    [[rules]]
    id = "limited"
    answer = "yes"
    when = { contains = "limited" }
    faults = [{ kind = "status", status = 429, retry_after = "0", first = 1 }]

    [[rules]]
    id = "cut"
    answer = "yes"
    truncate = 1
    pass = 0
    when = { contains = "cut" }

    [[rules]]
    id = "hang"
    answer = "yes"
    when = { contains = "hang" }
    faults = [{ kind = "hang", share = 1 }]

    [[rules]]
    id = "slow-half"
    answer = "yes"
    fails = ["no"]
    pass = 0.6
    when = { contains = "slow" }
    latency = { ms = 5, fail_factor = 20 }
"""


@pytest.fixture(scope="session")
def fake_endpoint():
    """One endpoint for every test: it keeps nothing that another test could meet but its counts."""
    with FakeEndpoint(read_scenario(dedent(SCENARIO).encode(), "scenario.toml")) as endpoint:
        yield endpoint


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Path]:
    """Write files into a repository with one commit."""

    def make(files: dict[str, str], policy: str = POLICY) -> Path:
        root = tmp_path / "repository"
        every = {"truegreen.toml": policy, "app.py": ASK, ".gitignore": "artifacts/\n", **files}
        for name, text in every.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        git(root, "init", "--quiet", "--initial-branch=main")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "one")
        return root

    return make


@pytest.fixture
def environment(fake_endpoint: FakeEndpoint) -> dict[str, str]:
    """What a person exports before sampling; no plugin but pytest's own is loaded in the suite."""
    return {
        **os.environ,
        "MODEL_BASE_URL": fake_endpoint.url,
        "MODEL_NAME": "asked-1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
