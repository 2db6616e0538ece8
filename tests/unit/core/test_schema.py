# SPDX-License-Identifier: Apache-2.0
"""Values are checked against the schemas that the package ships, and refusals are worded."""

import subprocess
import sys

import pytest

from truegreen.core import schema as module
from truegreen.core.errors import EvidenceProblem
from truegreen.core.schema import HOMES, schema, validate

DIGEST = "sha256:" + "0" * 64
LANE = {
    "ruler": DIGEST,
    "components": {},
    "case_ids": ["a::1"],
    "inputs": [],
    "prompts": [],
    "endpoint": None,
    "models_served": [],
    "previous": None,
    "reason": "first",
}


def _refused(name, value):
    with pytest.raises(EvidenceProblem) as caught:
        validate(name, value)
    assert ("schema-refused", 3) == (caught.value.code, caught.value.exit_code)
    return caught.value.message


def _baseline(**changed):
    return {"schema": "truegreen/baseline/v1", "lanes": {"a b": LANE | changed}}


def _without(value, name):
    return {key: inner for key, inner in value.items() if key != name}


def test_a_value_of_the_right_shape_is_taken():
    """Nothing is raised and nothing is returned."""
    assert validate("baseline.v1", _baseline()) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "baseline.v1 at the top: found a list of 0, asked object"),
        (None, "baseline.v1 at the top: found null, asked object"),
        (_without(_baseline(), "schema"), 'baseline.v1 at the top: found no field "schema", asked one'),
        (
            _baseline() | {"schema": "truegreen/baseline/v2"},
            'baseline.v1 at schema: found "truegreen/baseline/v2", asked "truegreen/baseline/v1"',
        ),
        (
            _baseline(rate=0.9),
            'baseline.v1 at lanes."a b": found a field "rate", asked no field of that name',
        ),
        (_baseline(endpoint=1), 'baseline.v1 at lanes."a b".endpoint: found 1, asked null or string'),
        (
            _baseline(case_ids=["a", "a"]),
            'baseline.v1 at lanes."a b".case_ids: found a list of 2, asked each element once',
        ),
        (
            _baseline(case_ids=["a", 1]),
            'baseline.v1 at lanes."a b".case_ids[1]: found 1, asked string',
        ),
        (
            _baseline(ruler="sha256:0"),
            'baseline.v1 at lanes."a b".ruler: found "sha256:0", asked a text that matches ^(?:sha256:[0-9a-f]{64})$',
        ),
        (
            _baseline(reason="\x1b[31m" * 100),
            None,
        ),
    ],
)
def test_a_refusal_says_where_what_and_what_is_asked(value, said):
    """The place as one writes it; both values."""
    if said is None:
        assert validate("baseline.v1", value) is None
    else:
        assert said == _refused("baseline.v1", value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "policy.v1",
            {"lanes": {"A": {"tests": "a"}}},
            'policy.v1 at lanes: found the name "A", asked a text that',
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "../a"}}},
            'policy.v1 at lanes.a.tests: found "../a", asked a text that',
        ),
        ("policy.v1", {"lanes": {"a": {"tests": "e\u0301"}}}, "policy.v1 at lanes.a.tests: found "),
        ("policy.v1", {"lanes": {}}, "policy.v1 at lanes: found a table, asked fields: at least 1"),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "role": "x"}}},
            'policy.v1 at lanes.a.role: found "x", asked one of',
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "samples": 0}}},
            "policy.v1 at lanes.a.samples: found 0, asked at",
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "samples": 501}}},
            "policy.v1 at lanes.a.samples: found 501, asked",
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "timeout_s": 0}}},
            "policy.v1 at lanes.a.timeout_s: found 0, asked",
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "owner": ""}}},
            'policy.v1 at lanes.a.owner: found "", asked chara',
        ),
        (
            "policy.v1",
            {"lanes": {"a": {"tests": "a", "role": "advisory"}}},
            "policy.v1 at lanes: found a table, asked n",
        ),
    ],
)
def test_every_keyword_has_its_words(name, value, said):
    """Names, formats, ranges, lengths."""
    assert said == _refused(name, {"schema": "truegreen/policy/v1"} | value)[: len(said)]


def test_a_refusal_is_bounded_and_defused():
    """However long and hostile the value or the place."""
    said = _refused("baseline.v1", _baseline(ruler="\x1b]0;" + "x" * 10_000))
    assert ("\x1b" in said, len(said) < 400) == (False, True)
    lanes = {"\x1b" * 1000: 1}
    said = _refused("baseline.v1", {"schema": "truegreen/baseline/v1", "lanes": lanes})
    assert ("\x1b" in said, len(said) < 400) == (False, True)


def test_every_schema_lies_where_it_is_looked_for(request):
    """Every home has its file, and every file its home."""
    root = request.config.rootpath / "src"
    files = {path.relative_to(root) for path in root.rglob("*.schema.json")}
    homes = {
        (root / HOMES[name].replace(".", "/") / "schemas" / f"{name}.schema.json").relative_to(root)
        for name in HOMES
    }
    assert homes == files
    assert [f"urn:truegreen:{name}" for name in HOMES] == [schema(name)["$id"] for name in HOMES]


def test_the_validator_is_loaded_when_it_is_asked():
    """A start that checks nothing does not pay for it; a schema is compiled once."""
    code = "import sys, truegreen.core.schema; print('jsonschema_rs' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False\n" == ran.stdout
    assert module._validator("policy.v1") is module._validator("policy.v1")
