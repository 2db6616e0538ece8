# SPDX-License-Identifier: Apache-2.0
"""The tables of ``docs/statistics.md``, computed exactly from the product's own rules.

Run as a program it prints every table, to be put between its marks in the page.
"""

from collections import Counter
from math import prod

from truegreen.sampling.bounds import bounds
from truegreen.sampling.ledger import Sample
from truegreen.sampling.sequential import (
    Ruling,
    alpha_share,
    failures_still_needed,
    fixed,
    limits,
    mostly_passing_stops,
    passes_still_needed,
    sequential,
    smoke,
)
from truegreen.sampling.states import State, state

RATES = (0.995, 0.95, 0.88, 0.80, 0.70, 0.60, 0.50, 0.20)
ORDINARY = ((9, 0.995), (2, 0.95), (1, 0.88))
STANDARD = sequential("standard", p_good="0.95", p_bad="0.80", alpha="0.05", beta="0.05", cap=30)


def outcomes(rule, p, *, cases=12):
    """Probability of each state, and expected samples, for a case that passes with probability ``p``."""
    table = limits(rule, cases=cases)
    found, still_open, samples = Counter(), {0: 1.0}, 0.0
    for n in range(1, rule.cap + 1):
        samples += sum(still_open.values())
        following = Counter()
        for passes, weight in still_open.items():
            following[passes + 1] += weight * p
            following[passes] += weight * (1 - p)
        still_open = {}
        for passes, weight in following.items():
            ruling = table.ruling(passes, n)
            if ruling is not Ruling.UNDECIDED:
                found[_state(rule, ruling, passes, n, cases)] += weight
            elif _is_in_reach(rule, passes, n, cases):
                still_open[passes] = weight
            else:
                found[State.INCONCLUSIVE] += weight
    return found, samples


def _is_in_reach(rule, passes, n, cases):
    needed = (passes_still_needed, failures_still_needed)
    return any(one(passes, n, rule, cases=cases) is not None for one in needed)


def _state(rule, ruling, passes, n, cases):
    if ruling is Ruling.PASS:
        return State.STABLE_PASS
    if not passes:
        return State.NEVER_PASSED
    if rule.kind == "fixed":
        return State.MOSTLY_PASSING if passes * 5 >= n * 3 else State.MOSTLY_FAILING
    is_mostly = (n, passes) in mostly_passing_stops(rule, cases=cases)
    return State.MOSTLY_PASSING if is_mostly else State.MOSTLY_FAILING


def percent(value):
    """At most three digits, never 0 or 100 for what is neither."""
    if 0 < value < 0.0005:
        return "< 0.1 %"
    if 0.9995 < value < 1:
        return "> 99.9 %"
    return f"{value * 100:.1f} %"


def proofs():
    """What so many passes in a row prove."""
    yield "| passes in a row | after a fixed n | after a stop of `smoke` |"
    yield "|---|---|---|"
    for n in (3, 5, 6, 10, 20, 33):
        yield f"| {n} of {n} | {bounds(n, 0, 0, fixed(n)).low:.2f} | {bounds(n, 0, 0, smoke()).low:.2f} |"


def by_rate():
    """States of a case by its true pass rate, under smoke in a suite of twelve."""
    yield "| works | stable-pass | mostly passing | mostly failing | never passed | inconclusive | samples |"
    yield "|---|---|---|---|---|---|---|"
    order = (
        State.STABLE_PASS,
        State.MOSTLY_PASSING,
        State.MOSTLY_FAILING,
        State.NEVER_PASSED,
        State.INCONCLUSIVE,
    )
    for p in RATES:
        found, samples = outcomes(smoke(), p)
        yield f"| {p} | " + " | ".join(percent(found[one]) for one in order) + f" | {samples:.1f} |"


def by_suite():
    """How suite and sequence move the bounds."""
    yield "| | 1 case | 12 cases | 100 cases |"
    yield "|---|---|---|---|"
    sizes = (1, 12, 100)
    yield (
        "| failures in a row that end a case | "
        + " | ".join(str(failures_still_needed(0, 0, smoke(), cases=size)) for size in sizes)
        + " |"
    )
    for label, p in (("samples of a case at .95", 0.95), ("samples of a case at .20", 0.20)):
        yield (
            f"| {label} | "
            + " | ".join(f"{outcomes(smoke(), p, cases=size)[1]:.1f}" for size in sizes)
            + " |"
        )
    reds = [1 - (1 - _red(p, size)) ** size for size in sizes for p in (0.95,)]
    yield "| any false red, all cases at .95 | " + " | ".join(percent(red) for red in reds) + " |"


def _red(p, cases):
    found, _ = outcomes(smoke(), p, cases=cases)
    return found[State.NEVER_PASSED] + found[State.MOSTLY_FAILING] + found[State.MOSTLY_PASSING]


def by_sequence():
    """Alpha and passes in a row for each fresh sequence of one pull request."""
    yield "| fresh sequence | its alpha | passes in a row that certify |"
    yield "|---|---|---|"
    for j in (1, 2, 3, 4, 10):
        needed = passes_still_needed(0, 0, smoke(), cases=12, j=j)
        yield f"| {j} | {float(alpha_share(smoke().alpha, j)):.5f} | {needed} |"


def by_push():
    """Twelve ordinary tests under three rules."""
    yield "| rule | admitted | held | blocked | samples |"
    yield "|---|---|---|---|---|"
    for label, rule in (("`smoke`", smoke()), (".95/.80, cap 30", STANDARD), ("`fixed`, 5 of 5", fixed(5))):
        rows = [(count, *outcomes(rule, p)) for count, p in ORDINARY]
        admitted = prod(found[State.STABLE_PASS] ** count for count, found, _ in rows)
        no_block = prod(
            (1 - found[State.NEVER_PASSED] - found[State.MOSTLY_FAILING]) ** count for count, found, _ in rows
        )
        samples = sum(count * each for count, _, each in rows)
        yield (
            f"| {label} | {percent(admitted)} | {percent(no_block - admitted)} | {percent(1 - no_block)} "
            f"| {samples:.0f} |"
        )


def by_reading():
    """How samples without a verdict are read."""
    letters = {"P": "pass", "F": "fail", "I": "invalid", "T": "transport", "C": "claimed-transport"}
    yield "| samples | `smoke`, 12 cases | `fixed`, 5 |"
    yield "|---|---|---|"
    for text in ("PPPPPP", "PPPPI", "PPPPIPPPPPP", "FFF", "FFFFI", "IIII", "FCFC", "PPT", "CCCC"):
        samples = [Sample(n=n, bucket=letters[letter]) for n, letter in enumerate(text, 1)]
        cells = []
        for rule in (smoke(), fixed(5)):
            found = state(samples, rule, cases=12)
            cells.append(found.state.value + (f" ({found.cause.value})" if found.cause.value else ""))
        yield f"| {text} | {cells[0]} | {cells[1]} |"


TABLES = {
    "proofs": proofs,
    "by-rate": by_rate,
    "by-suite": by_suite,
    "by-sequence": by_sequence,
    "by-push": by_push,
    "by-reading": by_reading,
}

if __name__ == "__main__":
    for name, rows in TABLES.items():
        print(f"<!-- {name} -->\n", *rows(), "", sep="\n")  # noqa: T201 - a program
