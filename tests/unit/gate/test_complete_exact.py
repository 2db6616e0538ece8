# SPDX-License-Identifier: Apache-2.0
"""Older attempts count against the newest, never for it."""

import msgspec
import pytest

from truegreen.core.outcome import Word
from truegreen.gate.ground import Unreachable
from worlds.probes import PROBE_RULES, judge
from worlds.spaces import job, lane, record
from worlds.terrain import decided
from worlds.world import Attempt, Run, World

RULES = ("exact", "carry")


def rerun(rule, first, left, count=1):
    """``count`` attempts that ended like this, and one more that holds."""
    one = lane(rule)
    state, artifact = first
    attempts = [Attempt(10 * at, (job(one, state, artifact=artifact),)) for at in range(count)]
    attempts.append(Attempt(90, (job(one),)))
    before = [record(one, attempt=at, outcome=left) for at in range(1, count + 1)] if left else []
    return World((one,), (Run(1, tuple(attempts)),), (*before, record(one, attempt=count + 1)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("first", "left", "code"),
    [
        (("done", True), "holds", "all-lanes-hold"),
        (("done", True), "unknown", "all-lanes-hold"),
        (("done", True), "fails", "older-attempt-failed"),
        (("done", True), None, "left-no-record"),
        (("lost", False), None, "all-lanes-hold"),
        (("lost", True), None, "left-no-record"),
    ],
)
def test_what_an_older_attempt_left_stands(rule, first, left, code, tmp_path):
    """A failure blocks, an unknown is superseded, nothing at all is a missing member unless the runner took it."""
    assert code == decided(rerun(rule, first, left), tmp_path).code


@pytest.mark.parametrize(("count", "code"), [(2, "all-lanes-hold"), (3, "cancelled-too-often")])
def test_the_runner_may_take_two_attempts(count, code, tmp_path):
    """``retries``: the third holds."""
    assert code == decided(rerun("exact", ("lost", False), None, count), tmp_path).code


def test_an_older_record_that_cannot_be_judged_holds(tmp_path):
    """Nobody can tell whether it failed."""

    def unsure(evidence, ground):
        if evidence.newest[0].envelope.subject.run_attempt == 1:
            raise Unreachable("missing-object", problem="the tree is gone")
        return judge(evidence, ground)

    kind = msgspec.structs.replace(PROBE_RULES.kinds["probe-exact"], judge=unsure)
    rules = msgspec.structs.replace(PROBE_RULES, kinds={**PROBE_RULES.kinds, kind.name: kind})
    made = decided(rerun("exact", ("done", True), "holds"), tmp_path, rules)
    assert (Word.HOLD, "missing-object") == (made.word, made.code)
