# SPDX-License-Identifier: Apache-2.0
"""Ordered decision tables as data."""

import itertools
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.canonical import read_json, write_json
from truegreen.core.errors import UsageProblem
from truegreen.core.table import MAX_BYTES, Table, load_table, table_of

MERGE = """\
schema = "truegreen/table/v1"

[fields]
state = ["stable-pass", "flaky", "stable-fail"]
moved = [true, false]

[[row]]  # a comment
id = "passes"
when = { state = "stable-pass" }
then = { outcome = "holds" }
why = "every sample passed"
origin = "article"
article_row = "1"

[[row]]
id = "flaky-as-before"
when = { state = ["flaky"], moved = false }
then = { outcome = "unknown", next = "quarantine" }
why = "it was flaky before"
origin = "ours"

[[row]]
id = "rest"
when = {}
then = { outcome = "fails" }
why = "nothing else is green"
origin = "ours"
"""

WITHOUT_ROWS = MERGE[: MERGE.index("[[row]]")]


def refusal(text: str) -> UsageProblem:
    """The error with which a table of this text is refused."""
    with pytest.raises(UsageProblem) as caught:
        load_table(text.encode(), name="merge")
    return caught.value


@pytest.fixture
def table() -> Table:
    """The table above."""
    return load_table(MERGE.encode(), name="merge")


@pytest.mark.parametrize(
    ("state", "moved", "row"),
    [
        ("stable-pass", True, "passes"),
        ("stable-pass", False, "passes"),
        ("flaky", True, "rest"),
        ("flaky", False, "flaky-as-before"),
        ("stable-fail", True, "rest"),
        ("stable-fail", False, "rest"),
    ],
)
def test_the_first_row_that_applies_decides(table, state, moved, row):
    """The whole product of the fields, one row each."""
    assert row == table.decide(state=state, moved=moved).id


def test_a_row_says_what_follows_why_and_whose_it_is(table):
    """Everything that a report needs."""
    row = table.decide(state="flaky", moved=False)
    assert {"outcome": "unknown", "next": "quarantine"} == row.then
    assert ("it was flaky before", "ours", "") == (row.why, row.origin, row.article_row)
    assert ("article", "1") == (table.rows[0].origin, table.rows[0].article_row)


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"state": "flaky"}, '"moved" is nothing'),
        ({"moved": True}, '"state" is nothing'),
        ({"state": "odd", "moved": True}, '"state" is "odd"'),
        ({"state": "flaky", "moved": "true"}, '"moved" is "true"'),
        ({"state": "flaky", "moved": None}, '"moved" is "None"'),
        ({"state": "flaky", "moved": True, "more": "x"}, '"more" is "x"'),
    ],
)
def test_a_fact_that_is_missing_or_unknown_never_matches_a_row(table, facts, shown):
    """Surprise is an error, not the last row."""
    with pytest.raises(UsageProblem, match="table-unknown-value") as caught:
        table.decide(**facts)
    assert shown in caught.value.message


def test_the_digest_is_of_the_content_not_of_the_layout(table):
    """Comments, blank lines and the order of keys do not change it; a word does."""
    laid_out_otherwise = (
        MERGE.replace("  # a comment", "")
        .replace("\n\n", "\n")
        .replace('id = "rest"\nwhen = {}', 'when={}\nid="rest"')
    )
    assert table.digest == load_table(laid_out_otherwise.encode(), name="other").digest
    assert (
        table.digest != load_table(MERGE.replace("it was flaky", "it is flaky").encode(), name="merge").digest
    )


def test_an_embedded_table_is_the_table(table):
    """What a decision embeds reads back to the same table, through canonical JSON."""
    assert table == table_of(read_json(write_json(table.content)), name="merge")
    assert tomllib.loads(MERGE) == {**table.content, "row": [*_as_written(table.content["row"])]}


