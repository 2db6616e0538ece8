# SPDX-License-Identifier: Apache-2.0
"""What a crash log hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.wiring.crash import SHORTEST_SECRET, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "db_password",
        "AWS_SECRET_ACCESS_KEY",
        "SENTRY_DSN",
        "HTTP_AUTH",
        "PGPASSFILE",
    ],
)
def test_the_value_of_a_name_that_sounds_secret_is_replaced_by_the_name(name):
    """Wherever it stands, inside a word too."""
    assert f"a[{name}]b [{name}]" == without_secrets("avalue-1b value-1", {name: "value-1"})


def test_a_secret_inside_another_does_not_leave_the_rest():
    """The longer value goes first, so that no tail of it stays behind."""
    environment = {"A_KEY": "abcd", "B_KEY": "abcd-efgh"}
    assert "[B_KEY] [A_KEY]" == without_secrets("abcd-efgh abcd", environment)


def test_values_of_other_names_stay():
    """A log in which every word is replaced helps nobody."""
    assert "/usr/bin" == without_secrets("/usr/bin", {"PATH": "/usr/bin", "API_KEY": ""})


@pytest.mark.parametrize(
    "token",
    [
        "ghp_" + "a1" * 18,
        "github_pat_" + "a1" * 20,
        "sk-proj-" + "a1" * 20,
        "glpat-" + "a1" * 10,
        "xoxb-" + "12" * 10,
        "AKIA" + "ABCD" * 4,
        "hf_" + "a1" * 16,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    ],
)
def test_what_looks_like_a_token_is_hidden(token):
    """Whatever it is called and wherever it came from."""
    assert "sent [hidden] to" == without_secrets(f"sent {token} to", {})


def test_bearer_headers_and_userinfo_are_hidden():
    """The two places where a credential has no shape of its own."""
    assert "Bearer [hidden] at https://[hidden]@example.test/x" == without_secrets(
        "Bearer abc.def at https://user:pw@example.test/x", {}
    )


@given(
    secret=st.text(alphabet="abcXYZ019-_/+=", min_size=SHORTEST_SECRET + 3, max_size=40),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_no_secret_survives(secret, before, after):
    """Whatever surrounds it, the value is not in the log."""
    assert secret not in without_secrets(before + secret + after, {"MY_TOKEN": secret})
