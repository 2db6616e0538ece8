# SPDX-License-Identifier: Apache-2.0
"""What each layer stops alone: every way of the table tries to get out, and a listener outside says who did.

The table is ``guards/holds.toml``, which docs/guards.md shows. A cell that says "passes" is checked as well: a
layer that is better than its description is described wrongly.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from truegreen.guards import choice, holds

HERE = Path(__file__).parent / "guards"
ROWS = {row.id: row for row in holds.rows()}
CELLS = [(guard, name) for guard in choice.STRONGEST_FIRST for name in ROWS]
STATIC = ("static", "datagram", "io-uring")
"""Ways of the client without any library."""
NEEDS = {"curl": "curl", "node-fetch": "node", "node-https": "node"}
"""Programs that a way needs."""


@pytest.fixture(scope="module")
def static_client(tmp_path_factory):
    """A client without any library; empty where it cannot be made."""
    path = tmp_path_factory.mktemp("static") / "static_client"
    compiler = shutil.which("cc")
    if compiler is None:
        return ""
    done = subprocess.run(
        [compiler, "-static", "-o", path, HERE / "static_client.c"], capture_output=True, check=False
    )
    return str(path) if done.returncode == 0 else ""


@lru_cache
def _has_rings(static_client):
    """Whether this machine lets anybody use io_uring."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [static_client, "uring", "127.0.0.1", str(server.getsockname()[1])]
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0


@lru_cache
def tried(guard, static_client):
    """What came of all ways under one layer alone."""
    names = [
        name
        for name in ROWS
        if (name not in NEEDS or shutil.which(NEEDS[name]))
        and (static_client or name not in STATIC)
        and (name != "io-uring" or _has_rings(static_client))
    ]
    command = [sys.executable, HERE / "stage.py", guard, "alone", static_client, *names]
    done = subprocess.run(
        command, env={**os.environ, "NO_PROXY": "*"}, capture_output=True, text=True, timeout=180, check=False
    )
    reports = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    assert reports, done.stdout[-2000:] + done.stderr[-2000:]
    return names, json.loads(reports[0].removeprefix("REPORT ")), done.stdout


@lru_cache
def _refused_here():
    text = "import json; from truegreen.guards import choice; print(json.dumps({n: t() for n, t in choice.trials().items()}))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def _layer(guard, static_client):
    why = _refused_here()[guard]
    if why:
        pytest.skip(f"this machine does not allow the guard {guard}: {why}")
    return tried(guard, static_client)


@pytest.mark.parametrize(("guard", "name"), CELLS)
def test_a_layer_stops_what_the_table_says(guard, name, static_client):
    """Who gets through is who the table lets through."""
    names, report, told = _layer(guard, static_client)
    if name not in names or (name == "same-port" and report["host"] == "127.0.0.1"):
        pytest.skip(f"this machine has no {NEEDS.get(name, 'way to try it')}")
    assert getattr(ROWS[name], guard) == ("passes" if name in report["reached"] else "stops"), told


@pytest.mark.parametrize("guard", choice.STRONGEST_FIRST)
def test_what_a_layer_stops_it_also_tells(guard, static_client):
    """As many attempts are written down as are stopped, though every client swallowed its error.

    Landlock alone tells nothing: the library beside it does, which is hidden here.
    """
    names, report, told = _layer(guard, static_client)
    seen_by = {"audit": "audit ", "preload": "preload ", "namespace": "packet "}
    if guard == "landlock":
        assert [] == report["attempts"]
        return
    unseen = (
        ("datagram", "io-uring") if guard == "preload" else ("datagram",)
    )  # the filter stops them, and tells nobody
    stopped = [name for name in names if name not in report["reached"] and name not in unseen]
    distinct = {each for each in report["attempts"] if each.startswith(seen_by[guard])}
    assert len(stopped) <= len(distinct), told


def test_a_child_process_cannot_reach_out_in_replay(tmp_path):
    """A child that opens a raw socket past the proxy is stopped, and the run is red although it swallowed that."""
    with socket.create_server(("127.0.0.1", 0)) as model:
        port = model.getsockname()[1]
        reach = f"import _socket\ntry:\n    _socket.socket().connect(('127.0.0.1', {port}))\nexcept OSError:\n    pass"
        child = f"import subprocess, sys; raise SystemExit(subprocess.run([sys.executable, '-c', {reach!r}]).returncode)"
        for mode, code in (("replay", 1), ("live", 0)):
            command = ["-m", "truegreen", "proxy", "run", "--mode", mode, "--", sys.executable, "-c", child]
            done = subprocess.run(
                [sys.executable, "-I", *command],
                env={"PATH": os.environ["PATH"]}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert (code, True) == (done.returncode, f"connect 127.0.0.1:{port}" in done.stderr), done.stderr


def test_nobody_gets_through_without_the_table_knowing():
    """The clients and the table are one list."""
    sys.path.insert(0, str(HERE))
    try:
        import clients
    finally:
        sys.path.remove(str(HERE))
    assert set(clients.WAYS) == set(ROWS)
