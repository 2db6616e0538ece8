# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 4: limits, told waits, retries and what is left of an answer.

What it decides: how such an input becomes calls of the product's functions, and their results a verdict. What it
leaves: every judgement, to the functions that wiring hands in.

| shape | keys | admit | retry | block | hold |
|---|---|---|---|---|---|
| one request | bucket, request | it may leave | never | no wait is long enough | it has to wait |
| requests at once | bucket, now, requests | all may leave | never | no wait is long enough for one | some have to wait |
| a contract | limit, bucket, arrivals | the bucket keeps it | never | it breaks it | never |
| two layers | harness_attempts, sdk, endpoint | one layer repeats | never | two do | never |
| told waits | now, status, value or values | never | every value lets the attempt be repeated | never | one does not |
| exchanges | exchanges | never | each is repeated | never | one is not |
| an answer | status, content_type, body | it is whole | it is repeated | never | neither |

A refusal of ours has the word that cases use for it in ``REASONS``; a signal in ``CLASSES``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from truegreen.conformance.ports_four import Bucket, Buckets, Read, Rule, Stack
from truegreen.conformance.shapes import UNSUPPORTED, Answer, has_keys
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.instants import instant

REASONS: Final = {"cost-above-burst": "cost-over-capacity"}
"""Our refusals by the words of cases, where these differ."""
CLASSES: Final = {"cut": "connection_error", "not-connected": "connection_error", "timed-out": "timeout"}
"""Our signals by the words of cases, where these differ."""
GREEDY: Final = re.compile(r"greedy for ([0-9]{1,6}) ?s")
ALWAYS: Final = re.compile(r"always ([1-5][0-9]{2})")
ORDINALS: Final = {1: "first", 2: "second", 3: "third", 11: "eleventh"}
"""How cases call the first request that has to wait; every other one is ``number_n``."""
MOST_AT_ONCE: Final = 10_000
"""Requests at once, and values or exchanges of one input."""
NUMBER: Final = (int, float)


