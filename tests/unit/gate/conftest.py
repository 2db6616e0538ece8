# SPDX-License-Identifier: Apache-2.0
"""What the gate's tests share: one honest pull request, and the gate's own ground about it."""

import os
import sys
from itertools import count
from pathlib import Path

import msgspec
import pytest

from truegreen.cassettes.check import checked
from truegreen.core.record import write_record
from truegreen.gate.bind import Asked, bind
from truegreen.gate.decide import RULES
from truegreen.gate.intake import Evidence, EvidenceFile
from truegreen.gate.verify import verify
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import try_trick
from truegreen.wiring.rehearsal.tricks import record_of

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request in a real repository."""
    made = honest(tmp_path_factory.mktemp("stage"), {"PATH": os.environ["PATH"]})
    with made.stage.git.asking():
        yield made


@pytest.fixture
def decided(actors, tmp_path):
    """The decision on a trick; the branches are put back."""
    turn = count()
    return lambda trick, **more: try_trick(trick, actors, tmp_path / f"evidence-{next(turn)}", **more)


@pytest.fixture(scope="module")
def asked(actors):
    """What the gate is asked on a stage, the honest one by default."""

    def about(stage=None, **more):
        stage = stage or actors.stage
        with actors.stage.git.asking() as git:
            values = {
                "git": git,
                "in_ci": True,
                "version": "1",
                "now": stage.now,
                "check_recordings": checked,
                **more,
            }
            return Asked(facts=stage.facts, index=stage.index_bytes(), **values)

    return about


@pytest.fixture(scope="module")
def ground(asked):
    """The gate's own knowledge about the honest pull request, or another stage."""

    def about(stage=None, **more):
        return bind(asked(stage, **more), RULES.kinds, RULES.facts()).ground

    return about


@pytest.fixture(scope="module")
def candidate(actors, ground):
    """The honest record as the gate reads it, with other claims in its subject, envelope or body."""

    def read(*, subject=None, body=None, **envelope):
        record = record_of(actors)
        claimed = msgspec.structs.replace(record.subject, **(subject or {}))
        record = msgspec.structs.replace(
            record, subject=claimed, body={**record.body, **(body or {})}, **envelope
        )
        files = (EvidenceFile(container="artifact", name="one.truegreen.json", data=write_record(record)),)
        found = verify(Evidence(files=files), ground(), RULES.kinds, checks=())
        return found.accepted[0]

    return read
