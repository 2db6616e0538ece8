# SPDX-License-Identifier: Apache-2.0
"""Trees and policies for the tests of classes and digests."""

import hashlib
import json

from truegreen.core.baseline import read_baseline
from truegreen.core.digest import sha256_of
from truegreen.core.policy import KindFacts
from truegreen.core.policy_read import read_policy
from truegreen.core.ports import TreeEntry

KINDS = {"sample-ledger": KindFacts(model_backed=False, built=True)}


def policy(lane="", top="", tests="tests/llm"):
    """A policy of one lane ``m`` with these further lines."""
    text = f'schema = "truegreen/policy/v1"\n{top}\n[lanes.m]\ntests = "{tests}"\n{lane}\n'
    return read_policy(text.encode(), kinds=KINDS)


def baseline(*, inputs=(), prompts=()):
    """A committed baseline that names these files for the lane ``m``."""
    lane = {
        "ruler": "sha256:" + "0" * 64,
        "components": {},
        "case_ids": [],
        "inputs": list(inputs),
        "prompts": list(prompts),
        "endpoint": None,
        "models_served": [],
        "previous": None,
        "reason": "first",
    }
    return read_baseline(json.dumps({"schema": "truegreen/baseline/v1", "lanes": {"m": lane}}).encode())


class Tree:
    """Entries, and what the digests ask about their blobs."""

    def __init__(self, files):
        self.blobs = {}
        rows = []
        for path, given in files.items():
            mode, content = given if isinstance(given, tuple) else ("100644", given)
            oid = hashlib.sha1(content).hexdigest()
            self.blobs[oid] = content
            rows.append(TreeEntry(path=path, mode=mode, oid=oid))
        self.entries = tuple(rows)
        self.digests = {oid: sha256_of(content) for oid, content in self.blobs.items()}

    def read(self, oid):
        """Content of a blob."""
        return self.blobs[oid]
