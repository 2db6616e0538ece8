# SPDX-License-Identifier: Apache-2.0
"""One honest pull request for all tests of the rehearsal, and decisions that are made once."""

import os

import pytest

from factories.defences import naive_intake, rules_without
from truegreen.gate.intake import read_evidence
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import try_trick
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
BY_ID = {way.id: way for way in WAYS}


@pytest.fixture(scope="package")
def actors(tmp_path_factory):
    """One honest pull request: tricks put the clone's branches back."""
    made = honest(tmp_path_factory.mktemp("stage"), ENVIRONMENT)
    with made.stage.git.asking():
        yield made


@pytest.fixture(scope="package")
def tried(actors, tmp_path_factory):
    """The decision on a way without some defences, by its id and theirs; each is made once."""
    folder = tmp_path_factory.mktemp("evidence")
    known = {}

    def decision(name, *gone):
        key = (name, frozenset(gone))
        if key not in known:
            intake = naive_intake if "strict_archives" in gone else read_evidence
            place = folder / str(len(known))
            known[key] = try_trick(BY_ID[name].trick, actors, place, rules_without(*gone), intake)
        return known[key]

    return decision
