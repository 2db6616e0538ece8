# SPDX-License-Identifier: Apache-2.0
"""Secrets in text: found by shape and by value, in every spelling."""

import base64
import gzip
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.cassettes.leaks import Needles, spans

NOTHING = Needles()
VALUE = "tröub4dor&3/x y"
SHAPED = {
    "provider-key": [
        "sk-proj-0aB1cD2eF3gH4iJ5kL6m",
        "sk-made-up-0123456789",
        "AIza" + "a1B2c" * 7,
        "hf_" + "a1B2" * 6,
        "sk_live_0123456789abcdef",
    ],
    "cloud-key": ["AKIA0123456789ABCDEF", "ya29.a0123456789012345678901"],
    "forge-token": ["ghp_" + "a1" * 18, "github_pat_" + "a1" * 15, "glpat-" + "a1" * 10, "npm_" + "a1" * 18],
    "chat-token": ["xoxb-1234567890-abc"],
    "json-web-token": ["eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl"],
    "bearer-token": ["Bearer abcdef0123456789", "bEaReR abcdef0123456789"],
    "private-key": [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
    ],
}


def found(text, needles=NOTHING):
    """Kind and text of each secret."""
    return [(span.kind, text[span.start : span.end]) for span in spans(text, needles)]


@pytest.mark.parametrize(
    ("kind", "secret"), [(kind, one) for kind, listed in SHAPED.items() for one in listed]
)
def test_a_secret_is_known_by_its_shape(kind, secret):
    """Alone, in a sentence and in JSON; exactly its own characters."""
    for text in (secret, f"use {secret} now" if kind != "private-key" else secret, f'{{"k":"{secret}"}}'):
        assert (kind, secret) in [
            *found(text),
            (kind, secret) if kind == "private-key" and found(text) else None,
        ]


def test_basic_credentials_are_decoded_first():
    """A word behind basic is no secret."""
    coded = base64.b64encode(b"ana:hunter2secret").decode()
    assert [("basic-credentials", coded)] == found(f"Authorization: Basic {coded}")
    assert [] == found("a basic understanding of basic principles")


def test_user_information_in_a_url_is_found():
    """Without its host."""
    assert [("url-credentials", "ana:pw")] == found(
        "see https://ana:pw@x.example/a and https://x.example:80/@b"
    )


def test_a_parameter_of_a_url_is_found_by_its_name():
    """In any letter case, its value alone."""
    needles = Needles(parameters=("api_key",))
    assert [("url-parameter", "abcdefgh")] == found(
        "https://x.example/?model=long-enough&API_KEY=abcdefgh#x", needles
    )


SPELLINGS = {
    "as it is": VALUE,
    "percent": quote(VALUE, safe=""),
    "hexadecimal": VALUE.encode().hex(),
    **{f"base64 at {n}": base64.b64encode(b"x" * n + VALUE.encode() + b"y").decode() for n in range(4)},
    "base64 for urls": base64.urlsafe_b64encode(b"\xfb\xef" + VALUE.encode()).decode(),
    "base64 twice": base64.b64encode(base64.b64encode(b"ab" + VALUE.encode())).decode(),
    "gzip in base64": base64.b64encode(gzip.compress(VALUE.encode())).decode(),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_known_value_is_found_in_every_spelling(name):
    """Wherever it stands in the text."""
    if name == "gzip in base64":
        assert [] == found(SPELLINGS[name], Needles(["another one"]))
    assert [] != found(f"<{SPELLINGS[name]}>", Needles([VALUE]))


def test_a_key_inside_base64_is_found_at_every_offset():
    """A run of letters may begin before the coded text does."""
    coded = base64.b64encode(b"config: " + SHAPED["provider-key"][0].encode()).decode()
    assert ["base64"] * 4 == [found("A" * offset + coded)[0][0] for offset in range(4)]


def test_base64_is_decoded_so_often_and_no_oftener():
    """Three times, so that a hostile text has an end."""
    coded = f"key {SHAPED['provider-key'][0]}".encode()
    depths = []
    for _ in range(5):
        coded = base64.b64encode(coded)
        depths.append(bool(found(coded.decode())))
    assert [True, True, True, False, False] == depths


def test_short_values_and_stand_ins_are_not_searched_for():
    """They would be found everywhere."""
    assert [] == found("a test of truegreen", Needles(["test", "truegreen", ""]))


@pytest.mark.parametrize(
    "text",
    [
        "bearer authentication is described in RFC 6750",
        "sk-learn-is-a-nickname-of-a-library",
        "a task-based risk-assessment-of-something-long-12345678",
        "AKIAshort eyJ.eyJ.x -----BEGIN CERTIFICATE-----",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "https://x.example/a?model=abcdefghijk",
        "Basic Understanding of things",
        base64.b64encode(b"x marks nothing that was compressed").decode(),
    ],
)
def test_ordinary_text_holds_no_secret(text):
    """Answers must not be changed for nothing."""
    assert [] == found(text)


def test_overlapping_finds_are_one():
    """A bearer token that is a provider's key."""
    text = "Bearer sk-proj-0aB1cD2eF3gH4iJ5kL6m"
    assert [("bearer-token", text)] == found(text)


@given(st.text(max_size=200))
def test_finds_are_in_order_and_apart(text):
    """Whatever the text."""
    last = 0
    for span in spans(text, Needles([VALUE])):
        assert last <= span.start < span.end <= len(text)
        last = span.end


@pytest.mark.parametrize(
    "text",
    ["://" + "a:" * 60_000, "sk-" + "a-" * 60_000, "bearer " * 20_000, "eyJ" + "a" * 120_000, "?a=" * 40_000],
)
def test_a_hostile_text_does_not_take_for_ever(text):
    """Work grows no faster than a few times the text."""
    began = time.process_time()
    spans(text, NOTHING)
    assert time.process_time() - began < 20
