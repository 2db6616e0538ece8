# SPDX-License-Identifier: Apache-2.0
"""Rows of other runners: from what they say of one sample to its bucket.

What it decides: bucket and reason of a row. What it leaves: file formats of those runners, to their importers.

- A runner's words are claims. What it calls an outage is ``claimed-transport``: a failure towards PASS, nothing
  towards FAIL, and never redrawn for free; only our own observer makes ``transport``.
- What the model brought about (a time limit while solving, a refusal, an answer of the wrong form) is a failure,
  whatever the runner files it under.
- What is neither clearly a pass nor clearly a failure is ``invalid``: it stays in the count and says nothing.

The first row that matches decides.

| the row says | bucket |
|---|---|
| an error category of the machinery (outage, sandbox, network, rate limit, judge) | claimed-transport |
| an error category of the model (solving, answer, refusal, time limit) | fail |
| another error category | invalid |
| an HTTP status 429, or 500 and above | claimed-transport |
| another HTTP status outside 200 to 299 | invalid |
| an answer cut at its length limit | invalid |
| a time limit | fail |
| a status that is neither done nor known | invalid |
| pass or fail, as verdict, boolean or reward | that |
| nothing of this | invalid |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.wire import FIRST_SERVER_ERROR, SUCCESS, TOO_MANY_REQUESTS
from truegreen.sampling.expect import CUT, FINISHED, REFUSED
from truegreen.sampling.ledger import Sample
from truegreen.sampling.states import MISSING

KEYS = frozenset(
    {"status", "verdict", "passed", "reward", "http", "error_category", "finish_reason", "stop_reason"}
)
"""Keys of a row that decide its bucket."""

_MACHINERY = re.compile(
    r"infra|sandbox|network|connect|dns|transport|rate.?limit|quota|overload|unavailable|gateway|server|service"
    r"|provider|environment|container|docker|cluster|node|disk|memory|oom|judge|grader|scorer|harness|system|api"
)
_MODEL = re.compile(
    r"solve|solver|model|agent|answer|response|output|refus|safety|content|format|pars|schema|valid|assert|wrong"
    r"|incorrect|time.?out|time.?limit|deadline|step.?limit|turn.?limit"
)
_DONE = frozenset(
    {
        "ok",
        "done",
        "success",
        "succeeded",
        "completed",
        "complete",
        "finished",
        "pass",
        "passed",
        "fail",
        "failed",
    }
)
_PASS = frozenset({"pass", "passed", "ok", "success", "correct", "true", "yes"})
_FAIL = frozenset({"fail", "failed", "failure", "incorrect", "wrong", "false", "no"})
_TIME_LIMIT = frozenset({"timeout", "timed_out", "time_limit", "deadline_exceeded"})


def sample_of_row(row: Mapping[str, Any], n: int, *, full_reward: float = 1.0) -> Sample:
    """The sample with number ``n`` that a row tells of; ``full_reward`` is the reward from which it passed."""
    bucket, reason = _bucket(row, full_reward)
    return Sample(n=n, bucket=bucket, reason=reason)


def slots(samples: Iterable[Sample], n: int) -> tuple[Sample, ...]:
    """Samples 1 to ``n``, each one that is not there as ``invalid`` with reason ``missing``; later ones are left.

    Raises: EvidenceProblem ``sample-number-twice`` (contradictory) if two samples have one number.
    """
    found: dict[int, Sample] = {}
    for sample in samples:
        if sample.n in found:
            raise EvidenceProblem(
                "sample-number-twice", f"two samples have the number {sample.n}", contradictory=True
            )
        found[sample.n] = sample
    return tuple(
        found.get(number, Sample(n=number, bucket="invalid", reason=MISSING)) for number in range(1, n + 1)
    )


class RowCount(msgspec.Struct, frozen=True, kw_only=True):
    """Rows 1 to n by bucket; the five numbers add up to n."""

    passed: int
    """Bucket ``pass``."""
    failed: int
    """Bucket ``fail``."""
    outage: int
    """Bucket ``claimed-transport``."""
    invalid: int
    """Bucket ``invalid``, without those that are missing."""
    missing: int
    """Numbers without a row."""


def counted(rows: Iterable[Sample], n: int) -> RowCount:
    """The samples 1 to ``n`` by bucket, none left out.

    Raises: EvidenceProblem ``sample-number-twice`` (contradictory) if two samples have one number.
    """
    kept = slots(rows, n)
    buckets = Counter(sample.bucket for sample in kept)
    missing = sum(sample.reason == MISSING for sample in kept)
    return RowCount(
        passed=buckets["pass"],
        failed=buckets["fail"],
        outage=buckets["claimed-transport"],
        invalid=buckets["invalid"] - missing,
        missing=missing,
    )


def _bucket(row: Mapping[str, Any], full_reward: float) -> tuple[str, str]:
    category, http = _word(row, "error_category"), row.get("http")
    if category:
        return _by_category(category)
    if isinstance(http, int) and http not in SUCCESS:
        is_outage = http == TOO_MANY_REQUESTS or http >= FIRST_SERVER_ERROR
        return "claimed-transport" if is_outage else "invalid", f"status-{http}"
    ended = _word(row, "finish_reason") or _word(row, "stop_reason")
    if ended and ended not in FINISHED:
        return _by_end(ended)
    status = _word(row, "status")
    if status in _TIME_LIMIT:
        return "fail", "time-limit"
    if status and status not in _DONE:
        return "invalid", "skipped" if status.startswith("skip") else "claimed-error"
    return _by_verdict(row, status, full_reward)


def _by_category(category: str) -> tuple[str, str]:
    if _MACHINERY.search(category) and not re.search(r"solve|model", category):
        return "claimed-transport", "claimed-outage"
    return ("fail", "model-fault") if _MODEL.search(category) else ("invalid", "claimed-error")


def _by_end(ended: str) -> tuple[str, str]:
    if ended in CUT:
        return "invalid", "length-stop"
    return ("fail", "refusal") if ended in REFUSED else ("invalid", "unknown-end")


def _by_verdict(row: Mapping[str, Any], status: str, full_reward: float) -> tuple[str, str]:
    said = {name: row[name] for name in ("verdict", "passed", "reward") if row.get(name) is not None}
    votes = {_says_pass(value, full_reward) for value in said.values()} or {_says_pass(status, full_reward)}
    if votes == {True}:
        return "pass", ""
    return ("fail", "claimed-fail") if votes == {False} else ("invalid", "no-verdict")


def _says_pass(value: Any, full_reward: float) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value >= full_reward
    word = value.lower() if isinstance(value, str) else ""
    if word in _PASS:
        return True if word != "ok" else None
    return False if word in _FAIL else None


def _word(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value.strip().lower() if isinstance(value, str) else ""
