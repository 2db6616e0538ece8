# SPDX-License-Identifier: Apache-2.0
"""The table of record kinds: one explicit row each, and nothing that is built twice or required by a model."""

from truegreen.core import schema
from truegreen.gate.decide import RULES
from truegreen.gate.kinds import KINDS, LATER, SAMPLE_LEDGER
from truegreen.sampling.merge import merge_table


def test_a_kind_is_built_or_comes_later_and_never_both():
    """A policy that names a later one is told that it is not in this version."""
    assert set() == KINDS.keys() & LATER.keys()
    facts = RULES.facts()
    assert {*KINDS, *LATER} == facts.keys()
    assert KINDS.keys() == {name for name, one in facts.items() if one.built}


def test_every_kind_stands_under_its_own_name_and_has_a_schema():
    """The reader enforces it."""
    assert [*KINDS] == [kind.name for kind in KINDS.values()]
    assert set() == {f"{name}.v1" for name in KINDS} - schema.HOMES.keys()


def test_no_kind_of_this_version_is_a_model_s_judgement():
    """The answers of a sample ledger are a model's, the counting is not."""
    assert [] == [kind.name for kind in KINDS.values() if kind.model_backed]
    assert {"draft-receipt", "label-votes", "retry-verdict", "review-verdict"} == {
        name for name, facts in LATER.items() if facts.model_backed
    }


def test_the_sample_ledger_pools_its_attempts_and_embeds_its_table():
    """A decision can be made again from the table that it was made by."""
    assert ("pool", ("all",), "sample") == (SAMPLE_LEDGER.attempt, SAMPLE_LEDGER.parts, SAMPLE_LEDGER.writer)
    assert merge_table().content == SAMPLE_LEDGER.table
