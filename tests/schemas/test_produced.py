# SPDX-License-Identifier: Apache-2.0
"""What truegreen writes has the shape that its schemas say."""

import inspect
import os

import msgspec
import pytest

from factories import decisions
from truegreen.core.canonical import read_json
from truegreen.core.decision import Decision
from truegreen.core.schema import validate
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage, try_way
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
MADE = [
    name
    for name, function in inspect.getmembers(decisions, inspect.isfunction)
    if inspect.signature(function).return_annotation is Decision
    and all(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in inspect.signature(function).parameters.values()
    )
]
"""Functions that make a decision out of nothing."""


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request with a real clone and real records."""
    return honest(tmp_path_factory.mktemp("stage"), ENVIRONMENT)


@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_decision_has_its_shape(name):
    """Admitted, held, blocked, observed, of one lane, with hostile names."""
    validate("decision.v1", msgspec.to_builtins(getattr(decisions, name)()))


def test_decisions_of_the_real_gate_have_their_shape(actors, tmp_path):
    """On honest evidence and on every fourth way to fool it."""
    made = [decide_stage(actors.stage, tmp_path / "honest", ENVIRONMENT)]
    made += [try_way(way, actors, tmp_path / way.id, ENVIRONMENT) for way in WAYS[::4]]
    for decision in made:
        validate("decision.v1", msgspec.to_builtins(decision))


def test_records_and_run_index_have_their_shape(actors):
    """The envelope, the ledger inside it, and the forge's list."""
    ledger = actors.ledger()
    validate("record.v1", msgspec.to_builtins(ledger))
    validate("sample-ledger.v1", msgspec.to_builtins(ledger.body))
    validate("run-index.v1", read_json(actors.stage.index_bytes()))