def _as_written(rows):
    """A single value stands without its list in the file above."""
    for row in rows:
        single = {
            field: values[0]
            for field, values in row["when"].items()
            if row["id"] == "passes" or field == "moved"
        }
        yield row | {"when": row["when"] | single}


@pytest.mark.parametrize(
    ("old", "new", "code", "shown"),
    [
        ("v1", "v2", "bad-table", '"truegreen/table/v2"'),
        ('schema = "truegreen/table/v1"', "", "bad-table", "it has no schema"),
        ('schema = "truegreen/table/v1"', "schema = ['x']", "bad-table", "schema is"),
        ("[fields]", "[fields]\n[extra]", "bad-table", '"extra" is unknown'),
        ("moved = [true, false]", "moved = []", "bad-table", '"moved": it is no list'),
        ("moved = [true, false]", 'moved = "yes"', "bad-table", '"moved": it is no list'),
        ("moved = [true, false]", 'moved = [true, "no"]', "bad-table", '"moved": it is no list'),
        ("moved = [true, false]", "moved = [true, true]", "bad-table", "twice"),
        ("moved = [true, false]", "moved = [1, 2]", "bad-table", "another type"),
        ("moved = [true, false]", "moved = [[1], [2]]", "bad-table", "another type"),
        ("moved = [true, false]", 'moved = ["", "a"]', "bad-table", "empty text"),
        ('id = "passes"', 'id = "Passes"', "bad-table", "row 1, line 7: the id"),
        ('id = "passes"', 'id = "pass_es"', "bad-table", "kebab-case"),
        ('id = "passes"', "id = 1", "bad-table", "row 1, line 7, id"),
        ('id = "passes"', "", "bad-table", "row 1, line 7: it has no id"),
        ('id = "passes"', 'id = "passes"\nnote = "x"', "bad-table", '"note" is unknown'),
        ('id = "passes"', 'id = "rest"', "table-duplicate-row", "row rest: its id stands twice"),
        (
            'when = { state = "stable-pass" }',
            'when = "all"',
            "bad-table",
            "row 1, line 7 (passes), when: it is of type str",
        ),
        (
            'when = { state = "stable-pass" }',
            "when = { state = [] }",
            "bad-table",
            '(passes), when "state": it is no list',
        ),
        ('when = { state = "stable-pass" }', "when = { state = 5 }", "bad-table", '(passes), when "state"'),
        (
            'when = { state = "stable-pass" }',
            'when = { start = "x" }',
            "table-unknown-value",
            "fields are state, moved",
        ),
        (
            'when = { state = "stable-pass" }',
            'when = { state = "odd" }',
            "table-unknown-value",
            'no value "odd"',
        ),
        (
            "moved = false",
            'moved = "false"',
            "table-unknown-value",
            'row 2, line 15 (flaky-as-before), when "moved"',
        ),
        ('state = ["flaky"], moved = false', "state = [true]", "table-unknown-value", 'no value "true"'),
        ('then = { outcome = "holds" }', "then = {}", "bad-table", "its then is empty"),
        ('then = { outcome = "holds" }', "then = { outcome = 1 }", "bad-table", 'then "outcome"'),
        ('why = "every sample passed"', 'why = "  "', "bad-table", "row 1, line 7, why"),
        ('origin = "article"', 'origin = "theirs"', "bad-table", 'origin is "theirs"'),
        ('article_row = "1"', "article_row = 1", "bad-table", "article_row"),
        (
            "when = {}",
            'when = { state = "flaky" }',
            "table-not-total",
            "row rest: the last row's when is not empty",
        ),
        (
            'when = { state = ["flaky"], moved = false }',
            'when = { state = ["stable-pass"] }',
            "table-unreachable-row",
            "row flaky-as-before: rows above it take every combination",
        ),
        ('when = { state = "stable-pass" }', "when = {}", "table-unreachable-row", "row flaky-as-before"),
        ("schema =", "schema = =", "bad-table", "no TOML"),
        ('id = "passes"', 'id = "passes"\nid = "passes"', "bad-table", "no TOML"),
    ],
)
def test_a_faulty_table_is_refused_with_its_row(old, new, code, shown):
    """Every fault names the table, the row with its line, and what was found."""
    assert old in MERGE
    problem = refusal(MERGE.replace(old, new, 1))
    assert code == problem.code
    assert shown in problem.message
    assert problem.message.startswith("table merge")
    assert f"truegreen why {code}" == problem.hint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "it has no fields"),
        (WITHOUT_ROWS, "it has no row"),
        (WITHOUT_ROWS.replace("[fields]", "row = []\n[fields]"), "it has no [[row]]"),
        (WITHOUT_ROWS.replace("[fields]", "row = 1\n[fields]"), "it has no [[row]]"),
        (WITHOUT_ROWS.replace("[fields]", "row = [1]\n[fields]"), "row 1: it is of type int"),
        ('schema = "truegreen/table/v1"\nfields = {}\nrow = [{}]', "it has no [fields]"),
        ('schema = "truegreen/table/v1"\nfields = 1\nrow = [{}]', "it has no [fields]"),
        ("a = " + "[" * 100_000, "no TOML"),
        ("\x00", "no TOML"),
        ("#" * (MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes"),
    ],
)
def test_what_is_no_table_is_refused(text, shown):
    """Empty, without rows, nested without end, too large."""
    problem = refusal(text)
    assert "bad-table" == problem.code
    assert shown in problem.message


