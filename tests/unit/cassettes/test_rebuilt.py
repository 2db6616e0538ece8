# SPDX-License-Identifier: Apache-2.0
"""A stored request as it would be sent again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.cassettes import REQUESTS, RULES
from truegreen.cassettes.rebuilt import json_bytes, rebuilt
from truegreen.cassettes.request import document, read_request
from truegreen.core.canonical import read_spelled
from truegreen.core.errors import EvidenceProblem


def stored(one):
    """The document that a file holds of a request."""
    return document(read_request(one, RULES).request, with_content=True)


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_rebuilt_is_the_same_request(name):
    """Reading it gives the document again."""
    before = stored(REQUESTS[name])
    assert before == stored(rebuilt(before))


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_json_value_is_written_and_read(value):
    """Numbers as they are spelled stand in the test above."""
    assert value == read_spelled(json_bytes(value))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"body_form": {"kind": "other"}}, "cassette-shape"),
        ({"body_form": {}}, "cassette-shape"),
        ({"body_form": {"kind": "bytes"}, "body": {"base64": "a"}}, "cassette-shape"),
        ({"body_form": {"kind": "multipart"}, "body": [1]}, "cassette-shape"),
        ({"body_form": {"kind": "json", "codings": ["br"]}}, "coding-missing"),
    ],
)
def test_what_no_request_has_is_refused(change, code):
    """By name, not by a crash."""
    with pytest.raises(EvidenceProblem) as caught:
        rebuilt({**stored(REQUESTS["JSON"]), **change})
    assert code == caught.value.code
