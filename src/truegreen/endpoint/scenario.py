# SPDX-License-Identifier: Apache-2.0
"""What a fake endpoint does: its rules, their answers, and what goes wrong.

What it decides: the shape of a scenario. What it leaves: reading a file into it, to ``scenario_file``; which
sample gets which answer, to ``draw``.

- The first rule that matches a request decides; a request that no rule matches is an error of the test.
- ``share`` and the probabilities are per sample; ``first`` counts arrivals.
"""

from __future__ import annotations

import re

import msgspec

from truegreen.core.errors import UsageProblem

TOLERANCE = 1e-9
"""How far a sum of probabilities written in decimals may be off."""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests a rule answers; all that is given must hold, nothing given matches all."""

    model: str | None = None
    """The model that was asked, exactly."""
    contains: str | None = None
    """A text that stands in the prompt."""
    pattern: re.Pattern[str] | None = None
    """An expression that is found in the prompt."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """How long an answer takes."""

    law: str = "constant"
    """``constant``, ``exponential`` or ``lognormal``."""
    ms: float = 0.0
    """The constant, the mean of the exponential, or the median of the lognormal law, milliseconds."""
    sigma: float = 0.5
    """Standard deviation of the logarithm; lognormal only."""
    fail_factor: float = 1.0
    """What the time of any other outcome than a pass is multiplied by."""
    piece_ms: float = 0.0
    """Time before each piece of a stream after the first, milliseconds."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that goes wrong instead of an answer, or in the middle of one."""

    kind: str
    """``status``, ``hang``, ``cut``, ``malformed`` or ``error-inside``."""
    share: float = 0.0
    """Share of arrivals that it hits, 0 to 1; drawn anew for each arrival of a sample."""
    first: int = 0
    """Instead of a share: how many arrivals it hits before any gets through."""
    per: str = "sample"
    """What ``first`` counts by: ``sample``, ``prompt`` or ``endpoint``. The latter two depend on the order."""
    status: int = 500
    """For ``status``: the HTTP status, 400 to 599. For ``error-inside``: the status whose error it is."""
    retry_after: str | None = None
    """For ``status``: value of ``Retry-After``, as it is."""
    retry_in_s: float | None = None
    """For ``status``: seconds to wait, told in the form ``retry_as``."""
    retry_as: str = "seconds"
    """One of ``wait_header.FORMS``."""
    should_retry: str | None = None
    """For ``status``: value of ``x-should-retry``, as it is."""
    at: str = "before-head"
    """For ``hang`` and ``cut``: ``before-head``, ``after-head``, ``midway`` or ``before-end``."""
    how: str = "json"
    """For ``malformed``: ``json``, ``framing`` or ``not-http``."""


class PrefixCache(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's prefix cache: some samples report cached prompt tokens."""

    tokens: int
    """Value of ``cached_tokens`` when warm."""
    share: float = 1.0
    """Share of samples that are warm."""


class ResponseCache(msgspec.Struct, frozen=True, kw_only=True):
    """A response cache in between: some samples get one and the same stored answer."""

    share: float
    """Share of samples that it answers."""
    header: str = "X-Cache: HIT"
    """The header that it adds; empty for a cache that does not tell."""
    repeats_request_id: bool = True
    """Whether the stored answer comes with the stored request id."""


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoint's own limits; a call above one of them gets 429."""

    per_s: float | None = None
    """Calls a second; no limit if not given."""
    burst: int = 1
    """Calls that may come at once after a pause."""
    in_flight: int | None = None
    """Calls at once; no limit if not given."""
    retry_as: str = "seconds"
    """How the 429 tells the wait, one of ``wait_header.FORMS``."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to the requests that it matches."""

    id: str
    """Name in the oracle's counts."""
    when: Match = Match()
    """Which requests."""
    answer: str = ""
    """Text of a passing sample."""
    fails: tuple[str, ...] = ()
    """Texts of failing samples, each as likely as the others."""
    pass_rate: float = 1.0
    """Probability of a pass (``pass`` in the file)."""
    refuse_rate: float = 0.0
    """Probability of a refusal (``refuse``)."""
    truncate_rate: float = 0.0
    """Probability of a stop at the token limit with half of the answer (``truncate``)."""
    served: str | None = None
    """Model that the answer names; by default the scenario's, else the one that was asked."""
    latency: Latency = Latency()
    """How long it takes."""
    faults: tuple[Fault, ...] = ()
    """What goes wrong; at most one hits an arrival, the first in order that does."""
    prefix_cache: PrefixCache | None = None
    """Warm prompts."""
    response_cache: ResponseCache | None = None
    """Stored answers."""

    def __post_init__(self) -> None:
        """Probabilities sum to no more than 1, and what they leave over has an answer.

        Raises: UsageProblem ``bad-scenario``.
        """
        spent = self.pass_rate + self.refuse_rate + self.truncate_rate
        if min(self.pass_rate, self.refuse_rate, self.truncate_rate) < 0 or spent > 1 + TOLERANCE:
            raise UsageProblem("bad-scenario", f"pass, refuse and truncate sum to {spent:g}, asked 0 to 1")
        if spent < 1 - TOLERANCE and not self.fails:
            raise UsageProblem("bad-scenario", f"{1 - spent:g} of the samples fail and have no answer")


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a fake endpoint does, from one seed."""

    seed: str
    """Start of every draw."""
    rules: tuple[Rule, ...]
    """In order; the first that matches decides."""
    models: tuple[str, ...] = ()
    """Models that ``/v1/models`` lists; if there are any, others are not found."""
    served: str | None = None
    """Model that answers name; by default the one that was asked."""
    fingerprint: str | None = None
    """``system_fingerprint`` of answers."""
    piece_chars: int = 16
    """Length of a stream's pieces in code points."""
    allowance: Allowance = Allowance()
    """How much it takes (``limits`` in the file)."""


def matches(match: Match, *, prompt: str, model: str) -> bool:
    """Whether a request with this prompt text and model is meant."""
    if match.model is not None and match.model != model:
        return False
    if match.contains is not None and match.contains not in prompt:
        return False
    return match.pattern is None or match.pattern.search(prompt) is not None


def rule_for(scenario: Scenario, *, prompt: str, model: str) -> Rule | None:
    """The first rule that matches, or None."""
    return next((rule for rule in scenario.rules if matches(rule.when, prompt=prompt, model=model)), None)
