# SPDX-License-Identifier: Apache-2.0
"""Which sample starts next: numbers given out before the start, for any engine.

What it decides: the next (case, number) to start while slots are free, which losses are redrawn, and when
nothing more is wanted. What it leaves: running samples, clocks and time limits, to the engines.

- A case is read over its contiguous prefix of numbers only; a sample that ends early waits for the numbers
  before it. Completion order never decides: slow failures would be outrun by fast passes.
- A started sample is awaited and kept, even when its case was decided meanwhile.
- No case has more samples outstanding than it still needs to be decided; the case that needs most comes first,
  then the order of the cases. Equal inputs in equal order give equal starts.
- A transport loss is redrawn under its own number while the case's allowance lasts and its reading is open; so
  are the numbers that earlier attempts lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegreen.core.errors import UsageProblem
from truegreen.sampling.ledger import Sample
from truegreen.sampling.sequential import Rule
from truegreen.sampling.states import in_order, may_be_refilled
from truegreen.sampling.walk import Walk, redraw_allowance


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """One sample to start now."""

    case: str
    """Case id."""
    n: int
    """Its number in the case's sequence, counted from 1."""
    draw: int
    """1 for the first draw of this number, one more for each transport loss before it."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where one case stands, for people who watch."""

    passed: int
    """Passes read so far."""
    read: int
    """Samples read so far."""
    outstanding: int
    """Samples started and not read yet."""
    is_open: bool
    """Whether the case still wants samples."""


class _Case:
    """One case: what was read, what waits for an earlier number, what runs."""

    def __init__(self, rule: Rule, *, suite: int, j: int, earlier: Sequence[Sample]) -> None:
        self.walk = Walk(rule, cases=suite, j=j)
        self.running: dict[int, int] = {}
        self.lost: list[Sample] = []
        self.redraws_left = redraw_allowance(rule)
        prefix, behind = in_order(earlier)
        if behind:
            raise UsageProblem(
                "earlier-samples-have-gaps",
                f"{behind} earlier samples stand behind a gap after number {len(prefix)}",
            )
        self.next_number = len(prefix) + 1
        self.redraw = [sample.n for sample in prefix if may_be_refilled(sample, rule)]
        self.done = {sample.n: sample for sample in prefix if sample.n not in self.redraw}
        self.not_ours = frozenset(self.done)
        self._read_on()

    @property
    def outstanding(self) -> int:
        return len(self.running) + len(self.redraw) + sum(n > self.read_to for n in self.done)

    @property
    def read_to(self) -> int:
        return len(self.walk.taken)

    def wants(self) -> int:
        """How many more samples may start now."""
        if not self.walk.is_open:
            return 0
        return len(self.redraw) + max(0, (self.walk.still_needed() or 0) - self.outstanding)

    def start(self, case: str) -> Start:
        if self.redraw:
            number = self.redraw.pop(0)
        else:
            number, self.next_number = self.next_number, self.next_number + 1
        draw = self.running[number] = 1 + sum(loss.n == number for loss in self.lost)
        return Start(case=case, n=number, draw=draw)

    def end(self, sample: Sample) -> None:
        draw = self.running.pop(sample.n)
        if sample.bucket == "transport" and self.redraws_left and self.walk.is_open:
            self.redraws_left -= 1
            self.lost.append(sample)
            self.redraw.append(sample.n)
            self.redraw.sort()
            return
        self.done[sample.n] = msgspec.structs.replace(sample, replaces=draw - 1)
        self._read_on()

    def _read_on(self) -> None:
        while self.walk.is_open and self.read_to + 1 in self.done:
            self.walk.take(self.done[self.read_to + 1])
        if not self.walk.is_open:
            self._settle()

    def _settle(self) -> None:
        """Nothing is drawn again once the reading has ended: a loss that waited for it stays a transport loss."""
        for number in self.redraw:
            losses = [loss for loss in self.lost if loss.n == number]
            if losses:  # else it is an earlier attempt's, whose ledger keeps it
                self.lost.remove(losses[-1])
                self.done[number] = msgspec.structs.replace(losses[-1], replaces=len(losses) - 1)
        self.redraw.clear()


