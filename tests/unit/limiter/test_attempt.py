# SPDX-License-Identifier: Apache-2.0
"""What a client's errors and requests become."""

import httpx2
import pytest

from truegreen.core.admission import Ask
from truegreen.core.exchange import End
from truegreen.limiter.attempt import CallOfClient, ended_of_error, is_event_stream, standing

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")


@pytest.mark.parametrize(
    ("error", "without_head", "with_head"),
    [
        (httpx2.ConnectTimeout, End.UNREACHABLE, End.UNREACHABLE),
        (httpx2.PoolTimeout, End.UNREACHABLE, End.UNREACHABLE),
        (httpx2.ProxyError, End.UNREACHABLE, End.UNREACHABLE),
        (httpx2.ReadTimeout, End.TIMEOUT, End.TIMEOUT),
        (httpx2.WriteTimeout, End.TIMEOUT, End.TIMEOUT),
        (httpx2.ConnectError, End.REFUSED, End.REFUSED),
        (httpx2.LocalProtocolError, End.NOT_FORWARDED, End.UPSTREAM_CLOSED),
        (httpx2.UnsupportedProtocol, End.NOT_FORWARDED, End.UPSTREAM_CLOSED),
        (httpx2.RemoteProtocolError, End.UPSTREAM_CLOSED, End.UPSTREAM_CLOSED),
        (httpx2.ReadError, End.UPSTREAM_CLOSED, End.UPSTREAM_CLOSED),
        (httpx2.WriteError, End.UPSTREAM_CLOSED, End.UPSTREAM_CLOSED),
        (httpx2.CloseError, End.UPSTREAM_CLOSED, End.UPSTREAM_CLOSED),
    ],
)
def test_errors_of_the_client_become_ends(error, without_head, with_head):
    """A time limit before a connection is no time-out after admission; a status that came is kept."""
    alone = ended_of_error(error("x"), None, 1.5)
    headed = ended_of_error(error("x"), httpx2.Response(200), 1.5)
    assert (without_head, None, 1.5) == (alone.end, alone.status, alone.took_s)
    assert (with_head, 200) == (headed.end, headed.status)


def test_only_questions_to_a_model_reserve_tokens():
    """A list of models costs a call and no tokens."""
    body = b'{"max_tokens": 7}'
    asked = CallOfClient(REQUEST, body, ask=Ask(holder="h", wait_s=3.0)).ask()
    assert ("h", 3.0, 5, 7) == (asked.holder, asked.wait_s, asked.prompt_tokens, asked.output_tokens)
    other = httpx2.Request("GET", "http://127.0.0.1/v1/models")
    assert (0, 0) == (
        (given := CallOfClient(other, body, ask=Ask()).ask()).prompt_tokens,
        given.output_tokens,
    )


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (200, "text/event-stream", True),
        (200, "Text/Event-Stream; charset=utf-8", True),
        (200, "application/json", False),
        (429, "text/event-stream", False),
    ],
)
def test_only_a_successful_event_stream_is_handed_on_as_it_comes(status, kind, expected):
    """An error's body is read first, whatever its type."""
    assert expected is is_event_stream(httpx2.Response(status, headers={"content-type": kind}))


@pytest.mark.parametrize(
    ("status", "given", "expected"),
    [(200, None, None), (200, "true", "true"), (429, "true", "false"), (500, None, "false")],
)
def test_an_error_that_stands_tells_others_to_let_it_be(status, given, expected):
    """Everything else of the answer stays as it came, headers that stand twice too."""
    headers = [("x-a", "1"), ("x-a", "2"), *([("x-should-retry", given)] if given else [])]
    answer = standing(httpx2.Response(status, headers=headers), b"body", REQUEST)
    assert expected == answer.headers.get("x-should-retry")
    assert (["1", "2"], b"body") == (answer.headers.get_list("x-a"), answer.read())
