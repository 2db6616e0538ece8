# SPDX-License-Identifier: Apache-2.0
"""The proxy's own answers, as clients read them."""

import json

import pytest
from openai import OpenAI

from truegreen.core.recording import Miss
from truegreen.proxy.refusal import MISS_STATUS, SAYS, missed, refused
from truegreen.proxy.request import Head

MISS = Miss(
    code="cassette-missing",
    message="no recording of template t answers; nearest n.json differs at $.model",
    key="sha256:" + "0" * 64,
    differs_at="$.model",
)


def _head(path="/v1/chat/completions", *, method="POST", headers=()):
    return Head(token=None, method=method, target=path, version=b"1.1", headers=tuple(headers))


def _body(data):
    return json.loads(data.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize(
    "head",
    [
        _head("/v1/messages"),
        _head("/v1/messages/count_tokens"),
        _head("/v1/complete"),
        _head("/v1/models", headers=((b"Anthropic-Version", b"2023-06-01"),)),
    ],
)
def test_anthropics_paths_and_headers_get_anthropics_shape(head):
    """Either is enough."""
    document = _body(missed(MISS, head=head))
    assert ("error", f"{MISS.message} [{MISS.code}]") == (document["type"], document["error"]["message"])


def test_everything_else_gets_openais_shape():
    """Message, code and path are fields."""
    error = _body(missed(MISS, head=_head()))["error"]
    assert (MISS.message, MISS.code, MISS.differs_at) == (error["message"], error["code"], error["param"])


def test_head_has_no_body_but_its_length():
    """RFC 9110, 9.3.2."""
    head, _, body = missed(MISS, head=_head(method="HEAD")).partition(b"\r\n\r\n")
    assert (b"", True) == (body, b"Content-Length: " in head)


def test_no_client_repeats_a_miss():
    """The status is in no list of retryable ones: not in the SDK's, not in urllib3's, not in a proxy's."""
    import httpx2

    client = OpenAI(api_key="k", base_url="http://127.0.0.1:9")
    plain = httpx2.Response(MISS_STATUS, request=httpx2.Request("POST", "http://127.0.0.1:9"))
    assert client._should_retry(plain) is False
    assert MISS_STATUS not in (408, 409, 413, 425, 429)
    assert 400 < MISS_STATUS < 500
    client.close()


@pytest.mark.parametrize("reason", sorted(SAYS))
def test_a_refusal_ends_the_connection_and_says_why(reason):
    """Even before there is a head."""
    data = refused(reason, status=400, head=None)
    assert (True, SAYS[reason]) == (b"Connection: close" in data, _body(data)["error"]["message"])
