# SPDX-License-Identifier: Apache-2.0
"""Starting, hearing and ending the process that holds the tests."""

import os
import socket

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.sampling.engines import child
from truegreen.sampling.engines.child import EngineHost
from truegreen.sampling.engines.messages import Ended, Serve, Start

ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _host(root, *arguments, **more):
    return EngineHost(["tests", *arguments], cwd=root, root=root, environment={**ENVIRONMENT, **more})


@pytest.fixture
def root(tmp_path):
    """A suite of one case."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(
        "import os\n\ndef test_one():\n    os.kill(os.getppid(), 9)\n"
    )
    return tmp_path


def test_tests_do_not_see_where_the_measuring_process_listens(root):
    """The address is taken out of the environment before anything is collected."""
    (root / "tests" / "conftest.py").write_text("import os\nassert 'TRUEGREEN_HOST' not in os.environ\n")
    with _host(root) as host:
        assert () == host.collected().problems


def test_a_host_that_ends_before_it_collected_is_told_with_its_last_lines(root):
    """A usage error, a conftest that exits: the reason is in the message."""
    with pytest.raises(ReachProblem) as caught, _host(root, "--no-such-option") as host:
        host.collected()
    assert "collection-failed" == caught.value.code
    assert "unrecognized arguments: --no-such-option" in caught.value.message
    (root / "tests" / "conftest.py").write_text("import os\nos._exit(5)\n")
    with pytest.raises(ReachProblem, match="exit code 5"), _host(root) as host:
        host.collected()


def test_a_host_that_dies_while_samples_run_is_an_error(root):
    """Nothing is waited for that cannot come."""
    with _host(root) as host:
        host.collected()
        host.say(Serve(engine="fork", slots=1))
        host.start(Start(index=0, n=1, draw=1, env={}, timeout_s=30.0))
        with pytest.raises(ReachProblem) as caught:
            list(iter(lambda: isinstance(host.hear(30.0), Ended), True))
    assert "engine-ended" == caught.value.code


def test_a_stranger_on_the_port_is_not_heard(root, monkeypatch):
    """Only the process that knows the token is the host."""
    strangers = []
    original = child.subprocess.Popen

    def start_after_a_stranger(command, **options):
        port = int(options["env"]["TRUEGREEN_HOST"].partition(":")[0])
        stranger = socket.create_connection(("127.0.0.1", port))
        stranger.sendall(b"x" * 32)
        strangers.append(stranger)
        return original(command, **options)

    monkeypatch.setattr(child.subprocess, "Popen", start_after_a_stranger)
    with _host(root) as host:
        assert 1 == len(host.collected().cases)
    assert b"" == strangers[0].recv(1)
    strangers[0].close()


def test_leaving_ends_the_process_and_its_session(root):
    """A host that is killed and one that is told to stop are both gone."""
    for end in (EngineHost.kill, lambda host: None):
        with _host(root) as host:
            host.collected()
            end(host)
            pid = host._process.pid
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
