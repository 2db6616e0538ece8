# SPDX-License-Identifier: Apache-2.0
"""How long sampling takes beside the time that its calls alone need: calls x latency ÷ slots.

A hundred cases, eight samples each, 16 in flight, and an endpoint that takes 200 ms for every call, in a process
of its own. Ours is the whole command, from its start to its exit: git, collection, forks, observer and record.
The portable engine starts a Python for each slot; its row shows what that costs and is judged against its own bound.
"""

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from measuring import NotMeasured, Row

CASES, RUNS, SLOTS, LATENCY_S = 100, 8, 16, 0.2
IDEAL_S = CASES * RUNS * LATENCY_S / SLOTS
SCENARIO = f"""
schema = "truegreen/scenario/v1"
seed = "bench"
[[rules]]
id = "all"
answer = "yes"
latency = {{ ms = {LATENCY_S * 1000:g} }}
"""
POLICY = 'schema = "truegreen/policy/v1"\n[lanes.model-tests]\ntests = "tests"\n'
TESTS = f"""
import json
import os
import urllib.request

import pytest


@pytest.mark.parametrize("number", range({CASES}))
def test_case(number):
    body = {{"model": "m", "messages": [{{"role": "user", "content": str(number)}}]}}
    address = os.environ["MODEL_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {{"content-type": "application/json"}})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "yes" == json.load(answer)["choices"][0]["message"]["content"]
"""
CASE_FILE = "".join(
    f"- id: case-{number}\n  input: text.txt\n  expect: {{format: text, enum: ['yes']}}\n"
    for number in range(CASES)
)
ENGINES = (
    ("fork", {"tests/test_all.py": TESTS}, 1.15),
    ("async", {"tests/cases.yaml": CASE_FILE, "tests/text.txt": "text"}, 1.15),
    ("xdist", {"tests/test_all.py": TESTS}, 3.0),
)
"""Engine, its suite, and the largest ratio that meets the promise."""


def rows(folder: Path) -> tuple[Row, ...]:
    """A row for each engine."""
    return tuple(
        Row(
            name=f"sampling {CASES} cases x {RUNS}, engine {engine}, start to exit",
            peer_name=f"calls x {LATENCY_S * 1000:g} ms ÷ {SLOTS} slots",
            ours=partial(_seconds, _repository(folder / engine, files), engine),
            peer=lambda: IDEAL_S,
            target=target,
            rounds=3,
        )
        for engine, files, target in ENGINES
    )


def _repository(folder: Path, files: dict[str, str]) -> Path:
    every = {
        "truegreen.toml": POLICY,
        ".gitignore": "artifacts/\nready.json\n",
        "scenario.toml": SCENARIO,
        **files,
    }
    for name, text in every.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "bench"]):
        author = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
        subprocess.run(["git", "-C", folder, *author, *arguments], check=True)
    return folder


def _seconds(folder: Path, engine: str) -> float:
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "truegreen"]
    serve = [*command, "endpoint", "fake", "--scenario", "scenario.toml", "--ready-file", ready.name]
    endpoint = subprocess.Popen(serve, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while not ready.exists():
            if endpoint.poll() is not None:
                raise NotMeasured("the endpoint did not start")
            time.sleep(0.01)
        address = json.loads(ready.read_text(encoding="utf-8"))["url"]
        environment = {
            **os.environ,
            "MODEL_BASE_URL": address,
            "MODEL_NAME": "m",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        asked = [*command, "sample", "--runs", str(RUNS), "-j", str(SLOTS), "--engine", engine]
        began = time.perf_counter()
        done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
    finally:
        endpoint.terminate()
        endpoint.wait()
        ready.unlink(missing_ok=True)
    if done.returncode or f" {CASES * RUNS} calls" not in done.stdout:
        raise NotMeasured(f"the {engine} engine did not measure what was asked: {done.stderr.strip()[-200:]}")
    return took
