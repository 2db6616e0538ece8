# SPDX-License-Identifier: Apache-2.0
"""Keys: one digest for one request, another for every other."""

import hashlib
import itertools

import msgspec
import pytest

from factories.cassettes import CHAT, RULES, asked
from truegreen.cassettes.key import file_name, key_of
from truegreen.cassettes.places import places
from truegreen.cassettes.rules import KeyRules


def chat(**changed):
    """The chat request with other members."""
    return asked({**CHAT, **changed})


TOOLS = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": {"user": {"type": "string"}}}},
    }
]
OTHER = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": {"user": {"type": "integer"}}}},
    }
]
CHANGES = {
    "nothing": chat(),
    "system prompt": chat(messages=[{"role": "system", "content": "s"}, *CHAT["messages"]]),
    "user text": chat(messages=[{"role": "user", "content": "Delete prod?"}]),
    "user text that holds the recorded one": chat(
        messages=[{"role": "user", "content": "What is 2+2? Now."}]
    ),
    "role": chat(messages=[{"role": "system", "content": "What is 2+2?"}]),
    "model": chat(model="m-2026-11-01"),
    "temperature": chat(temperature=1),
    "temperature 0 to false": chat(temperature=False),
    "temperature 0 to 0.0": chat(temperature=0.0),
    "temperature 0 to text": chat(temperature="0"),
    "temperature 0 to null": chat(temperature=None),
    "temperature left out": asked({name: CHAT[name] for name in ("model", "messages")}),
    "max_tokens": chat(max_tokens=5),
    "tools": chat(tools=TOOLS),
    "type of a parameter called user": chat(tools=OTHER),
    "tool choice": chat(tools=TOOLS, tool_choice="none"),
    "response format": chat(response_format={"type": "json_object"}),
    "seed": chat(seed=1),
    "stop": chat(stop=["x"]),
    "top_p": chat(top_p=0.5),
    "reasoning effort": chat(reasoning_effort="low"),
    "stream": chat(stream=True),
    "earlier history": chat(messages=[{"role": "assistant", "content": "a"}, *CHAT["messages"]]),
    "beta header": asked(headers=[("anthropic-beta", "x")]),
    "version header": asked(headers=[("anthropic-version", "2023-06-01")]),
    "organization": asked(headers=[("OpenAI-Organization", "o")]),
    "project": asked(headers=[("openai-project", "o")]),
    "a header that nobody knows": asked(headers=[("x-new", "o")]),
    "its value": asked(headers=[("x-new", "p")]),
    "method": asked(method="PUT"),
    "path": asked(path="/v1/completions"),
    "query": asked(query="a=1"),
    "template": asked(headers=[("x-truegreen-template", "t")]),
    "template's version": asked(
        headers=[("x-truegreen-template", "t"), ("x-truegreen-template-version", "2")]
    ),
    "tool call ids": chat(messages=[{"tool_call_id": "1"}, {"tool_call_id": "2"}]),
    "tool call ids swapped": chat(messages=[{"tool_call_id": "2"}, {"tool_call_id": "1"}]),
    "no body": asked(b""),
    "bytes": asked(b"\xff"),
    "other bytes": asked(b"\xfe"),
    "bytes of another type": asked(b"\xff", headers=[("content-type", "audio/wav")]),
    "an image's bytes": chat(image="data:image/png;base64,AAAA"),
}
"""One request, and each of its inputs changed."""


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(CHANGES, 2)))
def test_every_input_moves_the_key(one, other):
    """No two of these requests share an answer."""
    assert key_of(CHANGES[one], RULES) != key_of(CHANGES[other], RULES)


def test_another_endpoint_has_other_keys():
    """One model name at two endpoints is two models."""
    assert key_of(asked(), RULES) != key_of(asked(), KeyRules(host="elsewhere"))


SAME = {
    "order of members and white space": asked(
        b'{ "messages": [{"content":"What is 2+2?", "role":"user"}],\n"temperature":0, "model":"m"}'
    ),
    "escapes": asked(
        b'{"model":"\\u006d","temperature":0,"messages":[{"role":"user","content":"What is 2+2?"}]}'
    ),
    "credentials": asked(headers=[("authorization", "Bearer other"), ("cookie", "a=b")], query="api_key=1"),
    "what a client says of itself": asked(
        headers=[("user-agent", "x"), ("X-Stainless-Lang", "js"), ("accept", "*/*")]
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_cannot_change_the_answer_does_not_move_the_key(name):
    """Otherwise everybody would record everything again."""
    assert key_of(asked(), RULES) == key_of(SAME[name], RULES)


def test_a_declared_volatile_path_does_not_move_the_key():
    """Its neighbours do, and undeclared it does."""
    rules = msgspec.structs.replace(RULES, volatile=("body.messages[*].id",))
    bodies = [
        chat(messages=[{"id": mark, "content": text}]) for mark, text in (("1", "a"), ("2", "a"), ("1", "b"))
    ]
    one, other, third = (key_of(body, rules) for body in bodies)
    assert one == other != third
    assert key_of(bodies[0], RULES) != key_of(bodies[1], RULES)


def test_an_ignored_header_can_be_made_to_count():
    """And one that counts be ignored, by declaration."""
    given = asked(headers=[("accept-language", "de"), ("x-run", "1")])
    counts = KeyRules(
        host=RULES.host, places=places(semantic_headers=("accept-language",), ignored_headers=("x-run",))
    )
    assert key_of(given, counts) != key_of(asked(headers=[("x-run", "2")]), counts)
    assert key_of(asked(), counts) == key_of(asked(headers=[("x-run", "2")]), counts)


def test_the_digest_is_over_these_bytes():
    """Written by hand: names sorted, no white space, numbers as RFC 8785 has them or marked."""
    given = asked(
        {"model": "m", "temperature": 0.0, "n": 1, "$ref": "x"},
        path="/v1/x",
        query="b=2&a=1&key=secret",
        headers=[
            ("Anthropic-Beta", "tools"),
            ("x-truegreen-template", "plan"),
            ("Authorization", "Bearer y"),
        ],
    )
    text = (
        '{"body":{"$$ref":"x","model":"m","n":1,"temperature":{"$number":"0.0"}},"body_form":{"kind":"json"},'
        '"headers":{"anthropic-beta":["tools"]},"host":"api.example.com","method":"POST","path":"/v1/x",'
        '"query":{"a":["1"],"b":["2"]},"schema":"truegreen/cassette-key/v1","stream":false,'
        '"template":{"id":"plan","version":null}}'
    )
    digits = hashlib.sha256(text.encode()).hexdigest()
    assert f"sha256:{digits}" == key_of(given, RULES)
    assert (f"{digits[:12]}.json", f"{digits}.json") == (
        file_name(f"sha256:{digits}"),
        file_name(f"sha256:{digits}", 64),
    )


def test_the_type_of_a_number_can_be_declared_ignored():
    """1 and 1.0 are one then; a truth value and a text stay others."""
    rules = msgspec.structs.replace(RULES, ignores_number_types=True)
    keys = [key_of(asked(body), rules) for body in (b'{"n":1}', b'{"n":1.0}', b'{"n":true}', b'{"n":"1"}')]
    assert (True, 3) == (keys[0] == keys[1], len(set(keys)))
