# SPDX-License-Identifier: Apache-2.0
"""Complaints about other recorders, each with the small input that shows it and what ours answers.

Those about order, threads, processes, secrets and look-up stand in ``test_store``; those about changed inputs in
``test_stale_answers`` and ``test_key``; those about bodies in ``test_request`` and ``test_coding``.
"""

import gzip
import json

import brotli
import msgspec
import pytest

from factories.cassettes import CHAT, RULES, answered, asked, folder, player, recorded, recorder, said
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.key import key_of
from truegreen.core.recording import Miss

JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffdb0043") + bytes(range(256)) * 4 + b"\xff\xd9"


def kept(path, answer):
    """The one recording of an answer."""
    name = recorded(path, (asked(), answer))
    return read_cassette(folder(path).read(name), name)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (JPEG, [("Content-Type", "image/jpeg")]),
        (gzip.compress(b'{"a": 1}'), [("Content-Encoding", "gzip"), ("Content-Type", "application/json")]),
        (brotli.compress(b'{"a": 1}'), [("content-encoding", "br"), ("content-type", "application/json")]),
        (b"\x00\xff\r\n\xe2\x80\xa8 \x1b[0m", [("Content-Type", "application/octet-stream")]),
        ("é\u2028\u202e\U0001f600\ufeff".encode(), [("Content-Type", "text/plain")]),
    ],
)
def test_a_binary_or_compressed_answer_comes_back_byte_by_byte(tmp_path, body, headers):
    """Images, gzip, Brotli, control characters (responses 682, betamax 105, nock 1001 and 2832)."""
    recorded(tmp_path, (asked(), answered(body=body, headers=headers)))
    found = player(tmp_path).play(asked())
    assert (body, tuple(headers)) == (found.body, found.headers)


def test_a_brotli_body_can_be_reviewed(tmp_path):
    """Decoded beside the exact bytes (vcrpy 599 and 620)."""
    answer = answered(body=brotli.compress(b'{"a": "x"}'), headers=[("content-encoding", "br")])
    assert {"json": {"a": "x"}} == kept(tmp_path, answer).responses[0].view


def test_an_answer_without_a_body_may_name_a_coding(tmp_path):
    """HEAD, or 204 (vcrpy 661)."""
    answer = answered(body=b"", status=204, headers=[("content-encoding", "gzip")])
    assert 0 == kept(tmp_path, answer).responses[0].wire.bytes


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_chunks_keep_their_boundaries(tmp_path, size):
    """Also inside a character and inside ``data:`` (vcrpy 989, aimock 125)."""
    body = 'data: {"choices":[{"delta":{"content":"é€😀"}}]}\n\ndata: [DONE]\n\n'.encode()
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    recorded(tmp_path, (asked(), answered(chunks=pieces, headers=[("content-type", "text/event-stream")])))
    found = player(tmp_path).play(asked())
    assert (pieces, {0.25}) == ([one.data for one in found.chunks], {one.after_s for one in found.chunks})


def test_an_answer_that_was_cut_at_its_limit_says_so(tmp_path):
    """Finish reason, usage and model are recorded with the text (mergewatch 491)."""
    body = {
        "model": "m-1",
        "choices": [{"finish_reason": "length", "message": {"content": "a"}}],
        "usage": {"completion_tokens": 9},
    }
    found = kept(tmp_path, answered(body=json.dumps(body).encode())).responses[0]
    assert ("length", 9, "m-1", 200) == (
        found.finish_reason,
        found.usage.completion_tokens,
        found.model_served,
        found.status,
    )


