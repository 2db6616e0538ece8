# SPDX-License-Identifier: Apache-2.0
"""Answers and their judgement: decoded values, empty answers, ends, lengths, forbidden texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.sampling.expect import judge
from truegreen.sampling.expect_read import expect_of


def judged(expect: dict, output: str, **also):
    """The judgement of an answer by a mapping of expectations."""
    return judge(expect_of(expect), output, **also)


def codes(expect: dict, output: str, **also) -> list[tuple[str, str]]:
    """Code and place of every reason."""
    return [(reason.code, reason.where) for reason in judged(expect, output, **also).reasons]


JSON = {"format": "json", "required_keys": ["label"]}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"label": "x"}', []),
        (' \n{"label": "x"}\t', []),
        ('{"label": "unsafe", "label": "safe"}', [("duplicate-key", "")]),
        ('{"label": "x", "in": {"a": 1, "a": 2}}', [("duplicate-key", "")]),
        ('{"label": "x", "in": [{"\\u0061": 1, "a": 2}]}', [("duplicate-key", "")]),
        ('{"label": NaN}', [("not-json", "")]),
        ('{"label": "x", "in": [[-Infinity]]}', [("not-json", "")]),
        ('{"label": 1e999}', [("number-out-of-range", "")]),
        ('{"label": 1e-999}', [("number-out-of-range", "")]),
        ('{"label": ' + "9" * 1001 + "}", [("number-out-of-range", "")]),
        ('{"label": 123456789012345678901234567890}', []),
        ('{"label": 9007199254740993, "in": {"a": 1, "a": 2}}', [("duplicate-key", "")]),
        ('{"label": 9007199254740993, "in": NaN}', [("not-json", "")]),
        ('{"label": 9007199254740993, "in": }', [("not-json", "")]),
        ('{"label": 9007199254740993, "in": "\\ud800"}', [("not-utf8", "")]),
        ('{"label": 9007199254740993.0, "in": 0e9, "x": 2.5}', []),
        ('```json\n{"label": "x"}\n```', [("not-json", "")]),
        ('Here you are: {"label": "x"}', [("not-json", "")]),
        ('{"label": "x"} {"label": "y"}', [("not-json", "")]),
        ('{"label": "x"', [("not-json", "")]),
        ("{'label': 'x'}", [("not-json", "")]),
        ('{"label": "x",}', [("not-json", "")]),
        ('{"label": "x"} // note', [("not-json", "")]),
        ('\ufeff{"label": "x"}', [("byte-order-mark", "")]),
        ('{"label": "\\ud800"}', [("not-utf8", "")]),
        ('{"label": "\ud800"}', [("not-utf8", "")]),
        ("[" * 70 + "]" * 70, [("too-deep", "")]),
        ('["label"]', [("not-an-object", "")]),
        ('"label"', [("not-an-object", "")]),
        ("null", [("not-an-object", "")]),
        ("{}", [("missing-key", "label")]),
        ('{"Label": "x"}', [("missing-key", "label")]),
        ('{"label": null}', [("null-value", "label")]),
        ('{"label": ""}', []),
        ('{"label": []}', []),
        ('{"label": 0}', []),
        ('{"label": false}', []),
        ("", [("empty-output", "")]),
        (" \n\t", [("empty-output", "")]),
        ("\u200b\u2060\ufeff", [("empty-output", "")]),
    ],
)
def test_a_json_answer_is_one_strict_value_with_its_keys(output, expected):
    """Nothing is repaired, nothing is searched for, and a key without a value carries no answer."""
    assert expected == codes(JSON, output)


def test_a_fence_inside_a_text_is_data():
    """The whole answer is parsed first: a code fence in a decoded text changes nothing."""
    output = '{"snippet": "```json\\n{\\"a\\": 1}\\n```", "label": "ok"}'
    for format_ in ("json", "fenced-json"):
        expect = {"format": format_, "required_keys": ["snippet", "label"]}
        judgement = judged(expect, output)
        assert ("passed", ["label", "snippet"]) == (judgement.outcome, judgement.facts["keys"])


@pytest.mark.parametrize(
    ("output", "is_whole"),
    [
        ('```json\n{"label": "x"}\n```', True),
        ('```\n{"label": "x"}\n```\n', True),
        ('  ```JSON  \r\n{"label":\r\n "x"}\r\n```', True),
        ('{"label": "x"}', True),
        ('```json\n{"label": "a\u2028b"}\n```', True),
        ('Sure:\n```json\n{"label": "x"}\n```', False),
        ('```json\n{"label": "x"}\n```\nDone.', False),
        ('```json\n{"label": "x"}\n```\n```json\n{"label": "y"}\n```', False),
        ('```python\n{"label": "x"}\n```', False),
        ('```json {"label": "x"}```', False),
        ("```json\n```", False),
        ("```", False),
        ('```json\n{"label": "x", "label": "y"}\n```', False),
    ],
)
def test_a_fence_is_taken_off_only_where_the_case_says_so(output, is_whole):
    """One fence around the whole answer, or none; never one that is looked for in prose."""
    assert is_whole is (codes({"format": "fenced-json", "required_keys": ["label"]}, output) == [])


def test_the_key_that_stands_twice_is_named():
    """At the top, inside, and inside a fence."""
    assert "label" == judged(JSON, '{"label": 1, "label": 2}').facts["key"]
    assert "a" == judged(JSON, '{"label": {"a": 1, "a": 2}}').facts["key"]
    fenced = {"format": "fenced-json", "required_keys": ["label"]}
    assert "b" == judged(fenced, '```json\n{"label": 1, "b": 1, "b": 2}\n```').facts["key"]


def test_null_missing_and_empty_are_told_apart():
    """A null is reported as null, an absent key as missing, an empty list is a value."""
    expect = {"required_keys": ["title", "labels", "owner"]}
    facts = judged(expect, '{"title": null, "labels": []}').facts
    assert (["owner"], ["title"], ["labels"]) == (facts["missing"], facts["null"], facts["empty_ok"])


@pytest.mark.parametrize(
    ("schema", "is_allowed"),
    [
        ({"properties": {"title": {"type": ["string", "null"]}}}, True),
        ({"properties": {"title": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "null"}}}, True),
        ({"properties": {"title": {"enum": ["a", None]}}}, True),
        ({"properties": {"title": {"type": "string"}}}, False),
        ({"properties": {"title": {}}}, False),
        ({"properties": {"title": True}}, False),
        ({"properties": {"other": {"type": "null"}}}, False),
        ({"type": "object"}, False),
    ],
)
def test_null_counts_as_a_value_only_where_the_schema_says_so_by_name(schema, is_allowed):
    """A schema that does not mention the key, or says nothing of it, does not turn null into an answer."""
    found = codes({"required_keys": ["title"], "json_schema": schema}, '{"title": null}')
    assert is_allowed is (("null-value", "title") not in found)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"a": [1, 2], "b": []}', []),
        ('{"a": [1, 2, 3], "b": []}', [("too-many-items", "a")]),
        ('{"a": "ab", "b": []}', [("not-a-list", "a")]),
        ('{"a": {"x": 1}, "b": []}', [("not-a-list", "a")]),
        ('{"a": [], "b": 2}', [("not-a-list", "b")]),
        ('{"a": [], "b": [], "note": "text"}', []),
        ('{"a": [], "b": [], "more": [1, 2, 3]}', [("too-many-items", "more")]),
        ('{"a": null, "b": []}', [("null-value", "a")]),
    ],
)
def test_items_are_items_of_lists(output, expected):
    """A text is no list of characters; lists under keys that nobody asked for are counted as well."""
    assert expected == codes({"required_keys": ["a", "b"], "max_items_per_key": 2}, output)


def test_without_required_keys_every_key_is_counted():
    """Fewest and most items, and no text in a list's place."""
    expect = {"min_items_per_key": 1, "max_items_per_key": 2}
    assert [] == codes(expect, '{"a": [1], "b": [1, 2]}')
    expected = [("too-few-items", "a"), ("too-many-items", "b"), ("not-a-list", "c")]
    assert expected == codes(expect, '{"a": [], "b": [1, 2, 3], "c": "xy"}')
    assert [("not-an-object", "")] == codes(expect, "[[1], [2]]")


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def test_characters_are_code_points_and_the_limit_is_allowed():
    """A family of four: 7 code points, 11 UTF-16 units, 25 bytes; ten characters pass a limit of ten."""
    judgement = judged({"max_output_chars": 10}, FAMILY + " ok")
    expected = {"code_points": 10, "utf16_units": 14, "utf8_bytes": 28, "limit": 10}
    assert ("passed", expected) == (judgement.outcome, judgement.facts)
    assert [("too-long", "")] == codes({"max_output_chars": 10}, FAMILY + " okk")
    assert [] == codes({"max_output_chars": 3}, "e\u0301x")
    assert [("too-long", "")] == codes({"max_output_chars": 2}, "e\u0301x")


