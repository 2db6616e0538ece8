# SPDX-License-Identifier: Apache-2.0
"""The current anthropic SDK in every way that people call it; prints what it got."""

import asyncio
import json

from anthropic import Anthropic, AsyncAnthropic

ASKED = {
    "model": "claude-made-up",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "the first word"}],
}


def sync():
    """One answer."""
    return Anthropic().messages.create(**ASKED).content[0].text


def streamed():
    """The same, in pieces."""
    with Anthropic().messages.stream(**ASKED) as stream:
        return "".join(stream.text_stream)


async def asynchronous():
    """Both at once."""
    client = AsyncAnthropic()
    whole = await client.messages.create(**ASKED, stop_sequences=["END"])
    async with client.messages.stream(**ASKED, stop_sequences=["END"]) as stream:
        pieces = [piece async for piece in stream.text_stream]
    return [whole.content[0].text, "".join(pieces)]


if __name__ == "__main__":
    print(json.dumps([sync(), streamed(), asyncio.run(asynchronous())]))