class Scheduler:
    """Gives out numbers for a suite of cases over a fixed number of slots."""

    def __init__(  # noqa: PLR0913 - a plan depends on these values
        self,
        cases: Sequence[str],
        rule: Rule,
        *,
        slots: int,
        suite: int | None = None,
        j: Mapping[str, int] | None = None,
        earlier: Mapping[str, Sequence[Sample]] | None = None,
    ) -> None:
        """Nothing started yet.

        ``slots`` is how many samples may be in flight at once; ``suite`` the number of cases by which beta is
        divided, if more than those sampled here; ``j`` the number of each case's sequence within the pull
        request (1 where it says nothing); ``earlier`` the samples of attempts with the same key, joined.

        Raises: UsageProblem ``no-free-slot`` without a slot, ``case-twice`` if a case comes twice,
        ``earlier-samples-have-gaps`` if the sequence to go on with is not contiguous.
        """
        if slots < 1:
            raise UsageProblem(
                "no-free-slot", f"{slots} samples in flight leave none to start, at least 1 is needed"
            )
        if len(set(cases)) < len(cases):
            raise UsageProblem("case-twice", f"{len(cases)} cases have {len(set(cases))} different ids")
        self._slots = slots
        self._stopped = False
        self._cases = {
            case: _Case(
                rule,
                suite=suite or max(1, len(cases)),
                j=(j or {}).get(case, 1),
                earlier=(earlier or {}).get(case, ()),
            )
            for case in cases
        }
        self._wants = {case: state.wants() for case, state in self._cases.items()}

    @property
    def in_flight(self) -> int:
        """Samples that were started and have not ended."""
        return sum(len(state.running) for state in self._cases.values())

    @property
    def is_done(self) -> bool:
        """Whether nothing runs and nothing more will be started."""
        return not self.in_flight and (self._stopped or not any(self._wants.values()))

    @property
    def is_undecided(self) -> bool:
        """Whether a case still wants samples, started or not."""
        return any(state.walk.is_open for state in self._cases.values())

    def starts(self, most: int | None = None) -> tuple[Start, ...]:
        """Everything to start now, in order, at most ``most``; it counts as in flight from here on."""
        started: list[Start] = []
        free = 0 if self._stopped else self._slots - self.in_flight
        free = free if most is None else min(free, most)
        while len(started) < free:
            case = max(self._wants, key=self._wants.__getitem__, default=None)
            if case is None or not self._wants[case]:
                break
            started.append(self._cases[case].start(case))
            self._wants[case] = self._cases[case].wants()
        return tuple(started)

    def ended(self, case: str, sample: Sample) -> None:
        """A started sample has ended in its bucket; a transport loss may be drawn again by a later start.

        Raises: UsageProblem ``sample-not-running`` for a sample that was not started or has ended before.
        """
        state = self._cases.get(case)
        if state is None or sample.n not in state.running:
            raise UsageProblem(
                "sample-not-running", f"sample {sample.n} of {case[:200]} ended and is not running"
            )
        state.end(sample)
        self._wants[case] = state.wants()

    def stop(self) -> None:
        """Start nothing more: a budget ran out or somebody interrupted. What runs is still awaited."""
        self._stopped = True

    def unended(self) -> tuple[Start, ...]:
        """What was started, or was to be drawn again, and has not ended: to be kept as missing when all is over."""
        return tuple(
            Start(case=case, n=number, draw=1 + sum(loss.n == number for loss in state.lost))
            for case, state in self._cases.items()
            for number in sorted([*state.running, *state.redraw])
        )

    def samples(self, case: str) -> tuple[Sample, ...]:
        """This attempt's ended samples of a case, by number."""
        state = self._cases[case]
        return tuple(state.done[number] for number in sorted(state.done.keys() - state.not_ours))

    def lost(self, case: str) -> tuple[Sample, ...]:
        """This attempt's transport losses that were drawn again, in the order in which they came."""
        return tuple(self._cases[case].lost)

    def progress(self, case: str) -> Progress:
        """Where a case stands."""
        state = self._cases[case]
        return Progress(
            passed=state.walk.count["pass"],
            read=state.read_to,
            outstanding=state.outstanding,
            is_open=state.walk.is_open,
        )
