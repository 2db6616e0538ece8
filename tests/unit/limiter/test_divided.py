# SPDX-License-Identifier: Apache-2.0
"""A share of the limits while the common count is away."""

import pytest

from truegreen.core.admission import Ask
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter.backend import Key
from truegreen.limiter.client import Limiter
from truegreen.limiter.divided import Divided, opened_or_absent
from truegreen.limiter.limits import MINUTE, Limits, checked
from truegreen.limiter.memory import Memory
from truegreen.limiter.state import Go, Queued, Refused, Request

KEY = Key()
LIMITS = checked(Limits(calls=6, per_ns=60 * MINUTE, burst=6, in_flight=6))


class Away(Memory):
    """A count that can be away, or broken."""

    code = ""

    def ask(self, key, request):
        """As it is told."""
        if self.code:
            raise ReachProblem(self.code, "the count is away")
        return super().ask(key, request)


@pytest.fixture
def said():
    """What was said."""
    return []


@pytest.fixture
def whole():
    """The common count."""
    made = Away(LIMITS)
    yield made
    made.close()


@pytest.fixture
def three(whole, said):
    """One caller of three."""
    made = Divided(whole, LIMITS, 3, said.append)
    yield made
    made.close()


def test_the_common_count_is_used_while_it_is_there(three, whole, said):
    """And nothing is said."""
    assert isinstance(three.ask(KEY, Request(id="a")), Go)
    assert (1, []) == (len(whole.state(KEY).places), said)


def test_a_count_that_is_away_leaves_a_share_that_begins_empty(three, whole, said):
    """Two of six in flight, and none of them at once: others may just have spent the burst."""
    whole.code = "limiter-unreachable"
    refused = three.ask(KEY, Request(id="a", wait_ns=0))
    assert isinstance(refused, Refused)
    share = three._share.limits
    assert (2, 2, 180 * MINUTE, False) == (share.in_flight, share.burst, share.per_ns, share.starts_full)
    assert ["the count is away; until then one of 3 shares of the limits is used"] == said


def test_three_callers_together_stay_below_the_whole(whole, said):
    """However long it lasts: three shares of two are six."""
    whole.code = "limiter-unreachable"
    limits = checked(Limits(in_flight=6))
    callers = [Divided(whole, limits, 3, said.append) for _ in range(3)]
    answers = [
        caller.ask(KEY, Request(id=f"{number}-{again}"))
        for number, caller in enumerate(callers)
        for again in range(4)
    ]
    assert (6, 6) == (
        sum(isinstance(answer, Go) for answer in answers),
        sum(isinstance(answer, Queued) for answer in answers),
    )
    for caller in callers:
        caller.close()


def test_a_count_that_takes_time_to_be_away_is_not_asked_at_each_call(whole, said):
    """Only one call in five seconds pays for finding out; then the whole is used again."""
    whole.is_quick, whole.code, now, asked = False, "limiter-unreachable", [0.0], []
    whole.ask = lambda key, request: asked.append(request.id) or Away.ask(whole, key, request)
    caller = Divided(whole, checked(Limits(in_flight=6)), 2, said.append, clock_s=lambda: now[0])
    for at, name in ((0.0, "a"), (1.0, "b"), (4.9, "c"), (5.0, "d")):
        now[0] = at
        caller.ask(KEY, Request(id=name))
    whole.code, now[0] = "", 10.0
    assert isinstance(caller.ask(KEY, Request(id="e")), Go)
    assert (["a", "d", "e"], 2) == (asked, len(said))
    caller.close()


def test_leave_goes_back_to_the_count_that_gave_it(whole, said):
    """Although the other one is there again by then."""
    limits = checked(Limits(in_flight=2))
    both = Divided(whole, limits, 2, said.append)
    limiter = Limiter(both)
    whole.code = "limiter-unreachable"
    apart = limiter.enter(Ask())
    whole.code = ""
    together = limiter.enter(Ask())
    assert (1, 1) == (len(both._share.state(KEY).places), len(both.state(KEY).places))
    assert isinstance(both.beat(KEY, apart.lease), Go)
    assert isinstance(both.look(KEY, together.lease), Go)
    limiter.give_back(apart, used_tokens=None)
    limiter.give_back(together, used_tokens=None)
    assert ((), (), set()) == (both._share.state(KEY).places, both.state(KEY).places, both._of_share)
    assert "memory is there again; the whole limits are used" == said[-1]
    limiter.close()


def test_a_broken_state_is_no_absence(three, whole):
    """Only what cannot be reached is divided; what cannot be trusted stays closed."""
    whole.code = "limiter-state-unreadable"
    with pytest.raises(ReachProblem):
        three.ask(KEY, Request(id="a"))


def test_limits_that_cannot_be_divided_are_refused_at_once(whole, said):
    """Not when the count is away."""
    with pytest.raises(UsageProblem, match="capacity is 6 and cannot be divided into 7 shares"):
        Divided(whole, LIMITS, 7, said.append)


def test_what_cannot_be_opened_says_so_to_every_question(tmp_path):
    """Only for what cannot be reached; another problem stays one."""
    (tmp_path / "file").write_bytes(b"")
    absent = opened_or_absent(f"file:{tmp_path}/file/count", LIMITS, "")
    for question in (
        lambda: absent.ask(KEY, Request(id="a")),
        lambda: absent.look(KEY, "a"),
        lambda: absent.beat(KEY, "a"),
        lambda: absent.hand_back(KEY, "a"),
        lambda: absent.state(KEY),
    ):
        with pytest.raises(ReachProblem, match="cannot be used"):
            question()
    absent.close()
    with pytest.raises(UsageProblem):
        opened_or_absent("nowhere:", LIMITS, "")
    there = opened_or_absent(f"file:{tmp_path}/count", LIMITS, "")
    assert isinstance(there.ask(KEY, Request(id="a")), Go)
    there.close()


def test_an_unreadable_file_system_is_not_divided(tmp_path, monkeypatch):
    """Nor is a state that cannot be trusted when it is opened."""

    def broken(url, limits, token):
        raise ReachProblem("limiter-state-unreadable", "the state is broken")

    monkeypatch.setattr("truegreen.limiter.divided.opened", broken)
    with pytest.raises(ReachProblem, match="the state is broken"):
        opened_or_absent(f"file:{tmp_path}", LIMITS, "")
