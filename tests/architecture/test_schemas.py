# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas that ship with the package."""

import json

import jsonschema_rs
import tree


def _schemas():
    files = (path for path in sorted(tree.SRC.rglob("*.json")))
    return {
        path: content
        for path in files
        if "$schema" in (content := json.loads(path.read_text(encoding="utf-8")))
    }


def test_every_schema_is_itself_valid():
    """Each file with ``$schema`` passes the meta-schema that it names."""
    assert [] == [str(path) for path, schema in _schemas().items() if not jsonschema_rs.meta.is_valid(schema)]


def test_every_schema_refuses_unknown_fields():
    """At the top of a record's body no field is read that the schema does not name."""
    open_at_top = [
        str(path)
        for path, schema in _schemas().items()
        if schema.get("type") == "object"
        and schema.get("additionalProperties") is not False
        and schema.get("unevaluatedProperties") is not False
    ]
    assert [] == open_at_top
