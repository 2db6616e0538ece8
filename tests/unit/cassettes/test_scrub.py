# SPDX-License-Identifier: Apache-2.0
"""What may be written of an exchange: secrets replaced, or storing refused."""

import base64
import gzip
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.cassettes import RULES, SECRET, answered, asked
from truegreen.cassettes.leaks import Needles
from truegreen.cassettes.scrub import (
    check_written,
    clean_answer,
    clean_document,
    header_credentials,
    needles_of,
)
from truegreen.core.errors import EvidenceProblem

PLACES = RULES.places
NOTHING = Needles()


def cleaned(given, needles=NOTHING):
    """The answer's body, its redactions, its header names."""
    found = clean_answer(given, needles, PLACES)
    kinds = [(one.at, one.kind) for one in found.redactions]
    return found.answered.body, kinds, [name for name, _ in found.answered.headers]


def refused(given, needles=NOTHING):
    """The refusal of an answer."""
    with pytest.raises(EvidenceProblem) as caught:
        clean_answer(given, needles, PLACES)
    return caught.value


def test_credential_headers_of_an_answer_are_dropped_in_any_letter_case():
    """And its framing, which belongs to one transfer."""
    headers = [
        ("Set-Cookie", "session=EXAMPLE-COOKIE; HttpOnly"),
        ("SET-COOKIE", "b=c"),
        ("X-Org", "org-0000"),
        ("Content-Length", "3"),
    ]
    _, kinds, names = cleaned(answered(headers=headers))
    assert ([("headers.set-cookie", "dropped")] * 2, ["X-Org"]) == (kinds, names)


def test_the_value_of_a_credential_place_is_searched_for_everywhere_else():
    """Header, query, cookie and user information of the request; cookies of the answer."""
    one = asked(
        path="https://ana:userinfo-pw@x.example/",
        query="key=query-value-1&x=1",
        headers=[
            ("Authorization", f"Basic {base64.b64encode(b'bob:basic-password').decode()}"),
            ("Cookie", "a=cookie-value; b=c"),
        ],
    )
    needles = needles_of(one, answered(headers=[("Set-Cookie", "s=answer-cookie; Path=/")]), PLACES)
    for value in ("userinfo-pw", "query-value-1", "basic-password", "cookie-value", "answer-cookie"):
        body, kinds, _ = cleaned(answered(f"it was {value}."), needles)
        assert (False, [("wire", "credential-value")]) == (value.encode() in body, kinds)


def test_the_parts_of_a_credential_are_known():
    """Without scheme and decoded; a cookie's path is none."""
    assert "hunter2secret" in list(
        header_credentials(f"Basic {base64.b64encode(b'a:hunter2secret').decode()}")
    )
    assert "abc" in list(header_credentials("Bearer abc"))
    assert "/x" not in list(header_credentials("session=abc; Path=/x"))
    assert "" in list(header_credentials("basic é"))


def test_a_text_is_cleaned_and_stays_json():
    """Its other bytes are what they were."""
    body, kinds, names = cleaned(
        answered(f"your key is {SECRET}!", headers=[("Content-Type", "application/json"), ("x-key", SECRET)])
    )
    assert "your key is [redacted: provider-key]!" == json.loads(body)["choices"][0]["message"]["content"]
    assert [("headers.x-key", "provider-key"), ("wire", "provider-key")] == kinds
    assert ["Content-Type", "x-key"] == names


@given(st.lists(st.integers(0, 60), max_size=4))
def test_a_secret_across_chunks_is_cut_out_of_all_of_them(cuts):
    """Wherever the chunks begin; joined they are the cleaned text."""
    text = f"é before {SECRET} after".encode()
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    found = clean_answer(answered(chunks=pieces, headers=()), NOTHING, PLACES)
    assert "é before [redacted: provider-key] after".encode() == found.answered.body == found.decoded
    assert len(pieces) == len(found.answered.chunks)


def test_a_compressed_body_is_stored_decoded_once_a_secret_is_taken_out():
    """Headers that spoke of the coded body go."""
    headers = [("content-encoding", "gzip"), ("etag", "x"), ("content-type", "text/plain")]
    body, kinds, names = cleaned(answered(body=gzip.compress(f"key {SECRET}".encode()), headers=headers))
    assert (b"key [redacted: provider-key]", [("wire", "provider-key")], ["content-type"]) == (
        body,
        kinds,
        names,
    )
    coded = gzip.compress(b"no secret")
    assert coded == cleaned(answered(body=coded, headers=headers))[0]


@pytest.mark.parametrize(
    "given",
    [
        answered(body=b"\xff\xfe" + SECRET.encode(), headers=()),
        answered(body=b"x", headers=[("content-encoding", "compress")]),
        answered(
            body="".join(
                f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n" for piece in SECRET
            ).encode(),
            headers=[("content-type", "text/event-stream")],
        ),
    ],
    ids=["in bytes", "in a coding that nobody knows", "spread over events"],
)
def test_what_cannot_be_cleaned_with_confidence_is_refused(given):
    """The message never holds the secret."""
    problem = refused(given)
    assert ("cannot-be-cleaned", False) == (problem.code, SECRET in problem.message + problem.hint)


def test_a_body_that_contradicts_its_header_is_refused():
    """Before it is searched."""
    problem = refused(answered(headers=[("Content-Encoding", "gzip")]))
    assert "cassette-body-does-not-match-encoding" == problem.code


def test_a_document_is_cleaned_at_every_depth():
    """The place is listed; what is no text stays as it is."""
    found, redactions = clean_document({"a": [1, {"b": f"x {SECRET} {SECRET}"}], "c": None}, NOTHING)
    assert {"a": [1, {"b": "x [redacted: provider-key] [redacted: provider-key]"}], "c": None} == found
    assert [("a[1].b", 2, "provider-key")] == [(one.at, one.count, one.kind) for one in redactions]


def test_a_secret_in_a_name_is_refused():
    """Another name would be another request."""
    with pytest.raises(EvidenceProblem) as caught:
        clean_document({"a": {SECRET: 1}}, NOTHING)
    assert ("cannot-be-cleaned", False) == (caught.value.code, SECRET in caught.value.message)


@pytest.mark.parametrize(
    "written",
    [
        {"a": SECRET},
        {"a": {"$text": [SECRET[:9], SECRET[9:]]}},
        {
            "base64": [
                base64.b64encode(SECRET.encode()).decode()[start : start + 8] for start in range(0, 40, 8)
            ]
        },
        [{"a": [base64.b64encode(f"key={SECRET}".encode()).decode()]}],
    ],
)
def test_the_bytes_that_are_written_are_searched(written):
    """Also what their lines make up."""
    with pytest.raises(EvidenceProblem) as caught:
        check_written(json.dumps(written).encode(), NOTHING)
    assert ("cannot-be-cleaned", False) == (caught.value.code, SECRET in caught.value.message)


def test_clean_bytes_pass():
    """A digest or a mark is no secret."""
    check_written(
        json.dumps(
            {"key": "sha256:" + "0a" * 32, "a": "[redacted: provider-key]", "base64": ["AAAA"]}
        ).encode(),
        NOTHING,
    )