@pytest.mark.parametrize(
    ("output", "where", "is_raw"),
    [
        ('{"sql": "DROP TABLE users"}', "decoded value of sql", True),
        ('{"sql": "DROP\\u0020TABLE users"}', "decoded value of sql", False),
        ('{"sql": "\\u0044ROP TABLE users"}', "decoded value of sql", False),
        ('{"sql": "drop table users"}', "decoded value of sql", True),
        ('{"sql": "DROP\u00a0TABLE users"}', "decoded value of sql", True),
        ('{"sql": "DR\u200bOP TA\u00adBLE users"}', "decoded value of sql", True),
        ('{"sql": "DR\\u200bOP TABLE"}', "decoded value of sql", False),
        ('{"sql": "\uff24\uff32\uff2f\uff30 TABLE"}', "decoded value of sql", True),
        ('{"sql": [{"x": "DROP TABLE"}]}', "decoded value of sql[0].x", True),
        ('{"sql": "", "DROP\\u0020TABLE": 1}', "decoded key DROP TABLE", False),
        ('{"sql": "", "a": {"drop table": 1}}', "decoded key a.drop table", True),
    ],
)
def test_forbidden_text_cannot_hide(output, where, is_raw):
    """Escapes, letter case, compatibility forms and invisible characters, in values and in keys."""
    judgement = judged({"required_keys": ["sql"], "forbid_substrings": ["DROP TABLE"]}, output)
    assert [("forbidden-substring", where)] == [(one.code, one.where) for one in judgement.reasons]
    assert (is_raw, True) == (judgement.facts["raw_contains"], judgement.facts["decoded_contains"])


