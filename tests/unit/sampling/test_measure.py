# SPDX-License-Identifier: Apache-2.0
"""The measuring loop on a virtual clock: nothing that was started is lost, and nothing is read out of order."""

import heapq
import itertools

import msgspec
import pytest
from exchange_kit import exchange

from truegreen.core.errors import ReachProblem
from truegreen.core.exchange import Closer, End
from truegreen.sampling.engines.messages import Ended, Found, Running
from truegreen.sampling.measure import GRACE_S, Measuring, Settings, World, pause_s
from truegreen.sampling.schedule import Scheduler
from truegreen.sampling.sequential import fixed, smoke
from truegreen.sampling.states import State, state


class Simulated:
    """Clock, wire and engines of one run. ``play(case, n, draw)`` says how long a sample takes, how it ends
    and what went over the wire.
    """

    def __init__(self, play, *, dies_at=()):
        self.play = play
        self.now = 0.0
        self.opened = 0
        self.killed = []
        self.started = []
        self.told = []
        self.environments = {}
        self.seen = []
        self.watched = []
        self.dies_at = list(dies_at)
        self.interrupt_at = None
        self._ids = itertools.count(1)

    def clock_s(self):
        """Virtual seconds."""
        return self.now

    def watch(self, pid):
        """Remember the process."""
        self.watched.append(pid)

    def settle(self, tokens, pids, limit_s):
        """What was seen of these."""
        return tuple(e for e in self.seen if (e.token in tokens if e.token else e.peer_pid in pids))

    def count(self):
        """How many calls there were."""
        return len(self.seen)

    def asked(self, token, pid, one):
        """One call went over the wire."""
        self.seen.append(msgspec.structs.replace(one, id=next(self._ids), token=token, peer_pid=pid))

    def open(self):
        """Another process."""
        self.opened += 1
        return SimulatedEngine(self)


class SimulatedEngine:
    """One process."""

    def __init__(self, world):
        self.world = world
        self.due = []
        self.dead = False

    def start(self, start):
        """Begin at the present moment."""
        world = self.world
        world.started.append((start.index, start.n, start.draw))
        world.environments[start.index, start.n, start.draw] = start.env
        heapq.heappush(self.due, (world.now, 0, start.index, start.n, start.draw, start))

    def hear(self, limit_s):
        """The next event within the limit; the clock goes on."""
        world = self.world
        if world.interrupt_at is not None and len(world.told) >= world.interrupt_at:
            world.interrupt_at = None
            raise KeyboardInterrupt
        if world.dies_at and len(world.told) >= world.dies_at[0]:
            world.dies_at.pop(0)
            raise ReachProblem("engine-ended", "the test process ended")
        if not self.due or (limit_s is not None and self.due[0][0] > world.now + limit_s):
            world.now += limit_s if limit_s is not None else 0.0
            return None
        at, is_end, index, n, draw, payload = heapq.heappop(self.due)
        world.now = max(world.now, at)
        if is_end:
            return payload
        took, ended, wire = world.play(index, n, draw)
        token = f"{index}{'' if draw == 1 else f'.{draw}'}-{n}"
        for one in wire:
            world.asked(token if one.token else None, 100 + index, one)
        if ended is not None:
            message = replace_ended(ended, index, n, draw)
            heapq.heappush(self.due, (world.now + took, 1, index, n, draw, message))
        return Running(index=index, n=n, draw=draw, pid=100 + index)

    def kill(self):
        """Remember it."""
        self.dead = True
        self.world.killed.append(self)


def replace_ended(ended, index, n, draw):
    """The end of this very sample."""
    return Ended(index=index, n=n, draw=draw, status=ended.status, reason=ended.reason, raised=ended.raised)


PASS, FAIL = Ended(index=0, n=0, draw=1, status="passed"), Ended(index=0, n=0, draw=1, status="failed")
WHOLE = exchange()
LOST = exchange(status=503)


