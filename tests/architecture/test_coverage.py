# SPDX-License-Identifier: Apache-2.0
"""Every branch of core, gate and the pure rule modules is taken by the unit tests of its own room."""

import os
import subprocess
import sys

import pytest
import tree

ROOMS = ("core", "gate")
"""Rooms that are covered whole."""
PURE = (
    "cassettes/foreign/har.py",
    "cassettes/foreign/nock.py",
    "cassettes/foreign/taken.py",
    "cassettes/foreign/vcr.py",
    "cassettes/upkeep/asked_again.py",
    "cassettes/upkeep/decisions.py",
    "cassettes/upkeep/drift.py",
    "cassettes/upkeep/flips.py",
    "cassettes/upkeep/listing.py",
    "cassettes/upkeep/migration.py",
    "cassettes/upkeep/pruning.py",
    "cassettes/upkeep/reading.py",
    "cassettes/upkeep/review.py",
    "cassettes/upkeep/run_log.py",
    "cassettes/answer.py",
    "cassettes/cassette_file.py",
    "cassettes/check.py",
    "cassettes/coding.py",
    "cassettes/contracts.py",
    "cassettes/foreign_yaml.py",
    "cassettes/kept.py",
    "cassettes/key.py",
    "cassettes/leaks.py",
    "cassettes/loose.py",
    "cassettes/modes.py",
    "cassettes/multipart.py",
    "cassettes/nearest.py",
    "cassettes/paths.py",
    "cassettes/places.py",
    "cassettes/plain.py",
    "cassettes/provenance.py",
    "cassettes/rebuilt.py",
    "cassettes/replies.py",
    "cassettes/request.py",
    "cassettes/rules.py",
    "cassettes/rules_file.py",
    "cassettes/scrub.py",
    "cassettes/store.py",
    "cassettes/verify_key.py",
    "cassettes/well_formed.py",
    "conformance/part_five.py",
    "forges/git_log.py",
    "forges/github.py",
    "forges/github_listing.py",
    "forges/github_runs.py",
    "forges/lane_subject.py",
    "guards/attempts.py",
    "guards/canary.py",
    "guards/holds.py",
    "guards/sdks.py",
    "limiter/budget.py",
    "limiter/layers.py",
    "limiter/measure.py",
    "limiter/measure_page.py",
    "limiter/retry.py",
    "limiter/retry_after.py",
    "limiter/signals.py",
    "limiter/ledger.py",
    "limiter/limits.py",
    "limiter/places.py",
    "limiter/token_trajectory.py",
    "sampling/bounds.py",
    "sampling/buckets.py",
    "sampling/case_ids.py",
    "sampling/engines/choice.py",
    "sampling/ledger_build.py",
    "sampling/ledger_views.py",
    "sampling/measure.py",
    "sampling/merge.py",
    "sampling/recount.py",
    "sampling/sequential.py",
    "sampling/states.py",
    "sampling/summary.py",
    "sampling/walk.py",
    "proxy/asks.py",
    "proxy/inflater.py",
    "proxy/modes.py",
    "proxy/refusal.py",
    "proxy/replay.py",
    "proxy/session.py",
    "proxy/taken.py",
    "quarantine/live.py",
    "report/defused.py",
    "report/line.py",
    "report/reasons.py",
    "report/sentence.py",
)
"""Rule modules of other rooms that decide without touching the world."""


@pytest.mark.slow
def test_every_branch_of_the_rules_is_taken(tmp_path):
    """100 %, measured over the unit tests of these rooms alone."""
    rooms = sorted({*ROOMS, *(name.partition("/")[0] for name in PURE)})
    tests = [path for room in rooms if (path := tree.ROOT / "tests" / "unit" / room).is_dir()]
    coverage = [sys.executable, "-m", "coverage"]
    environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data")}
    subprocess.run(
        [
            *coverage,
            "run",
            "--source",
            "src/truegreen",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *tests,
        ],
        cwd=tree.ROOT,
        env=environment,
        check=True,
    )
    include = ",".join(f"src/truegreen/{name}" for name in (*(f"{room}/*" for room in ROOMS), *PURE))
    report = subprocess.run(
        [
            *coverage,
            "report",
            "--show-missing",
            "--skip-covered",
            "--fail-under",
            "100",
            "--include",
            include,
        ],
        cwd=tree.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == report.returncode, report.stdout


def test_the_list_of_rule_modules_is_true():
    """Each of them is there."""
    assert [] == [name for name in PURE if name not in tree.modules()]
