# SPDX-License-Identifier: Apache-2.0
"""The run index of a working copy: one run, one attempt, every lane's job once."""

import msgspec

from truegreen.core.canonical import write_json
from truegreen.core.index import read_index
from truegreen.core.policy_read import read_policy
from truegreen.gate.local import local_index
from truegreen.wiring.rehearsal.events import at_home
from worlds.probes import PROBE_RULES

POLICY = b"""schema = "truegreen/policy/v1"
[lanes.one]
kind = "probe-exact-parts"
tests = "a"
job = "checks ({part})"
[lanes.two]
kind = "probe-exact-parts"
tests = "b"
job = "checks ({part})"
[lanes.three]
tests = "c"
"""


def test_every_job_stands_once_and_has_ended(actors):
    """Two lanes of one job are no contradiction."""
    policy = read_policy(POLICY, kinds=PROBE_RULES.facts())
    facts = at_home(actors).stage.facts
    lanes = [(lane, PROBE_RULES.kinds[lane.kind]) for lane in policy.lanes]
    index = local_index(facts, lanes, "2026-01-01T00:00:00Z")
    [run] = index.runs
    [attempt] = run.attempts
    assert ["checks (a)", "checks (b)", "three"] == [job.name for job in attempt.jobs]
    assert all(job.started and not job.running for job in attempt.jobs)
    assert (0, 1, facts.head_sha, "local") == (run.run_id, attempt.attempt, run.head_sha, run.event)
    assert (True, facts.head_sha, ()) == (index.complete, index.head_sha, index.earlier_heads)


def test_it_is_an_index_that_the_reader_takes(actors):
    """It has the form of a forge's."""
    index = local_index(at_home(actors).stage.facts, [], "2026-01-01T00:00:00Z")
    assert index == read_index(write_json(msgspec.to_builtins(index)))
