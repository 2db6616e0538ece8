# SPDX-License-Identifier: Apache-2.0
"""What a request asks of the limiter."""

import asyncio
import json

import pytest
from wire_kit import request

from truegreen.proxy.asks import ask_of, layer_of
from truegreen.proxy.modes import Options
from truegreen.proxy.whole import WholeReader

BODY = json.dumps({"model": "m", "max_tokens": 5, "n": 2}).encode()


def _whole(path="/chat/completions", *, method="POST", headers=()):
    async def nothing():
        return b""

    reader = WholeReader(read=nothing, write=list, own_authority="a", body_bytes=1000)
    sent = request(path, method=method, body=BODY, headers=headers)
    return asyncio.run(reader.next(sent, limit_s=10))


def test_a_request_to_a_model_reserves_its_tokens():
    """Tenant, resource and holder are the proxy's; call and time are the caller's."""
    options = Options(tenant="t", resource="r", holder="h")
    ask = ask_of(_whole(), options, call="c-1", spent_s=2.0)
    assert ("t", "r", "h", "c-1", 2.0) == (ask.tenant, ask.resource, ask.holder, ask.call, ask.spent_s)
    assert (-(-len(BODY) // 4), 10) == (ask.prompt_tokens, ask.output_tokens)
    assert ask.request.startswith("sha256:")


@pytest.mark.parametrize(("path", "method"), [("/models", "POST"), ("/chat/completions", "PUT")])
def test_another_request_costs_a_call_and_no_tokens(path, method):
    """A list of models has no prompt."""
    ask = ask_of(_whole(path, method=method), Options(), call="", spent_s=0.0)
    assert (1, 0, 0) == (ask.cost, ask.prompt_tokens, ask.output_tokens)


@pytest.mark.parametrize(("count", "layer"), [("0", ""), ("", ""), ("1", "sdk"), (" 2 ", "sdk")])
def test_an_sdk_names_its_own_repetition(count, layer):
    """Zero is the first attempt."""
    whole = _whole(headers=(f"X-Stainless-Retry-Count: {count}",))
    assert layer == layer_of(whole, Options())


def test_layers_are_named_by_whoever_knows_them():
    """The function gets names in lower case."""
    whole = _whole(headers=("User-Agent: x/1",))
    assert "x/1" == layer_of(whole, Options(layer_of=lambda headers: headers["user-agent"]))
