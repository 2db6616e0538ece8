# SPDX-License-Identifier: Apache-2.0
"""Runs of ``sample`` for the tests of this folder."""

import subprocess
from pathlib import Path

import msgspec

from truegreen.core.record import read_record
from truegreen.gate.ledger_record import decode
from truegreen.wiring.sample import sample
from truegreen.wiring.sample_request import SampleRequest

POLICY = """
    schema = "truegreen/policy/v1"

    [check]
    name = "truegreen"
    workflow = ".github/workflows/truegreen.yml"
    branches = ["main"]

    [lanes.model-tests]
    tests = "tests/llm"
    timeout_s = 30
    concurrency = 4
"""


class Silent:
    """A watcher that remembers."""

    def __init__(self):
        self.notices = ()
        self.engine = ""
        self.samples = []

    def planned(self, ids, notices, *, engine):
        """Sampling begins."""
        self.notices, self.engine = notices, engine

    def ended(self, case_id, sample, progress):
        """One sample has ended."""
        self.samples.append((case_id, sample, progress))


def run(root: Path, environment, watcher=None, **asked):
    """Sample in this process; the result and the body as it was written."""
    sampled = sample(SampleRequest(cwd=root, **asked), environment, watcher or Silent())
    envelope, _ = read_record(sampled.path.read_bytes())
    assert sampled.body == decode(envelope.body)
    return sampled


def short(case_id: str) -> str:
    """What stands behind the last ``::``."""
    return case_id.rpartition("::")[2]


def buckets(body) -> dict[str, list[str]]:
    """Case to its buckets by number."""
    return {short(case.id): [one.bucket for one in case.samples] for case in body.cases}


def reasons(body) -> dict[str, set[str]]:
    """Case to the reasons of its samples."""
    return {short(case.id): {one.reason for one in case.samples} for case in body.cases}


def states(body) -> dict[str, str]:
    """Case to its claimed state."""
    return {short(case.id): case.state for case in body.cases}


def plain(body):
    """The body as JSON would hold it."""
    return msgspec.to_builtins(body)


def git(root: Path, *arguments: str) -> str:
    """Run git in a repository."""
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
