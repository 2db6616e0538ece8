# SPDX-License-Identifier: Apache-2.0
"""Programs of a test that run in an interpreter of their own: what they take, they cannot give back."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def elsewhere():
    """Run a program text in another process, as another user from ``BECOME`` on; what it printed, read as JSON."""

    def run(text, *arguments, as_user=None, environment=None):
        become = f"os.setgid({as_user}); os.setuid({as_user})" if as_user else "pass"
        done = subprocess.run(
            [sys.executable, "-c", text.replace("BECOME", become), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
        )
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def refused_here():
    """Guard to why this machine does not allow it; empty where it does."""
    text = "import json; from truegreen.guards import choice; print(json.dumps({n: t() for n, t in choice.trials().items()}))"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(done.stdout)
