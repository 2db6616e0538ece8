# SPDX-License-Identifier: Apache-2.0
"""Clients without an SDK: requests, httpx2, aiohttp and urllib, each with a seed of its own."""

import asyncio
import json
import os
import urllib.request

import aiohttp
import httpx2
import requests

URL = os.environ["MODEL_BASE_URL"] + "/chat/completions"
HEADERS = {"Authorization": f"Bearer {os.environ['MODEL_API_KEY']}", "Content-Type": "application/json"}


def body(seed):
    """A request that no other client makes."""
    return {"model": "m", "seed": seed, "messages": [{"role": "user", "content": "the first word"}]}


def content(answer):
    """The text in an answer."""
    return answer["choices"][0]["message"]["content"]


async def by_aiohttp():
    """The other asynchronous stack."""
    async with aiohttp.ClientSession() as session, session.post(URL, json=body(3), headers=HEADERS) as answer:
        return content(await answer.json())


def by_urllib():
    """The standard library."""
    request = urllib.request.Request(URL, json.dumps(body(4)).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return content(json.load(answer))


if __name__ == "__main__":
    print(
        json.dumps(
            [
                content(requests.post(URL, json=body(1), headers=HEADERS, timeout=30).json()),
                content(httpx2.post(URL, json=body(2), headers=HEADERS, timeout=30).json()),
                asyncio.run(by_aiohttp()),
                by_urllib(),
            ]
        )
    )
