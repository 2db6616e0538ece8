# SPDX-License-Identifier: Apache-2.0
"""The connection to the upstream: kept, and replaced when it is over."""

import asyncio

import pytest

from truegreen.core.exchange import End
from truegreen.proxy.uplink import Uplink
from truegreen.proxy.upstream import ConnectError, parse_upstream


def _serving(check):
    """Run ``check(uplink, server writers)`` beside a server that only accepts."""

    async def run():
        accepted = asyncio.Queue()
        server = await asyncio.start_server(lambda _, writer: accepted.put_nowait(writer), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        uplink = Uplink(parse_upstream(f"http://127.0.0.1:{port}"), limit_s=10)
        try:
            return await check(uplink, accepted)
        finally:
            uplink.drop()
            server.close()
            while not accepted.empty():
                accepted.get_nowait().transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(run())


def test_it_is_made_once_while_it_is_open():
    """The second request goes the way of the first."""

    async def check(uplink, _):
        return await uplink.connected(), await uplink.connected()

    one, other = _serving(check)
    assert one is other


def test_one_that_the_upstream_closed_is_replaced():
    """A request is not sent into a connection that is over."""

    async def check(uplink, accepted):
        first = await uplink.connected()
        (await accepted.get()).close()
        assert b"" == await first[0].read()
        return first, await uplink.connected()

    one, other = _serving(check)
    assert one is not other


def test_dropped_is_dropped_also_twice():
    """The next one is new."""

    async def check(uplink, _):
        first = await uplink.connected()
        uplink.drop()
        uplink.drop()
        return first, await uplink.connected()

    one, other = _serving(check)
    assert one is not other


def test_a_refused_connection_is_named(unused_tcp_port):
    """Nobody listens: REFUSED, not a traceback."""
    uplink = Uplink(parse_upstream(f"http://127.0.0.1:{unused_tcp_port}"), limit_s=10)
    with pytest.raises(ConnectError) as caught:
        asyncio.run(uplink.connected())
    assert End.REFUSED is caught.value.end
