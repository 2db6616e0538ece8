# SPDX-License-Identifier: Apache-2.0
"""Content codings: undone exactly, or refused."""

import gzip
import sys
import zlib

import brotli
import pytest
import zstandard

from truegreen.cassettes import coding
from truegreen.core.errors import EvidenceProblem

TEXT = b'{"answer": "yes"} ' * 50
RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
CODED = {
    "gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
}


@pytest.mark.parametrize("name", CODED)
def test_a_coding_is_undone(name):
    """All four that clients ask for."""
    assert TEXT == coding.decoded(CODED[name], (name,))


def test_raw_deflate_and_many_members_are_undone():
    """Servers send deflate without its header; gzip and zstd come in several pieces."""
    assert TEXT == coding.decoded(RAW.compress(TEXT) + RAW.flush(), ("deflate",))
    assert TEXT * 2 == coding.decoded(CODED["gzip"] * 2, ("gzip",))
    assert TEXT * 2 == coding.decoded(CODED["zstd"] * 2, ("zstd",))


@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize(
    "damage", [lambda data: b'{"a":1}', lambda data: data[:-4], lambda data: data + b"junk!"]
)
def test_a_body_that_contradicts_its_header_is_refused(name, damage):
    """Plain text, a cut body, and bytes behind its end."""
    with pytest.raises(EvidenceProblem) as caught:
        coding.decoded(damage(CODED[name]), (name,))
    assert "cassette-body-does-not-match-encoding" == caught.value.code


def test_the_refusal_names_what_a_coded_body_begins_with():
    """So that a person can look."""
    with pytest.raises(
        EvidenceProblem, match='gzip, which begins with 1f8b, and the body begins with "7b226122"'
    ):
        coding.decoded(b'{"a":1}', ("gzip",))


def test_codings_are_undone_from_the_last():
    """As they were applied one after another."""
    headers = [("Content-Encoding", "br, X-GZIP"), ("content-encoding", "identity"), ("x", "y")]
    assert ("br", "gzip") == coding.codings(headers)
    assert TEXT == coding.decoded(gzip.compress(CODED["br"]), ("br", "gzip"))


def test_an_empty_body_has_no_coding():
    """An answer to HEAD says gzip and holds nothing."""
    assert b"" == coding.decoded(b"", ("gzip",))


def test_what_cannot_be_decoded_here_is_not_guessed(monkeypatch):
    """An unknown coding, and known ones without their library."""
    monkeypatch.setitem(sys.modules, "brotli", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert [None] * 3 == [coding.decoded(b"x", (name,)) for name in ("compress", "br", "zstd")]


@pytest.mark.parametrize("name", CODED)
def test_a_bomb_is_cut(name, monkeypatch):
    """A few bytes that would become many are refused."""
    monkeypatch.setattr(coding, "MAX_DECODED", 500)
    with pytest.raises(EvidenceProblem, match="more than 500 bytes"):
        coding.decoded(CODED[name], (name,))
