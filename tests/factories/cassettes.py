# SPDX-License-Identifier: Apache-2.0
"""Exchanges with a model endpoint, and recordings of them in a folder."""

import json

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.wiring.atomic import write_atomic

HOST = "api.example.com"
RULES = KeyRules(host=HOST)
NOW = "2026-11-29T21:00:00Z"
SECRET = "sk-proj-0aB1cD2eF3gH4iJ5kL6mN7oP"
CHAT = {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "What is 2+2?"}]}


def asked(body=CHAT, *, method="POST", path="/v1/chat/completions", query="", headers=()):
    """A request; a body that is no bytes is written as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked(method=method, path=path, query=query, headers=tuple(headers), body=data)


def answered(
    text="4", *, status=200, headers=(("content-type", "application/json"),), body=None, chunks=None
):
    """An answer of a chat completion with this text, or with this body, or in these chunks."""
    content = {"model": "m-1", "choices": [{"finish_reason": "stop", "message": {"content": text}}]}
    data = json.dumps({**content, "usage": {"total_tokens": 7}}).encode() if body is None else body
    pieces = [data] if chunks is None else chunks
    return Answered(
        status=status,
        headers=tuple(headers),
        chunks=tuple(Chunk(after_s=0.25, data=piece) for piece in pieces),
        head_after_s=0.5,
    )


def said(found):
    """The text of a played chat completion."""
    return json.loads(found.body)["choices"][0]["message"]["content"]


def folder(path):
    """A folder of recordings on disk."""
    return Folder(path, write_atomic)


def player(path, rules=RULES):
    """Recordings that are only played."""
    return Store(folder(path), rules)


def recorder(path, rules=RULES, *, now=NOW, since=NOW, **more):
    """Recordings that are written."""
    return Store(folder(path), rules, Recorder(now=lambda: now, since=since, **more))


def recorded(path, *exchanges, rules=RULES):
    """A folder with these exchanges, and the only file's name."""
    store = recorder(path, rules)
    for one, answer in exchanges:
        store.keep(one, answer)
    return folder(path).names()[0]
