# SPDX-License-Identifier: Apache-2.0
"""Damage byte by byte to a real ledger.

Nothing that is not admitted becomes so, and an admit survives only where the damage says nothing that is judged.
"""

import json
import os

import pytest

from truegreen.core.outcome import Word
from truegreen.core.record import write_record
from truegreen.wiring.rehearsal.honest import honest
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.tricks import put, record_of

UNJUDGED = {
    ("producer", "name"),
    ("producer", "version"),
    ("producer", "verb"),
    ("issued_at",),
    ("body", "engine"),
    ("body", "interpreter"),
    ("body", "endpoint", "host"),
    ("body", "endpoint", "models_asked"),
    ("body", "endpoint", "models_served"),
    ("body", "started_at"),
    ("body", "wall_ms"),
    ("body", "wire", "transport"),
    ("body", "wire", "prompt_tokens"),
    ("body", "wire", "completion_tokens"),
    ("body", "rule", "j"),
    ("body", "rule", "cap"),
    ("body", "cases", "owner"),
    ("body", "cases", "samples", "reason"),
}
"""Claims of a record that decide nothing here: no seal protects them, and no other witness knows them."""


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """One honest pull request."""
    made = honest(tmp_path_factory.mktemp("stage"), {"PATH": os.environ["PATH"]})
    with made.stage.git.asking():
        yield made


def flipped(data, step, start):
    """The bytes with one bit flipped, at every ``step``-th place."""
    for at in range(start, len(data), step):
        changed = bytearray(data)
        changed[at] ^= 1 << (at % 7)
        yield bytes(changed)


def places(one, other, path=()):
    """Where two JSON values differ, without numbers of list elements."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {place for key in one for place in places(one[key], other[key], (*path, key))}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return {place for a, b in zip(one, other, strict=True) for place in places(a, b, path)}
    return set() if one == other else {path}


def admitted_flips(actors, record, folder, step, start=0):
    """Where a flipped bit leaves an admit."""
    data = write_record(record)
    found = set()
    for number, damaged in enumerate(flipped(data, step, start)):
        made = decide_stage(put(actors, damaged), folder / str(number % 2))
        if made.word is Word.ADMIT:
            found |= places(json.loads(data), json.loads(damaged))
    return found


def test_a_flipped_bit_is_noticed_or_says_nothing_that_is_judged(actors, tmp_path):
    """Every judged claim has a witness: the index, git, the policy, or another part of the record."""
    assert set() == admitted_flips(actors, record_of(actors), tmp_path, step=11) - UNJUDGED


@pytest.mark.slow
def test_every_flipped_bit_is_noticed_or_says_nothing_that_is_judged(actors, tmp_path):
    """The same at every byte."""
    assert set() == admitted_flips(actors, record_of(actors), tmp_path, step=1) - UNJUDGED


@pytest.mark.parametrize("outcomes", ["ff", "p"])
def test_a_flipped_bit_admits_nothing(actors, tmp_path, outcomes):
    """A failing and an undecided ledger stay what they are."""
    assert set() == admitted_flips(actors, actors.ledger(outcomes), tmp_path, step=17, start=3)


def test_a_record_cut_anywhere_is_never_admitted(actors, tmp_path):
    """No beginning of a record is a record."""
    data = write_record(record_of(actors))
    lengths = [*range(0, len(data), 97), len(data) - 1]
    words = {decide_stage(put(actors, data[:length]), tmp_path / "cut").word for length in lengths}
    assert {Word.HOLD} == words


@pytest.mark.parametrize("more", [b" ", b"\n", b"\0", b"{}", b'{"lane": "model-tests"}'])
def test_bytes_behind_a_record_are_never_ignored(actors, tmp_path, more):
    """White space is allowed by JSON; anything else makes it no record."""
    decision = decide_stage(put(actors, write_record(record_of(actors)) + more), tmp_path)
    assert (Word.ADMIT if more.isspace() else Word.HOLD) is decision.word