def _run(  # noqa: PLR0913 - what a run is made from
    play, *, cases=1, rule=None, slots=4, settings=None, world=None, timeout_s=60.0
):
    world = world or Simulated(play)
    found = [Found(id=f"case-{index}", nodeid=f"{index}", kind="python") for index in range(cases)]
    schedule = Scheduler([case.id for case in found], rule or fixed(5), slots=slots)
    settings = settings or Settings(timeout_s=timeout_s, truncated="invalid")
    measuring = Measuring(
        found,
        schedule,
        settings,
        World(
            open_engine=world.open,
            wire=world,
            environment=lambda index, n, token: {"token": token, "n": str(n), "index": str(index)},
            hide=str,
            clock_s=world.clock_s,
            told=lambda case, sample: world.told.append((case, sample)),
        ),
    )
    measuring.run()
    return world, schedule, measuring


def _buckets(schedule, case="case-0"):
    return [(sample.n, sample.bucket) for sample in schedule.samples(case)]


def test_every_number_ends_once_in_its_bucket():
    """Two cases, five numbers each, whatever order they end in."""
    world, schedule, measuring = _run(
        lambda i, n, d: (10.0 / n, PASS if (i + n) % 2 else FAIL, [WHOLE]), cases=2
    )
    for index in range(2):
        expected = [(n, "pass" if (index + n) % 2 else "fail") for n in range(1, 6)]
        assert expected == _buckets(schedule, f"case-{index}")
    assert "measured" == measuring.ended
    assert [] == measuring.missing
    assert 10 == len(measuring.claimed) == world.count()
    assert "0-3" == world.environments[0, 3, 1]["token"]


def test_slow_failures_are_awaited_and_read_in_order():
    """Passes that end first do not decide before the numbers that came before them."""
    slow = {2, 3, 5}
    world, schedule, _ = _run(
        lambda i, n, d: (100.0 if n in slow else 1.0, FAIL if n in slow else PASS, [WHOLE]),
        rule=smoke(),
        slots=16,
        timeout_s=0.0,
    )
    assert schedule.is_done
    ended = {sample.n for sample in schedule.samples("case-0")}
    assert {n for _, n, _ in world.started} == ended
    assert slow & ended == {n for n in slow if n <= max(ended)}
    verdict = state(schedule.samples("case-0"), smoke(), cases=1)
    assert verdict.state is not State.STABLE_PASS or verdict.tally.failed == len(
        [n for n in slow if n <= verdict.tally.read]
    )


def test_a_started_sample_is_awaited_though_its_case_was_decided():
    """The last of three failures decides nothing for the passes that still run: they end in the ledger."""
    world, schedule, _ = _run(
        lambda i, n, d: (50.0 if n > 3 else 1.0, FAIL if n <= 3 else PASS, [WHOLE]), rule=smoke(), slots=8
    )
    assert sorted(n for _, n, _ in world.started) == [sample.n for sample in schedule.samples("case-0")]
    assert [] == world.killed


def test_losses_are_drawn_again_under_their_number_after_a_pause():
    """Each draw has its own name on the wire; the losses are kept."""
    world, schedule, _ = _run(
        lambda i, n, d: (1.0, FAIL if n == 2 and d < 3 else PASS, [LOST if n == 2 and d < 3 else WHOLE]),
        slots=1,
    )
    assert [(n, "pass") for n in range(1, 6)] == _buckets(schedule)
    assert [(2, "transport"), (2, "transport")] == [(one.n, one.bucket) for one in schedule.lost("case-0")]
    assert 2 == schedule.samples("case-0")[1].replaces
    assert ["0-2", "0.2-2", "0.3-2"] == [world.environments[0, 2, draw]["token"] for draw in (1, 2, 3)]
    assert world.now >= 5 + 2 + 0.5 + 1.0


def test_a_429_holds_every_start_until_the_time_that_it_names():
    """Other cases do not run into the same wall."""
    begun = []

    def play(index, n, draw):
        begun.append((world.now, index, n, draw))
        limited = (index, n, draw) == (0, 1, 1)
        return 1.0, FAIL if limited else PASS, [exchange(status=429, retry_after="20") if limited else WHOLE]

    world = Simulated(play)
    _run(play, cases=2, slots=1, world=world)
    assert all(at >= 20.0 for at, *_ in begun[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3.0), ("1500ms", 1.5), (" 2 ", 2.0), ("0.5", 0.5), ("99999", 30.0), (None, None), ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("1e3", None), ("nan", None), ("٣", None), (".", None),
    ],
)  # fmt: skip
def test_pauses_are_read_strictly_and_bounded(text, expected):
    """Seconds or milliseconds; a date is left to the redraw's own pause."""
    assert expected == pause_s(text)


