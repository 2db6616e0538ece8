# SPDX-License-Identifier: Apache-2.0
"""Requests as they are keyed: what is read of them, what is left out, what is refused."""

import gzip
import json

import pytest

from factories.cassettes import RULES, asked
from truegreen.cassettes.multipart import Part, joined
from truegreen.cassettes.request import document, read_request, references, without_content
from truegreen.core.errors import EvidenceProblem

FORM = ("Content-Type", "application/x-www-form-urlencoded")


def read(*given, **more):
    """The document of a request, with numbers as they are spelled."""
    return document(read_request(asked(*given, **more), RULES).request)


def parts(boundary, *given):
    """A multipart request."""
    body = joined(tuple(Part(headers=head, data=data) for head, data in given), boundary)
    return asked(body, headers=[("Content-Type", f"multipart/form-data; boundary={boundary}")])


def part(name, data, *more):
    """One part of a form."""
    return (("content-disposition", f'form-data; name="{name}"'), *more), data


def test_a_body_is_json_whatever_its_content_type_says():
    """With, without and with a wrong one."""
    bodies = [
        read({"a": "x"}, headers=headers)["body"]
        for headers in ((), [FORM], [("content-type", "text/plain")])
    ]
    assert [{"a": "x"}] * 3 == bodies


@pytest.mark.parametrize("body", [b'{"a":1,"a":2}', b'{"x":{"a":1,"\\u0061":1}}'])
def test_a_name_twice_is_refused(body):
    """One reader takes the first value, another the last."""
    with pytest.raises(EvidenceProblem) as caught:
        read(body)
    assert "duplicate-key" == caught.value.code


@pytest.mark.parametrize("body", [b'{"a": NaN}', b'{"a": Infinity}', b"{'a': 1}", b"{", b"not json"])
def test_a_body_that_says_json_and_is_not_is_refused(body):
    """Readers repair it differently."""
    with pytest.raises(EvidenceProblem) as caught:
        read(body, headers=[("Content-Type", "application/json; charset=utf-8")])
    assert "request-not-json" == caught.value.code


@pytest.mark.parametrize(
    "body", [b'{"a": NaN}', b"\xef\xbb\xbf{}", b'"\\ud800"', b"[" * 70 + b"]" * 70, b"\xff\xfe"]
)
def test_what_is_no_json_value_is_keyed_by_its_bytes(body):
    """Nothing is repaired and nothing is lost."""
    found = read(body)
    assert ("bytes", len(body)) == (found["body_form"]["kind"], found["body"]["bytes"])


def test_form_fields_may_come_in_another_order():
    """Fields of one name may not: their order is theirs."""
    one, other = (read(body, headers=[FORM])["body"] for body in (b"a=1&b=%41+c&b=2", b"b=A%20c&a=1&b=2"))
    assert {"a": ["1"], "b": ["A c", "2"]} == one == other
    assert one != read(b"a=1&b=2&b=A+c", headers=[FORM])["body"]
    assert {"a": [None], "b": [""]} == read(b"a&b=", headers=[FORM])["body"]


@pytest.mark.parametrize("body", [b"a=%ff", "a=é".encode()])
def test_a_form_that_is_no_text_is_keyed_by_its_bytes(body):
    """A wrong escape is not replaced by a question mark that another could have too."""
    assert "bytes" == read(body, headers=[FORM])["body_form"]["kind"]


def test_multipart_is_keyed_over_its_parts():
    """Another boundary and another order of different parts are the same request."""
    one, two = part("file", b"\x00\xff"), part("model", b"whisper")
    first, second = (
        document(read_request(given, RULES).request)
        for given in (parts("aaa", one, two), parts("bbb", two, one))
    )
    assert first == second
    assert [2, "whisper"] == [first["body"][0]["bytes"], first["body"][1]["text"]]


def test_every_byte_and_header_of_a_part_counts():
    """File name, type, content."""
    plain, named = part("file", b"\x00\xff"), part("file", b"\x00\xff", ("content-type", "audio/wav"))
    found = [
        document(read_request(parts("b", given), RULES).request)
        for given in (plain, named, part("file", b"\x00\xfe"))
    ]
    assert 3 == len({json.dumps(one) for one in found})


def test_a_body_that_is_not_strictly_multipart_is_bytes():
    """As is one without a boundary."""
    kinds = [
        read(b"x", headers=[("content-type", kind)])["body_form"]
        for kind in ("multipart/form-data; boundary=b", "multipart/x")
    ]
    assert [
        {"kind": "bytes", "media": "multipart/form-data"},
        {"kind": "bytes", "media": "multipart/x"},
    ] == kinds


