# SPDX-License-Identifier: Apache-2.0
"""Cassettes as bytes: made for review, and read strictly."""

import base64
import gzip
import json
import sys

import brotli
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.cassettes import CHAT, RULES, SECRET, answered, asked, folder, recorded
from truegreen.cassettes.cassette_file import (
    answer_of,
    digest_of,
    read_cassette,
    sealed,
    stored_document,
    view_of,
    wire_of,
    write_cassette,
)
from truegreen.cassettes.key import key_of_document
from truegreen.cassettes.request import without_content
from truegreen.core.errors import EvidenceProblem

LONG = {
    **CHAT,
    "temperature": 0.0,
    "big": 2**70,
    "messages": [{"role": "user", "content": "line one\nline two\n" + "word " * 50}],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Name and bytes of one recording."""
    path = tmp_path_factory.mktemp("cassettes")
    name = recorded(path, (asked(LONG), answered("first\nsecond")))
    return name, folder(path).read(name)


def reading(data, name=""):
    """The refusal of these bytes."""
    with pytest.raises(EvidenceProblem) as caught:
        read_cassette(data, name)
    return caught.value


def changed(data, change):
    """The bytes with a change of their fields, and the digest of these."""
    fields = json.loads(data)
    change(fields)
    fields["digest"] = digest_of(fields)
    return json.dumps(fields).encode()


def test_the_request_stands_above_the_answer_in_lines(whole):
    """Sorted, a value a line, ended by a line end, no line longer than an editor is wide."""
    text = whole[1].decode()
    fields = json.loads(text)
    assert ["about", "digest", "key", "request", "responses", "schema"] == list(fields)
    assert text.index('"What') if "What" in text else text.index('"line one') < text.index('"first')
    assert text.endswith("}\n")
    assert max(map(len, text.split("\n"))) < 140
    assert text == json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_what_is_written_is_read(whole):
    """The same bytes again, and the key can be computed from the file."""
    name, data = whole
    cassette = read_cassette(data, name)
    assert data == write_cassette(cassette) == write_cassette(sealed(cassette))
    document = without_content(stored_document(cassette))
    assert cassette.key == key_of_document(document, RULES)


def test_the_answer_comes_back_exactly(whole):
    """Status, headers, chunks, delays."""
    cassette = read_cassette(whole[1], whole[0])
    assert answered("first\nsecond") == answer_of(cassette.responses[0])


@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), max_size=4), st.floats(0, 1e6)
)
def test_every_body_comes_back_exactly(pieces, seconds):
    """Whatever its bytes and wherever its chunks end, also inside a character."""
    given_ = answered(chunks=pieces)
    given_ = msgspec.structs.replace(
        given_, chunks=tuple(msgspec.structs.replace(one, after_s=seconds) for one in given_.chunks)
    )
    wire = wire_of(given_)
    assert given_.body == b"".join(
        base64.b64decode("".join(one.base64)) if one.base64 else json_text(one.text).encode()
        for one in wire.chunks
    )
    assert [len(one.data) for one in given_.chunks] == [
        len(base64.b64decode("".join(one.base64))) if one.base64 else len(json_text(one.text).encode())
        for one in wire.chunks
    ]


def json_text(form):
    """A text behind its plain form."""
    return "".join(form["$text"]) if isinstance(form, dict) else form


@pytest.mark.parametrize("cut", [0, 1, 10, 0.3, 0.7, -3, -2])
def test_a_cut_file_is_named_truncated(whole, cut):
    """At the start, in the middle, at the end."""
    data = whole[1]
    end = int(len(data) * cut) if isinstance(cut, float) else cut
    problem = reading(data[:end], whole[0])
    assert ("cassette-truncated", False) == (problem.code, problem.contradictory)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"m-1"', b'"m-2"'),
        (b'"finish_reason": "stop"', b'"finish_reason": "length"'),
        (b"line two", b"line 2"),
        (b"250000", b"1"),
    ],
)
def test_a_change_by_hand_is_named_edited(whole, old, new):
    """Request, answer or number: the digest is over everything."""
    problem = reading(whole[1].replace(old, new), whole[0])
    assert ("cassette-edited", True) == (problem.code, problem.contradictory)


def test_line_ends_of_another_system_are_no_edit(whole):
    """The digest is over values, not over spelling."""
    assert read_cassette(whole[1], whole[0]) == read_cassette(whole[1].replace(b"\n", b"\r\n"), whole[0])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: f.update(more=1), "cassette-shape"),
        (lambda f: f["about"].update(more=1), "cassette-shape"),
        (lambda f: f["responses"][0].pop("status"), "cassette-shape"),
        (lambda f: f.update(responses=[]), "cassette-shape"),
        (lambda f: f.update(schema="truegreen/cassette/v2"), "cassette-shape"),
        (lambda f: f["request"]["body"].update(model={"$x": 1}), "cassette-shape"),
        (lambda f: f["request"]["body"].update(model="other"), "cassette-wrong-key"),
        (lambda f: f["request"].update(path="/v1/other"), "cassette-wrong-key"),
        (lambda f: f["request"].update(template={"id": "t", "version": None}), "cassette-wrong-key"),
        (lambda f: f.update(key="sha256:" + "0" * 64), "cassette-misnamed"),
        (lambda f: f["about"].update(key_schema="truegreen/cassette-key/v0"), "cassette-key-schema"),
        (lambda f: f["responses"][0]["view"]["json"].update(model="other"), "cassette-view-differs"),
        (lambda f: f["responses"][0].update(view=None), "cassette-view-differs"),
        (lambda f: f["responses"][0]["wire"].update(bytes=1), "cassette-edited"),
        (lambda f: f["responses"][0]["wire"]["chunks"].clear(), "cassette-edited"),
        (
            lambda f: f["responses"][0]["headers"].append({"name": "Content-Encoding", "value": "gzip"}),
            "cassette-body-does-not-match-encoding",
        ),
        (lambda f: f["request"].update(body_form={"kind": "bytes"}, body=[]), "cassette-shape"),
        (
            lambda f: f["request"].update(
                body_form={"kind": "bytes"},
                body={"sha256": "sha256:" + "0" * 64, "bytes": 1, "base64": "AA=="},
            ),
            "cassette-edited",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_by_name(whole, change, code):
    """Even when somebody computed its digest anew."""
    assert code == reading(changed(whole[1], change), whole[0]).code


def test_a_file_under_another_name_is_refused(whole):
    """It would be found by another request; the long name is right too."""
    name, data = whole
    assert "cassette-misnamed" == reading(data, "000000000000.json").code
    assert read_cassette(data, name) == read_cassette(data, json.loads(data)["key"][7:] + ".json")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"interactions:\n- request: {uri: !!python/object/apply:os.getcwd []}\n", "yaml-tag"),
        (b"interactions: []\n", "cassette-unreadable"),
        (b'{"key": 1, "key": 2}', "cassette-unreadable"),
        (b'{"key": NaN}', "cassette-unreadable"),
        (b"\xff\xfe", "cassette-unreadable"),
        (b"[]", "cassette-shape"),
        (b'{"request": {"prompt": "p"}, "response": {"text": "yes"}}', "cassette-shape"),
    ],
)
def test_what_is_no_cassette_is_refused_by_name(data, code):
    """Other tools' files, other versions, rubbish."""
    assert code == reading(data, "x.json").code


def test_characters_that_do_not_show_are_escapes(tmp_path):
    """A reviewer sees what a program reads; letters of every script stay."""
    hidden = "a\u202eb\u200bc\x1bd\u2028e é 漢 \U000e0041"
    name = recorded(tmp_path, (asked({"x": hidden}), answered("4")))
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert '"a\\u202eb\\u200bc\\u001bd\\u2028e é 漢 \\udb40\\udc41"' in text
    assert {"x": hidden} == stored_document(read_cassette(text.encode(), name))["body"]


def test_bytes_of_a_request_come_back(tmp_path):
    """With their digest beside them."""
    name = recorded(tmp_path, (asked(b"\xff\x00\x01"), answered("4")))
    document = stored_document(read_cassette((tmp_path / name).read_bytes(), name))
    assert b"\xff\x00\x01" == base64.b64decode(document["body"]["base64"])


def test_a_compressed_answer_is_exact_and_shown_decoded(tmp_path):
    """The bytes as they came; a reviewer reads what they hold."""
    body = gzip.compress(b"plain words")
    name = recorded(tmp_path, (asked(), answered(body=body, headers=[("Content-Encoding", "gzip")])))
    cassette = read_cassette((tmp_path / name).read_bytes(), name)
    assert (body, {"text": ["plain words"]}) == (
        answer_of(cassette.responses[0]).body,
        cassette.responses[0].view,
    )


@pytest.mark.parametrize(
    ("body", "kind", "view"),
    [
        (b'{"a":1.0}', "application/json", {"json": {"a": {"$number": "1.0"}}}),
        (b"plain", "text/plain", None),
        (b"\xff", "audio/wav", None),
        (
            b'data: {"choices":[{"delta":{"content":"a\\nb"}}]}\n\n',
            "text/event-stream",
            {"text": ["a\n", "b"]},
        ),
    ],
)
def test_a_view_is_what_a_reviewer_reads(body, kind, view):
    """A JSON value, the text of a stream; nothing where the body itself can be read."""
    assert view == view_of(body, kind, was_coded=False)


def test_a_request_with_redactions_is_read_though_its_key_cannot_be_computed(tmp_path):
    """The store compares it with what is asked."""
    name = recorded(tmp_path, (asked({"messages": SECRET}), answered("4")))
    cassette = read_cassette((tmp_path / name).read_bytes(), name)
    assert ["body.messages"] == [one.at for one in cassette.about.redactions]
    assert cassette.key != key_of_document(stored_document(cassette), RULES)


def test_a_view_that_cannot_be_proved_here_is_refused(tmp_path, monkeypatch):
    """Without the library nobody knows what the body holds; a body without a view is read."""
    headers = [("content-encoding", "br")]
    name = recorded(tmp_path, (asked(), answered(body=brotli.compress(b"plain"), headers=headers)))
    data = (tmp_path / name).read_bytes()
    monkeypatch.setitem(sys.modules, "brotli", None)
    assert "coding-missing" == reading(data, name).code
    assert read_cassette(changed(data, lambda f: f["responses"][0].update(view=None)), name)