def test_a_cap_on_calls_stops_starts_and_awaits_what_runs():
    """No more calls than allowed, nothing missing, and the run says why it ended."""
    settings = Settings(timeout_s=60.0, truncated="invalid", max_calls=7)
    world, _, measuring = _run(lambda i, n, d: (1.0, PASS, [WHOLE]), cases=4, settings=settings, slots=3)
    assert 7 == world.count()
    assert "cap-calls" == measuring.ended
    assert [] == measuring.missing


def test_a_cap_on_time_stops_starts():
    """And a cap that is reached with everything decided is no cap."""
    settings = Settings(timeout_s=60.0, truncated="invalid", max_seconds=10.0)
    _, schedule, measuring = _run(lambda i, n, d: (4.0, PASS, [WHOLE]), settings=settings, slots=1)
    assert ("cap-minutes", 3) == (measuring.ended, len(schedule.samples("case-0")))
    _, _, measuring = _run(lambda i, n, d: (2.0, PASS, [WHOLE]), settings=settings, slots=1)
    assert "measured" == measuring.ended


def test_an_interrupt_keeps_what_was_measured_and_names_what_was_not():
    """The process is ended; numbers that had started are missing."""
    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]))
    world.interrupt_at = 2
    world, schedule, measuring = _run(None, world=world)
    assert "interrupted" == measuring.ended
    assert 2 == len(schedule.samples("case-0"))
    assert {3, 4, 5} >= {one.n for one in measuring.missing} != set()
    assert 1 == len(world.killed)


def test_a_process_that_dies_ends_its_samples_and_another_takes_the_rest():
    """What it ran is a crash; what it had not begun runs elsewhere."""
    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]), dies_at=[1])
    world, schedule, measuring = _run(None, world=world, slots=2)
    buckets = dict(_buckets(schedule))
    assert {1, 2, 3, 4, 5} == set(buckets)
    assert 2 == world.opened
    assert 1 <= [*buckets.values()].count("invalid") <= 2
    assert "measured" == measuring.ended


def test_processes_that_die_at_once_again_and_again_end_the_run():
    """A suite that kills its own process is not tried for ever."""
    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]), dies_at=[0] * 50)
    with pytest.raises(ReachProblem) as caught:
        _run(None, world=world, rule=fixed(100), slots=2)
    assert "engine-ended" == caught.value.code
    assert 3 == world.opened


def test_a_process_that_does_not_end_an_overdue_sample_is_given_up():
    """After the time limit and a grace; the sample that was overdue says so, and its call was made."""

    def play(index, n, draw):
        if n == 2:
            return 0.0, None, [exchange(end=End.CLIENT_CLOSED, closed_first=Closer.CLIENT)]
        return 1.0, PASS, [WHOLE]

    world, schedule, _ = _run(play, slots=1, timeout_s=5.0)
    assert [(1, "pass"), (2, "fail"), (3, "pass"), (4, "pass"), (5, "pass")] == _buckets(schedule)
    assert "time-limit" == schedule.samples("case-0")[1].reason
    assert world.now >= 5.0 + GRACE_S


def test_calls_without_a_token_belong_to_the_process_that_runs_one_sample():
    """A client made at import, in a process of its own."""
    world, schedule, measuring = _run(lambda i, n, d: (1.0, PASS, [exchange(token=None)]), slots=1)
    assert [1] * 5 == [sample.calls for sample in schedule.samples("case-0")]
    assert {100} == set(world.watched)
    assert world.count() == len(measuring.claimed)


def test_a_client_that_outlives_its_sample_is_counted_where_it_asks():
    """A session's client keeps the first sample's address; the second sample's call is the second's."""

    class Kept(Simulated):
        def asked(self, token, pid, one):
            super().asked("0-1", pid, one)

    world = Kept(lambda i, n, d: (1.0, PASS, [WHOLE]))
    _, schedule, _ = _run(None, world=world, slots=1)
    assert [1] * 5 == [sample.calls for sample in schedule.samples("case-0")]