def test_a_table_of_the_largest_size_is_read():
    """At the limit, not only below it."""
    assert "merge" == load_table(MERGE.encode().ljust(MAX_BYTES, b"\n"), name="merge").name


def test_a_table_that_is_not_utf8_is_refused():
    """Bytes that are no text hold no table."""
    with pytest.raises(UsageProblem, match="bad-table"):
        load_table(b"\xff", name="merge")


def test_a_table_whose_product_is_too_large_is_refused():
    """20 booleans are a million combinations and are walked, 21 are not."""
    rows = MERGE[MERGE.rindex("[[row]]") :]
    texts = {}
    for count in (20, 21):
        fields = "\n".join(f"f{number} = [true, false]" for number in range(count))
        texts[count] = f'schema = "truegreen/table/v1"\n[fields]\n{fields}\n{rows}'
    assert 20 == len(load_table(texts[20].encode(), name="large").fields)
    assert "table-too-large" == refusal(texts[21]).code


FIELDS = {"a": ["x", "y", "z"], "b": [True, False], "c": ["1", "2"]}
WHEN = st.fixed_dictionaries(
    {},
    optional={
        field: st.lists(st.sampled_from(values), min_size=1, unique=True) for field, values in FIELDS.items()
    },
)


@given(st.lists(WHEN, max_size=6))
def test_reachability_and_decisions_equal_brute_force(whens):
    """Against a loop over the twelve combinations."""
    conditions = [*whens, {}]
    rows = [
        {"id": f"r{place}", "when": when, "then": {"x": "y"}, "why": "w", "origin": "ours"}
        for place, when in enumerate(conditions)
    ]
    first = [
        (facts, next(p for p, when in enumerate(conditions) if all(facts[f] in v for f, v in when.items())))
        for facts in (
            dict(zip(FIELDS, values, strict=True)) for values in itertools.product(*FIELDS.values())
        )
    ]
    content = {"schema": "truegreen/table/v1", "fields": FIELDS, "row": rows}
    missed = sorted(set(range(len(rows))) - {place for _, place in first})
    if missed:
        with pytest.raises(UsageProblem, match=f"row r{missed[0]}: .*table-unreachable-row"):
            table_of(content, name="t")
    else:
        table = table_of(content, name="t")
        assert [place for _, place in first] == [int(table.decide(**facts).id[1:]) for facts, _ in first]
