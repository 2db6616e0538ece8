# SPDX-License-Identifier: Apache-2.0
"""Which upstreams a run serves, and under which name their recordings are keyed.

What it decides: providers, URLs and aliases, from the command line, else from the environment, else from the table.
What it leaves: serving them, to ``proxy``; variables of the command, to ``guards.sdks``.

- ``ID=URL`` says that an endpoint stands for a provider: its recordings have the provider's own host as alias. A URL
  alone is a provider's by its host; any other host speaks OpenAI's API, and its recordings are its own.
- A provider is served once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.guards import sdks
from truegreen.guards.sdks import Provider
from truegreen.proxy.upstream import parse_upstream

OPENAI = "openai"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream."""

    provider: Provider
    """Whose variables point to its proxy."""
    url: str
    """Its base URL; may hold no credentials."""
    alias: str
    """Host that keys of its recordings name."""


def served(named: Sequence[str], environment: Mapping[str, str]) -> tuple[Served, ...]:
    """The upstreams of a run, in order.

    Raises: UsageProblem ``unknown-provider``, ``provider-twice``, ``bad-upstream``.
    """
    found = [_named(text) for text in named] or [
        _of_environment(provider, environment) for provider in sdks.table().provider if provider.starts
    ]
    ids = [each.provider.id for each in found]
    for name in ids:
        if ids.count(name) > 1:
            raise UsageProblem(
                "provider-twice",
                f"--upstream names {ids.count(name)} endpoints for {name}, and its variables can name one",
                hint="run one command for each",
            )
    return tuple(found)


def _named(text: str) -> Served:
    name, mark, url = text.partition("=")
    if not mark or "/" in name or ":" in name:
        return _by_host(text)
    provider = sdks.provider(name)
    if provider is None:
        known = ", ".join(each.id for each in sdks.table().provider)
        raise UsageProblem(
            "unknown-provider",
            f"--upstream names the provider {name!r}, one of {known} is asked",
            hint="docs/sdks.md",
        )
    host = _host(url)
    return Served(provider=provider, url=url, alias=_host(provider.home) if provider.home else host)


def _by_host(url: str) -> Served:
    host = _host(url)
    providers = sdks.table().provider
    found = next((each for each in providers if each.home and _host(each.home) == host), None)
    return Served(provider=found or _openai(), url=url, alias=host)


def _of_environment(provider: Provider, environment: Mapping[str, str]) -> Served:
    said = next((value for name in provider.variables if (value := environment.get(name, "").strip())), "")
    return Served(provider=provider, url=said or provider.home, alias=_host(said or provider.home))


def _host(url: str) -> str:
    return parse_upstream(url, needs_tls=False).authority


def _openai() -> Provider:
    found = sdks.provider(OPENAI)
    if found is None:
        raise AssertionError("the table lost openai")
    return found
