# SPDX-License-Identifier: Apache-2.0
"""How long the gate takes: from start to exit on a small set, and for one large ledger in one process.

The small set is an honest pull request with one lane: a bare clone, a payload, a run index and one record, so
that git's own time is in it. The large ledger has 1,000 cases with 8 samples each; beside it stands the published
tally of the same 8,000 samples, which reads lines of JSON and compares nothing.
"""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from measuring import NotMeasured, Row

from truegreen.core.record import file_name, write_record
from truegreen.forges.git import GitRepository
from truegreen.gate.bind import Asked, bind
from truegreen.gate.complete import complete
from truegreen.gate.decide import RULES
from truegreen.gate.intake import read_evidence
from truegreen.gate.verify import verify
from truegreen.wiring.rehearsal import records
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.remembered import Remembered

CASES, SAMPLES = 1000, 8
PAYLOAD = Path(__file__).parents[2] / "tests" / "factories"


def rows(folder: Path) -> tuple[Row, ...]:
    """Start to exit, and one large ledger."""
    small, large = folder / "small", folder / "large"
    small.mkdir()
    large.mkdir()
    command, environment = _small(small)
    log, judged = _large(large)
    return (
        Row(
            name="truegreen gate on a small set, start to exit",
            peer_name="python -I -c pass",
            ours=lambda: _seconds(command, small, environment),
            peer=lambda: _seconds([sys.executable, "-I", "-c", "pass"], small, environment),
            target=10,
            rounds=15,
        ),
        Row(
            name=f"read, verify and judge {CASES * SAMPLES} samples",
            peer_name="the published tally of as many lines",
            ours=judged,
            peer=lambda: _tally(log),
            target=25,
            rounds=7,
        ),
    )


def _small(folder: Path) -> tuple[list[str], dict[str, str]]:
    sys.path.insert(0, str(PAYLOAD.parent))
    from factories.github_event import github_event  # noqa: PLC0415 - it lives with the tests

    path = {"PATH": os.environ["PATH"]}
    stage = honest(folder, path).stage
    index = folder / "run-index.json"
    index.write_bytes(stage.index_bytes() or b"")
    evidence = stage.write(folder / "evidence")
    arguments = ["--evidence", evidence, "--repo", stage.git.folder, "--run-index", index]
    command = [sys.executable, "-I", "-m", "truegreen", "gate", *map(str, arguments)]
    return command, path | github_event(stage.facts, folder)


def _large(folder: Path) -> tuple[Path, Callable[[], float]]:
    path = {"PATH": os.environ["PATH"]}
    actors = honest(folder, path)
    ids = [f"tests/llm/cases/case_{number:04}.yaml::case" for number in range(CASES)]
    rows = tuple(records.case_row(name, records.samples("p" * SAMPLES), "stable-pass") for name in ids)
    record = write_record(actors.ledger_of(rows))
    evidence = folder / "evidence"
    evidence.mkdir()
    (evidence / file_name(actors.lane.name, "all", 1)).write_bytes(record)
    log = folder / "run.jsonl"
    lines = (
        json.dumps({"run": f"r-{n}", "case": name, "passed": True}) for n in range(SAMPLES) for name in ids
    )
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    git = GitRepository(actors.stage.git.folder, path)
    asked = Asked(
        facts=actors.stage.facts,
        git=Remembered(git, {}),  # as a decision remembers what git answered
        index=actors.stage.index_bytes(),
        now=on.NOW,
        in_ci=True,
        version="bench",
    )
    ground = bind(asked, RULES.kinds, RULES.facts()).ground

    def judged() -> float:
        started = time.perf_counter()
        verified = verify(read_evidence([evidence]), ground, RULES.kinds)
        done = complete(actors.lane, RULES.kinds["sample-ledger"], verified, ground)
        row = RULES.kinds["sample-ledger"].judge(done.evidence, ground).row
        taken = time.perf_counter() - started
        if len(row.cases) != CASES or len(verified.accepted) != 1:
            raise NotMeasured(f"{len(row.cases)} of {CASES} cases were judged")
        return taken

    judged()  # git answers once; what is measured is the gate
    git.close()
    return log, judged


def _tally(log: Path) -> float:
    """Passes and runs a case, the published way."""
    started = time.perf_counter()
    tally = defaultdict(lambda: [0, 0])
    for line in log.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tally[row["case"]][1] += 1
        tally[row["case"]][0] += int(row["passed"])
    if len(tally) != CASES:
        raise NotMeasured(f"{len(tally)} of {CASES} cases were tallied")
    return time.perf_counter() - started


def _seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    if ran.returncode:
        raise NotMeasured(f"{command[-1]} exits {ran.returncode}")
    return time.perf_counter() - started
