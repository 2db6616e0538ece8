# SPDX-License-Identifier: Apache-2.0
"""Contracts are read strictly, each problem with its line."""

import json

import pytest

from truegreen.cassettes.contracts import DEFAULT, FILE, ORDINARY, read_contracts
from truegreen.core.errors import EvidenceProblem

LABELS = json.dumps({"type": "object", "additionalProperties": False}).encode()


def contracts(*lines, files=None, schema=LABELS):
    """What a folder with these lines in its only template says."""
    table = {"version": "1", "owner": '"@ana"', "model": '"m-2026-01-01"', "schema": '"labels.json"'}
    for line in lines:
        name, _, value = line.partition(" = ")
        table[name] = value
    body = "\n".join(f"{name} = {value}" for name, value in table.items() if value)
    text = f'schema = "truegreen/contracts/v1"\n[template.labels]\n{body}\n'
    return read_contracts({FILE: text.encode(), "labels.json": schema} | (files or {}))


def problem(read, *arguments, **more):
    """The message of the refusal."""
    with pytest.raises(EvidenceProblem) as caught:
        read(*arguments, **more)
    assert "contracts-unreadable" == caught.value.code
    return caught.value.message


def test_a_contract_has_every_key():
    """What is left out has its default; a version is a text, however it is written."""
    found = contracts("version = 4", 'decision = ["label", "parts[*].kind"]').of("labels")
    assert ("4", "@ana", "m-2026-01-01", "json", ORDINARY, 20_000, 20) == (
        found.version,
        found.owner,
        found.model,
        found.answer,
        found.finish,
        found.max_characters,
        found.most,
    )
    assert ("label", "parts[*].kind") == found.decision
    assert "2026-11" == contracts('version = "2026-11"').of("labels").version


def test_only_the_default_speaks_for_recordings_without_a_template():
    """Without it nobody does; another template is not asked."""
    assert (None, None) == (contracts().of(None), contracts().of("other"))
    text = contracts().by_template["labels"]
    both = read_contracts(
        {
            FILE: b'schema = "truegreen/contracts/v1"\n[template.default]\nversion = 1\nowner = "a"\n'
            b'model = "m"\nschema = "labels.json"\n',
            "labels.json": LABELS,
        }
    )
    assert (DEFAULT, text.schema) == (both.of(None).template, both.of(None).schema)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("version = true", "template.labels.version is true"),
        ("version = -1", "template.labels.version is -1"),
        ("owner = ", "has no owner"),
        ('owner = ""', "owner is"),
        ("model = ", "has no model"),
        ('answer = "yaml"', "one of json, text, tools"),
        ('schema = "../labels.json"', "the path of a"),
        ('schema = "nowhere.json"', '"nowhere.json" is not there'),
        ('decision = ["a b"]', "is no path"),
        ("finish = []", "a list of finish reasons"),
        ("most = 0", "a whole number from 1"),
        ("mots = 1", "is no key of a template"),
    ],
)
def test_what_is_wrong_is_told_with_its_value(line, told):
    """One sentence with what was found and what is asked."""
    assert told in problem(contracts, line).replace(".json file", ".json file, the path of a")


def test_a_problem_has_its_line():
    """A reader goes there at once."""
    assert problem(contracts, "most = 0").startswith("contracts.toml:7: ")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"schema = 1",
        b'schema = "truegreen/contracts/v2"',
        b'schema = "truegreen/contracts/v1"',
        b'schema = "truegreen/contracts/v1"\ntemplate = 1',
        b'schema = "truegreen/contracts/v1"\n[template]\nlabels = 1',
        b'schema = "truegreen/contracts/v1"\nmore = 1\n[template.a]',
    ],
)
def test_a_file_of_another_form_is_refused(text):
    """Empty, no UTF-8, another version, no template, a template that is no table, another key."""
    problem(read_contracts, {FILE: text})


def test_a_folder_without_contracts_is_refused():
    """Also where something else stands under the name."""
    assert "is not there" in problem(read_contracts, {})
    assert "is not there" in problem(read_contracts, {FILE: None})


@pytest.mark.parametrize(
    "schema",
    [
        b"{",
        b"[]",
        b'{"a": 1, "a": 2}',
        b'{"type": "nope"}',
        b'{"$schema": "http://json-schema.org/draft-07/schema#"}',
        b'{"$ref": "https://example.org/other.json"}',
        b'{"$ref": "#/$defs/nowhere"}',
        b'{"pattern": "("}',
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema):
    """No JSON, another draft, a reference that leads out or nowhere, a pattern that is none."""
    assert "labels.json: " in problem(contracts, schema=schema)


def test_a_schema_that_says_its_draft_is_read():
    """The draft that is asked may be named."""
    schema = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"}).encode()
    assert contracts(schema=schema).of("labels").schema
