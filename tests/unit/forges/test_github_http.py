# SPDX-License-Identifier: Apache-2.0
"""Which addresses the token may be sent to."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.forges.github_http import checked_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.github.com", "https://api.github.com"),
        ("https://git.example.invalid/api/v3/", "https://git.example.invalid/api/v3"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_https_and_loopback_are_addresses_of_a_forge(url, expected):
    """A slash at the end does not count."""
    assert expected == checked_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.github.com",
        "http://api.github.com",
        "http://127.0.0.1.example.invalid",
        "http://10.0.0.1",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "https://",
        "https://user:hunter2@api.github.com",
        "https://hunter2@api.github.com",
        "https://api.github.com?x=1",
        "https://api.github.com#x",
        "https://api.github.com:0",
        "https://api.github.com:99999",
        "https://[::1",
    ],
)
def test_other_addresses_are_refused_and_show_no_credentials(url):
    """Plain text on the network, other schemes, hidden users, no address at all."""
    with pytest.raises(UsageProblem) as caught:
        checked_url(url)
    assert "bad-api-url" == caught.value.code
    assert "hunter2" not in caught.value.message
