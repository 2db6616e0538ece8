# SPDX-License-Identifier: Apache-2.0
"""Answers against contracts: every break is told, and none of it repeats the answer."""

import json

import pytest

from truegreen.cassettes.contracts import ORDINARY, Contract
from truegreen.cassettes.kept import MOST_TOLD, broken

PLAN = {
    "type": "object",
    "required": ["files", "reason"],
    "properties": {
        "files": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2},
        "reason": {"type": "string", "minLength": 10},
    },
    "additionalProperties": False,
}
"""The contract of the article."""


def contract(**changes):
    """A contract of the article's template."""
    said = {
        "template": "patch_plan",
        "version": "4",
        "owner": "@ana",
        "model": "m",
        "answer": "json",
        "schema_file": "plan.json",
        "schema": PLAN,
        "decision": (),
        "max_characters": 200,
        "finish": ORDINARY,
        "most": 20,
    }
    return Contract(**(said | changes))


def told(text, finish="stop", *, calls=None, more=(), **changes):
    """What breaks, as (place, what is asked)."""
    message = {"content": text} if calls is None else {"tool_calls": [{"function": one} for one in calls]}
    choices = [{"message": message, "finish_reason": finish}, *more]
    body = json.dumps({"choices": choices}).encode()
    return [(one.place, one.asked) for one in broken(contract(**changes), body, "application/json")]


def test_an_answer_that_keeps_it_is_silent():
    """Structure and bounds, then stop."""
    assert [] == told(json.dumps({"files": ["a"], "reason": "long enough"}))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"files": [], "reason": "short"}, ("reason", "minLength 10")),
        ({"files": ["a", "b", "c"], "reason": "long enough"}, ("files", "maxItems 2")),
        ({"files": [1], "reason": "long enough"}, ("files[0]", "type string")),
        ({"files": []}, ("the top", "a field reason")),
        (
            {"files": [], "reason": "long enough", "x": 1},
            ("the top", "no field that the contract does not name"),
        ),
        ([], ("the top", "type object")),
    ],
)
def test_each_break_has_its_place(value, expected):
    """The path in the answer, and what the contract asks there."""
    assert expected in told(json.dumps(value))


@pytest.mark.parametrize(
    "text",
    ["", "no json", '{"files": [], "files": []}', '{"a": NaN}', '```json\n{"files": []}\n```', "{} {}"],
)
def test_what_is_no_json_value_breaks_it(text):
    """Read strictly: a name twice or text around it is no JSON."""
    ((place, asked),) = told(text)
    assert ("the top", True) == (place, asked.startswith("one JSON value, read strictly"))


@pytest.mark.parametrize("finish", ["length", "max_tokens", "content_filter", "error"])
def test_an_answer_that_was_cut_keeps_nothing(finish):
    """Half an object may be valid by chance: the end speaks first."""
    ((place, _),) = told(json.dumps({"files": [], "reason": "long enough"}), finish)
    assert "its end" == place


def test_an_answer_without_a_finish_reason_is_judged_by_its_text():
    """Some endpoints give none."""
    assert [] == told(json.dumps({"files": [], "reason": "long enough"}), None)


def test_a_long_answer_is_bounded():
    """More characters than the contract allows, schema or not."""
    assert ("its text", "at most 9 characters") in told(
        "x" * 10, answer="text", schema=True, max_characters=9
    )


def test_text_and_tools_are_asked_as_values():
    """A text as a string, calls of tools as a list of names with arguments."""
    assert [] == told("yes", answer="text", schema={"enum": ["yes", "no"]})
    assert [("the top", "enum no")] == told("yes", answer="text", schema={"enum": ["no"]})
    one = {
        "type": "array",
        "minItems": 1,
        "items": {"properties": {"name": {"const": "plan"}, "arguments": {"required": ["a"]}}},
    }
    calls = [{"name": "plan", "arguments": '{"a": 1}'}]
    assert [] == told(None, "tool_calls", calls=calls, answer="tools", schema=one)
    assert [("the top", "minItems 1")] == told("none", answer="tools", schema=one)
    odd = told(None, calls=[{"name": "plan", "arguments": "{"}], answer="tools", schema=one)
    assert [True] == [asked.startswith("one JSON value") for _, asked in odd]


def test_every_choice_is_asked():
    """One bad answer of two is one too many, and it is named."""
    good = {
        "message": {"content": json.dumps({"files": [], "reason": "long enough"})},
        "finish_reason": "stop",
    }
    assert ["choice 0 the top"] == [place for place, _ in told("no json", more=[good])]


def test_no_break_repeats_what_the_answer_says():
    """A secret in an answer is not shown by the check that finds it wrong."""
    secret = "sk-" + "a1" * 20
    texts = [json.dumps({"files": [secret], "reason": secret, "x": secret}), secret]
    shown = [str(told(text)) for text in texts]
    assert [False, False] == [secret in one for one in shown]


def test_few_breaks_are_told():
    """An answer that is wrong everywhere does not fill the page."""
    files = [1] * 50
    many = {**PLAN, "properties": {"files": {"items": {"type": "string"}}}}
    assert MOST_TOLD == len(told(json.dumps({"files": files, "reason": ""}), schema=many))
