# SPDX-License-Identifier: Apache-2.0
"""What threads and tasks share when they ask."""

import math

import pytest
from backend_kinds import FORK

from truegreen.core.admission import Ask, Leave
from truegreen.core.errors import ReachProblem
from truegreen.limiter import asking
from truegreen.limiter.limits import LONGEST, SECOND, Limits, checked
from truegreen.limiter.memory import Memory
from truegreen.limiter.state import Go, Gone, Later, Queued


def test_a_name_is_used_once_also_after_a_fork():
    """The child's names have another beginning."""
    ids = asking.Ids()
    mine = {ids.next() for _ in range(100)}
    here, there = FORK.Pipe()
    child = FORK.Process(target=lambda: there.send([ids.next() for _ in range(100)]))
    child.start()
    theirs = set(here.recv())
    child.join(30)
    assert (100, 100, set()) == (len(mine), len(theirs), mine & theirs)


def test_seconds_become_nanoseconds_and_a_negative_wait_stays_wrong():
    """A wait beyond any limit is cut, one that is left out is the ledger's own."""
    given = (None, 0.25, 1e12, -5.0, math.inf, -math.inf, math.nan)
    waits = [asking.request_of(Ask(wait_s=wait), "a", "").wait_ns for wait in given]
    assert [None, SECOND // 4, LONGEST, -1, LONGEST, -1, -1] == waits
    assert 200 == len(asking.request_of(Ask(holder="x" * 500), "a", "").holder)


def test_a_slot_is_waited_for_exactly_and_a_place_is_looked_at_every_50_ms():
    """More seldom far back in the queue; what is refused or gone is an error."""
    backend = Memory(checked(Limits(in_flight=1)))
    waits = [
        asking.pause_s(backend, Ask(), answer)
        for answer in (
            Later(ticket=1, wait_ns=SECOND),
            Queued(ticket=1, ahead=0),
            Queued(ticket=1, ahead=160),
        )
    ]
    assert [1.0, 0.05, 0.5] == waits
    with pytest.raises(ReachProblem, match="its deadline cannot be met any more"):
        asking.pause_s(backend, Ask(), Gone())
    backend.close()


def test_leave_names_its_ticket_its_lease_and_its_wait():
    """Seconds for people."""
    leave = asking.leave_of(Ask(cost=2), "a", Go(ticket=3, waited_ns=SECOND, lease_ns=7))
    assert Leave(ticket=3, lease="a", ask=Ask(cost=2), waited_s=1.0) == leave
    assert "" == asking.leave_of(Ask(), "a", Go(ticket=3, waited_ns=SECOND, lease_ns=0)).lease
