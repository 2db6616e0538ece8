# SPDX-License-Identifier: Apache-2.0
"""The schemas of the package are what the types and tables say today."""

import json
import runpy

import pytest

from truegreen.core.schema import HOMES, schema


@pytest.fixture(scope="module")
def made(request):
    """What the script makes now."""
    return runpy.run_path(str(request.config.rootpath / "tools" / "schemas.py"))


@pytest.mark.parametrize("name", HOMES)
def test_a_schema_is_what_its_source_says(made, name):
    """``./dev golden`` writes it anew."""
    assert json.loads(json.dumps(made["every"]()[name])) == schema(name)


def test_every_field_that_is_narrowed_by_hand_exists(made):
    """A field that was renamed would lose what was said of it."""
    gone = [
        (owner.__name__, field) for owner, field in made["BY_FIELD"] if field not in owner.__struct_fields__
    ]
    assert [] == gone


def test_every_field_is_described():
    """By the sentence below it in the source."""

    def without(part):
        return [name for name, shape in part.get("properties", {}).items() if not shape.get("description")]

    for name in HOMES:
        content = schema(name)
        bare = {title: without(part) for title, part in {"": content, **content.get("$defs", {})}.items()}
        if name != "quarantine.v1":
            assert {title: [] for title in bare} == bare
