# SPDX-License-Identifier: Apache-2.0
"""The guards of ``tests/conftest.py``, shown on tests that misbehave."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def _run(folder, body, *arguments, **environment):
    """Output and exit code of pytest over one test file below a copy of our conftest."""
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_it.py").write_text(
        f"import contextlib, os, pathlib, socket, pytest\n{body}", encoding="utf-8"
    )
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    live\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:truegreen", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


BAD = {
    "environment_set": "os.environ['LEFT'] = '1'",
    "environment_removed": "os.environ.pop('PATH')",
    "folder_changed": "os.chdir('/')",
    "home_written": "pathlib.Path.home().joinpath('.left').write_text('x')",
    "bound_everywhere": "socket.socket().bind(('0.0.0.0', 0))",
    "bound_to_any": "socket.socket().bind(('', 0))",
    "connected": "socket.socket().connect_ex(('192.0.2.1', 9))",
    "connected_6": "socket.socket(socket.AF_INET6).connect_ex(('2001:db8::1', 9))",
    "datagram": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
    "name_asked": "socket.getaddrinfo('example.invalid', 80)",
    "swallowed": "with contextlib.suppress(RuntimeError): socket.create_connection(('192.0.2.1', 9))",
}
GOOD = {
    "server": "socket.create_server(('127.0.0.1', 0)).close()",
    "localhost": "socket.getaddrinfo('localhost', 80)",
    "pair": "[end.close() for end in socket.socketpair()]",
}


def test_a_test_that_leaves_traces_or_this_machine_fails(tmp_path):
    """Environment, working folder, home and network: each guard turns its test red, even one that swallowed the error."""
    body = "".join(f"def test_{name}():\n    {line}\n" for name, line in {**BAD, **GOOD}.items())
    _, out = _run(tmp_path, body, "-rA")
    red = re.findall(r"^(?:ERROR|FAILED) test_it\.py::test_(\w+)", out, re.MULTILINE)
    assert set(BAD) == set(red)
    assert set(GOOD) <= set(re.findall(r"^PASSED test_it\.py::test_(\w+)", out, re.MULTILINE))


def test_the_environment_of_a_ci_does_not_reach_a_test(tmp_path):
    """What CI, git hooks and clients set is gone before a test module is imported."""
    body = "SEEN = set(os.environ)\ndef test_it():\n    assert not SEEN & {'CI', 'GITHUB_SHA', 'GIT_DIR', 'OPENAI_API_KEY'}\n"
    assert 0 == _run(tmp_path, body, CI="1", GITHUB_SHA="x", GIT_DIR="/nowhere", OPENAI_API_KEY="k")[0]


def test_the_slow_and_the_live_lane_are_opened_by_name(tmp_path):
    """Without their option the tests of a lane are deselected, not skipped; a run of which nothing is left exits 5."""
    body = "@pytest.mark.slow\ndef test_s(): pass\n@pytest.mark.live\ndef test_l(): pass\n"
    assert 5 == _run(tmp_path, body)[0]
    code, out = _run(tmp_path, body, "--slow")
    assert (0, True) == (code, "1 passed, 1 deselected" in out)
