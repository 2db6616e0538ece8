# SPDX-License-Identifier: Apache-2.0
"""Which endpoints the tests ask, read from the environment that clients read.

What it decides: the addresses behind the names that SDKs and the article's scripts know, and what stands in
for a name that is not set. What it leaves: observing them, to ``wires``.

- ``MODEL_BASE_URL``, ``OPENAI_BASE_URL`` and ``OPENAI_API_BASE`` mean one endpoint unless they differ.
- A key without an address means its vendor's own endpoint; so does a vendor's key that is not the model's.
- An endpoint that nothing names is an error, never a default.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegreen.core.errors import UsageProblem

OPENAI_NAMES = ("MODEL_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Names of an OpenAI-compatible endpoint, the first that is set stands in for the rest."""
ANTHROPIC_NAMES = ("ANTHROPIC_BASE_URL",)
OPENAI_KEYS = ("MODEL_API_KEY", "OPENAI_API_KEY")
ANTHROPIC_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
OPENAI_HOME = "https://api.openai.com/v1"
ANTHROPIC_HOME = "https://api.anthropic.com"
MODEL_NAMES = ("MODEL_NAME", "OPENAI_MODEL")
LOOPBACK = ("127.0.0.1", "localhost")


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint."""

    url: str
    """Its base URL; may hold credentials."""
    names: tuple[str, ...]
    """Environment variables that must point to its observer."""


class ModelEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the environment says of models."""

    upstreams: tuple[Upstream, ...]
    """Endpoints, the one of ``MODEL_BASE_URL`` first."""
    stand_ins: dict[str, str]
    """Variables that are set for the tests because only their other name is."""


def read_model_environment(environment: Mapping[str, str], *, model: str | None = None) -> ModelEnvironment:
    """The endpoints that the environment names; ``model`` is the lane's, which goes before the environment's.

    Raises: UsageProblem ``no-endpoint``.
    """
    upstreams = [*_openai(environment), *_anthropic(environment)]
    if not upstreams:
        raise UsageProblem(
            "no-endpoint",
            "no endpoint is configured: MODEL_BASE_URL, OPENAI_BASE_URL and ANTHROPIC_BASE_URL are not set, "
            "and no key of a vendor is",
            hint="export MODEL_BASE_URL=… MODEL_NAME=… (and MODEL_API_KEY), or: truegreen endpoint fake --help",
        )
    return ModelEnvironment(upstreams=tuple(upstreams), stand_ins=_stand_ins(environment, model))


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """``NO_PROXY`` with loopback in it, where a proxy is configured: calls to the observer stay on this machine."""
    proxied = any(environment.get(name) for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"))
    if not proxied:
        return {}
    known = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    named = [part.strip() for part in known.split(",") if part.strip()]
    joined = ",".join([*named, *(name for name in LOOPBACK if name not in named)])
    return {"NO_PROXY": joined, "no_proxy": joined}


def _openai(environment: Mapping[str, str]) -> list[Upstream]:
    said = {name: environment[name].strip() for name in OPENAI_NAMES if environment.get(name, "").strip()}
    if not said and any(environment.get(name) for name in OPENAI_KEYS):
        said = {OPENAI_NAMES[0]: OPENAI_HOME}
    if not said:
        return []
    if "OPENAI_BASE_URL" not in said and _keys_differ(environment):
        said["OPENAI_BASE_URL"] = OPENAI_HOME
    first = next(iter(said.values()))
    by_url: dict[str, list[str]] = {}
    for name in OPENAI_NAMES:
        by_url.setdefault(said.get(name, first), []).append(name)
    return [Upstream(url=url, names=tuple(names)) for url, names in by_url.items()]


def _keys_differ(environment: Mapping[str, str]) -> bool:
    """Whether the two keys are of two endpoints: then the vendor's client keeps to its vendor."""
    own, vendor = (environment.get(name) for name in OPENAI_KEYS)
    return bool(own and vendor and own != vendor)


def _anthropic(environment: Mapping[str, str]) -> list[Upstream]:
    said = environment.get("ANTHROPIC_BASE_URL", "").strip()
    if not said and any(environment.get(name) for name in ANTHROPIC_KEYS):
        said = ANTHROPIC_HOME
    return [Upstream(url=said, names=ANTHROPIC_NAMES)] if said else []


def _stand_ins(environment: Mapping[str, str], model: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for names in (OPENAI_KEYS, MODEL_NAMES):
        value = next((environment[name] for name in names if environment.get(name)), None)
        found |= {name: value for name in names if value and not environment.get(name)}
    if model:
        found |= dict.fromkeys(MODEL_NAMES, model)
    return found