class OneRequest:
    """One request at a bucket whose level is known."""

    name = "one request"

    def __init__(self, buckets: Buckets) -> None:
        """Asks the product's own ledger."""
        self._buckets = buckets

    def fits(self, given: Mapping[str, Any]) -> bool:
        """A bucket and a request."""
        return has_keys(given, needed=frozenset({"bucket", "request"}), known=frozenset({"waited_s"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit, hold for the wait, block for ever."""
        bucket, request = _mapping(given["bucket"]), _mapping(given["request"])
        capacity = _number(bucket, "capacity_tokens", "capacity")
        cost = _number(request, "cost_tokens", "cost")
        known = {"capacity_tokens", "capacity", "refill_per_s", "level"}
        if capacity is None or cost is None or not bucket.keys() <= known or len(request) != 1:
            return Answer(
                verdict=UNSUPPORTED, detail="bucket and request are no whole numbers that are known"
            )
        try:
            made = self._buckets(capacity, bucket.get("refill_per_s"), bucket.get("level", capacity))
            left = made.take(cost, given.get("waited_s", 0))
        except UsageProblem as err:
            return Answer(verdict=UNSUPPORTED, detail=err.message)
        facts: dict[str, Any] = {"wait_s": left.wait_s, "bucket_after": left.level}
        if left.reason is not None:
            facts["reason"] = REASONS.get(left.reason, left.reason)
        verdict = "admit" if left.reason is None else ("block" if left.wait_s is None else "hold")
        return Answer(verdict=verdict, facts=facts)


class RequestsAtOnce:
    """Requests of one unit at one moment, some time after the level was known."""

    name = "requests at once"

    def __init__(self, buckets: Buckets) -> None:
        """Asks the product's own ledger."""
        self._buckets = buckets

    def fits(self, given: Mapping[str, Any]) -> bool:
        """A bucket with its level, the moment, and how many."""
        return has_keys(given, needed=frozenset({"bucket", "now", "requests"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit if all leave at once, hold if some have to wait."""
        bucket, count = _mapping(given["bucket"]), given["requests"]
        if bucket.keys() != {"capacity", "refill_per_s", "level", "updated"} or not _is_count(count):
            return Answer(verdict=UNSUPPORTED, detail="bucket and requests are not those that are known")
        try:
            elapsed = _instant(given["now"]) - _instant(bucket["updated"])
            made: Bucket = self._buckets(bucket["capacity"], bucket["refill_per_s"], bucket["level"])
            before = made.level_after(elapsed.total_seconds())
            taken = [made.take(1, elapsed.total_seconds()) for _ in range(count)]
        except (UsageProblem, EvidenceProblem) as err:
            return Answer(verdict=UNSUPPORTED, detail=err.message)
        refused = [one for one in taken if one.reason is not None]
        facts: dict[str, Any] = {"level_before": before, "admitted": count - len(refused)}
        if refused:
            facts[f"{_ordinal(count - len(refused) + 1)}_wait_s"] = refused[0].wait_s
            facts["reason"] = refused[0].reason
        return Answer(verdict="hold" if refused else "admit", facts=facts)


class Contract:
    """A bucket beside a number that no minute may exceed."""

    name = "a contract"

    def __init__(self, buckets: Buckets) -> None:
        """Asks the product's own ledger and its check of limits."""
        self._buckets = buckets

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Limit, bucket and arrivals."""
        return has_keys(given, needed=frozenset({"limit", "bucket", "arrivals"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit a bucket that keeps the contract, block one that breaks it."""
        limit, bucket = _mapping(given["limit"]), _mapping(given["bucket"])
        arrivals = GREEDY.fullmatch(str(given["arrivals"]))
        allowed = limit.get("requests_per_minute")
        known = {"capacity", "refill_per_s", "start"}
        start = {"full": bucket.get("capacity"), "empty": 0}.get(str(bucket.get("start", "full")))
        if arrivals is None or limit.keys() != {"requests_per_minute"} or not bucket.keys() <= known:
            return Answer(
                verdict=UNSUPPORTED, detail="limit, bucket or arrivals have keys that no shape reads"
            )
        if type(allowed) is not int or not _is_count(allowed) or start is None:
            return Answer(verdict=UNSUPPORTED, detail="the limit is no whole number, or the start is unknown")
        try:
            made = self._buckets(bucket.get("capacity"), bucket.get("refill_per_s"), start)
            admitted = made.greedy(int(arrivals[1]))
            problem = made.problem(allowed, 60)
        except UsageProblem as err:
            return Answer(verdict=UNSUPPORTED, detail=err.message)
        facts: dict[str, Any] = {f"admitted_in_{arrivals[1]}s": admitted, "allowed": allowed}
        if problem is None:
            return Answer(verdict="admit", facts=facts)
        return Answer(verdict="block", facts={**facts, "reason": "bucket-breaks-contract"}, detail=problem)


class TwoLayers:
    """A harness that repeats, around an SDK that may."""

    name = "two layers"

    def __init__(self, stack: Stack) -> None:
        """Checks with the product's own functions."""
        self._stack = stack

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Attempts of the harness, the SDK, the endpoint."""
        return has_keys(given, needed=frozenset({"harness_attempts", "sdk", "endpoint"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Block a client that repeats by itself."""
        attempts, sdk = given["harness_attempts"], _mapping(given["sdk"])
        endpoint = ALWAYS.fullmatch(str(given["endpoint"]))
        retries = sdk.get("max_retries")
        if endpoint is None or not _is_count(attempts) or not sdk.keys() <= {"name", "max_retries"}:
            return Answer(verdict=UNSUPPORTED, detail="harness, SDK or endpoint are not those that are known")
        if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
            return Answer(verdict=UNSUPPORTED, detail="max_retries is no whole number")
        seen, reason = self._stack(attempts, retries, int(endpoint[1]), str(sdk.get("name", "")))
        facts: dict[str, Any] = {"calls_on_the_wire_allowed": attempts, "calls_seen": seen}
        if reason is None:
            return Answer(verdict="admit", facts=facts)
        return Answer(verdict="block", facts={**facts, "reason": reason})


class ToldWaits:
    """Values of ``Retry-After`` on an answer with a status, each alone."""

    name = "told waits"  # a number with a point or an exponent is none of a header's texts that tell a time

    def __init__(self, rule: Rule) -> None:
        """Rules with the product's own table."""
        self._rule = rule

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Clock, status, and a value or a list of values."""
        known = frozenset({"max_wait_s"})
        return any(
            has_keys(given, needed=frozenset({"now", "status", key}), known=known)
            for key in ("value", "values")
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Retry if every value lets the attempt be repeated; hold if one does not."""
        values = [given["value"]] if "value" in given else given["values"]
        limit = given.get("max_wait_s")
        if not _is_list(values) or not values or not all(isinstance(value, str | float) for value in values):
            return Answer(verdict=UNSUPPORTED, detail="a value of Retry-After is a text")
        if type(given["status"]) is not int or not (limit is None or _is_number(limit)):
            return Answer(verdict=UNSUPPORTED, detail="status or limit is no number")
        try:
            now = _instant(given["now"])
        except EvidenceProblem as err:
            return Answer(verdict=UNSUPPORTED, detail=err.message)
        ruled = {
            value: self._rule(given["status"], {"Retry-After": str(value)}, now, limit) for value in values
        }
        verdict = "retry" if all(one.again for one in ruled.values()) else "hold"
        if "value" in given:
            (one,) = ruled.values()
            action = "wait" if one.again else "give_up"
            return Answer(
                verdict=verdict, facts={"wait_s": one.told_s, "action": action, "reason": one.reason}
            )
        waits = {value: one.told_s for value, one in ruled.items()}
        silent = [value for value, one in ruled.items() if one.told_s is None]
        return Answer(verdict=verdict, facts={"wait_s": waits, "invalid_use_backoff": silent})


class Exchanges:
    """First attempts that ended with a status and headers, each alone."""

    name = "exchanges"

    def __init__(self, rule: Rule) -> None:
        """Rules with the product's own table."""
        self._rule = rule

    def fits(self, given: Mapping[str, Any]) -> bool:
        """A list of statuses with headers."""
        return has_keys(given, needed=frozenset({"exchanges"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Retry if each is repeated; hold if one is not."""
        rows = given["exchanges"]
        if not _is_list(rows) or not rows or not all(_is_exchange(row) for row in rows):
            return Answer(verdict=UNSUPPORTED, detail="an exchange is a status with headers that are texts")
        now = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
        if any(_is_date(value) for row in rows for value in row.get("headers", {}).values()):
            return Answer(verdict=UNSUPPORTED, detail="a date needs a clock, which the input does not give")
        ruled = [self._rule(row["status"], row.get("headers", {}), now, None) for row in rows]
        again = [one.again for one in ruled]
        facts = {"retry": again, "wait_s": [one.told_s if one.again else None for one in ruled]}
        return Answer(verdict="retry" if all(again) else "hold", facts=facts)


class AnAnswer:
    """One answer as it came, to its last byte."""

    name = "an answer"

    def __init__(self, read: Read) -> None:
        """Reads with the product's own reader and rules with its table."""
        self._read = read

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Status, type and body."""
        return has_keys(given, needed=frozenset({"status", "content_type", "body"}))

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit what is whole, retry what is cut, hold the rest."""
        status, kind, body = given["status"], given["content_type"], given["body"]
        if type(status) is not int or not isinstance(kind, str) or not isinstance(body, str):
            return Answer(verdict=UNSUPPORTED, detail="status, type or body is of another type")
        signal, ruled, end_mark = self._read(status, kind, body.encode())
        if signal == "answered":
            return Answer(verdict="admit", facts={"end_marker": end_mark})
        facts = {
            "sample": "no_evidence",
            "class": CLASSES.get(signal, signal.replace("-", "_")),
            "end_marker": end_mark,
            "reason": ruled.reason,
        }
        return Answer(verdict="retry" if ruled.again else "hold", facts=facts)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(given: Mapping[str, Any], *names: str) -> int | None:
    found = [given[name] for name in names if name in given]
    return found[0] if len(found) == 1 and _is_count(found[0]) else None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_AT_ONCE


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBER) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) <= MOST_AT_ONCE


def _is_exchange(row: Any) -> bool:
    headers = row.get("headers", {}) if isinstance(row, Mapping) else None
    return (
        isinstance(headers, Mapping)
        and row.keys() <= {"status", "headers"}
        and type(row.get("status")) is int
        and all(isinstance(one, str) for pair in headers.items() for one in pair)
    )


def _is_date(value: str) -> bool:
    return ":" in value


def _instant(value: Any) -> dt.datetime:
    """A time that a case gives as text."""
    return instant(value if isinstance(value, str) else "")


def _ordinal(number: int) -> str:
    return ORDINALS.get(number, f"number_{number}")
