# SPDX-License-Identifier: Apache-2.0
"""Contracts beside recordings."""

import json

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["label", "reason"],
    "properties": {
        "label": {"enum": ["bug", "feature"]},
        "reason": {"type": "string"},
        "tags": {"type": "array"},
    },
}


def contract_files(*, decision=("label",), schema=SCHEMA, version=1, **more):
    """``contracts.toml`` and its schema, for the template ``labels``."""
    table = {
        "version": version,
        "owner": "ana",
        "model": "m",
        "schema": "contracts/labels.json",
        "decision": list(decision),
    }
    rows = "".join(f"{name} = {json.dumps(value)}\n" for name, value in (table | more).items())
    return {
        "contracts.toml": f'schema = "truegreen/contracts/v1"\n[template.labels]\n{rows}'.encode(),
        "contracts/labels.json": json.dumps(schema).encode(),
    }


def write_contracts(folder, **more):
    """The files on disk."""
    for name, data in contract_files(**more).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
