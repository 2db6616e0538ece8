# SPDX-License-Identifier: Apache-2.0
"""What a trace of leaves must keep, counted from the definition and not from any arrival time."""

from fractions import Fraction


def most_above_rate(leaves, calls, per_ns, burst):
    """By how many units the worst window is above ``burst + rate x length``; leaves are (time, cost) in order.

    Every pair of leaves is the start and the end of a window. At most 0 where the limit was kept.
    """
    worst = Fraction(-burst)
    for first, (start, _) in enumerate(leaves):
        spent = 0
        for end, cost in leaves[first:]:
            spent += cost
            worst = max(worst, spent - burst - Fraction((end - start) * calls, per_ns))
    return worst


def most_at_once(stays):
    """The largest number of (start, end) that overlap; one that ends as another starts does not meet it."""
    moments = sorted([(start, 1) for start, _ in stays] + [(end, -1) for _, end in stays])
    now = most = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most
