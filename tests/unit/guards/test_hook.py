# SPDX-License-Identifier: Apache-2.0
"""The audit hook: what it refuses and lets pass, in every interpreter that reads its environment."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from truegreen.guards import attempts
from truegreen.guards.guarded import INJECTED

TRY = """
import json, socket, sys
def tried(make):
    try:
        make()
    except OSError as err:
        return [type(err).__name__, "truegreen refused" in str(err)]
    return ["", False]
print(json.dumps(tried(lambda: {})))
"""
REFUSED = ["PermissionError", True]
NO_NAME = ["gaierror", True]
FREE = ["", False]


@pytest.fixture
def run(tmp_path):
    """An interpreter with the hook: rules in, what it printed out; arguments go to the interpreter."""

    def start(text, *rules, options=(), environment=None):
        lines = rules or ("mode refuse", "loopback listed", "proxy 127.0.0.1:1")
        (tmp_path / "guard.conf").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, *options, "-c", text],
            env={
                **os.environ,
                "PYTHONPATH": str(INJECTED),
                "TRUEGREEN_GUARD": str(tmp_path),
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return start


@pytest.fixture
def written(tmp_path):
    """What was written down."""
    return lambda: [f"{each.what} {each.address}" for each in attempts.read(tmp_path / "attempts.jsonl")]


@pytest.mark.parametrize(
    ("text", "right", "told"),
    [
        ("socket.create_connection(('1.2.3.4', 80), 1)", REFUSED, ["connect 1.2.3.4:80"]),
        ("socket.create_connection(('127.0.0.1', 9), 1)", REFUSED, ["connect 127.0.0.1:9"]),
        (
            "socket.socket(socket.AF_INET6).connect(('2606:4700::1', 443))",
            REFUSED,
            ["connect [2606:4700::1]:443"],
        ),
        (
            "socket.socket(socket.AF_INET6).connect(('::ffff:127.0.0.1', 9))",
            REFUSED,
            ["connect [::ffff:127.0.0.1]:9"],
        ),
        ("socket.socket().connect_ex(('1.2.3.4', 80))", REFUSED, ["connect 1.2.3.4:80"]),
        (
            "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('1.2.3.4', 53))",
            REFUSED,
            ["datagram 1.2.3.4:53"],
        ),
        (
            "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b''], [], 0, ('1.2.3.4', 53))",
            REFUSED,
            ["datagram 1.2.3.4:53"],
        ),
        ("socket.getaddrinfo('api.openai.com', 443)", NO_NAME, ["lookup api.openai.com"]),
        ("socket.getaddrinfo('127.0.0.1.example.com', 443)", NO_NAME, ["lookup 127.0.0.1.example.com"]),
        ("socket.getaddrinfo(b'api.openai.com', 443)", NO_NAME, ["lookup api.openai.com"]),
        ("socket.gethostbyname('api.openai.com')", NO_NAME, ["lookup api.openai.com"]),
        ("socket.gethostbyaddr('api.openai.com')", NO_NAME, ["lookup api.openai.com"]),
        ("socket.socket(socket.AF_VSOCK)", REFUSED, ["socket of family 40"]),
        ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", REFUSED, ["socket of family 17"]),
        ("socket.getaddrinfo('localhost', 80)", FREE, []),
        ("socket.getaddrinfo('LocalHost', 80)", FREE, []),
        ("socket.getaddrinfo(None, 80)", FREE, []),
        ("socket.getaddrinfo('1.2.3.4', 80)", FREE, []),
        ("socket.socketpair()", FREE, []),
        ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", FREE, []),
        ("socket.create_server(('127.0.0.1', 0))", FREE, []),
        ("socket.create_server(('0.0.0.0', 0))", FREE, []),
    ],
)
def test_what_would_leave_the_machine_is_refused(run, written, text, right, told):
    """In the hook's own words, and written down."""
    assert right == run(TRY.format(text))
    assert told == written()


def test_the_refusal_names_address_and_proxy(run):
    """One line says what was tried and who answers."""
    text = "import json, socket\ntry:\n    socket.create_connection(('1.2.3.4', 80))\nexcept OSError as err:\n    print(json.dumps(str(err)))"
    assert (
        "[Errno 13] truegreen refused connect 1.2.3.4:80: in this run only 127.0.0.1:1 answers (docs/guards.md)"
        == run(text)
    )


def test_the_proxy_and_named_ports_answer(run, written):
    """On loopback under any of its names, and nowhere else."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        port = proxy.getsockname()[1]
        rules = ("mode refuse", "loopback listed", f"port {port}")
        for host in ("127.0.0.1", "localhost", "0.0.0.0"):
            assert FREE == run(TRY.format(f"socket.create_connection(('{host}', {port}), 5)"), *rules)
        assert REFUSED == run(TRY.format(f"socket.create_connection(('1.2.3.4', {port}), 5)"), *rules)
    assert [f"connect 1.2.3.4:{port}"] == written()


OWN = """
import json, socket, subprocess, sys
with socket.create_server(("127.0.0.1", 0)) as own:
    socket.create_connection(own.getsockname(), 5).close()
