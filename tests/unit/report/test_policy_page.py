# SPDX-License-Identifier: Apache-2.0
"""A policy as people and tools read it."""

import re

import pytest

from truegreen.core.policy import TOPOLOGIES, KindFacts
from truegreen.core.policy_keys import KEYS, LATER_KEYS
from truegreen.core.policy_read import read_policy
from truegreen.report.policy_page import (
    TOPOLOGY,
    keys_table,
    later_names,
    later_table,
    policy_json,
    policy_text,
)

KINDS = {"sample-ledger": KindFacts(model_backed=False, built=True)}
TEXT = """\
schema = "truegreen/policy/v1"
[lanes.a]
tests = "tests/llm"
timeout_s = 2.5
owner = "\\u202eana"
[lanes."b.c"]
tests = "tests/b"
role = "advisory"
irrelevant = [
  "docs/**",
]
"""


@pytest.fixture(scope="module")
def policy():
    """Two lanes, some keys given."""
    return read_policy(TEXT.encode(), kinds=KINDS)


def test_every_key_stands_on_a_line_with_value_and_source(policy):
    """Once for the file, once for each lane."""
    lines = policy_text(policy, "here").splitlines()
    for wanted in (
        r'mode +"observe" +default',
        r'lanes\.a\.tests +"tests/llm" +truegreen\.toml:3',
        r"lanes\.a\.timeout_s +2\.5 +truegreen\.toml:4",
        r'lanes\.a\.owner +"\\u{202e}ana" +truegreen\.toml:5',
        r"lanes\.a\.max_calls +\(no limit\) +default",
        r'lanes\."b\.c"\.role +"advisory" +truegreen\.toml:8',
        r'lanes\."b\.c"\.irrelevant +\["docs/\*\*"\] +truegreen\.toml:9',
        r'lanes\."b\.c"\.job +"b\.c" +default',
    ):
        assert [line for line in lines if re.fullmatch(wanted, line)], wanted
    per_lane = sum(path[0] == "lanes" for path in KEYS)
    absent = sum(path[0] == "limiter" for path in KEYS)
    once = len(KEYS) - per_lane - absent - 1
    shown = [line for line in lines if line.endswith(" default") or re.search(r"truegreen\.toml:\d+$", line)]
    assert once + 2 * per_lane == len(shown)


def test_the_head_says_whose_policy_it_is(policy):
    """With the whole digest."""
    assert f"policy of here, {policy.digest}" == policy_text(policy, "here").splitlines()[0]


def test_nothing_that_is_not_built_is_left_out(policy):
    """Keys and values, in lines that fit a terminal."""
    text = policy_text(policy, "here")
    said = " ".join(text[text.index("not in this version") :].split())
    assert f"not in this version: {', '.join(later_names())}" == said
    assert {path[-1] for path in LATER_KEYS} <= {name.split(".")[-1].split(" ")[0] for name in later_names()}
    tail = text[text.index("not in this version") :].splitlines()
    assert max(map(len, tail)) <= 100


def test_the_document_holds_the_same(policy):
    """Values as they are, each with its source."""
    made = policy_json(policy, "here")
    assert ("truegreen/policy-show/v1", "here", policy.digest) == (
        made["schema"],
        made["origin"],
        made["digest"],
    )
    assert {"value": ["docs/**"], "source": "truegreen.toml:9"} == made["values"]['lanes."b.c".irrelevant']
    assert {"value": None, "source": "default"} == made["values"]["lanes.a.max_calls"]
    assert set(policy.sources) - {"schema"} == set(made["values"])


def test_every_topology_says_what_it_holds():
    """None promises more than it can."""
    assert set(TOPOLOGIES) == set(TOPOLOGY)


def test_the_tables_list_every_key():
    """Built ones with value, default and meaning; later ones with their purpose."""
    table = keys_table()
    assert len(KEYS) == len(re.findall(r"^\| `[a-z_]+` \| .+ \| .+ \| .+\. \|$", table, re.MULTILINE))
    later = later_table()
    assert all(f"`{'.'.join(path).replace('*', 'NAME')}`" in later for path in LATER_KEYS)
    assert all(f"`{value}`" in later for key in KEYS.values() for value in key.later)


def test_the_page_shows_the_tables(request):
    """``./dev golden`` writes them."""
    page = (request.config.rootpath / "docs" / "policy.md").read_text(encoding="utf-8")
    assert (True, True) == (keys_table() in page, later_table() in page)
