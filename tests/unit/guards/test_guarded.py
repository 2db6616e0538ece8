# SPDX-License-Identifier: Apache-2.0
"""A command under each guard: what it reaches, how it ends, and that nothing of it is left."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from truegreen.guards.choice import STRONGEST_FIRST
from truegreen.guards.guarded import listening

RUN = """
import json, os, socket, sys, tempfile, threading
from pathlib import Path
from truegreen.core.errors import TruegreenProblem
from truegreen.guards.guarded import Guarded
guard, refuses, *command = sys.argv[1:]
ports = [int(text) for text in os.environ.get("PORTS", "").split()]
folder = Path(tempfile.mkdtemp(dir=os.environ["RUN_FOLDER"]))
print("folder", folder, flush=True)
with Guarded(guard, refuses=refuses == "refuses", folder=folder, ports=ports, cache=Path(os.environ["RUN_FOLDER"], "cache")) as guarded:
    guarded.enter(os.environ)
    proxy = socket.create_server(("127.0.0.1", 0))
    def serve():
        while True:
            proxy.accept()[0].close()
    threading.Thread(target=serve, daemon=True).start()
    port = proxy.getsockname()[1]
    try:
        ended = guarded.run(command, {**os.environ, "PROXY_PORT": str(port)}, proxy_ports=[port])
        said = {"code": ended.code, "left": ended.left, "lost": ended.lost,
            "attempts": [f"{each.what} {each.address.replace(str(port), 'PROXY')}" for each in ended.attempts]}
    except TruegreenProblem as problem:
        said = {"problem": problem.code, "message": str(problem)}
print(json.dumps(said))
"""
REACH = (
    "import socket; socket.create_connection(('127.0.0.1', int(__import__('os').environ['PROXY_PORT'])), 5)"
)
PAST = "import socket\ntry:\n    socket.create_connection(('1.2.3.4', 80), 5)\nexcept OSError:\n    pass"
OWN_SERVER = "import socket\nwith socket.create_server(('127.0.0.1', 0)) as own:\n    socket.create_connection(own.getsockname(), 5)"


@pytest.fixture
def start(tmp_path_factory):
    """Start a command under a guard in a process of its own."""
    folder = tmp_path_factory.mktemp("runs")
    started = []

    def run(guard, *command, refuses=True, ports="", **more):
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, guard, "refuses" if refuses else "watches", *command],
            env={**os.environ, "RUN_FOLDER": str(folder), "PORTS": str(ports)},
            stdout=subprocess.PIPE,
            text=True,
            **more,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def ended(start):
    """Run a command under a guard to its end."""

    def run(guard, *command, **more):
        out, _ = start(guard, *command, **more).communicate(timeout=60)
        return json.loads(out.splitlines()[-1])

    return run


@pytest.fixture(params=STRONGEST_FIRST)
def guard(request, refused_here):
    """Every guard that this machine allows."""
    if refused_here[request.param]:
        pytest.skip(f"this machine does not allow {request.param}: {refused_here[request.param]}")
    return request.param


def test_the_proxy_is_reached_and_the_exit_code_is_the_commands(guard, ended):
    """Nothing else happened."""
    found = ended(guard, sys.executable, "-c", REACH + "; raise SystemExit(7)")
    assert {"code": 7, "left": 0, "lost": 0, "attempts": []} == found


def test_an_attempt_is_told_even_if_it_was_swallowed(guard, ended):
    """The command ended well, as it believes."""
    found = ended(guard, sys.executable, "-c", PAST)
    assert (0, ["connect 1.2.3.4:80"]) == (found["code"], found["attempts"])


def _need_words_of(guard):
    """Landlock refuses without a word; what tells outside Python is compiled here."""
    if guard == "landlock" and shutil.which("cc") is None:
        pytest.skip("without a C compiler, refusals of Landlock outside Python are not told")


def test_a_child_that_is_not_python_is_told_by_outer_layers(guard, ended):
    """A shell asks past the proxy and its failure is ignored."""
    _need_words_of(guard)
    found = ended(guard, "bash", "-c", "exec 3<>/dev/tcp/1.2.3.4/80; exit 0")
    assert (0, [] if guard == "audit" else ["connect 1.2.3.4:80"]) == (found["code"], found["attempts"])


def test_a_test_s_own_server_answers(guard, ended):
    """But for Landlock, which learns no port after it was taken: the page says so."""
    found = ended(guard, sys.executable, "-c", OWN_SERVER)
    assert (1 if guard == "landlock" else 0) == found["code"]


SERVED_OUTSIDE = (
    "import socket\ntry:\n    socket.create_connection(('127.0.0.1', %d), 5)\nexcept OSError:\n    pass"
)
WAITS_FOR_ITS_SERVER = """
import socket, subprocess, sys, time
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
def is_up():
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
assert not is_up()
server = subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not is_up():
    time.sleep(0.05)
