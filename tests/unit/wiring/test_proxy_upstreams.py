# SPDX-License-Identifier: Apache-2.0
"""Which upstreams a run serves, and under which name their recordings are keyed."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.wiring.proxy_upstreams import served

GATEWAY = "https://gateway.example:8443/openai/v1"


def told(named=(), environment=None):
    """Provider, URL and alias of each."""
    return [(each.provider.id, each.url, each.alias) for each in served(named, environment or {})]


def test_nothing_named_is_what_providers_call_home():
    """Both that start by themselves."""
    assert [
        ("openai", "https://api.openai.com/v1", "api.openai.com"),
        ("anthropic", "https://api.anthropic.com", "api.anthropic.com"),
    ] == told()


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE", "MODEL_BASE_URL"])
def test_the_environment_goes_before_home(name):
    """Its recordings are keyed by its own host; blanks around it and an empty value are nothing."""
    assert ("openai", GATEWAY, "gateway.example:8443") == told((), {name: f" {GATEWAY} "})[0]
    assert "https://api.openai.com/v1" == told((), {name: " "})[0][1]


def test_an_endpoint_that_stands_for_a_provider_has_its_name():
    """What was recorded through a gateway is replayed without it."""
    assert [("openai", GATEWAY, "api.openai.com")] == told([f"openai={GATEWAY}"])
    local = "http://127.0.0.1:9/v1"
    assert [("anthropic", local, "api.anthropic.com")] == told(
        [f"anthropic={local}"], {"OPENAI_BASE_URL": GATEWAY}
    )


def test_a_provider_without_a_home_is_keyed_by_its_url():
    """Each customer's resource is another endpoint."""
    assert [("azure-openai", "https://one.openai.azure.com", "one.openai.azure.com")] == told(
        ["azure-openai=https://one.openai.azure.com"]
    )


def test_a_url_alone_is_a_providers_by_its_host():
    """Any other host speaks OpenAI's API, and two such hosts are not one endpoint."""
    assert [("anthropic", "https://api.anthropic.com", "api.anthropic.com")] == told(
        ["https://api.anthropic.com"]
    )
    assert [("openai", "http://a.example/v1", "a.example")] == told(["http://a.example/v1"])
    assert [("openai", "http://a.example/v1?", "a.example")] != told(["http://b.example/v1"])


def test_a_url_may_hold_an_equals_sign():
    """It is a URL, not a name."""
    assert [("openai", "http://a.example/k=v", "a.example")] == told(["http://a.example/k=v"])


@pytest.mark.parametrize(
    ("named", "code"),
    [
        (["open-ai=https://a.example"], "unknown-provider"),
        (["openai=https://a.example", "https://b.example/v1"], "provider-twice"),
        (["openai=ftp://a.example"], "bad-upstream"),
        (["https://user:word@a.example"], "bad-upstream"),
        (["nothing"], "bad-upstream"),
        ([""], "bad-upstream"),
    ],
)
def test_what_cannot_be_served_is_said(named, code):
    """Before anything starts."""
    with pytest.raises(UsageProblem) as problem:
        served(named, {})
    assert code == problem.value.code
