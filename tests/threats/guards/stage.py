# SPDX-License-Identifier: Apache-2.0
"""One layer, all ways to get past it: ``stage.py GUARD alone|whole STATIC_CLIENT ID…``; prints who got through.

The stage first moves into a network namespace of its own in which every address is its own (``guards.namespace``).
So a listener on all addresses is "the outside": it can be reached at an address that is not loopback, and nothing
of it leaves this machine. The guard is then taken a second time, inside. Where no namespace can be had, a second
listener on loopback is the outside.

``alone`` hides the other layer from the command: the audit hook from an outer layer.
"""

import json
import os
import select
import socket
import sys
import tempfile
import threading
from pathlib import Path

from truegreen.guards import namespace
from truegreen.guards.guarded import Guarded

CLIENTS = Path(__file__).parent / "clients.py"
OUTSIDE = "203.0.113.7"
HIDDEN = {
    "audit": (),
    "preload": ("PYTHONPATH",),
    "landlock": ("PYTHONPATH", "LD_PRELOAD"),
    "namespace": ("PYTHONPATH",),
}
"""Variables without which the command meets one layer alone."""


def listeners(names, host):
    """A port for each name, and the sockets behind them."""
    opened = {}
    for name in names:
        kind = socket.SOCK_DGRAM if name == "datagram" else socket.SOCK_STREAM
        sock = socket.socket(socket.AF_INET, kind)
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
        sock.bind((host, 0))
        if kind == socket.SOCK_STREAM:
            sock.listen(50)
        opened[name] = sock
    return opened


def serve(opened, reached, stop):
    """Note who comes, and hang up."""
    by_sock = {sock: name for name, sock in opened.items()}
    while not stop.is_set():
        for sock in select.select(list(by_sock), [], [], 0.1)[0]:
            reached.add(by_sock[sock])
            if by_sock[sock] == "datagram":
                sock.recv(10)
            else:
                sock.accept()[0].close()


def answer(sock):
    """Be the proxy: accept, and hang up."""
    while True:
        try:
            sock.accept()[0].close()
        except OSError:
            return


def main(guard, how, static_client, names):
    """Try everything; the report."""
    try:
        namespace.enter()
        host, bound = OUTSIDE, "0.0.0.0"
    except OSError:
        host = bound = "127.0.0.1"
    opened = listeners([name for name in names if name != "same-port"], bound)
    if "same-port" in names and host != "127.0.0.1":
        opened["same-port"] = socket.create_server((host, 0))
    port = opened["same-port"].getsockname()[1] if "same-port" in opened else 0
    reached, stop = set(), threading.Event()
    folder = Path(tempfile.mkdtemp(prefix="truegreen-stage-"))
    environment = {**os.environ, "STATIC_CLIENT": static_client}
    with Guarded(guard, refuses=True, folder=folder, cache=folder).enter(environment) as guarded:
        proxy = socket.create_server(("127.0.0.1", port))
        port = proxy.getsockname()[1]
        threading.Thread(target=serve, args=(opened, reached, stop)).start()
        threading.Thread(target=answer, args=(proxy,), daemon=True).start()
        asked = [f"{name}={port if name == 'same-port' else opened[name].getsockname()[1]}" for name in names]
        command = [sys.executable, str(CLIENTS), host, *asked]
        hidden = HIDDEN[guard] if how == "alone" else ()
        command = ["env", *(word for name in hidden for word in ("-u", name)), *command]
        try:
            ended = guarded.run(command, environment, proxy_ports=[port])
        finally:
            stop.set()
    attempts = [f"{each.layer} {each.what} {each.address}" for each in ended.attempts]
    return {"host": host, "reached": sorted(reached), "attempts": attempts, "code": ended.code}


if __name__ == "__main__":
    print("REPORT", json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])))
