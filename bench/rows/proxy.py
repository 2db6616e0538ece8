# SPDX-License-Identifier: Apache-2.0
"""What the proxy costs: the first piece of a stream while it is recorded, and one replayed call.

- The upstream of the first rows sends five pieces, 50 ms apart. A recorder that buffers shows its first piece when
  the last has come; vcrpy does. The bare client says what is possible.
- A replayed call goes through a real socket and a real file. It stands beside the same client's call to the fake
  endpoint, which computes its answer, and beside vcrpy, which needs no socket and compares bodies one by one.
"""

import importlib
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from measuring import NotMeasured, Row

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode
from truegreen.wiring.atomic import write_atomic

PIECES = 5
APART_S = 0.05
CALLS = 200
RULES = KeyRules(host="bench")
NOW = "2026-11-29T17:00:00Z"
SCENARIO = (
    'schema = "truegreen/scenario/v1"\nseed = "b"\n[[rules]]\nid = "r"\nanswer = { added = ["dark mode"] }\n'
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


def rows(folder: Path) -> tuple[Row, ...]:
    """Streaming rows, then calls."""
    return (
        Row(
            name="first piece of a stream while recording",
            peer_name="vcrpy",
            ours=lambda: _first_piece(folder),
            peer=lambda: _first_piece_vcr(folder),
            target=0.25,
            rounds=5,
        ),
        Row(
            name="last piece of a stream while recording",
            peer_name="no recorder",
            ours=lambda: _whole_stream(folder),
            peer=lambda: _whole_stream(None),
            target=1.10,
            rounds=5,
        ),
        Row(
            name="replayed call through the proxy, p50",
            peer_name="the fake endpoint's own answer",
            ours=lambda: _quantile(_replayed(folder), 50),
            peer=lambda: _quantile(_computed(folder), 50),
            target=3,
            rounds=5,
        ),
        Row(
            name="replayed call through the proxy, p99",
            peer_name="the fake endpoint's own answer",
            ours=lambda: _quantile(_replayed(folder), 99),
            peer=lambda: _quantile(_computed(folder), 99),
            target=5,
            rounds=5,
        ),
        Row(
            name=f"replayed call, p50, of {CALLS} recordings",
            peer_name="vcrpy with bodies compared",
            ours=lambda: _quantile(_replayed(folder), 50),
            peer=lambda: _quantile(_replayed_vcr(folder), 50),
            target=0.5,
            rounds=3,
        ),
    )


def _first_piece(folder: Path) -> float:
    with _streaming() as url, _recording(folder, url) as base, httpx2.Client() as client:
        return _stream(client, base)[0]


def _first_piece_vcr(folder: Path) -> float:
    vcr = _vcr()
    with _streaming() as url, httpx2.Client() as client:
        cassette = folder / f"{time.monotonic_ns()}.yaml"
        with vcr.use_cassette(str(cassette), record_mode="all", match_on=["method", "path", "body"]):
            return _stream(client, url)[0]


def _whole_stream(folder: Path | None) -> float:
    with _streaming() as url, httpx2.Client() as client:
        if folder is None:
            return _stream(client, url)[1]
        with _recording(folder, url) as base:
            return _stream(client, base)[1]


def _stream(client: httpx2.Client, base: str) -> tuple[float, float]:
    """Seconds to the first piece and to the end."""
    begun = time.perf_counter()
    first = 0.0
    with client.stream("POST", f"{base}/x", json={"model": "m"}) as response:
        for _ in response.iter_raw():
            first = first or time.perf_counter() - begun
    return first, time.perf_counter() - begun


def _replayed(folder: Path) -> list[float]:
    place = folder / "replay"
    if not place.exists():
        store = Store(Folder(place, write_atomic), RULES, Recorder(now=lambda: NOW, since=NOW))
        with (
            FakeEndpoint(_scenario()) as endpoint,
            ModelProxy(Mode.RECORD, endpoint.url, recordings=store) as proxy,
        ):
            _calls(proxy.base_url())
    options = ("--mode", "replay", "--upstream", "http://bench/v1", "--alias", "bench", "--cassettes", place)
    with _process("proxy", "serve", *options) as base:
        return _calls(base)


def _computed(folder: Path) -> list[float]:
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO)
    with _process("endpoint", "fake", "--scenario", scenario) as base:
        return _calls(base)


def _replayed_vcr(folder: Path) -> list[float]:
    vcr, cassette = _vcr(), str(folder / "vcr.yaml")
    matching = {"match_on": ["method", "path", "body"]}
    if not Path(cassette).exists():
        with FakeEndpoint(_scenario()) as endpoint, vcr.use_cassette(cassette, record_mode="all", **matching):
            _calls(endpoint.url)
    with vcr.use_cassette(cassette, record_mode="none", **matching) as played:
        seconds = _calls("http://127.0.0.1:9/v1")
    if played.play_count != CALLS:
        raise NotMeasured(f"vcrpy replayed {played.play_count} of {CALLS} calls")
    return seconds


def _calls(base: str) -> list[float]:
    """Seconds of each call, one after the other over one connection."""
    seconds = []
    with httpx2.Client() as client:
        for number in range(CALLS):
            message = {"role": "user", "content": f"call {number}: list the changes"}
            begun = time.perf_counter()
            answer = client.post(f"{base}/chat/completions", json={"model": "m", "messages": [message]})
            seconds.append(time.perf_counter() - begun)
            if answer.status_code != 200:
                raise NotMeasured(f"a call was answered {answer.status_code}")
    return seconds


@contextmanager
def _process(*arguments: object) -> Iterator[str]:
    """A verb that serves, in a process of its own; its address."""
    command = [sys.executable, "-m", "truegreen", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise NotMeasured(f"{' '.join(command[2:])} did not start")
            yield json.loads(line)["url"]
        finally:
            process.terminate()


def _quantile(seconds: list[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100)[percent - 1]


def _scenario() -> Scenario:
    return Scenario(seed="bench", rules=(Rule(id="r", answer='{"added": ["dark mode"]}'),))


@contextmanager
def _recording(folder: Path, url: str) -> Iterator[str]:
    place = folder / f"record-{time.monotonic_ns()}"
    store = Store(Folder(place, write_atomic), RULES, Recorder(now=lambda: NOW, since=NOW))
    with ModelProxy(Mode.RECORD, url, recordings=store) as proxy:
        yield proxy.base_url()
    if proxy.tally().kept != 1:
        raise NotMeasured(f"{proxy.tally().kept} answers were kept instead of 1")


@contextmanager
def _streaming() -> Iterator[str]:
    """An upstream that sends its pieces apart."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_serve_stream, args=(listener,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _serve_stream(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while b'{"model"' not in connection.recv(65536):
                pass
            connection.sendall(HEAD)
            for number in range(PIECES):
                piece = f"data: {json.dumps({'piece': number})}\n\n".encode()
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(APART_S)
            connection.sendall(b"0\r\n\r\n")


def _vcr() -> Any:
    try:
        return importlib.import_module("vcr")
    except ImportError as err:
        raise NotMeasured("vcrpy is not installed") from err