server.kill()
"""


def test_a_server_of_this_machine_is_outside(guard, ended):
    """A model server on loopback that somebody else started, asked by Python and by a shell."""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        port = foreign.getsockname()[1]
        told = [f"connect 127.0.0.1:{port}"]
        assert told == ended(guard, sys.executable, "-c", SERVED_OUTSIDE % port)["attempts"]
        if guard != "audit":
            _need_words_of(guard)
            asked = ended(guard, "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; exit 0")
            assert told == asked["attempts"]


ASKS = """
import socket, sys
for port in map(int, sys.argv[1:]):
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        sock.sendall(b"x" * 200_000)
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while part := sock.recv(65536):
            got += part
    print("answer", got.decode(), flush=True)
"""


def _count_what_comes(server):
    """Answer each visitor with the number of bytes that it sent."""
    while True:
        try:
            sock = server.accept()[0]
        except OSError:
            return
        with sock:
            count = 0
            while part := sock.recv(65536):
                count += len(part)
            sock.sendall(str(count).encode())


def test_a_named_port_of_this_machine_answers(guard, start):
    """A database beside the tests, say: also out of a namespace, both ways to the end, once for each visitor."""
    with socket.create_server(("127.0.0.1", 0)) as service:
        threading.Thread(target=_count_what_comes, args=(service,), daemon=True).start()
        port = service.getsockname()[1]
        process = start(guard, sys.executable, "-c", ASKS, str(port), str(port), ports=port)
        out, _ = process.communicate(timeout=60)
        service.shutdown(socket.SHUT_RDWR)
    lines = out.splitlines()
    assert ["answer 200000"] * 2 == lines[1:-1]
    assert {"code": 0, "left": 0, "lost": 0, "attempts": []} == json.loads(lines[-1])


def test_a_named_port_that_nobody_serves_refuses(guard, ended):
    """At once, and without an attempt: it was allowed."""
    served = listening()
    port = next(each for each in range(20000, 32000) if each not in served)  # none that is given out
    found = ended(guard, sys.executable, "-c", ASKS, str(port), ports=port)
    assert (1, []) == (found["code"], found["attempts"])


def test_waiting_for_a_server_of_ones_own_is_no_attempt(guard, ended):
    """The port is asked before the server listens."""
    if guard == "landlock":
        pytest.skip("Landlock learns no port after it was taken")
    assert (0, []) == tuple(
        ended(guard, sys.executable, "-c", WAITS_FOR_ITS_SERVER)[name] for name in ("code", "attempts")
    )


def test_a_run_that_watches_tells_and_refuses_nothing(ended):
    """For recording and live calls."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        text = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        found = ended("audit", sys.executable, "-c", text, refuses=False)
    assert (0, [f"connect 127.0.0.1:{port}"]) == (found["code"], found["attempts"])


def test_a_command_that_cannot_be_started_is_said(ended):
    """With its name; nothing ran."""
    found = ended("audit", "no-such-program-here")
    assert "command-not-started" == found["problem"]
    assert "no-such-program-here could not be started: no such file" in found["message"]


def test_a_command_that_a_signal_ends_is_128_more(ended):
    """As a shell tells it."""
    assert 137 == ended("audit", "sh", "-c", "kill -KILL $$")["code"]


def test_what_a_command_leaves_behind_is_ended(guard, ended):
    """Also in a session of its own."""
    found = ended(guard, "sh", "-c", "setsid sleep 600 & sleep 600 & exit 3")
    assert (3, 2) == (found["code"], found["left"])


def _pid_in(path):
    for _ in range(1200):
        if path.exists() and path.read_text(encoding="utf-8").strip():
            return int(path.read_text(encoding="utf-8"))
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


def _until_gone(pid):
    for _ in range(1200):
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return True
        if stat.rpartition(b")")[2].split()[0] == b"Z":
            return True
        time.sleep(0.05)
    return False


def test_killed_in_the_middle_nothing_is_left(guard, start, tmp_path):
    """Neither the command, nor what it moved out of its group, nor the run's folder."""
    text = f"setsid sh -c 'echo $$ > {tmp_path}/away; sleep 600' & echo $$ > {tmp_path}/command; sleep 600"
    process = start(guard, "sh", "-c", text)
    folder = Path(process.stdout.readline().split()[1])
    command, away = _pid_in(tmp_path / "command"), _pid_in(tmp_path / "away")
    process.kill()
    assert (True, True) == (_until_gone(command), _until_gone(away))
    for _ in range(1200):
        if not folder.exists():
            break
        time.sleep(0.05)
    assert not folder.exists()


