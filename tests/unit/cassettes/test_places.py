# SPDX-License-Identifier: Apache-2.0
"""Named places: which header or query name is dropped, keyed or ignored."""

import pytest

from truegreen.cassettes.places import Place, places


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("Authorization", "Bearer x", Place.CREDENTIAL),
        ("x-api-KEY", "x", Place.CREDENTIAL),
        ("Set-Cookie", "a=b", Place.CREDENTIAL),
        ("anthropic-beta", "x", Place.KEYED),
        ("OpenAI-Organization", "x", Place.KEYED),
        ("x-header-nobody-knows", "1", Place.KEYED),
        ("User-Agent", "x", Place.IGNORED),
        ("X-Stainless-Retry-Count", "1", Place.IGNORED),
        ("accept", "application/json", Place.IGNORED),
        ("accept", "*/*", Place.IGNORED),
        ("accept", "text/event-stream", Place.KEYED),
        ("X-Truegreen-Template", "t", Place.TEMPLATE),
        ("x-truegreen-sample", "3", Place.KEYED),
    ],
)
def test_a_header_has_its_place_whatever_its_letter_case(name, value, place):
    """What nobody knows is keyed: it could change the answer."""
    assert place is places().of_header(name, value)


def test_a_policy_adds_names():
    """The built-in ones stay, and what is semantic is keyed even if it is called ignored."""
    found = places(
        credential_headers=("X-Our-Token",),
        credential_query=("Ticket",),
        semantic_headers=("Cache-Control",),
        ignored_headers=("x-run-*",),
    )
    assert [Place.CREDENTIAL, Place.KEYED, Place.IGNORED, Place.CREDENTIAL] == [
        found.of_header(name) for name in ("x-our-token", "cache-control", "X-Run-Id", "authorization")
    ]
    assert [True, True, False] == [found.is_credential_query(name) for name in ("TICKET", "api_key", "model")]
