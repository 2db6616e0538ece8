# SPDX-License-Identifier: Apache-2.0
"""The current openai SDK in every way that people call it; prints what it got."""

import asyncio
import json
import sys

from openai import AsyncOpenAI, OpenAI

WORD = sys.argv[1] if len(sys.argv) > 1 else "first"
ASKED = {"model": "gpt-made-up", "messages": [{"role": "user", "content": f"the {WORD} word"}]}


def sync():
    """One answer."""
    return OpenAI().chat.completions.create(**ASKED).choices[0].message.content


def streamed():
    """The same, in pieces."""
    chunks = OpenAI().chat.completions.create(**ASKED, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def responses():
    """The other API."""
    return OpenAI().responses.create(model="gpt-made-up", input=f"the {WORD} word").output_text


async def asynchronous():
    """Both at once."""
    client = AsyncOpenAI()
    whole = await client.chat.completions.create(**ASKED, seed=1)
    pieces = []
    async for chunk in await client.chat.completions.create(**ASKED, seed=1, stream=True):
        pieces += [chunk.choices[0].delta.content or ""] if chunk.choices else []
    return [whole.choices[0].message.content, "".join(pieces)]


if __name__ == "__main__":
    print(json.dumps([sync(), streamed(), responses(), asyncio.run(asynchronous())]))