def test_a_keeper_that_is_killed_takes_the_command_with_it(start, tmp_path):
    """And the run says so."""
    text = f"setsid sh -c 'echo $$ > {tmp_path}/away; sleep 600' & echo $PPID > {tmp_path}/keeper; sleep 600"
    process = start("audit", "sh", "-c", text)
    keeper, away = _pid_in(tmp_path / "keeper"), _pid_in(tmp_path / "away")
    os.kill(keeper, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert "keeper-lost" == json.loads(out.splitlines()[-1])["problem"]
    assert _until_gone(away)


def test_a_signal_is_passed_on(start, tmp_path):
    """The command decides what it makes of it."""
    text = f"trap 'exit 9' TERM; echo $$ > {tmp_path}/command; while :; do sleep 0.05; done"
    process = start("audit", "sh", "-c", text)
    _pid_in(tmp_path / "command")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert 9 == json.loads(out.splitlines()[-1])["code"]


def test_a_guard_that_does_not_hold_starts_nothing(start, tmp_path):
    """Without its hook (the folder of it is another), the canary gets through and the command never runs."""
    broken = RUN.replace(
        "from truegreen.guards.guarded import Guarded",
        "from truegreen.guards import guarded\nguarded.INJECTED = Path('/nowhere')\nfrom truegreen.guards.guarded import Guarded",
    )
    process = subprocess.run(
        [sys.executable, "-c", broken, "audit", "refuses", "touch", str(tmp_path / "ran")],
        env={**os.environ, "RUN_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = json.loads(process.stdout.splitlines()[-1])
    assert "guard-failed" == found["problem"]
    assert "the audit hook let a connection to 192.0.2.1:9 pass" in found["message"]
    assert not (tmp_path / "ran").exists()


BROKEN = {
    "namespace": "taken.namespace.enter = lambda *_: None",
    "preload": "taken.preload.library = lambda *_: Path('/nowhere.so')",
    "landlock": "taken.preload.compiler = lambda: None\nreal = taken.Plan\n"
    "taken.Plan = lambda **k: real(**{**k, 'ports': (*k['ports'], k['listener'])})",
}
"""What takes the heart out of each outer layer and leaves its name."""


@pytest.mark.parametrize("layer", BROKEN)
def test_an_outer_layer_that_does_not_hold_starts_nothing(layer, tmp_path, refused_here):
    """The canary reaches the listener outside, so the command never runs."""
    if refused_here[layer]:
        pytest.skip(f"this machine does not allow {layer}: {refused_here[layer]}")
    broken = RUN.replace(
        "guard, refuses, *command",
        f"from truegreen.guards import guarded as taken\n{BROKEN[layer]}\nguard, refuses, *command",
        1,
    )
    process = subprocess.run(
        [sys.executable, "-c", broken, layer, "refuses", "touch", str(tmp_path / "ran")],
        env={**os.environ, "RUN_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = json.loads(process.stdout.splitlines()[-1])
    assert "problem" in found, process.stdout + process.stderr
    assert ("guard-failed", True) == (
        found["problem"],
        f"{layer} let a connection to a listener outside pass (connected)" in found["message"],
    )
    assert not (tmp_path / "ran").exists()


def test_a_hypervisor_cannot_be_asked(guard, ended):
    """Virtual sockets belong to no network namespace; a program beside Python finds them closed."""
    if guard == "audit":
        pytest.skip("the audit hook holds Python alone")
    text = "import ctypes; raise SystemExit(ctypes.CDLL(None).socket(40, 1, 0) != -1)"
    assert 0 == ended(guard, sys.executable, "-I", "-c", text)["code"]


AS_USER = """
import os, sys
from truegreen.guards import kernel
uid, gid = os.getuid(), os.getgid()
kernel.unshare(kernel.CLONE_NEWUSER)
for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_user_without_rights_is_held_too(guard, tmp_path, refused_here):
    """In a user namespace whose user is 1000 and has no capability, like a runner's; it stays who it is."""
    if refused_here["namespace"]:
        pytest.skip("this machine allows no user namespace to be somebody else in")
    text = f"import os; assert os.getuid() == 1000, os.getuid()\n{PAST}"
    done = subprocess.run(
        [sys.executable, "-c", AS_USER, "-c", RUN, guard, "refuses", sys.executable, "-c", text],
        env={**os.environ, "RUN_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {"code": 0, "left": 0, "lost": 0, "attempts": ["connect 1.2.3.4:80"]} == found, done.stderr


def test_root_cannot_go_back_into_the_network(ended, refused_here):
    """The capability that it would need is taken from the command."""
    if os.getuid() != 0 or refused_here["namespace"]:
        pytest.skip("needs root and namespaces")
    text = (
        "import ctypes, os\n"
        "try:\n"
        "    fd = os.open(f'/proc/{os.environ[\"OUTSIDE_PID\"]}/ns/net', os.O_RDONLY)\n"
        "except OSError:\n"
        "    raise SystemExit(0)\n"
        "raise SystemExit(42 if ctypes.CDLL(None).setns(fd, 0) == 0 else 0)"
    )
    command = ["env", f"OUTSIDE_PID={os.getpid()}", sys.executable, "-c", text]
    assert 0 == ended("namespace", *command)["code"]
    assert 42 == subprocess.run(command, check=False).returncode