def test_a_compressed_body_is_keyed_by_what_it_holds():
    """The clock in a gzip head is no part of a request; that it was coded is."""
    body = json.dumps({"a": "x"}).encode()
    coded = [
        read(gzip.compress(body, mtime=mtime), headers=[("content-encoding", "gzip")]) for mtime in (1, 2)
    ]
    assert coded[0] == coded[1]
    assert ({"a": "x"}, {"kind": "json", "codings": ["gzip"]}) == (coded[0]["body"], coded[0]["body_form"])
    assert "bytes" == read(b"x", headers=[("content-encoding", "compress")])["body_form"]["kind"]


def test_credentials_are_dropped_by_the_names_of_their_places():
    """Headers and query, in any letter case and escaped, and user information; all are listed."""
    given = asked(
        path="https://ana:hunter2@api.example.com/v1/x",
        query="API%5Fkey=1&a=2&Key=3",
        headers=[("AUTHORIZATION", "Bearer x"), ("x-api-key", "y"), ("User-Agent", "z"), ("X-New", "1")],
    )
    found = read_request(given, RULES)
    assert (
        "header authorization",
        "header x-api-key",
        "query api_key",
        "query key",
        "userinfo",
    ) == found.credentials
    assert ("user-agent",) == found.ignored_headers
    assert ("https://api.example.com/v1/x", {"a": ["2"]}, {"x-new": ["1"]}) == (
        found.request.path,
        found.request.query,
        found.request.headers,
    )


def test_nothing_is_dropped_from_a_body_by_its_name():
    """A tool's parameter may be called password."""
    body = {
        "authorization": "a",
        "tools": [{"password": {"type": "string"}, "id": "x", "user": "y", "metadata": {}}],
    }
    assert body == read(body)["body"]


def test_a_query_keeps_what_could_mean_something():
    """Order among names and needless escapes do not; a plus sign, an equals sign and an escaped ampersand do."""
    assert read(query="b=1&a=%41%2f")["query"] == read(query="a=A%2F&b=1")["query"]
    different = ["a=b", "a", "a=", "a=b+c", "a=b%20c", "a=b%26c", "a=%ff", "a=%25ff", "a=b&a=c", "a=c&a=b"]
    assert len(different) == len({json.dumps(read(query=one)["query"]) for one in different})


def test_the_template_is_named_by_headers():
    """A version without an id names nothing."""
    headers = [("X-TrueGreen-Template", "plan"), ("x-truegreen-template-version", "4")]
    assert {"id": "plan", "version": "4"} == read(headers=headers)["template"]
    assert {"id": "plan", "version": None} == read(headers=headers[:1])["template"]
    assert read(headers=headers[1:])["template"] is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"body": {"stream": True}}, True),
        ({"body": {"stream": "true"}}, False),
        ({"body": {}}, False),
        ({"path": "/v1beta/models/x:streamGenerateContent"}, True),
        ({"query": "alt=sse"}, True),
        ({"headers": [("accept", "text/event-stream")]}, True),
    ],
)
def test_a_stream_is_told_by_body_path_query_or_header(given, expected):
    """Whatever the provider's way."""
    assert expected is read(**given)["stream"]


def test_what_a_request_names_and_does_not_hold_is_listed():
    """Ids and URLs; a data URL is content of the request itself."""
    body = {
        "input": [
            {"file_id": "file-1"},
            {"image_url": {"url": "https://x.example/a.png"}},
            {"image_url": "data:a;base64,AA"},
        ],
        "path": "file:///tmp/a.txt",
        "vector_store_ids": ["vs-1"],
        "url": 3,
    }
    found = references(read_request(asked(body), RULES).request)
    assert [
        ("body.input[0].file_id", "id"),
        ("body.input[1].image_url.url", "url"),
        ("body.path", "local-path"),
        ("body.vector_store_ids[0]", "id"),
    ] == [(one.at, one.kind) for one in found]
    assert () == references(read_request(asked(b"x"), RULES).request)


def test_content_that_is_no_text_is_stored_beside_its_digest():
    """And taken away again where the key is computed."""
    for given in (asked(b"\xff\x00"), parts("b", part("f", b"\xff"), part("g", b"t"))):
        request = read_request(given, RULES).request
        stored = document(request, with_content=True)
        assert "base64" in json.dumps(stored)
        assert document(request) == without_content(stored)


@pytest.mark.parametrize(
    "given",
    [
        {"path": "/\ud800"},
        {"query": "a=\udcff"},
        {"query": "\ud800"},
        {"headers": [("x", "\ud800")]},
        {"headers": [("user-\ud800", "x")]},
        {"headers": [("x-truegreen-template", "\ud800")]},
    ],
)
def test_half_a_character_is_refused(given):
    """A key is over UTF-8; also where it would be dropped or ignored."""
    with pytest.raises(EvidenceProblem) as caught:
        read(**given)
    assert "request-not-text" == caught.value.code
