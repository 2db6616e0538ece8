# SPDX-License-Identifier: Apache-2.0
"""The merge table: total, reachable, monotone, and the published rows kept."""

from __future__ import annotations

from itertools import product

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.core.table import load_table
from truegreen.sampling.ledger import Sample
from truegreen.sampling.merge import FILE, merge_table, row_for
from truegreen.sampling.sequential import fixed, smoke
from truegreen.sampling.states import Cause, State, state

WEIGHT = {"merge": 0, "hold": 1, "block": 2}


def every_fact():
    """Every combination of the table's facts."""
    fields = merge_table().fields
    for values in product(*fields.values()):
        yield dict(zip(fields, values, strict=True))


def test_every_combination_has_one_row_and_every_row_a_combination():
    """The walk over the whole product: total, and nothing stands there that can never decide."""
    met = {merge_table().decide(**facts).id for facts in every_fact()}
    assert {row.id for row in merge_table().rows} == met


def test_the_table_names_every_state_and_cause():
    """A state or cause that is added to the code cannot be forgotten in the table."""
    fields = merge_table().fields
    assert {one.value for one in State} | {"not-sampled"} == set(fields["state"])
    assert {one.value or "none" for one in Cause} == set(fields["cause"])


def test_only_two_rows_merge():
    """Merging takes a certified pass, or a live entry for a case that is shown to work mostly; nothing else."""
    for facts in every_fact():
        row = merge_table().decide(**facts)
        is_pass = facts["state"] == "stable-pass"
        is_excused = (
            facts["state"] == "flaky-mostly-passing"
            and facts["quarantined"]
            and facts["blast_radius"] != "high"
        )
        agreed = facts["ruler"] == "as-agreed" and facts["endpoint"] in ("as-agreed", "none-agreed")
        assert (row.then["word"] == "merge") is ((is_pass or is_excused) and agreed)


@pytest.mark.parametrize(
    ("field", "lighter", "heavier"),
    [
        ("quarantined", True, False),
        ("blast_radius", "normal", "high"),
        ("blast_radius", "low", "normal"),
        ("ruler", "as-agreed", "changed"),
        ("state", "stable-pass", "flaky-mostly-passing"),
        ("state", "flaky-mostly-passing", "flaky-mostly-failing"),
        ("state", "stable-pass", "inconclusive"),
        ("state", "stable-pass", "not-sampled"),
    ],
)
def test_a_heavier_fact_never_lightens_the_word(field, lighter, heavier):
    """No entry, a higher blast radius, an unannounced ruler or a worse state never makes the word lighter."""
    for facts in every_fact():
        if facts[field] == lighter:
            light = merge_table().decide(**facts)
            heavy = merge_table().decide(**{**facts, field: heavier})
            assert WEIGHT[light.then["word"]] <= WEIGHT[heavy.then["word"]]


def test_quarantine_excuses_nothing_but_mostly_passing():
    """With an entry, never-passed and mostly-failing still block, and the undecided still hold."""
    for facts in every_fact():
        if facts["quarantined"] and facts["state"] != "flaky-mostly-passing":
            assert merge_table().decide(**facts) == merge_table().decide(**{**facts, "quarantined": False})


def test_the_published_rows_are_all_there():
    """Each row of the article's table has at least one row of ours that says so."""
    published = {
        "stable-pass",
        "stable-fail",
        "flaky, mostly passing",
        "flaky, mostly failing",
        "fixtures changed",
    }
    assert published == {row.article_row for row in merge_table().rows if row.article_row}
    assert {row.article_row for row in merge_table().rows if row.origin == "article"} <= published


@pytest.mark.parametrize(
    ("text", "rule", "word", "row"),
    [
        ("PPPPP", fixed(5), "merge", "stable-pass"),
        ("FFFFF", fixed(5), "block", "never-passed"),
        ("PPPPF", fixed(5), "hold", "mostly-passing"),
        ("PPPFF", fixed(5), "hold", "mostly-passing"),
        ("PPFFF", fixed(5), "block", "mostly-failing"),
        ("PPPPPP", smoke(), "merge", "stable-pass"),
        ("FFF", smoke(), "block", "never-passed"),
        ("TTTT", smoke(), "hold", "outage"),
        ("IIII", smoke(), "hold", "spoiled"),
        ("CCCC", smoke(), "hold", "spoiled"),
        ("PPPF" * 9, smoke(), "hold", "undecided"),
        ("PP", smoke(), "hold", "interrupted"),
    ],
)
def test_samples_come_to_their_row(text, rule, word, row):
    """From samples to the word, through the real states."""
    bucket = {"P": "pass", "F": "fail", "I": "invalid", "T": "transport", "C": "claimed-transport"}
    case = state([Sample(n=n, bucket=bucket[letter]) for n, letter in enumerate(text, 1)], rule, cases=12)
    found = row_for(case)
    assert (word, row) == (found.then["word"], found.id)


def test_facts_of_the_case_change_the_row():
    """Quarantine, blast radius, ruler and endpoint, one after the other, for a case that passed 4 of 5."""
    samples = [Sample(n=n, bucket="pass" if n < 5 else "fail") for n in range(1, 6)]
    flaky = state(samples, fixed(5), cases=1)
    assert "mostly-passing-quarantined" == row_for(flaky, is_quarantined=True).id
    assert "mostly-passing-high" == row_for(flaky, is_quarantined=True, blast_radius="high").id
    assert "ruler-changed" == row_for(flaky, is_quarantined=True, is_ruler_changed=True).id
    assert "other-model" == row_for(flaky, endpoint="other-model").id
    assert "not-sampled" == row_for(None).id
    assert "other-endpoint" == row_for(None, endpoint="other-endpoint").id


def test_a_fact_that_the_table_does_not_know_is_refused():
    """A blast radius of "huge" is an error, never a row that happens to apply."""
    with pytest.raises(UsageProblem):
        row_for(None, blast_radius="huge")


def test_another_table_can_be_handed_in():
    """The gate decides by the table that its decision embeds."""
    table = load_table(FILE.read_bytes(), name="base")
    assert row_for(None) == row_for(None, table=table)
