# SPDX-License-Identifier: Apache-2.0
"""Every byte of a reply, and where a fault breaks it."""

import json

import h11
import pytest

from truegreen.endpoint import chat, messages, responses
from truegreen.endpoint.api import Answer, Said
from truegreen.endpoint.reply import (
    Then,
    as_document,
    as_stream,
    broken,
    failed,
    problem_of,
    status_fault,
    whole,
)
from truegreen.endpoint.scenario import Fault

ANSWER = Answer(
    id="chatcmpl-1",
    model="m",
    fingerprint=None,
    choices=(Said(text="some text with é", refusal=None, finish="stop"),),
    prompt_tokens=3,
    cached_tokens=0,
)
DOCUMENT = as_document(chat, ANSWER, headers=["x-request-id: r"])
STREAM = as_stream(chat, ANSWER, headers=["x-request-id: r"], piece_chars=3, wants_usage=True)


def _bytes(reply):
    return b"".join(step.data for step in reply.steps)


def _parsed(data):
    """Status, body, and whether the framing was satisfied; None for what is not HTTP."""
    conn = h11.Connection(h11.CLIENT)
    conn.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    conn.send(h11.EndOfMessage())
    conn.receive_data(data)
    conn.receive_data(b"")
    status, body, ended = None, b"", False
    try:
        while not ended:
            event = conn.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                ended = True
            else:
                break
    except h11.RemoteProtocolError:
        pass
    return status, body, ended


def test_a_whole_document_is_framed_by_its_length():
    """An independent parser reads the same JSON."""
    reply = whole(DOCUMENT, wait_s=0.5, piece_s=0)
    status, body, ended = _parsed(_bytes(reply))
    assert (200, True, Then.KEEP, [0.5]) == (status, ended, reply.then, [step.wait_s for step in reply.steps])
    assert "some text with é" == json.loads(body)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("piece_s", [0.0, 0.1])
def test_a_whole_stream_is_one_chunk_an_event(piece_s):
    """With time between the pieces or without, the bytes are the same."""
    reply = whole(STREAM, wait_s=0.5, piece_s=piece_s)
    status, body, ended = _parsed(_bytes(reply))
    assert (200, True) == (status, ended)
    assert body.endswith(b"data: [DONE]\n\n")
    assert 1 if not piece_s else len(STREAM.parts) + 1 == len(reply.steps)
    assert {0.5} | ({piece_s} if piece_s else set()) == {step.wait_s for step in reply.steps}


@pytest.mark.parametrize(
    ("rendered", "at", "status", "ended", "share"),
    [
        (DOCUMENT, "before-head", None, False, 0),
        (DOCUMENT, "after-head", 200, False, 0),
        (DOCUMENT, "midway", 200, False, 0.5),
        (DOCUMENT, "before-end", 200, False, 0.99),
        (STREAM, "before-head", None, False, 0),
        (STREAM, "after-head", 200, False, 0),
        (STREAM, "midway", 200, False, 0.5),
        (STREAM, "before-end", 200, True, 0.6),
    ],
)
def test_where_a_cut_cuts(rendered, at, status, ended, share):
    """Only a stream cut before its end has whole framing, and then neither finish reason nor [DONE]."""
    reply = broken(rendered, Fault(kind="cut", at=at), wait_s=0, piece_s=0)
    found_status, body, found_ended = _parsed(_bytes(reply))
    assert (status, ended, Then.CLOSE) == (found_status, found_ended, reply.then)
    full = _parsed(_bytes(whole(rendered, wait_s=0, piece_s=0)))[1]
    assert full.startswith(body)
    assert abs(len(body) / len(full) - share) < 0.2
    if rendered.is_stream:
        assert b'finish_reason": "stop' not in body
        assert b"[DONE]" not in body


@pytest.mark.parametrize("rendered", [DOCUMENT, STREAM])
@pytest.mark.parametrize("at", ["before-head", "after-head", "midway", "before-end"])
def test_a_hang_sends_as_much_and_then_nothing(rendered, at):
    """The same places as a cut, and no framing that would end it."""
    reply = broken(rendered, Fault(kind="hang", at=at), wait_s=0, piece_s=0)
    assert (Then.HANG, False) == (reply.then, _parsed(_bytes(reply))[2])


@pytest.mark.parametrize("rendered", [DOCUMENT, STREAM])
def test_malformed_bodies(rendered):
    """Well framed and no JSON; badly framed; not HTTP."""
    made = {
        how: broken(rendered, Fault(kind="malformed", how=how), wait_s=0, piece_s=0)
        for how in ("json", "framing", "not-http")
    }
    status, body, ended = _parsed(_bytes(made["json"]))
    assert (200, True, Then.KEEP) == (status, ended, made["json"].then)
    for text in [body] if rendered is DOCUMENT else [body.split(b"\n")[0].removeprefix(b"data: ")]:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Extra"):
            json.loads(text)
    assert (200, False) == _parsed(_bytes(made["framing"]))[::2]
    assert None is _parsed(_bytes(made["not-http"]))[0]
    assert None is made["not-http"].status


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, "invalid_request_error", "invalid_api_key"),
        (404, "invalid_request_error", "model_not_found"),
        (418, "invalid_request_error", None),
        (429, "requests", "rate_limit_exceeded"),
        (500, "server_error", None),
        (503, "server_error", None),
        (529, "server_error", None),
    ],
)
def test_errors_have_openais_form(status, kind, code):
    """Message, type, param and code; the wait as it was written."""
    data = _bytes(
        status_fault(
            chat, Fault(kind="status", status=status, retry_after="1.5"), headers=["x-request-id: r"]
        )
    )
    found, body, ended = _parsed(data)
    assert (status, True) == (found, ended)
    assert b"\r\nRetry-After: 1.5\r\n" in data
    error = json.loads(body)["error"]
    assert (kind, code, True) == (error["type"], error["code"], bool(error["message"]))
    assert b"Retry-After" not in _bytes(status_fault(chat, Fault(kind="status", status=status), headers=[]))


@pytest.mark.parametrize("api", [chat, responses, messages])
def test_an_error_inside_a_stream_comes_after_half_of_it(api):
    """Status 200, proper framing, no end mark; and a document is the error instead of an answer."""
    made = as_stream(api, ANSWER, headers=[], piece_chars=2, wants_usage=False)
    reply = whole(failed(api, made, Fault(kind="error-inside", status=529), headers=[]), wait_s=0, piece_s=0)
    status, body, ended = _parsed(_bytes(reply))
    assert (200, True) == (status, ended)
    last = body.decode().rstrip("\n").rpartition("\n\n")[2]
    assert api.error_event(problem_of(529)).data == last.rpartition("data: ")[2]
    assert not any(mark in body for mark in (b"[DONE]", b"message_stop", b"response.completed"))
    assert (
        b"".join(
            event.data.encode() for event in api.stream(ANSWER, piece_chars=2, wants_usage=False).parts[:1]
        )
        in body
    )
    one = as_document(api, ANSWER, headers=[])
    told = whole(failed(api, one, Fault(kind="error-inside", status=529), headers=[]), wait_s=0, piece_s=0)
    assert api.error(problem_of(529)) == json.loads(_parsed(_bytes(told))[1])
