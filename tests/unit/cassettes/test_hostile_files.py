# SPDX-License-Identifier: Apache-2.0
"""Files that somebody made to confuse a reader: refused by name or read, never a crash, never another answer."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories.cassettes import CHAT, REQUESTS, SECRET, answered, asked, folder, player, recorded, recorder
from truegreen.cassettes.cassette_file import digest_of, read_cassette
from truegreen.cassettes.verify_key import prove
from truegreen.core.errors import EvidenceProblem, TruegreenProblem
from truegreen.core.recording import Answered, Miss

QUIET = settings(
    max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
STRANGE = st.sampled_from(
    [
        *(
            None,
            True,
            False,
            0,
            -1,
            1.5,
            2**53 - 1,
            "",
            "x",
            "A",
            "====",
            "[redacted: x]",
            "sha256:" + "0" * 64,
        ),
        *(
            [],
            {},
            [[]],
            [1],
            ["A"],
            {"a": 1},
            {"$text": ["a"]},
            {"$text": [1]},
            {"$number": "1e9"},
            {"$number": "x"},
        ),
        *(
            {"$ignored": True},
            {"$": 1},
            {"kind": "bytes"},
            {"kind": "multipart"},
            {"kind": "form"},
            {"kind": "none"},
        ),
        *(
            [{"path": "body..x", "count": 1}],
            [{"path": "body", "count": 0}],
            {"name": "content-encoding", "value": "gzip"},
        ),
        *(
            {"sha256": "x", "base64": "A"},
            {"headers": {}, "text": "x"},
            [{"headers": 1}],
            "\u202e\x00",
            "gzip",
            "br",
        ),
    ]
)
EXCHANGES = {
    **{name: (one, answered("4")) for name, one in REQUESTS.items()},
    "a secret": (asked({**CHAT, "note": SECRET}), answered(SECRET)),
    "bytes back": (asked(), answered(body=b"\xff\x00", headers=[("content-type", "audio/wav")])),
}


def places(value, path=()):
    """Every place in a file's value."""
    if path:
        yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*path, step))


def put(fields, path, value):
    """A copy with another value at a place."""
    if not path:
        return value
    made = copy.deepcopy(fields)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return made


KNOWN = {"cassette-shape", "cassette-wrong-key", "coding-missing", "request-not-json"}
"""Why a file with redactions may not be proved."""


def refusal(function, *arguments):
    """The code with which it refuses; empty if it does not."""
    try:
        function(*arguments)
    except TruegreenProblem as err:
        return err.code
    return ""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Name and fields of a recording of each kind."""
    made = {}
    for number, (kind, exchange) in enumerate(EXCHANGES.items()):
        path = tmp_path_factory.mktemp(f"r{number}")
        name = recorded(path, exchange)
        made[kind] = (name, json.loads((path / name).read_text(encoding="utf-8")))
    return made


@pytest.mark.parametrize("kind", EXCHANGES)
@QUIET
@given(data=st.data())
def test_a_changed_value_under_a_right_digest_is_refused_by_name(files, tmp_path, kind, data):
    """Or it is read, and then answers its own request alone."""
    name, fields = files[kind]
    path = data.draw(st.sampled_from(sorted(places(fields), key=repr)))
    changed = put(fields, path, data.draw(STRANGE))
    if data.draw(st.booleans()):
        more = data.draw(st.sampled_from(sorted(places(changed), key=repr)))
        changed = put(changed, more, data.draw(STRANGE))
    if isinstance(changed.get("digest"), str):
        changed["digest"] = digest_of(changed)
    text = json.dumps(changed).encode()
    code = refusal(read_cassette, text, name)
    assert not code or code.startswith(("cassette-", "coding-missing", "too-large"))
    if not code:
        cassette = read_cassette(text, name)
        assert refusal(prove, cassette, name) in KNOWN or () == prove(cassette, name).unmoved
    (tmp_path / name).write_bytes(text)
    found = player(tmp_path).play(EXCHANGES[kind][0])
    assert isinstance(found, Answered | Miss)
    other = player(tmp_path).play(asked({"another": "request"}))
    assert isinstance(other, Miss)


@QUIET
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_refused_by_name(data):
    """YAML, half a file, rubbish."""
    with pytest.raises(EvidenceProblem):
        read_cassette(data, "000000000000.json")


@pytest.mark.parametrize("depth", [50, 95, 96, 97, 5_000])
def test_a_deep_file_is_refused_before_anything_recurses(depth):
    """In every part that may hold anything."""
    text = b'{"request": {"body": ' + b"[" * depth + b"]" * depth + b"}}"
    with pytest.raises(EvidenceProblem):
        read_cassette(text, "")


@pytest.mark.parametrize("depth", [10, 63, 64, 65, 200])
def test_deep_requests_and_answers_are_recorded_and_played(tmp_path, depth):
    """As JSON as far as it is read, else by their bytes."""
    body = b"[" * depth + b"]" * depth
    recorded(tmp_path, (asked(body), answered(body=body)))
    assert body == player(tmp_path).play(asked(body)).body
    cassette = read_cassette(folder(tmp_path).read(folder(tmp_path).names()[0]), "")
    assert () == prove(cassette, "x").unmoved


@given(
    st.recursive(
        st.none() | st.text(max_size=5),
        lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_names_and_texts_are_recorded_and_played(tmp_path_factory, value):
    """Also names that look like ours, and characters that do not show."""
    path = tmp_path_factory.mktemp("any")
    body = json.dumps({"v": value}).encode()
    recorded(path, (asked(body), answered(body=body)))
    assert body == player(path).play(asked(body)).body


HEADER = st.tuples(st.text(max_size=12), st.text(st.characters(), max_size=12))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    headers=st.lists(HEADER, max_size=3).map(tuple),
    back=st.lists(HEADER, max_size=3).map(tuple),
    path=st.text(max_size=12),
    query=st.text(max_size=12),
    body=st.binary(max_size=40),
    chunks=st.lists(st.binary(max_size=20), max_size=3),
)
def test_any_exchange_is_kept_and_played_or_refused_by_name(tmp_path_factory, **given_):
    """Whatever stands in headers, path, query and bodies."""
    path = tmp_path_factory.mktemp("exchange")
    one = asked(given_["body"], path=given_["path"], query=given_["query"], headers=given_["headers"])
    answer = answered(chunks=given_["chunks"], headers=given_["back"])
    if not refusal(lambda: recorder(path).keep(one, answer)):
        found = player(path).play(one)
        assert answer.body == found.body
        assert [len(piece) for piece in given_["chunks"]] == [len(piece.data) for piece in found.chunks]
