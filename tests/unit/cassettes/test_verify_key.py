# SPDX-License-Identifier: Apache-2.0
"""The proof that keys cover requests, and that it turns red where they do not."""

import msgspec
import pytest

from factories.cassettes import CHAT, REQUESTS, RULES, SECRET, answered, asked, folder, recorded
from truegreen.cassettes import request
from truegreen.cassettes.cassette_file import read_cassette, sealed
from truegreen.cassettes.verify_key import changes_of, prove
from truegreen.core.errors import EvidenceProblem

TOOLS = [
    {
        "function": {
            "name": "f",
            "parameters": {"id": "1", "user": {"type": "string"}, "password": {"type": "string"}},
        }
    }
]
RICH = asked(
    {
        **CHAT,
        "tools": TOOLS,
        "seed": 1,
        "top_p": 0.5,
        "stop": ["a"],
        "metadata": {},
        "stream": False,
        "n": None,
    },
    query="api-version=1&flag&empty=",
    headers=[
        ("anthropic-beta", "a"),
        ("x-new", ""),
        ("x-truegreen-template", "t"),
        ("x-truegreen-template-version", "1"),
    ],
)


def proof(path, given, rules=RULES):
    """The proof of one recorded request."""
    name = recorded(path, (given, answered("4")), rules=rules)
    return prove(read_cassette(folder(path).read(name), name), name)


@pytest.mark.parametrize("name", REQUESTS)
def test_every_kind_of_request_is_covered(tmp_path, name):
    """Nothing, JSON, forms, parts, bytes, compressed."""
    found = proof(tmp_path, REQUESTS[name])
    assert ((), (), True) == (found.unmoved, found.declared, found.changes > 5)


def test_every_value_is_changed_retyped_and_taken_away(tmp_path):
    """Of a rich request: more than ten changes for each value of its body."""
    found = proof(tmp_path, RICH)
    assert ((), 0) == (found.unmoved, found.redacted)
    assert found.values > 25
    assert found.changes > 300


def test_a_declared_path_is_counted_and_its_neighbours_are_proved(tmp_path):
    """Also where it is a whole object."""
    rules = msgspec.structs.replace(
        RULES, volatile=("body.tools[*].function.parameters", "body.seed", "query.flag")
    )
    found = proof(tmp_path, RICH, rules)
    assert () == found.unmoved
    assert {"body.seed", "query.flag", "body.tools[0].function.parameters.password.type"} <= set(
        found.declared
    )


def test_ignored_types_of_numbers_are_counted(tmp_path):
    """By value they are proved all the same."""
    found = proof(tmp_path, asked({"n": 1.0}), msgspec.structs.replace(RULES, ignores_number_types=True))
    assert ((), ("body.n (type of the number)",)) == (found.unmoved, found.declared)


def test_a_request_with_redactions_is_proved_as_it_stands(tmp_path):
    """A mark is a text like another."""
    found = proof(tmp_path, asked({"a": f"key {SECRET}"}))
    assert ((), 1) == (found.unmoved, found.redacted)


def without_names(value, names):
    """What some recorders key."""
    if isinstance(value, dict):
        return {name: without_names(item, names) for name, item in value.items() if name not in names}
    return [without_names(item, names) for item in value] if isinstance(value, list) else value


def as_python(value):
    """0 is false, 1 is true."""
    if isinstance(value, dict):
        return {name: as_python(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_python(item) for item in value]
    return (
        {False: request.read_spelled(b"0"), True: request.read_spelled(b"1")}[value]
        if isinstance(value, bool)
        else value
    )


def stripped(value):
    """Trailing spaces do not count."""
    if isinstance(value, dict):
        return {name: stripped(item) for name, item in value.items()}
    if isinstance(value, list):
        return [stripped(item) for item in value]
    return value.strip() if isinstance(value, str) else value


WEAK = {
    "a name dropped at any depth": lambda value: without_names(value, {"id", "password"}),
    "numbers compared as Python does": as_python,
    "texts without their white space": stripped,
}


@pytest.mark.parametrize("name", WEAK)
def test_a_key_that_leaves_something_out_is_found_out(tmp_path, monkeypatch, name):
    """With the path of what does not count."""
    given = asked({**CHAT, "tools": TOOLS})
    real = request._json
    monkeypatch.setattr(request, "_json", lambda data, media: (True, WEAK[name](real(data, media)[1])))
    file = recorded(tmp_path, (given, answered("4")))
    cassette = read_cassette(folder(tmp_path).read(file), file)
    whole = msgspec.structs.replace(
        cassette.request, body={**CHAT, "tools": TOOLS}
    )  # as a reviewer would see it
    found = prove(msgspec.structs.replace(cassette, request=whole), file)
    assert 0 < len(found.unmoved)
    if name.startswith("a name"):
        assert {
            "body.tools[0].function.parameters.id",
            "body.tools[0].function.parameters.password.type",
        } <= {one.path for one in found.unmoved}


@pytest.mark.parametrize("gone", ["headers", "query", "template", "method", "path"])
def test_a_key_without_a_part_is_found_out(tmp_path, monkeypatch, gone):
    """Each part of a request in turn."""
    real = request.document

    def weak(one, **more):
        return {
            **real(one, **more),
            gone: {} if gone in ("headers", "query") else None if gone == "template" else "x",
        }

    name = recorded(tmp_path, (RICH, answered("4")))
    cassette = read_cassette(folder(tmp_path).read(name), name)
    monkeypatch.setattr("truegreen.cassettes.key.document", weak)
    weaker = msgspec.structs.replace(cassette, about=msgspec.structs.replace(cassette.about, redactions=(1,)))
    assert {gone} == {one.path.partition(".")[0] for one in prove(weaker, name).unmoved}


def test_a_file_whose_request_has_another_key_is_refused(tmp_path):
    """Even where its digest is right."""
    name = recorded(tmp_path, (asked(), answered("4")))
    cassette = read_cassette(folder(tmp_path).read(name), name)
    other = sealed(
        msgspec.structs.replace(cassette, request=msgspec.structs.replace(cassette.request, method="PUT"))
    )
    with pytest.raises(EvidenceProblem) as caught:
        prove(other, name)
    assert "cassette-wrong-key" == caught.value.code


@pytest.mark.parametrize("name", REQUESTS)
def test_no_change_is_the_request_itself(name):
    """A change that changes nothing would prove nothing."""
    document = request.document(request.read_request(REQUESTS[name], RULES).request, with_content=True)
    assert [] == [
        (change.path, change.what) for change in changes_of(document) if change.document == document
    ]
