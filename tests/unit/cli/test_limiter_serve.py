# SPDX-License-Identifier: Apache-2.0
"""``limiter serve`` as a process, and the two files of ``deploy`` that start it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from truegreen.cli.main import truegreen

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT = DEPLOY / "truegreen-limiter.service"
TOKEN = "t" * 40


def _arguments_of_the_unit():
    (line,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert "/opt/truegreen/bin/truegreen" == program
    return arguments


def _arguments_of_the_container():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    program, *words = json.loads(re.search(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)[1])
    assert "truegreen" == program
    return [*words, *json.loads(re.search(r"^CMD (\[\".+)$", text, re.MULTILINE)[1])]


@contextmanager
def _served(arguments):
    """The process, once it listens, and the line that it printed."""
    command = [sys.executable, "-m", "truegreen", *arguments]
    environment = {"PATH": os.environ["PATH"]}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def _replaced(arguments, folder):
    """The same arguments on this machine: its folders, loopback, a free port."""
    tokens = folder / "tokens"
    tokens.write_text(f"team {TOKEN}\n", encoding="utf-8")
    tokens.chmod(0o600)
    places = {
        "${STATE_DIRECTORY}": str(folder / "state"),
        "/var/lib/truegreen": str(folder / "state"),
        "${CREDENTIALS_DIRECTORY}/tokens": str(tokens),
        "/etc/truegreen/limiter.tokens": str(tokens),
        "0.0.0.0": "127.0.0.1",
        "8471": "0",
    }
    replaced = [places.get(it, it) for it in arguments]
    assert not [it for it in replaced if "$" in it or it.startswith(("/etc", "/var"))]
    return replaced


@pytest.mark.parametrize("arguments", [_arguments_of_the_unit, _arguments_of_the_container])
def test_the_command_lines_of_deploy_start_a_service(arguments, tmp_path):
    """With their own arguments; it is healthy, asks for its tokens, keeps its state, and ends on SIGTERM with 0."""
    with _served(_replaced(arguments(), tmp_path)) as (process, told):
        with urllib.request.urlopen(f"{told['url']}/healthz", timeout=10) as answer:
            assert 200 == answer.status
        asked = urllib.request.Request(
            f"{told['url']}/v1/acquire",
            data=b'{"id": "x"}',
            headers={"authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert 1 == json.load(answer)["ticket"]
        assert list((tmp_path / "state").iterdir())
        released = urllib.request.Request(
            f"{told['url']}/v1/release",
            data=b'{"lease": "x"}',
            headers={"authorization": f"Bearer {TOKEN}"},
        )
        urllib.request.urlopen(released, timeout=10).close()
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(20)


needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here"
)


@needs_systemd
def test_systemd_takes_the_unit(tmp_path):
    """``systemd-analyze verify`` has nothing to say, once the program that it names is there."""
    program = Path(sys.executable).parent / "truegreen"
    here = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8").replace("/opt/truegreen/bin/truegreen", str(program))
    here.write_text(text, encoding="utf-8")
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", here], capture_output=True, text=True, check=False
    )
    assert (0, "", "") == (ran.returncode, ran.stdout, ran.stderr)


@needs_systemd
def test_the_unit_gives_the_service_little(tmp_path):
    """The exposure that systemd computes from its options is small (0 to 10; a unit without options has 9.6)."""
    ran = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == ran.returncode, ran.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--capacity", "3"], "--state FOLDER and --in-memory"),
        (["--capacity", "3", "--state", "x", "--in-memory"], "--state FOLDER and --in-memory"),
        (["--capacity", "3", "--in-memory", "--tls-key", "k"], "asked together"),
        (["--in-memory"], "nothing would be limited"),
        (["--in-memory", "--rate", "fast"], "bad-rate"),
        (["--in-memory", "--capacity", "3", "--host", "0.0.0.0"], "not-loopback"),
        (["--in-memory", "--capacity", "3", "--tokens", "no-such-file"], "tokens-unreadable"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_it_listens(arguments, told, tmp_path, monkeypatch):
    """Exit 2 and one line."""
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(truegreen, ["limiter", "serve", *arguments])
    assert told in (ran.output or "") + str(ran.exception)
