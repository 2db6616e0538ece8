# SPDX-License-Identifier: Apache-2.0
"""One recorded call of a real SDK, then one input changed: never a stale answer.

Requests are what the SDKs put on the wire, caught by a transport of ours. vcrpy's matchers judge the same requests
beside us, so that the matrix shows what it would let pass.
"""

import json

import anthropic
import httpx2
import openai
import pytest
from vcr import matchers
from vcr.request import Request

from factories.cassettes import HOST, RULES, answered, player, recorder
from truegreen.cassettes.key import key_of
from truegreen.core.recording import Answered, Asked, Miss

MESSAGE = {"role": "user", "content": "What is 2+2?"}
TOOL = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {"user": {"type": "string"}}}},
}
OTHER_TOOL = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {"user": {"type": "integer"}}}},
}
CHAT = {"model": "m", "messages": [MESSAGE], "temperature": 0, "max_tokens": 9, "seed": 1, "tools": [TOOL]}
CLAUDE = {"model": "m", "max_tokens": 9, "messages": [MESSAGE]}


def _caught(make, call):
    """The request that a call of an SDK sends."""
    sent = []

    def handler(request):
        sent.append(request)
        return httpx2.Response(200, json={})

    with httpx2.Client(transport=httpx2.MockTransport(handler)) as transport:
        call(make(transport))
    (request,) = sent
    path, _, query = request.url.raw_path.decode().partition("?")
    headers = tuple((name.decode(), value.decode()) for name, value in request.headers.raw)
    return Asked(method=request.method, path=path, query=query, headers=headers, body=request.read())


def chat(*, key="sk-first-0123456789abcdef", client=None, **changed):
    """A chat completion; ``changed`` are its parameters, None for one that is left out."""
    given = {name: value for name, value in {**CHAT, **changed}.items() if value is not None}

    def make(transport):
        return openai.OpenAI(
            api_key=key, base_url=f"http://{HOST}/v1", http_client=transport, **(client or {})
        )

    return _caught(make, lambda sdk: sdk.chat.completions.create(**given))


def claude(*, client=None, **changed):
    """A message of the other API."""

    def make(transport):
        return anthropic.Anthropic(
            api_key="sk-ant-0123456789abcdef",
            base_url=f"http://{HOST}",
            http_client=transport,
            **(client or {}),
        )

    return _caught(make, lambda sdk: sdk.messages.create(**{**CLAUDE, **changed}))


BODY_CHANGES = {
    "system prompt": {"messages": [{"role": "system", "content": "s"}, MESSAGE]},
    "user text": {"messages": [{**MESSAGE, "content": "Delete prod?"}]},
    "user text around the recorded one": {"messages": [{**MESSAGE, "content": "Please: What is 2+2? Now."}]},
    "model": {"model": "m2"},
    "model with a date": {"model": "m-2026-11-01"},
    "temperature": {"temperature": 0.7},
    "temperature 0 to false": {"temperature": False},
    "temperature left out": {"temperature": None},
    "max_tokens": {"max_tokens": 10},
    "tools": {"tools": [TOOL, OTHER_TOOL]},
    "type of a tool's parameter": {"tools": [OTHER_TOOL]},
    "tool choice": {"tool_choice": "none"},
    "response format": {"response_format": {"type": "json_object"}},
    "seed": {"seed": 2},
    "stop": {"stop": ["x"]},
    "top_p": {"top_p": 0.5},
    "reasoning effort": {"reasoning_effort": "low"},
    "stream": {"stream": True},
    "earlier history": {"messages": [{"role": "assistant", "content": "a"}, MESSAGE]},
    "user": {"user": "someone"},
    "metadata": {"metadata": {"a": "b"}},
}
OTHER_CHANGES = {
    "beta header": {"extra_headers": {"OpenAI-Beta": "x"}},
    "organization": {"client": {"organization": "o"}},
    "project": {"client": {"project": "p"}},
    "query": {"extra_query": {"v": "2"}},
}
CHANGES = {**BODY_CHANGES, **OTHER_CHANGES}
PYTHON_EQUAL = {"temperature 0 to false"}
"""What vcrpy's body matcher takes for equal."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """A folder with one call of each SDK."""
    path = tmp_path_factory.mktemp("recordings")
    for one in (chat(), claude()):
        recorder(path).keep(one, answered("4"))
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_input_is_a_miss(recordings, name):
    """The nearest recording is named, and where it differs."""
    miss = player(recordings).play(chat(**CHANGES[name]))
    assert isinstance(miss, Miss)
    assert "cassette-missing" == miss.code
    assert miss.differs_at.split(".")[0].split("[")[0] in ("body", "headers", "query", "stream")


@pytest.mark.parametrize(
    "changed",
    [
        {"system": "s"},
        {"max_tokens": 10},
        {"extra_body": {"temperature": 0.0}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"extra_headers": {"anthropic-beta": "x"}},
        {"extra_headers": {"anthropic-version": "2024-01-01"}},
    ],
)
def test_a_changed_input_of_the_other_sdk_is_a_miss(recordings, changed):
    """Beta and version headers too."""
    assert isinstance(player(recordings).play(claude(**changed)), Miss)


def test_the_same_call_is_answered(recordings):
    """With another key, another client and another retry count."""
    store = player(recordings)
    again = chat(key="sk-other-9876543210fedcba", client={"max_retries": 5, "timeout": 7})
    assert [Answered] * 2 == [type(store.play(one)) for one in (again, claude())]


def test_peers_would_answer_from_the_recording():
    """The matrix has teeth: matchers without the body let every change of it pass, and Python's equality one."""

    def seen(one):
        url = f"http://{HOST}{one.path}{'?' + one.query if one.query else ''}"
        return Request(one.method, url, one.body, dict(one.headers))

    def stale(functions):
        recorded = seen(chat())
        return {
            name
            for name, change in CHANGES.items()
            if all(_matches(one, recorded, seen(chat(**change))) for one in functions)
        }

    default = (matchers.method, matchers.scheme, matchers.host, matchers.port, matchers.path, matchers.query)
    assert set(CHANGES) - {"query"} == stale(default)
    assert {*PYTHON_EQUAL, "beta header", "organization", "project"} == stale((*default, matchers.body))


def _matches(matcher, one, other):
    try:
        return matcher(one, other) is not False
    except AssertionError:
        return False


def test_the_requests_of_the_sdks_hold_nothing_that_moves_by_itself(recordings):
    """Two calls, two processes of their counters, one key; and nothing of the credential is on disk."""
    written = b"".join(path.read_bytes() for path in recordings.iterdir())
    assert [False, False] == [b"sk-first" in written, b"sk-ant" in written]
    assert json.loads(chat().body) == json.loads(chat().body)
    assert key_of(chat(), RULES) == key_of(chat(key="sk-x"), RULES)
