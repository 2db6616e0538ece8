# SPDX-License-Identifier: Apache-2.0
"""The two jobs of ``.github/workflows/truegreen.yml``, as a forge's runners would run them.

- ``model_tests`` has the test-merge commit checked out, the model's address, and no way to decide anything.
- ``gate`` has zips, the stored run index, the event and a bare clone with full history. It runs isolated, in an
  empty folder, with nothing of the change checked out. ``gate.sh`` in its folder runs it once more.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from stand_in.authors import Repository, environment, git
from stand_in.forge import LANE, PullRequest

LIMIT_S = 600
"""Seconds for one step: far above what any needs."""


@dataclass(frozen=True)
class Sampled:
    """What the model tests came to."""

    code: int
    said: str
    """What it printed, without where the ledger lies."""
    log: Path
    """All of that, progress included."""


@dataclass(frozen=True)
class Decided:
    """What the gate came to."""

    code: int
    said: str
    """What it printed."""
    word: str = ""
    """The decision's word; empty if none was issued."""
    reason: str = ""
    """Its reason code."""
    line: str = ""
    """Its line."""


def model_tests(
    repository: Repository, request: PullRequest, url: str, folder: Path, *, cancel: bool
) -> Sampled:
    """Sample the newest head in a fresh checkout; with ``cancel`` it is interrupted while calls are under way."""
    run = request.runs[-1]
    run.begins()
    checkout = _checked_out(repository, request, folder / "checkout")
    variables = _event(request, folder) | {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "none",
        "MODEL_NAME": "demo-model",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the bot has no pytest plugins; this environment may have some
    }
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "truegreen",
            "sample",
            *_index(request, folder),
            *_evidence(request, "--earlier"),
        ],
        cwd=checkout,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if cancel:
        _wait_for_a_call(url, process)
        process.send_signal(signal.SIGINT)
    said, progress = process.communicate(timeout=LIMIT_S)
    log = folder / "sample.log"
    log.write_text(progress + said, encoding="utf-8")
    record = checkout / "artifacts" / f"{LANE}.all.{len(run.attempts)}.truegreen.json"
    artifact = None if cancel or not record.exists() else _uploaded(record, folder)
    run.ended("cancelled" if cancel else "failure" if process.returncode else "success", artifact)
    table = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("ledger: "))
    return Sampled(code=process.returncode, said=table or progress, log=log)


def gate(repository: Repository, request: PullRequest, folder: Path) -> Decided:
    """Decide on the newest run, with nothing but zips, index, event and a bare clone; all stays in ``folder``."""
    clone, decision = folder / "clone.git", folder / "decision.json"
    _cloned(repository, request, clone)
    kept = _kept(request, folder / "evidence")
    command = [
        *(sys.executable, "-I", "-m", "truegreen", "gate", *kept, *_index(request, folder), "--repo", clone),
        *("--format", "github", "--decision", decision, "--bundle", folder / "bundle.json"),
    ]
    files = {"GITHUB_STEP_SUMMARY": folder / "summary.md", "GITHUB_OUTPUT": folder / "output.txt"}
    script = _script(
        folder / "gate.sh", command, _event(request, folder) | {k: str(v) for k, v in files.items()}
    )
    done = subprocess.run(
        ["sh", script], env={"PATH": os.defpath}, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    said = done.stdout + done.stderr
    (folder / "gate.log").write_text(said, encoding="utf-8")
    if not decision.exists():
        return Decided(code=done.returncode, said=said)
    body = json.loads(decision.read_text(encoding="utf-8"))["body"]
    return Decided(code=done.returncode, said=said, word=body["word"], reason=body["code"], line=body["line"])


def _event(request: PullRequest, folder: Path) -> dict[str, str]:
    """The environment of a step, with the event's payload as a file."""
    payload = folder / "event.json"
    payload.write_bytes(request.payload(request.runs[-1]))
    return environment() | request.variables(request.runs[-1], payload)


def _index(request: PullRequest, folder: Path) -> tuple[str | Path, ...]:
    """The stored run index as an option."""
    index = folder / "run-index.json"
    index.write_bytes(request.index())
    return "--run-index", index


def _evidence(request: PullRequest, option: str) -> list[str | Path]:
    """Every zip that runs of this pull request have left, as options."""
    zips = [zipped for run in request.runs for zipped in run.artifacts.values()]
    return [word for zipped in zips for word in (option, zipped)]


def _kept(request: PullRequest, folder: Path) -> list[str | Path]:
    """The same, copied to where they stay: a folder for each run, for two runs may use one name."""
    options: list[str | Path] = []
    for run in request.runs:
        for zipped in run.artifacts.values():
            there = folder / str(run.run_id) / zipped.name
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(zipped.read_bytes())
            options += ["--evidence", there]
    return options


def _script(path: Path, command: list[str | Path], variables: dict[str, str]) -> Path:
    """A script that runs a command in an empty folder, with these variables and no other."""
    given = [f"{name}={value}" for name, value in sorted(variables.items())]
    words = shlex.join(["env", "-i", *given, *map(str, command)])
    words += '; code=$?\nrmdir "$empty"; exit $code'
    path.write_text(f'empty=$(mktemp -d) && cd "$empty" || exit 2\n{words}\n', encoding="utf-8")
    return path


def _wait_for_a_call(url: str, process: subprocess.Popen[str]) -> None:
    """Until a call is under way, or the sampling is over."""
    oracle = url.removesuffix("/v1") + "/_oracle"
    while process.poll() is None:
        with urllib.request.urlopen(oracle) as answer:  # noqa: S310 - an address of our own endpoint
            if json.load(answer)["calls"]:
                return
        time.sleep(0.05)


def _uploaded(record: Path, folder: Path) -> Path:
    """The zip that a forge keeps of an uploaded record."""
    artifact = folder / f"truegreen.{record.name.removesuffix('.truegreen.json')}.zip"
    with zipfile.ZipFile(artifact, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.write(record, record.name)
    return artifact


def _checked_out(repository: Repository, request: PullRequest, folder: Path) -> Path:
    """What actions/checkout leaves on a pull request with ``fetch-depth: 0``: the test merge, on no branch."""
    folder.mkdir(parents=True)
    merge = f"pull/{request.number}/merge"
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "remote", "add", "origin", f"file://{repository.origin}")
    git(
        *(folder, "fetch", "--quiet", "origin"),
        *("+refs/heads/*:refs/remotes/origin/*", f"+refs/{merge}:refs/remotes/{merge}"),
    )
    git(folder, "checkout", "--quiet", "--detach", f"refs/remotes/{merge}")
    return folder


def _cloned(repository: Repository, request: PullRequest, clone: Path) -> None:
    """A bare clone with full history, and every head of the pull request in it."""
    git(clone.parent, "clone", "--quiet", "--bare", f"file://{repository.origin}", str(clone))
    git(clone, "fetch", "--quiet", "origin", *request.heads)