def test_forbidden_text_is_sought_in_what_is_no_json_too():
    """In the raw text of a text answer, and in the decoded texts of one that happens to be JSON."""
    expect = {"forbid_substrings": ["as an ai", "I cannot"]}
    assert [("forbidden-substring", "raw text")] == codes(expect, "Sorry, As An AI I do not.")
    assert [("forbidden-substring", "decoded value")] == codes(expect, '"I\\u0020cannot"')
    assert [] == codes(expect, "fine")
    json_ = {"format": "json", "forbid_substrings": ["I cannot"]}
    assert [("not-json", ""), ("forbidden-substring", "raw text")] == codes(json_, "I cannot do that")


@pytest.mark.parametrize("output", ["", "   ", "\u200b", "null", '""', "{}", "[]"])
@pytest.mark.parametrize(
    "negative",
    [
        {"forbid_substrings": ["x"]},
        {"max_output_chars": 50},
        {"forbid_substrings": ["x"], "max_output_chars": 9},
    ],
)
def test_an_empty_answer_passes_no_negative_expectation(output, negative):
    """Saying nothing breaks no prohibition, and is no answer either."""
    assert ("empty-output", "") in codes({"format": "json", **negative}, output)


def test_an_empty_value_is_fine_where_it_is_asked_for():
    """A list may be empty where a schema asks for a list; 0 and false are values."""
    schema = {"json_schema": {"type": "array"}, "max_output_chars": 10}
    assert [] == codes(schema, "[]")
    for value in ("0", "false"):
        assert [] == codes({"format": "json", "max_output_chars": 10}, value)
    assert [] == codes({"format": "json"}, "{}")


