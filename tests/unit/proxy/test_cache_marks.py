# SPDX-License-Identifier: Apache-2.0
"""Headers that say that a response cache answered."""

import pytest

from truegreen.proxy.cache_marks import marks_in, table


@pytest.mark.parametrize(
    ("name", "value", "is_mark"),
    [
        ("x-cache", "HIT", True),
        ("x-cache", "Hit from cloudfront", True),
        ("x-cache", "RefreshHit from cloudfront", True),
        ("x-cache", "MISS, HIT", True),
        ("x-cache", "TCP_MEM_HIT from a1.example (AkamaiGHost)", True),
        ("x-cache", "MISS", False),
        ("x-cache", "MISS from hit.example", False),
        ("x-cache", "WHITE", False),
        ("x-cache", "", False),
        ("x-cache-status", "STALE", True),
        ("x-cache-status", "BYPASS", False),
        ("x-proxy-cache", "HIT", True),
        ("cf-cache-status", "HIT", True),
        ("cf-cache-status", "DYNAMIC", False),
        ("cf-aig-cache-status", "HIT", True),
        ("cf-aig-cache-status", "MISS", False),
        ("x-vercel-cache", "HIT", True),
        ("cache-status", 'ExampleCache; hit; ttl=1100, "CDN"; fwd=miss', True),
        ("cache-status", "ExampleCache; fwd=uri-miss", False),
        ("age", "1", True),
        ("age", "0", False),
        ("age", "-3", False),
        ("age", "soon", False),
        ("age", "9" * 5000, False),
        ("age", "\u0663", False),
        ("x-litellm-cache-key", "ab12", True),
        ("x-litellm-cache-key", " ", False),
        ("x-litellm-semantic-similarity", "0.93", True),
        ("x-litellm-semantic-similarity", "0.0", False),
        ("helicone-cache", "HIT", True),
        ("helicone-cache", "MISS", False),
        ("x-portkey-cache-status", "SEMANTIC HIT", True),
        ("x-portkey-cache-status", "DISABLED", False),
        ("x-openrouter-cache-status", "HIT", True),
        ("x-anything", "HIT", False),
    ],
)
def test_which_values_are_marks(name, value, is_mark):
    """By the documented words of each cache, whole and in any case."""
    assert ((f"{name}: {value}",) if is_mark else ()) == marks_in([(name, value)])


def test_every_row_has_a_source_and_a_known_way_of_saying():
    """A row without words, or with a word that can never be found, would be a mark that never fires."""
    for name, mark in table().items():
        assert name == name.lower()
        assert mark.source
        assert mark.says in ("word", "present", "positive")
        assert bool(mark.words) is (mark.says == "word")
        assert all(mark.is_in(word.upper()) for word in mark.words)


def test_marks_are_sorted_short_and_said_once():
    """What is kept is for a ledger."""
    found = marks_in([("x-cache", "HIT " + "x" * 500), ("age", "2"), ("age", "2")])
    assert ("age: 2", "x-cache: HIT " + "x" * 76) == found