PROMPT_INPUTS = {
    "reasoning effort (litellm 9844)": ({"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
    "tool choice (autogen 7968)": ({"tool_choice": "auto"}, {"tool_choice": "none"}),
    "temperature left out is not 0 (OrcaRouter-Lite 84)": ({}, {"temperature": 0}),
    "seed (instructor 2585)": ({"seed": 1}, {"seed": 2}),
    "tool definitions (agno 10137)": ({"tools": [{"d": "a"}]}, {"tools": [{"d": "b"}]}),
    "servers of tools (promptfoo 7467)": ({"mcp_servers": [{"url": "a"}]}, {"mcp_servers": [{"url": "b"}]}),
    "tool call ids (NadirClaw 90)": (
        {"messages": [{"tool_call_id": "a"}]},
        {"messages": [{"tool_call_id": "b"}]},
    ),
    "limit of tokens (OrcaRouter-Lite 84)": ({"max_tokens": 1}, {"max_tokens": 2}),
    "parameter called user (cassette-sdk)": ({"tools": [{"user": "string"}]}, {"tools": [{"user": 1}]}),
    "parameter called id (llm-cassette)": (
        {"tools": [{"id": {"type": "string"}}]},
        {"tools": [{"id": {"type": "integer"}}]},
    ),
    "parameter called password (llm-cassette)": (
        {"tools": [{"password": "a"}]},
        {"tools": [{"password": "b"}]},
    ),
    "an audio file's content (litellm)": (
        {"audio": "data:audio/wav;base64,AAAA"},
        {"audio": "data:audio/wav;base64,AAAB"},
    ),
}


@pytest.mark.parametrize("name", PROMPT_INPUTS)
def test_an_input_that_others_left_out_of_their_keys_is_in_ours(name):
    """Two values, two keys."""
    one, other = PROMPT_INPUTS[name]
    assert key_of(asked(one), RULES) != key_of(asked(other), RULES)


def test_the_second_turn_is_not_answered_with_the_first(tmp_path):
    """A conversation that grows is another request each time (aimock 166 and 185, CopilotKit 5140)."""
    turns = [
        CHAT["messages"],
        [
            *CHAT["messages"],
            {"role": "assistant", "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "x"},
        ],
    ]
    recorded(
        tmp_path,
        *((asked({**CHAT, "messages": turn}), answered(str(number))) for number, turn in enumerate(turns)),
    )
    store = player(tmp_path)
    assert ["1", "0"] == [said(store.play(asked({**CHAT, "messages": turn}))) for turn in reversed(turns)]


def test_a_result_with_a_clock_in_it_can_be_declared(tmp_path):
    """Undeclared it misses and names the place; declared it is found, counted and printed (sysknife 182)."""

    def turn(when):
        return asked({**CHAT, "messages": [*CHAT["messages"], {"role": "tool", "content": "x", "at": when}]})

    recorded(tmp_path / "a", (turn("10:00"), answered("4")))
    miss = player(tmp_path / "a").play(turn("10:01"))
    assert "body.messages[1].at" == miss.differs_at
    rules = msgspec.structs.replace(RULES, volatile=("body.messages[*].at",))
    name = recorded(tmp_path / "b", (turn("10:00"), answered("4")), rules=rules)
    assert "4" == said(player(tmp_path / "b", rules).play(turn("10:01")))
    paths = read_cassette(folder(tmp_path / "b").read(name), name).about.ignored.paths
    assert [("body.messages[*].at", 1)] == [(one.path, one.count) for one in paths]


def test_what_is_on_disk_is_read_whatever_a_recorder_was_told(tmp_path):
    """No rule of recording, and no place added since, deletes or hides a recording (vcrpy, litellm 28826)."""
    recorded(tmp_path, (asked(headers=[("authorization", "Bearer x")]), answered("4")))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    store = recorder(tmp_path, keeps_errors=True, now="2027-01-01T00:00:00Z", since="2027-01-01T00:00:00Z")
    assert "4" == said(store.play(asked()))
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_miss_says_what_is_true(tmp_path):
    """Not that something could not be overwritten where nothing was (vcrpy 838 and 852)."""
    miss = player(tmp_path).play(asked())
    assert isinstance(miss, Miss)
    assert "no recording answers POST /v1/chat/completions (no template named)" == miss.message


def test_a_miss_among_thousands_is_told_by_its_first_path(tmp_path):
    """The nearest of many, by leaves that differ (inspect_ai 1529)."""
    exchanges = [
        (asked({**CHAT, "seed": number, "user": f"u{number}"}), answered(str(number))) for number in range(40)
    ]
    recorded(tmp_path, *exchanges)
    miss = player(tmp_path).play(asked({**CHAT, "seed": 17, "user": "someone else"}))
    nearest = read_cassette(folder(tmp_path).read(miss.nearest), miss.nearest)
    assert (17, "body.user") == (nearest.request.body["seed"], miss.differs_at)
