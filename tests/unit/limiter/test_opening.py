# SPDX-License-Identifier: Apache-2.0
"""Addresses of backends."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.opening import opened, with_password


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://x", "file:relative", "memory:x", "file:"])
def test_an_address_that_names_no_backend_is_refused(url):
    """With the schemes that there are."""
    with pytest.raises(UsageProblem) as found:
        opened(url, checked(Limits(calls=1)))
    assert "limiter-backend-unknown" == found.value.code


@pytest.mark.parametrize(
    ("url", "token", "whole"),
    [
        ("redis://h:1/0", "", "redis://h:1/0"),
        ("redis://h:1/0", "p/w@d", "redis://:p%2Fw%40d@h:1/0"),
        ("rediss://h", "limiter:p:w", "rediss://limiter:p%3Aw@h"),
        ("redis://h", ":p:w", "redis://:p%3Aw@h"),
        ("redis://a:b@h", "c", "redis://a:b@h"),
    ],
)
def test_a_servers_password_comes_from_the_environment(url, token, whole):
    """Whatever it holds, it is one; an address that has one keeps it."""
    assert whole == with_password(url, token)


@pytest.mark.parametrize("scheme", ["redis", "rediss", "valkey", "valkeys"])
def test_every_server_that_a_policy_may_name_is_opened_and_its_password_never_shown(scheme):
    """Nothing is connected yet."""
    backend = opened(f"{scheme}://h:1/0", checked(Limits(calls=1)), token="limiter:secret")
    assert f"{scheme.replace('valkey', 'redis')}://h:1/0" == backend.name
    backend.close()


@pytest.mark.parametrize("address", ["memory:", "file:{}", "redis://127.0.0.1:1/0"])
@pytest.mark.parametrize(
    "given", [{}, {"calls": 0}, {"in_flight": 0}, {"tokens": -1}, {"calls": 1, "burst": 0}]
)
def test_limits_that_nobody_checked_are_checked_by_every_backend(address, given, tmp_path):
    """From Python a zero would be no limit at all."""
    with pytest.raises(UsageProblem) as found:
        opened(address.format(tmp_path), Limits(**given))
    assert "limit-out-of-range" == found.value.code


@pytest.mark.parametrize("address", ["memory:", "file:{}", "redis://127.0.0.1:1/0"])
def test_tokens_a_minute_limit_without_a_burst_of_their_own(address, tmp_path):
    """A minute's tokens are the burst; without any, nothing would be limited."""
    backend = opened(address.format(tmp_path), Limits(tokens=100))
    assert 100 == backend.limits.token_burst
    backend.close()


def test_an_address_says_which_backend_it_is(tmp_path):
    """A folder may be written with three slashes too."""
    limits = checked(Limits(calls=1))
    names = []
    for url in ("memory:", f"file:{tmp_path}", f"file://{tmp_path}"):
        backend = opened(url, limits)
        names.append(backend.name)
        backend.close()
    assert ["memory", f"file:{tmp_path}", f"file:{tmp_path}"] == names
