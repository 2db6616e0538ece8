# SPDX-License-Identifier: Apache-2.0
"""The page for Prometheus, read back by Prometheus's own parser."""

from prometheus_client.parser import text_string_to_metric_families

from truegreen.limiter import ledger as rules
from truegreen.limiter.http.metrics import COUNTERS, Row, exposition
from truegreen.limiter.limits import SECOND, Limits, checked
from truegreen.limiter.state import Counts, Request


def _ledger():
    ledger = rules.new_ledger(checked(Limits(in_flight=1)), 0)
    ledger = rules.ask(ledger, Request(id="a"), SECOND).ledger
    ledger = rules.ask(ledger, Request(id="b"), SECOND).ledger
    return rules.pause(ledger, 5 * SECOND, 2 * SECOND).ledger


def test_every_series_can_be_read_back():
    """With its labels, whatever stands in a name."""
    hostile = 'a"b\\c\nd'
    rows = [Row(tenant="t", resource=hostile, ledger=_ledger(), now_ns=3 * SECOND)]
    page = exposition(rows).decode()
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.labels == {"tenant": "t", "resource": hostile}
    }
    assert (1.0, 1.0, 4.0) == tuple(
        found[f"truegreen_limiter_{name}"] for name in ("in_flight", "waiting", "held_seconds")
    )
    assert (1.0, 1.0, 0.0) == tuple(
        found[f"truegreen_limiter_{name}_total"] for name in ("granted", "rate_limited", "expired")
    )


def test_every_count_of_a_ledger_is_shown():
    """A count that is added is not forgotten here."""
    told = {"waited_ns", "most_waited_ns", "most_in_flight"}
    assert set(Counts.__struct_fields__) == set(COUNTERS) | told


def test_without_ledgers_the_page_is_still_one():
    """Right after a start."""
    assert "truegreen_limiter_granted_total" in exposition([]).decode()
