# SPDX-License-Identifier: Apache-2.0
"""The process that holds the tests, when nobody is there any more, or when it is told to go."""

import os
import time
from pathlib import Path

import pytest

from truegreen.sampling.engines.child import EngineHost
from truegreen.sampling.engines.messages import Running, Serve, Start

SERVER = """
    import subprocess
    import sys
    import time
    from pathlib import Path

    import pytest


    @pytest.fixture(scope="module")
    def server():
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path("server").write_text(str(child.pid))
        yield
        child.kill()


    def test_hangs(server):
        time.sleep(600)
"""


@pytest.mark.parametrize("how", ["hang up", "told to go"])
def test_servers_of_samples_end_with_the_run(suite, how):
    """Whether the measuring process is killed or interrupted: nothing that a sample started is left."""
    root = suite(test_server=SERVER)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with EngineHost(["tests"], cwd=root, root=root, environment=environment) as host:
        host.collected()
        host.say(Serve(engine="fork", slots=1))
        host.start(Start(index=0, n=1, draw=1, env={}, timeout_s=0.0))
        message = host.hear(30.0)
        assert isinstance(message, Running)
        pid = int(_wait_for(root / "server"))
        if how == "hang up":
            host._channel.close()
            _wait_until(lambda: not _is_alive(message.pid) and not _is_alive(pid))
            host._channel = None
        else:
            host.kill()
            _wait_until(lambda: not _is_alive(pid))


def _wait_for(path: Path) -> str:
    _wait_until(lambda: path.exists() and path.read_text())
    return path.read_text()


def _wait_until(is_so, limit_s=20.0):
    until = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def _is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_half_a_character_in_a_failure_is_told(suite, drive):
    """A model can give one, and no record could hold it."""
    _, ends = drive(suite(test_half="def test_half():\n    assert '' == '\\ud83d', '\\ud83d'\n"))
    assert "failed" == ends[0].status
    assert ends[0].detail.startswith("AssertionError: \\ud83d")
