# SPDX-License-Identifier: Apache-2.0
"""Tries each way to fool the gate on the real gate, through files and a real clone.

A row is fine when the gate gives the word and the code that it asks for. The honest stages come first: if one is
not admitted, the rows that start from it prove nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truegreen.cassettes.check import checked
from truegreen.core.decision import Decision
from truegreen.core.outcome import Word
from truegreen.gate.bind import Asked
from truegreen.gate.decide import RULES, Rules, decide
from truegreen.gate.intake import Evidence, read_evidence
from truegreen.wiring.rehearsal import events
from truegreen.wiring.rehearsal.chains import run_again
from truegreen.wiring.rehearsal.honest import Actors, honest
from truegreen.wiring.rehearsal.replay_ways import REPLAY_WAYS
from truegreen.wiring.rehearsal.stage import Stage
from truegreen.wiring.rehearsal.ways import WAYS, Way

HONEST: Mapping[str, tuple[str, Callable[[Actors], Stage]]] = {
    "honest": ("an honest pull request", lambda actors: actors.stage),
    "honest-rerun": ("an honest second attempt that goes on from the first", run_again),
    "honest-queue": ("an honest group of a merge queue", lambda actors: events.queued(actors).stage),
    "honest-push": ("an honest push to the branch", lambda actors: events.pushed(actors).stage),
}
"""Stages that the gate must admit: id to words and stage."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One row with what the gate said."""

    id: str
    """The row."""
    words: str
    """What was tried."""
    asked: str
    """Word and code that were asked for."""
    found: str
    """Word and code that the gate gave."""

    @property
    def is_fine(self) -> bool:
        """Whether the gate gave the asked answer."""
        return self.asked == self.found


def decide_stage(
    stage: Stage,
    folder: Path,
    rules: Rules = RULES,
    intake: Callable[[Sequence[Path]], Evidence] = read_evidence,
    *,
    in_ci: bool = True,
) -> Decision:
    """The real gate's decision on a stage whose evidence is written below ``folder``."""
    evidence = intake([stage.write(folder)])
    with stage.git.asking() as git:
        asked = Asked(
            facts=stage.facts,
            git=git,
            index=stage.index_bytes(),
            now=stage.now,
            in_ci=in_ci,
            version="rehearsal",
            worktree_policy=stage.worktree_policy,
            check_recordings=checked,
        )
        return decide(asked, evidence, rules)


def try_trick(
    trick: Callable[[Actors], Stage],
    actors: Actors,
    folder: Path,
    rules: Rules = RULES,
    intake: Callable[[Sequence[Path]], Evidence] = read_evidence,
) -> Decision:
    """The real gate's decision on one trick; the clone's branches are put back afterwards."""
    with actors.stage.git.asking():
        try:
            return decide_stage(trick(actors), folder, rules, intake)
        finally:
            for branch in {actors.setting.base_ref, actors.setting.default_branch}:
                actors.stage.git.branch(branch, actors.base)


def rehearse(environment: Mapping[str, str], checkout: Path | None = None) -> Iterator[Tried]:
    """Every row that the checkout's policy leaves something to fool, the honest ones first.

    Raises: UsageProblem if that policy cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="truegreen-self-test-") as name:
        folder = Path(name)
        actors = honest(folder, environment, checkout)
        with actors.stage.git.asking():
            for row, (words, stage) in HONEST.items():
                made = try_trick(stage, actors, folder / row)
                under = f", under {actors.setting.source}" if row == "honest" else ""
                yield _tried(row, words + under, (Word.ADMIT, "all-lanes-hold"), made)
            for way in ways_under(actors):
                made = try_trick(way.trick, actors, folder / way.id)
                yield _tried(way.id, way.words, (way.word, way.code), made)


def ways_under(actors: Actors) -> Iterator[Way]:
    """The rows that the actors' policy leaves something to fool."""
    return (way for way in (*WAYS, *REPLAY_WAYS) if way.needs(actors.setting))


def _tried(row: str, words: str, asked: tuple[Word, str], made: Decision) -> Tried:
    return Tried(
        id=row,
        words=words,
        asked=f"{asked[0].value} {asked[1]}",
        found=f"{made.word.value} {made.code}",
    )
