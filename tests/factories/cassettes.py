# SPDX-License-Identifier: Apache-2.0
"""Exchanges with a model endpoint, and recordings of them in a folder."""

import gzip
import json
import zlib

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.multipart import Part, joined
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


PARTS = (
    Part(headers=(("content-disposition", 'form-data; name="b"'),), data=b"text\r\n"),
    Part(
        headers=(("content-disposition", 'form-data; name="a"'), ("content-type", "audio/wav")),
        data=b"\xff\r\n\x00",
    ),
)
TEMPLATE = [("x-truegreen-template", "t"), ("x-truegreen-template-version", "1")]
REQUESTS = {
    "a number alone": asked(b"3"),
    "nothing": asked(b"", method="GET", path="/v1/models", query="a=1&a=%2F&b&c="),
    "JSON": asked(
        b'{"a":[1.0,0.0,0,1e400,-0,0.10,null,"\\u0000\xc3\xa9"],"$x":{}}',
        headers=[("anthropic-beta", "a"), *TEMPLATE],
    ),
    "a form": asked(b"a=1&b=%2B+%26&a=2&c", headers=[("content-type", "application/x-www-form-urlencoded")]),
    "parts": asked(joined(PARTS, "zzz"), headers=[("content-type", "multipart/form-data; boundary=zzz")]),
    "bytes": asked(b"\xff\x00", headers=[("content-type", "audio/wav"), TEMPLATE[0]]),
    "gzip": asked(gzip.compress(b'{"a":1}'), headers=[("content-encoding", "gzip")]),
    "two codings": asked(
        zlib.compress(gzip.compress(b"\xff")), headers=[("content-encoding", "gzip, deflate")]
    ),
}
"""A request of every kind."""
