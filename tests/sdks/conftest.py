# SPDX-License-Identifier: Apache-2.0
"""Real clients, the command line's proxy, and an endpoint on loopback that counts who reached it."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from truegreen.endpoint.fake import FakeEndpoint

KEY = "sk-made-up-0123456789abcdefghijklmnop"
SCENARIO = """
schema = "truegreen/scenario/v1"
seed = "clients"

[[rules]]
id = "word"
when = { contains = "first word" }
answer = { word = "grün ✓" }
"""


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    code: int
    out: str
    err: str

    def counts(self):
        """The first line of the end."""
        return next(line for line in self.err.splitlines() if line.startswith("truegreen proxy: "))


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """An endpoint whose calls are counted."""
    path = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    with FakeEndpoint.from_file(path) as serving:
        yield serving


@pytest.fixture
def run(endpoint, tmp_path):
    """``truegreen proxy run`` in a folder of the test; the endpoint stands for both providers."""
    origin = endpoint.url.removesuffix("/v1")

    def start(mode, *command, options=(), environment=None):
        named = (
            []
            if mode == "replay"
            else ["--upstream", f"openai={origin}/v1", "--upstream", f"anthropic={origin}"]
        )
        keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MODEL_API_KEY"), KEY)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "truegreen",
                "proxy",
                "run",
                "--mode",
                mode,
                *named,
                *options,
                "--",
                *command,
            ],
            cwd=tmp_path,
            env={**os.environ, **keys, "XDG_CACHE_HOME": str(tmp_path / "cache"), **(environment or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return start


@pytest.fixture
def key():
    """The made-up key that every command is given."""
    return KEY


@pytest.fixture
def reached(endpoint):
    """How many calls the endpoint has had since the test began."""
    before = endpoint.oracle().calls
    return lambda: endpoint.oracle().calls - before
