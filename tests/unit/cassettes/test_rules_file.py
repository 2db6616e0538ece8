# SPDX-License-Identifier: Apache-2.0
"""``rules.toml``: what it adds, and what it refuses with its line."""

import pytest

from factories.cassettes import RULES
from truegreen.cassettes.places import Place
from truegreen.cassettes.rules_file import extended
from truegreen.core.errors import UsageProblem

HEAD = 'schema = "truegreen/cassette-rules/v1"\n'
WHOLE = (
    HEAD
    + """numbers = "by-value"
volatile = ["body.messages[*].at", "query.ts"]
semantic_headers = ["Accept-Language"]
ignored_headers = ["x-run-*"]
credential_headers = ["x-our-token"]
credential_query = ["ticket"]
"""
)


def test_a_file_adds_to_the_rules():
    """To the tables of names, the volatile paths, and the types of numbers; the host stays."""
    found = extended(RULES, WHOLE.encode())
    assert (RULES.host, ("body.messages[*].at", "query.ts"), True) == (
        found.host,
        found.volatile,
        found.ignores_number_types,
    )
    assert [Place.KEYED, Place.IGNORED, Place.CREDENTIAL, Place.CREDENTIAL] == [
        found.places.of_header(name)
        for name in ("accept-language", "x-run-id", "X-Our-Token", "authorization")
    ]
    assert found.places.is_credential_query("ticket")


def test_adding_twice_is_adding_once():
    """Whoever opens a folder need not know who opened it before."""
    once = extended(RULES, WHOLE.encode())
    assert once.volatile == extended(once, WHOLE.encode()).volatile


def test_a_file_with_nothing_to_add_changes_nothing():
    """By type is what stands if nobody says otherwise."""
    assert extended(RULES, (HEAD + 'numbers = "by-type"\n').encode()) == RULES


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "rules.toml: no schema"),
        ('schema = "truegreen/cassette-rules/v2"', "rules.toml:1: schema"),
        (HEAD + "volatil = []", "rules.toml:2: unknown key volatil"),
        (HEAD + 'volatile = "body.a"', "rules.toml:2: volatile"),
        (HEAD + 'volatile = ["body.a", "body..b"]', "rules.toml:2: volatile"),
        (HEAD + 'volatile = [\n"body.a",\n"host"]', "rules.toml:4: volatile: asked a path below"),
        (HEAD + 'volatile = ["body"]', "asked a path below"),
        (HEAD + 'ignored_headers = ["*"]', "ignored_headers"),
        (HEAD + 'ignored_headers = ["a b"]', "ignored_headers"),
        (HEAD + 'semantic_headers = ["x-*y"]', "semantic_headers"),
        (HEAD + 'credential_query = [""]', "credential_query"),
        (HEAD + 'numbers = "loosely"', "numbers"),
    ],
)
def test_what_means_nothing_is_refused_with_its_line(text, words):
    """Nothing is ignored."""
    with pytest.raises(UsageProblem) as caught:
        extended(RULES, text.encode())
    assert ("bad-cassette-rules", True) == (caught.value.code, words in caught.value.message)
