# SPDX-License-Identifier: Apache-2.0
"""What a person is shown of a recording."""

import gzip
import json

import msgspec
import pytest

from factories.cassettes import CHAT, SECRET, answered, asked, folder, recorder
from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import read_cassette, sealed, write_cassette
from truegreen.cassettes.upkeep.reading import ABSENT, differences, readable

JSON = ("content-type", "application/json")
SSE = ("content-type", "text/event-stream")


def _kept(path, ask, answer):
    recorder(path).keep(ask, answer)
    (name,) = folder(path).names()
    return read_cassette(folder(path).read(name), name)


def test_request_stands_above_answers_with_bodies_decoded(tmp_path):
    """A compressed body is shown as its value."""
    body = gzip.compress(json.dumps({"choices": [], "x": "ä"}).encode())
    answer = answered(body=body, headers=(JSON, ("content-encoding", "gzip")))
    shown = readable(_kept(tmp_path, asked(), answer))
    assert list(shown).index("request") < list(shown).index("answers")
    assert {"choices": [], "x": "ä"} == shown["answers"][0]["json"]
    assert (CHAT["messages"], len(body)) == (
        shown["request"]["body"]["messages"],
        shown["answers"][0]["bytes"],
    )


def test_a_stream_is_shown_as_its_text(tmp_path):
    """Pieces joined, their number beside it."""
    events = [
        b'data: {"choices":[{"delta":{"content":"an"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"swer"}}]}\n\n',
    ]
    shown = readable(_kept(tmp_path, asked(), answered(headers=(SSE,), chunks=events)))
    assert ("answer", 2) == (shown["answers"][0]["text"], shown["answers"][0]["pieces"])


@pytest.mark.parametrize(
    ("body", "key"), [(b"\xff\xfe\x00", "body_sha256"), (b"plain words", "text"), (b"", "text")]
)
def test_other_bodies_are_text_or_a_digest(tmp_path, body, key):
    """Bytes that are no text are not printed."""
    shown = readable(_kept(tmp_path, asked(), answered(body=body, headers=(("content-type", "x/y"),))))
    assert shown["answers"][0][key] == body.decode() if key == "text" else key in shown["answers"][0]


def test_a_secret_in_a_file_is_not_shown(tmp_path):
    """Whoever wrote it there by hand: in a text, in a name's value, in a header that holds credentials."""
    made = _kept(tmp_path, asked(), answered("4"))
    text = write_cassette(made).decode()
    assert SECRET not in text
    fields = json.loads(text.replace("What is 2+2?", SECRET).replace("m-1", SECRET))
    fields["responses"][0]["headers"].append({"name": "Set-Cookie", "value": "sid=verysecretvalue"})
    shown = json.dumps(readable(sealed(msgspec.convert(fields, Cassette))))
    assert (False, False) == (SECRET in shown, "verysecretvalue" in shown)
    assert "[redacted" in shown


def test_two_recordings_differ_by_path(tmp_path):
    """Old and new value of each; what only one has is absent in the other."""
    old = _kept(tmp_path / "a", asked(), answered("4"))
    new = _kept(tmp_path / "b", asked(CHAT | {"seed": 1}), answered("5"))
    found = {change.at: (change.old, change.new) for change in differences(old, new)}
    assert (ABSENT, 1) == found["request.body.seed"]
    assert ("4", "5") == found["answers[0].json.choices[0].message.content"]
    assert "key" in found
    assert () == differences(old, old)


def test_types_are_told_apart(tmp_path):
    """0, false and 0.0 are three values."""
    made = [
        _kept(tmp_path / str(n), asked(CHAT | {"temperature": value}), answered("4"))
        for n, value in enumerate((0, False, 0.0))
    ]
    for one in made:
        for other in made:
            changed = [
                change.at
                for change in differences(one, other)
                if change.at.startswith("request.body.temperature")
            ]
            assert (one is other) is (not changed)