with socket.socket(type=socket.SOCK_DGRAM) as own, socket.socket(type=socket.SOCK_DGRAM) as other:
    own.bind(("127.0.0.1", 0))
    other.sendto(b"x", own.getsockname())
print(json.dumps("reached"))
"""


def test_listeners_of_the_run_may_be_asked(run, written):
    """A test's own server and its own datagram socket."""
    assert "reached" == run(OWN, "mode refuse", "loopback own")
    assert [] == written()


def test_a_listener_of_somebody_else_may_not_be_asked(run, written):
    """A model server on loopback is outside the run too."""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        port = foreign.getsockname()[1]
        found = run(
            TRY.format(f"socket.create_connection(('127.0.0.1', {port}), 5)"), "mode refuse", "loopback own"
        )
    assert (REFUSED, [f"connect 127.0.0.1:{port}"]) == (found, written())


def test_in_a_namespace_all_of_loopback_is_the_runs(run):
    """Nobody outside is there."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        text = TRY.format(f"socket.create_connection({other.getsockname()}, 5)")
        assert FREE == run(text, "mode refuse", "loopback any")


def test_a_port_of_nobody_is_refused_by_the_kernel(run, written):
    """Whoever waits for a server of its own asks before it listens: no attempt."""
    text = TRY.format("socket.create_connection(('127.0.0.1', 1), 5)")
    for loopback in ("own", "any"):
        assert ["ConnectionRefusedError", False] == run(text, "mode refuse", f"loopback {loopback}")
    assert [] == written()


def test_in_a_namespace_a_port_that_is_served_outside_is_an_attempt(run, written):
    """A model server of this machine is asked for, which is not there any more."""
    text = TRY.format("socket.create_connection(('127.0.0.1', 1), 5)")
    assert REFUSED == run(text, "mode refuse", "loopback any", "outside 1")
    assert ["connect 127.0.0.1:1"] == written()


def test_a_run_that_watches_only_writes_down(run, written):
    """The connection goes on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert FREE == run(TRY.format(f"socket.create_connection(('127.0.0.1', {port}), 5)"), "mode watch")
    assert [f"connect 127.0.0.1:{port}"] == written()


@pytest.mark.parametrize("rules", [("port x",), ("mode refuse", "keeper x"), ("nothing",)])
def test_rules_that_cannot_be_read_refuse(run, rules):
    """A mistake closes, it does not open."""
    assert REFUSED == run(TRY.format("socket.create_connection(('127.0.0.1', 9), 1)"), *rules)


def test_a_run_without_its_folder_refuses(run, tmp_path):
    """Nothing can be written down either; the refusal stands."""
    found = run(
        TRY.format("socket.create_connection(('127.0.0.1', 9), 1)"),
        environment={"TRUEGREEN_GUARD": str(tmp_path / "gone")},
    )
    assert REFUSED == found


def test_sockets_of_daemons_are_refused_by_their_real_path(run, written, tmp_path):
    """A link to one is one."""
    path, link = tmp_path / "docker.sock", tmp_path / "link.sock"
    link.symlink_to(path)
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        daemon.listen()
        text = f"s = socket.socket(socket.AF_UNIX); tried2 = tried(lambda: s.connect('{link}'))\nprint(json.dumps(tried2))"
        found = run(TRY.partition("print(")[0] + text, "mode refuse", f"daemon {path}")
    assert (REFUSED, [f"connect {link}"]) == (found, written())


def test_a_child_has_it_too(run, written):
    """Started by subprocess and by multiprocessing."""
    text = (
        "import json, multiprocessing, socket, subprocess, sys\n"
        "code = 'import socket; socket.socket().connect((\"1.2.3.4\", 80))'\n"
        "subprocess.run([sys.executable, '-c', code], stderr=subprocess.DEVNULL)\n"
        "print(json.dumps(subprocess.run([sys.executable, '-I', '-c', 'print(1)'], capture_output=True).returncode))"
    )
    assert 0 == run(text)
    assert ["connect 1.2.3.4:80"] == written()


def test_the_sitecustomize_behind_it_runs_as_well(run, tmp_path):
    """A project's own is neither lost nor seen twice."""
    behind = tmp_path / "behind"
    behind.mkdir()
    (behind / "sitecustomize.py").write_text("LOADED = 'behind'\n", encoding="utf-8")
    text = "import json, sitecustomize, sys; print(json.dumps([sitecustomize.LOADED, [p for p in sys.path if p.endswith('injected')]]))"
    found = run(text, environment={"PYTHONPATH": f"{INJECTED}{os.pathsep}{behind}"})
    assert ["behind", []] == found


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_that_reads_no_environment_is_not_held(run, option):
    """What the outer layer is for; the page says so."""
    text = "import sys, json; print(json.dumps('sitecustomize' in sys.modules and 'Guard' in vars(sys.modules['sitecustomize'])))"
    assert not run(text, options=(option,))


def test_it_parses_as_python_3_8():
    """Projects under test may be older than this one."""
    import ast

    source = Path(INJECTED, "sitecustomize.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