@pytest.mark.parametrize("ended", ["stop", "STOP", "end_turn", "tool_calls", "stop_sequence", None])
def test_a_finished_answer_is_judged(ended):
    """Whatever the provider calls a whole answer."""
    assert "passed" == judged({"format": "json"}, "4", finish_reason=ended).outcome


@pytest.mark.parametrize("ended", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_a_cut_answer_is_no_sample(ended):
    """It may still parse: 4 of 42. Invalid, or a failure where the lane says so."""
    judgement = judged({"format": "json", "max_output_chars": 20}, "4", finish_reason=ended)
    assert ("invalid", ["finish-reason-length"]) == (
        judgement.outcome,
        [one.code for one in judgement.reasons],
    )
    strict = judged({"format": "json"}, "4", finish_reason=ended, truncated="fail")
    assert ("failed", "finish-reason-length") == (strict.outcome, strict.reasons[0].code)


def test_refusals_fail_and_unknown_ends_are_invalid():
    """A refusal is an answer that helps nobody; an end that nobody knows is no evidence."""
    for ended in ("content_filter", "refusal", "SAFETY"):
        judgement = judged({"format": "json"}, "4", finish_reason=ended)
        assert ("failed", "refusal") == (judgement.outcome, judgement.reasons[0].code)
    for ended in ("", "error", "cancelled", "whatever"):
        judgement = judged({"format": "json"}, "4", finish_reason=ended)
        assert ("invalid", "finish-reason-unknown") == (judgement.outcome, judgement.reasons[0].code)


@pytest.mark.parametrize(
    ("values", "output", "is_listed"),
    [
        (["safe", "unsafe"], '"safe"', True),
        (["safe", "unsafe"], '"Safe"', False),
        ([1], "1.0", True),
        ([1], "true", False),
        ([True], "1", False),
        ([0], "false", False),
        ([None], "null", True),
        (["1"], "1", False),
    ],
)
def test_a_closed_list_compares_values_and_their_types(values, output, is_listed):
    """The whole answer, and the value of a key."""
    assert is_listed is (codes({"format": "json", "enum": values}, output) == [])
    assert is_listed is (codes({"enum": {"k": values}}, f'{{"k": {output}}}') == [])


def test_a_closed_list_over_text_ignores_the_white_space_around_it():
    """``yes`` with a newline is yes; white space is never asserted."""
    assert [] == codes({"enum": ["yes", "no"]}, " yes\n")
    assert [("not-listed", "")] == codes({"enum": ["yes", "no"]}, "yes.")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"score": 0}', []),
        ('{"score": 1}', []),
        ('{"score": 0.5}', []),
        ('{"score": 1.01}', [("out-of-range", "score")]),
        ('{"score": -0.1}', [("out-of-range", "score")]),
        ('{"score": "0.5"}', [("not-a-number", "score")]),
        ('{"score": true}', [("not-a-number", "score")]),
        ('{"score": null}', [("not-a-number", "score")]),
        ('{"score": NaN}', [("not-json", "")]),
        ('{"other": 1}', [("missing-key", "score")]),
    ],
)
def test_a_number_lies_between_its_bounds(output, expected):
    """Both bounds included; a text or a boolean is no number."""
    for bounds in ([0, 1], {"min": 0, "max": 1}):
        assert expected == codes({"number_range": {"score": bounds}}, output)


def test_a_bound_may_be_open_and_the_answer_a_number():
    """Only min, only max, and the whole answer."""
    assert [("out-of-range", "")] == codes({"number_range": {"min": 3}}, "2")
    assert [("out-of-range", "")] == codes({"number_range": {"max": 3}}, "4")
    assert [] == codes({"number_range": [1, 3]}, "3")
    assert [("not-json", "")] == codes({"number_range": [1, 3]}, "three")


