# SPDX-License-Identifier: Apache-2.0
"""Requests put together from recordings, with the recording's own key or not at all."""

import gzip

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.cassettes import CHAT, HOST, RULES, SECRET, answered, asked, folder, recorder
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.upkeep.asked_again import asked_of, credential_places
from truegreen.core.errors import EvidenceProblem


def _kept(path, ask, rules=RULES):
    recorder(path, rules).keep(ask, answered("4"))
    (name,) = folder(path).names()
    return read_cassette(folder(path).read(name), name)


@pytest.mark.parametrize(
    "ask",
    [
        asked(),
        asked(CHAT | {"temperature": 0.0, "n": 10**30, "x": [True, None, "ä\n", {"$text": ["a"]}]}),
        asked(b'{"a": 1e2, "b": 1.50}', headers=(("content-type", "application/json"),)),
        asked(b"", method="GET", path="/v1/models/a%20b", query="limit=2&after=x%2Fy&flag"),
        asked(b"a=1&b=x+y&a=%C3%A4&c", headers=(("content-type", "application/x-www-form-urlencoded"),)),
        asked(
            b'--b\r\ncontent-disposition: form-data; name="f"\r\n\r\nx\r\n--b--\r\n',
            headers=(("content-type", "multipart/form-data; boundary=b"),),
        ),
        asked(b"\xff\x00bytes", headers=(("content-type", "audio/wav"),)),
        asked(
            headers=(
                ("anthropic-beta", "one"),
                ("x-truegreen-template", "t"),
                ("x-truegreen-template-version", "4"),
            )
        ),
        asked(headers=(("authorization", f"Bearer {SECRET}"),)),
    ],
)
def test_what_is_asked_again_is_what_was_asked(tmp_path, ask):
    """By its key, which holds every input."""
    again = asked_of(_kept(tmp_path, ask))
    assert key_of(ask, RULES) == key_of(again, RULES)
    assert SECRET not in str(again)


def test_the_places_of_credentials_are_told(tmp_path):
    """So that today's key can stand where the old one did."""
    made = _kept(
        tmp_path, asked(query="key=AIzaSyA1234567890&x=1", headers=(("Authorization", f"Bearer {SECRET}"),))
    )
    assert (("header", "authorization"), ("query", "key")) == credential_places(made)


@pytest.mark.parametrize(
    ("ask", "rules", "words"),
    [
        (asked(CHAT | {"note": f"key {SECRET}"}), RULES, "a secret was taken out"),
        (asked(CHAT | {"at": "now"}), KeyRules(host=HOST, volatile=("body.at",)), "volatile"),
    ],
)
def test_what_is_not_whole_is_not_asked(tmp_path, ask, rules, words):
    """Another question would be answered."""
    with pytest.raises(EvidenceProblem, match=words) as caught:
        asked_of(_kept(tmp_path, ask, rules))
    assert "cannot-be-asked-again" == caught.value.code


def test_a_file_whose_request_was_changed_asks_nothing(tmp_path):
    """The key speaks for the old one."""
    made = _kept(tmp_path, asked())
    other = msgspec.structs.replace(made, request=msgspec.structs.replace(made.request, method="PUT"))
    with pytest.raises(EvidenceProblem, match="another key"):
        asked_of(other)


def test_a_body_that_cannot_be_written_again_is_not_asked(tmp_path):
    """A coding that is applied nowhere here."""
    made = _kept(
        tmp_path, asked(headers=(("content-encoding", "gzip"),), body=gzip.compress(b'{"model": "m"}'))
    )
    form = {"kind": "json", "codings": ["br"]}
    other = msgspec.structs.replace(made, request=msgspec.structs.replace(made.request, body_form=form))
    with pytest.raises(EvidenceProblem) as caught:
        asked_of(other)
    assert "cannot-be-asked-again" == caught.value.code


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES)
def test_any_json_comes_back(tmp_path_factory, value):
    """Every type of value, with its spelling."""
    ask = asked({"model": "m", "value": value})
    try:
        made = _kept(tmp_path_factory.mktemp("any"), ask)
    except EvidenceProblem:  # a name or text that no recording may hold
        return
    if not made.about.redactions:
        assert key_of(ask, RULES) == key_of(asked_of(made), RULES)
