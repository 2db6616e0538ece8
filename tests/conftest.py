# SPDX-License-Identifier: Apache-2.0
"""What holds for every test: a clean environment, an empty home, and no network beyond this machine.

- The environment is the same on a laptop and in CI: variables that CI, git or a provider's client would read
  are taken away before the first test is collected. A test that needs one sets it with ``monkeypatch``.
- A test leaves environment and working folder as it found them, and its home empty.
- A socket that is bound or connected anywhere but on loopback raises, and fails the test that swallowed it.
- Tests marked ``slow`` or ``live`` run only when asked for (``--slow``, ``--live``).
"""

import ipaddress
import os
import signal
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

LANES = ("slow", "live")
IN_CI = bool(os.environ.get("CI"))
FOREIGN = (
    "CI",
    "GIT_",
    "GITHUB_",
    "RUNNER_",
    "GITLAB_",
    "OPENAI_",
    "ANTHROPIC_",
    "XDG_",
    "MODEL_RUN_",
    "TRUEGREEN_",
)
FOREIGN_NAMES = (
    "SAMPLE_RUNS",
    "FLAKY_BUDGET",
    "PYTEST_ADDOPTS",
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "BASH_ENV",
)
# How .ci/run says whose checkout this is, and a server that the tests may use instead of their own.
KEPT = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "TRUEGREEN_TEST_REDIS_URL")
OUTSIDE: list[str] = []
"""Addresses off this machine that the running test reached for."""


def _clean_environment() -> Path:
    home = Path(tempfile.mkdtemp(prefix="truegreen-home-"))
    for name in list(os.environ):
        if name in FOREIGN_NAMES or (name.startswith(FOREIGN) and not name.startswith(KEPT)):
            del os.environ[name]
    os.environ |= {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "test",
        "GIT_AUTHOR_EMAIL": "test@example.invalid",
        "GIT_COMMITTER_NAME": "test",
        "GIT_COMMITTER_EMAIL": "test@example.invalid",
    }
    return home


def _only_loopback(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path: a socket of this machine
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if host is not None and not _is_loopback(host):
        OUTSIDE.append(f"{event} {host!r}")
        raise RuntimeError(f"a test reached for {host!r}: only loopback is allowed")


def _is_loopback(host) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


HOME = _clean_environment()
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a background shell ignores it, and children inherit that
sys.addaudithook(_only_loopback)
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"truegreen-hypothesis-{os.getuid()}")
hypothesis.settings.register_profile("here", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if IN_CI else "here")


def pytest_addoption(parser):
    """The opt-in lanes."""
    for lane in LANES:
        parser.addoption(f"--{lane}", action="store_true", help=f"run the tests marked {lane} too")


def pytest_collection_modifyitems(config, items):
    """Leave out the lanes that nobody asked for; pytest counts them as deselected."""
    closed = {lane for lane in LANES if not config.getoption(lane)}
    left_out = [item for item in items if closed & {mark.name for mark in item.iter_markers()}]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_unconfigure():
    """Take the home of this run away if it stayed empty."""
    if HOME.is_dir() and not any(HOME.iterdir()):
        HOME.rmdir()


@pytest.fixture(autouse=True)
def _a_test_leaves_the_world_as_it_was():
    before = _world()
    OUTSIDE.clear()
    yield
    after = _world()
    assert before == after, "the test changed environment, working folder or home"
    assert [] == OUTSIDE, "the test reached for the network"


def _world() -> dict[str, object]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {
        **environment,
        "working folder": str(Path.cwd()),
        "in home": sorted(path.name for path in HOME.iterdir()),
    }