def test_a_pattern_occurs_in_the_raw_answer_or_in_a_text():
    """Somewhere, unless it is anchored."""
    assert [] == codes({"regex": "[0-9]{4}"}, "in 2026")
    assert [("no-match", "")] == codes({"regex": "^[0-9]{4}$"}, "in 2026")
    keyed = {"regex": {"date": "^[0-9]{4}-[0-9]{2}$"}}
    assert [] == codes(keyed, '{"date": "2026-11"}')
    assert [("no-match", "date")] == codes(keyed, '{"date": "November"}')
    assert [("not-a-text", "date")] == codes(keyed, '{"date": 2026}')
    assert [("missing-key", "date")] == codes(keyed, "{}")
    assert [("missing-key", "date")] == codes({**keyed, "required_keys": ["date"]}, "{}")


def test_a_pattern_that_would_hang_elsewhere_is_linear_here():
    """A hundred thousand characters against nested repetition."""
    assert [("no-match", "")] == codes({"regex": "^(a+)+$"}, "a" * 100_000 + "b")


def test_a_schema_tells_what_is_broken():
    """Each violation with its place, five at most."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["m"]}
    assert {("schema-violation", ""), ("schema-violation", "n")} == set(
        codes({"json_schema": schema}, '{"n": 5}')
    )
    many = {"json_schema": {"items": {"type": "string"}}}
    assert 5 == len(codes(many, json.dumps(list(range(1, 50)))))


def test_text_with_half_a_character_fails_whatever_is_expected():
    """A lone surrogate is no Unicode text: nothing else is asked of it."""
    assert [("not-utf8", "")] == codes({"regex": "a"}, "a\ud800")
    assert [("not-utf8", "")] == codes({"max_output_chars": 9}, "a\ud800")


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ('{"a": [1, 2, 3]}', "at most 2 items, got 3"),
        ('{"a": true}', "items were asked, got true"),
        ('{"a": "text"}', 'items were asked, got the text "text"'),
        ('{"a": 1.5}', "items were asked, got the number 1.5"),
        ('{"a": {"b": 1}}', "items were asked, got an object of 1"),
        ('{"a": null}', "items were asked, got null"),
        ("[1]", "an object was asked, got a list of 1"),
    ],
)
def test_reasons_say_what_was_asked_and_what_came(output, detail):
    """Expected and got, for people who read one line."""
    assert detail == judged({"max_items_per_key": 2}, output).reasons[0].detail


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ).map(json.dumps),
    st.sampled_from([None, "stop", "length"]),
)
def test_any_answer_gets_a_judgement(output, ended):
    """Whatever a model says: an outcome, reasons exactly when it did not pass, and no reason that overflows."""
    expect = {
        "required_keys": ["a"],
        "max_items_per_key": 2,
        "forbid_substrings": ["x"],
        "enum": {"b": [1, "x"]},
        "number_range": {"c": [0, 1]},
        "regex": {"d": "^a"},
        "json_schema": {"type": "object"},
    }
    judgement = judged(expect, output, finish_reason=ended)
    assert (judgement.outcome == "passed") is (judgement.reasons == ())
    assert all(len(one.detail) < 500 for one in judgement.reasons)


def test_large_integers_are_compared_exactly():
    """2**53 and 2**53 + 1 are two numbers, in lists, ranges and schemas."""
    assert [("not-listed", "n")] == codes({"enum": {"n": [2**53]}}, '{"n": 9007199254740993}')
    assert [] == codes({"enum": {"n": [2**53 + 1]}}, '{"n": 9007199254740993}')
    assert [("out-of-range", "n")] == codes({"number_range": {"n": [0, 2**53]}}, '{"n": 9007199254740993}')
    schema = {"properties": {"n": {"maximum": 9007199254740991}}}
    assert [("schema-violation", "n")] == codes({"json_schema": schema}, '{"n": 9007199254740993}')


def test_a_reason_is_short_whatever_the_number():
    """A number of a thousand digits does not flood the ledger."""
    for expect in ({"enum": {"n": [1]}}, {"number_range": {"n": [0, 1]}}, {"max_items_per_key": 1}):
        (reason,) = judged(expect, '{"n": ' + "9" * 1000 + "}").reasons
        assert len(reason.detail) < 200
