# SPDX-License-Identifier: Apache-2.0
"""What a contract leaves open, and which names of models may mean another one tomorrow."""

import pytest

from truegreen.cassettes.loose import is_floating, loose_places


def test_a_closed_contract_is_silent():
    """Every object, array, text and number is bounded."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "label": {"enum": ["yes", "no"]},
            "files": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 9}},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "ref": {"$ref": "#/$defs/name"},
            "maybe": {"type": ["string", "null"], "pattern": "^a$"},
        },
        "$defs": {"name": {"type": "string", "format": "email"}},
    }
    assert () == loose_places(schema)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "object"}, "the top: no additionalProperties: false"),
        ({"properties": {}}, "the top: no additionalProperties: false"),
        ({"type": "array"}, "the top: no maxItems"),
        ({"type": "string", "minLength": 3}, "the top: no maxLength"),
        ({"type": ["number", "null"]}, "the top: no maximum"),
        ({}, "the top: anything is allowed"),
        (True, "the top: anything is allowed"),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, "[*]: no maxLength"),
        ({"allOf": [{"type": "integer"}]}, "the top: no maximum"),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"type": "array", "maxItems": 1, "items": {"type": "object"}}},
            },
            "a[*]: no additionalProperties: false",
        ),
        ({"type": "array", "maxItems": 1, "prefixItems": [{"type": "string"}]}, "[*]: no maxLength"),
        ({"enum": [1], "$defs": {"b": {"type": "string"}}}, "b: no maxLength"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "the top: no maxLength"),
    ],
)
def test_each_open_place_is_named(schema, told):
    """With its path and the keyword that is missing."""
    assert told in loose_places(schema)


@pytest.mark.parametrize("odd", [False, None, 1, {"properties": 1, "allOf": 2, "items": [1]}, {"type": [[]]}])
def test_odd_schemas_never_raise(odd):
    """What no schema says is not judged here."""
    assert isinstance(loose_places(odd), tuple)


def test_a_place_is_told_once():
    """Two ways to one place are one place."""
    assert 1 == len(loose_places({"anyOf": [{"type": "string"}, {"type": "string"}]}))


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5.1-2026-02-01",
        "claude-x-20260101",
        "gpt-4-0613",
        "gemini-2.0-flash-001",
        "m@20260101",
        "a/b@3f2a9c1",
        "x-q4.gguf",
        "m@sha256:" + "a1" * 8,
    ],
)
def test_a_name_with_a_date_a_revision_or_a_digest_is_pinned(model):
    """It means one model."""
    assert not is_floating(model)


@pytest.mark.parametrize(
    "model", ["gpt-5.1", "claude-x-latest", "m-latest-20260101", "llama3", "gpt-4o-mini", ""]
)
def test_any_other_name_floats(model):
    """It may mean another model tomorrow; latest always does."""
    assert is_floating(model)