def test_a_pass_without_a_call_beside_samples_that_asked_is_no_pass():
    """An answer out of the code's own cache."""
    _, schedule, _ = _run(lambda i, n, d: (1.0, PASS, [WHOLE] if n == 1 else []), slots=1)
    assert ["pass", "invalid", "invalid", "invalid", "invalid"] == [b for _, b in _buckets(schedule)]
    _, schedule, _ = _run(lambda i, n, d: (1.0, PASS, []), slots=1)
    assert ["pass"] * 5 == [b for _, b in _buckets(schedule)]


def test_an_end_that_nobody_waits_for_changes_nothing():
    """A late word of a sample that was given up."""
    said = set()

    class Twice(SimulatedEngine):
        def hear(self, limit_s):
            message = super().hear(limit_s)
            if isinstance(message, Ended) and message.n not in said:
                said.add(message.n)
                heapq.heappush(self.due, (self.world.now, 2, message.index, message.n, message.draw, message))
            return message

    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]))
    world.open = lambda: Twice(world)
    _, schedule, _ = _run(None, world=world)
    assert [(n, "pass") for n in range(1, 6)] == _buckets(schedule)


def test_a_process_that_cannot_be_told_is_as_dead_as_one_that_says_nothing():
    """The sample that it did not hear of is a crash; the next process takes the rest."""

    class Deaf(SimulatedEngine):
        def start(self, start):
            if self.world.opened == 1 and start.n == 2:
                raise ReachProblem("engine-ended", "the test process ended")
            super().start(start)

    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]))

    def open_engine():
        world.opened += 1
        return Deaf(world)

    world.open = open_engine
    _, schedule, _ = _run(None, world=world, slots=1)
    assert [(1, "pass"), (2, "invalid"), (3, "pass"), (4, "pass"), (5, "pass")] == _buckets(schedule)
    assert 2 == world.opened


def test_a_run_that_a_cap_ended_is_not_ended_by_another():
    """The first one is told."""
    settings = Settings(timeout_s=60.0, truncated="invalid", max_calls=2, max_seconds=0.5)
    _, _, measuring = _run(lambda i, n, d: (1.0, PASS, [WHOLE]), settings=settings, slots=1)
    assert "cap-minutes" == measuring.ended


def test_a_process_that_names_itself_twice_is_watched_once():
    """A portable worker says again what it runs."""

    class Twice(SimulatedEngine):
        def hear(self, limit_s):
            message = super().hear(limit_s)
            if isinstance(message, Running):
                heapq.heappush(self.due, (self.world.now, 3, message.index, message.n, message.draw, message))
            return message

    class Once(Twice):
        said = 0

        def hear(self, limit_s):
            if self.said > 20:
                return SimulatedEngine.hear(self, limit_s)
            type(self).said += 1
            return super().hear(limit_s)

    world = Simulated(lambda i, n, d: (1.0, PASS, [WHOLE]))
    world.open = lambda: Once(world)
    _, schedule, _ = _run(None, world=world, slots=1)
    assert [(n, "pass") for n in range(1, 6)] == _buckets(schedule)
    assert len(world.watched) == 5


def test_a_process_that_cannot_be_started_ends_the_run_after_some_tries():
    """Nothing was asked, so nothing is missing but what had its number."""
    world = Simulated(None)
    opened = []

    def open_engine():
        opened.append(1)
        raise ReachProblem("collection-failed", "the test process ended before it had loaded the suite")

    world.open = open_engine
    with pytest.raises(ReachProblem) as caught:
        _run(None, world=world, slots=2)
    assert ("collection-failed", 3) == (caught.value.code, len(opened))


def test_a_cap_awaits_what_runs_however_long_that_takes():
    """It is looked at again with each end, and stays the reason."""
    settings = Settings(timeout_s=60.0, truncated="invalid", max_seconds=2.0)
    _, schedule, measuring = _run(lambda i, n, d: (float(n), PASS, [WHOLE]), settings=settings, slots=3)
    assert ("cap-minutes", []) == (measuring.ended, measuring.missing)
    assert 3 <= len(schedule.samples("case-0")) < 5
