# SPDX-License-Identifier: Apache-2.0
"""Bodies in every coding and size, read in pieces."""

import gzip
import hashlib
import json
import zlib

import brotli
import pytest
import zstandard
from wire_kit import completion, event, piece

from truegreen.proxy import body as module
from truegreen.proxy.body import BodyReader

WHOLE = json.dumps(completion()).encode()


def _raw_deflate(data):
    squeezer = zlib.compressobj(wbits=-15)
    return squeezer.compress(data) + squeezer.flush()


def _read(data, *, kind="application/json", coding="", step=7, is_whole=True, **options):
    reader = BodyReader(content_type=kind, content_encoding=coding, **{"is_answer": True} | options)
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
    reader.close(is_whole=is_whole)
    return reader


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize(
    ("coding", "squeeze"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        (" GZIP ", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", _raw_deflate),
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
    ],
)
def test_codings_are_read_and_the_digest_is_of_what_came(coding, squeeze, step):
    """The facts come out of the plain text, the digest and the size out of the bytes on the wire."""
    data = squeeze(WHOLE)
    reader = _read(data, coding=coding, step=step)
    assert (None, "served-1") == (reader.unread, reader.facts.model)
    assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (reader.sha256, reader.size)


def test_a_squeezed_stream_is_read_event_by_event():
    """A gzip stream with a flush after each event, as servers send it."""
    squeezer = zlib.compressobj(wbits=31)
    parts = [piece("a"), piece(finish="length"), event("[DONE]")]
    data = b"".join(squeezer.compress(part) + squeezer.flush(zlib.Z_SYNC_FLUSH) for part in parts)
    reader = _read(data, kind="text/event-stream; charset=utf-8", coding="gzip", is_whole=False)
    assert (True, True, None) == (reader.facts.end_mark, reader.facts.is_length_stop, reader.unread)


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (WHOLE, {"coding": "compress"}, "encoding-compress"),
        (WHOLE, {"coding": "gzip, br"}, "encoding-gzip-br"),
        (WHOLE, {"coding": "gzip"}, "broken-encoding"),
        (WHOLE, {"coding": "deflate"}, "broken-encoding"),
        (gzip.compress(WHOLE)[:-9], {"coding": "gzip"}, "broken-encoding"),
        (gzip.compress(WHOLE)[:-1], {"coding": "gzip"}, "broken-encoding"),
        (b"x", {"coding": "deflate"}, "broken-encoding"),
        (b"", {}, "not-json"),
        (b"", {"coding": "deflate"}, "not-json"),
        (WHOLE[:-1], {}, "not-json"),
        (b"\xff\xfe", {}, "not-json"),
        (b"[" * 100_000, {"step": 1000}, "not-json"),
        (b"<html>", {"kind": "text/html"}, "not-json"),
        (b"data: {\n\n", {"kind": "text/event-stream"}, "not-json"),
        (b"data: " + b"x" * 2_000_000, {"kind": "text/event-stream", "step": 9999}, "event-too-large"),
        (WHOLE, {"kind": "text/plain"}, None),
        (WHOLE[:-1], {"is_whole": False}, None),
        (b"<html>", {"kind": "text/html", "is_answer": False}, None),
        (b"[1]", {}, None),
    ],
)
def test_what_could_not_be_read_is_said(data, options, reason):
    """A reason for every body of a model's answer that is not what it should be."""
    assert reason == _read(data, **options).unread


def test_a_large_answer_is_let_go(monkeypatch):
    """Above the limit nothing is held any more; digest and size go on."""
    monkeypatch.setattr(module, "MAX_JSON_BYTES", 100)
    reader = _read(WHOLE)
    assert ("too-large", len(WHOLE), 0) == (reader.unread, reader.size, len(reader._json))
