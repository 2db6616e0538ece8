# SPDX-License-Identifier: Apache-2.0
"""Measured numbers as lines for people, as JSON, and as the TOML file that a repository keeps beside its policy.

What it decides: words and keys. What it leaves: the numbers and the verdict, to ``measure``.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from truegreen.core.instants import instant_text
from truegreen.core.table import Row
from truegreen.limiter.measure import Numbers

SCHEMA: Final = "truegreen/limiter-numbers/v1"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers, window and verdict."""

    numbers: Numbers
    """What was counted."""
    row: Row
    """The row that decides."""
    window: str
    """The window as it was asked, such as ``7d``."""
    measured_at: str
    """End of the window, UTC."""


def document(page: Page) -> dict[str, Any]:
    """Everything, for tools; also what ``--write`` keeps."""
    numbers = page.numbers
    runs = len(numbers.runs)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "measured_at": page.measured_at,
        "window": page.window,
        "first_call": _instant(numbers.from_us),
        "last_call": _instant(numbers.to_us),
        "runs": runs,
        "calls": numbers.calls,
        "calls_per_run": round(numbers.calls / runs, 1) if runs else None,
        "attempts": numbers.attempts,
        "rate_limited": numbers.rate_limited,
        "waited_s": round(numbers.waited_s, 3),
        "wall_s": _rounded(numbers.wall_s),
        "waiting": _rounded(numbers.waiting),
        "peak_in_flight": numbers.peak,
        "refused_from": numbers.refused_from,
        "timed_out": sum(run.timed_out for run in numbers.runs),
        "timed_out_s": round(sum(run.timed_out_s for run in numbers.runs), 3),
        "repeated": sum(run.budget.repeated for run in numbers.runs),
        "repeats_refused": sum(run.budget.refused for run in numbers.runs),
        "retry_layers": [f"{one.layer}: {one.attempts}" for one in numbers.layers],
        "without_time": numbers.without_time,
        "verdict": page.row.then["verdict"],
        "capacity": numbers.capacity,
    }
    return {name: value for name, value in told.items() if value is not None}


def toml_text(page: Page) -> str:
    """The document as TOML: a line a number, so that a diff shows what moved."""
    lines = [
        f"# {page.row.why}",
        *(f"{name} = {_toml(value)}" for name, value in document(page).items()),
    ]
    return "\n".join(lines) + "\n"


def text_lines(page: Page) -> Iterator[str]:
    """The numbers for people, the verdict last."""
    numbers, told = page.numbers, document(page)
    if told["attempts"]:
        share = 100 * numbers.rate_limited / numbers.attempts
        yield _line(
            "calls per run", f"{told['calls_per_run']:g} ({told['runs']} runs, {told['calls']} answered)"
        )
        yield _line("rate-limited", f"{numbers.rate_limited} of {numbers.attempts} attempts ({share:.1f} %)")
        yield _line("waited", _waited(numbers))
        yield _line("peak in flight", _peak(numbers))
        yield _line("time-outs", f"{told['timed_out']}, {told['timed_out_s']:g} s")
        yield _line(
            "repeated", f"{told['repeated']} attempts, {told['repeats_refused']} refused by the budget"
        )
    for layer in numbers.layers:
        yield _line(
            "retry layer", f"{layer.layer}: {layer.attempts} attempts of {layer.calls} calls beside ours"
        )
    if numbers.without_time:
        yield _line(
            "without a time", f"{numbers.without_time} attempts: counted, in no peak and no wall clock"
        )
    yield _line("verdict", f"{page.row.then['verdict']}: {page.row.why}")
    if numbers.capacity is not None:
        yield _line("capacity", f"{numbers.capacity}, {_from(numbers)}")


def _waited(numbers: Numbers) -> str:
    waited = f"{numbers.waited_s:.1f} s"
    if numbers.wall_s is None or numbers.waiting is None:
        return f"{waited}; wall clock unknown"
    return f"{waited}, {100 * numbers.waiting:.1f} % of {numbers.wall_s:.1f} s wall clock"


def _peak(numbers: Numbers) -> str:
    if numbers.peak is None:
        return "unknown"
    refused = numbers.refused_from
    return f"{numbers.peak}" + ("" if refused is None else f"; calls were turned away from {refused} on")


def _from(numbers: Numbers) -> str:
    return (
        "the measured peak"
        if numbers.refused_from is None
        else "below the load at which calls were turned away"
    )


def _line(name: str, text: str) -> str:
    return f"{name:<15} {text}"


def _instant(us: int | None) -> str | None:
    if us is None:
        return None
    return instant_text(dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=us))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _toml(value: Any) -> str:
    """Texts, numbers and lists of texts are written alike in TOML and JSON, but for DEL, which TOML wants escaped."""
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
