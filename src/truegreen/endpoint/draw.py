# SPDX-License-Identifier: Apache-2.0
"""Which sample gets which outcome: pure functions of seed, prompt and sample number.

What it decides: every draw of a fake endpoint. What it leaves: counting arrivals, to ``oracle``; bytes, to
``reply``.

- A draw is a number in [0, 1) made of the SHA-256 of what it depends on, so that neither the order of arrival
  nor concurrency nor the interpreter changes it.
- The outcome of a sample is one draw against the cumulated probabilities pass, refuse, truncate, fail: a sample
  that passes at some pass rate passes at every higher one.
- An outcome never depends on the arrival; a fault by share does (a retry of a sample is another arrival).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from enum import Enum
from statistics import NormalDist
from typing import Any, Final

import msgspec

from truegreen.endpoint.scenario import Fault, Latency, Rule, Scenario

DOUBLE_BITS: Final = 53
STANDARD: Final = NormalDist()
STORED: Final = "/stored"
"""Sample of the answer that a response cache holds; a client's sample number has no slash."""


class Outcome(Enum):
    """What a sample gets when nothing goes wrong on the way."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    REFUSAL = "refusal"
    LENGTH = "length"


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is drawn for one sample."""

    outcome: Outcome
    """What it gets."""
    text: str
    """Text of the answer, whole."""
    latency_s: float
    """Seconds until the answer."""
    cached_tokens: int
    """Prompt tokens that it reports as cached."""
    is_stored: bool
    """Whether a response cache answers."""


def uniform(*parts: str) -> float:
    """A number in [0, 1), the same for the same parts everywhere."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    bits = int.from_bytes(digest[:8], "big") >> (64 - DOUBLE_BITS)
    return math.ldexp(bits, -DOUBLE_BITS)


def prompt_digest(messages: Sequence[Any]) -> str:
    """``sha256:`` of the messages as JSON with sorted names: what two equal prompts share."""
    text = json.dumps(messages, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def draw(scenario: Scenario, rule: Rule, *, digest: str, sample: str) -> Drawn:
    """Everything that sample ``sample`` of the prompt with this digest gets."""
    stored = rule.response_cache
    is_stored = stored is not None and uniform(scenario.seed, digest, sample, "stored") < stored.share
    source = STORED if is_stored else sample
    outcome = outcome_of(rule, uniform(scenario.seed, digest, source, "outcome"))
    which = uniform(scenario.seed, digest, source, "which")
    warm = rule.prefix_cache
    is_warm = warm is not None and uniform(scenario.seed, digest, sample, "warm") < warm.share
    return Drawn(
        outcome=outcome,
        text=_text(rule, outcome, which),
        latency_s=latency_s(rule.latency, outcome, uniform(scenario.seed, digest, sample, "latency")),
        cached_tokens=warm.tokens if warm is not None and is_warm else 0,
        is_stored=is_stored,
    )


def outcome_of(rule: Rule, u: float) -> Outcome:
    """The outcome at a draw ``u`` in [0, 1)."""
    if u < rule.pass_rate:
        return Outcome.PASS
    if u < rule.pass_rate + rule.refuse_rate:
        return Outcome.REFUSAL
    if u < rule.pass_rate + rule.refuse_rate + rule.truncate_rate:
        return Outcome.LENGTH
    return Outcome.FAIL


def latency_s(latency: Latency, outcome: Outcome, u: float) -> float:
    """Seconds until the answer at a draw ``u`` in [0, 1), by inversion of the law."""
    factor = {"constant": _constant, "exponential": _exponential, "lognormal": _lognormal}[latency.law](
        latency, u
    )
    slower = 1.0 if outcome is Outcome.PASS else latency.fail_factor
    return latency.ms / 1000 * factor * slower


def fault_of(
    scenario: Scenario, rule: Rule, *, digest: str, sample: str, arrivals: dict[str, int]
) -> Fault | None:
    """The fault that hits this arrival; ``arrivals`` counts earlier ones by ``sample``, ``prompt``, ``endpoint``."""
    for place, fault in enumerate(rule.faults):
        if fault.first:
            if arrivals[fault.per] < fault.first:
                return fault
        elif uniform(scenario.seed, digest, sample, str(arrivals["sample"]), f"fault {place}") < fault.share:
            return fault
    return None


def request_id(scenario: Scenario, *, digest: str, sample: str, arrival: int) -> str:
    """Id of one arrival."""
    made = hashlib.sha256(json.dumps([scenario.seed, digest, sample, arrival]).encode())
    return f"req_{made.hexdigest()[:32]}"


def _text(rule: Rule, outcome: Outcome, which: float) -> str:
    if outcome is Outcome.FAIL and rule.fails:
        return rule.fails[int(which * len(rule.fails))]
    return rule.answer


def _constant(_latency: Latency, _u: float) -> float:
    return 1.0


def _exponential(_latency: Latency, u: float) -> float:
    return -math.log1p(-u)


def _lognormal(latency: Latency, u: float) -> float:
    return math.exp(latency.sigma * STANDARD.inv_cdf(max(u, 2**-DOUBLE_BITS)))
