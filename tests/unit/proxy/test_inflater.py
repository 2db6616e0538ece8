# SPDX-License-Identifier: Apache-2.0
"""Codings undone in pieces, against what compressed them, and against what is broken or a bomb."""

import gzip
import sys
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from truegreen.proxy import inflater as module
from truegreen.proxy.inflater import UnreadableBodyError, inflater_of

SQUEEZE = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


def _inflated(coding, data, step):
    inflater = inflater_of(coding)
    plain = b"".join(inflater.feed(data[start : start + step]) for start in range(0, len(data), step))
    return plain, inflater.is_whole


@given(st.sampled_from(sorted(SQUEEZE)), st.binary(), st.integers(min_value=1, max_value=50))
def test_every_coding_is_undone_in_any_pieces(coding, data, step):
    """The plain bytes come out, and the end is seen where there is one to see."""
    plain, is_whole = _inflated(coding, SQUEEZE[coding](data), step)
    assert (data, True) == (plain, is_whole)


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_cut_is_not_whole(coding):
    """Half of a coded body is none."""
    assert not _inflated(coding, SQUEEZE[coding](b"x" * 1000)[:-3], 5)[1]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_is_not_coded_is_broken(coding):
    """A header that says so is not believed."""
    with pytest.raises(UnreadableBodyError, match="broken-encoding"):
        _inflated(coding, b'{"a": "plain text that only claims to be coded"}', 9)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_not_inflated(monkeypatch, coding):
    """A thousandfold inflation stops at the limit of one piece."""
    monkeypatch.setattr(module, "MAX_INFLATED_PIECE", 1000)
    with pytest.raises(UnreadableBodyError, match="too-large"):
        _inflated(coding, SQUEEZE[coding](b"x" * 10_000_000), 100_000)


def test_frames_of_zstd_follow_one_another():
    """As servers that flush send them."""
    assert (b"ab", True) == _inflated("zstd", zstandard.compress(b"a") + zstandard.compress(b"b"), 3)


@pytest.mark.parametrize(("coding", "package"), [("br", "brotli"), ("zstd", "zstandard")])
def test_without_its_package_a_coding_is_not_read(monkeypatch, coding, package):
    """The extra is optional; the reader says which coding it was."""
    monkeypatch.setitem(sys.modules, package, None)
    assert inflater_of(coding) is None


def test_an_unknown_coding_is_not_read():
    """Nor are two at once."""
    assert [None, None] == [inflater_of("compress"), inflater_of("gzip, br")]
