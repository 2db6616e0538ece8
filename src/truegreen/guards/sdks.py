# SPDX-License-Identifier: Apache-2.0
"""SDKs and providers as a table: which variable points to the proxy, which key needs a stand-in, what cannot work.

What it decides: the variables of a run. What it leaves: serving, to ``proxy``; which providers a run serves, to the
caller.

- In replay every known key has a stand-in, set or not: the command needs none, so it gets none.
- Proxies that the environment configures for HTTP would stand between the command and ours, so in replay they are
  taken away, and otherwise told to leave loopback alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import msgspec

STAND_IN = "truegreen-replay"
"""What a key is in replay."""
STATES = {
    "": "from its documentation, not run",
    "modes": "verified in all modes",
    "first-request": "verified: its first request",
}
HTTP_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One API."""

    id: str
    """Name on the command line."""
    words: str
    """What it is."""
    home: str = ""
    """Its base URL; empty where each customer has another."""
    variables: dict[str, str]
    """Name of a variable to what follows the proxy's address in it."""
    keys: tuple[str, ...]
    """Variables that hold a key."""
    starts: bool = False
    """Whether it is served when nothing is named."""


class Sdk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client."""

    name: str
    """Package and language."""
    provider: str = ""
    """Whose variables it reads; empty if no variable works."""
    variable: str = ""
    """The variable."""
    note: str
    """What must be known besides."""
    run: Literal["", "modes", "first-request"] = ""
    """What the tests do with it: nothing, every mode, or its first request."""
    package: str = ""
    """What has to be installed for its first request."""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table."""

    provider: tuple[Provider, ...]
    """Providers, in order."""
    sdk: tuple[Sdk, ...]
    """Clients, in order."""


@lru_cache(maxsize=1)
def table() -> Table:
    """The table as it ships."""
    text = files("truegreen.guards").joinpath("sdks.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Table)


def provider(name: str) -> Provider | None:
    """The provider of that id."""
    return next((each for each in table().provider if each.id == name), None)


def variables(
    served: Sequence[tuple[Provider, str]], environment: Mapping[str, str], *, is_replay: bool
) -> dict[str, str]:
    """The environment of a command: ``served`` are providers, each with the address of its proxy."""
    made = dict(environment)
    if is_replay:
        made = {name: value for name, value in made.items() if name not in HTTP_PROXIES}
        made |= dict.fromkeys((key for each in table().provider for key in each.keys), STAND_IN)
    for each, address in served:
        made |= {name: address + rest for name, rest in each.variables.items()}
    return made


def page() -> str:
    """The SDK table in Markdown."""
    lines = ["| client | variable | state | to know |", "|---|---|---|---|"]
    for row in table().sdk:
        variable = f"`{row.variable}`" if row.variable else "none"
        lines.append(f"| {row.name} | {variable} | {STATES[row.run]} | {row.note} |")
    return "\n".join(lines) + "\n"


def provider_page() -> str:
    """The providers in Markdown."""
    lines = [
        "| `--upstream` | what | its own URL | variables that are set | keys with a stand-in |",
        "|---|---|---|---|---|",
    ]
    for row in table().provider:
        names = ", ".join(f"`{name}`" for name in row.variables)
        keys = ", ".join(f"`{name}`" for name in row.keys) or "none"
        started = " (served unless another is named)" if row.starts else ""
        lines.append(f"| `{row.id}`{started} | {row.words} | {row.home or 'yours'} | {names} | {keys} |")
    return "\n".join(lines) + "\n"
