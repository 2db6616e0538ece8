# SPDX-License-Identifier: Apache-2.0
"""Declared volatile paths: removed, counted, and nowhere but where they may be."""

import pytest

from truegreen.cassettes.plain import Ignored
from truegreen.cassettes.rules import KeyRules, check_rules, without_volatile
from truegreen.core.errors import UsageProblem

DOCUMENT = {
    "body": {"id": 1, "runs": [{"id": 2}, {"id": 3, "x": 4}], "tags": ["a", "b"]},
    "query": {"ts": ["5"]},
}


def test_a_volatile_member_is_removed_and_counted():
    """Whether it is there or not comes to the same; an element leaves a mark."""
    volatile = ("body.runs[*].id", "body.tags[0]", "query.ts", "body.gone")
    kept, counts = without_volatile(DOCUMENT, volatile)
    assert {"body": {"id": 1, "runs": [{}, {"x": 4}], "tags": [Ignored(), "b"]}, "query": {}} == kept
    assert {"body.runs[*].id": 2, "body.tags[0]": 1, "query.ts": 1, "body.gone": 0} == counts


def test_nothing_declared_is_nothing_removed():
    """No name is volatile by itself, at no depth."""
    assert (DOCUMENT, {}) == without_volatile(DOCUMENT, ())


@pytest.mark.parametrize(
    "path", ["method", "host", "template.id", "body", "stream", "path", "body_form.kind", "*"]
)
def test_what_makes_a_request_what_it_is_may_not_be_volatile(path):
    """A key without it would answer another request."""
    with pytest.raises(UsageProblem) as caught:
        check_rules(KeyRules(host="h", volatile=(path,)))
    assert "bad-json-path" == caught.value.code


def test_paths_below_body_query_and_headers_may_be_volatile():
    """The rules come back as they were."""
    rules = KeyRules(host="h", volatile=("body.a", "query.b", "headers.c[0]"))
    assert rules is check_rules(rules)
