# SPDX-License-Identifier: Apache-2.0
"""Tries each way to fool the gate on the real gate, through files and a real clone.

A row is fine when the gate gives the word and the code that it asks for. The honest stage comes first: if it is
not admitted, no other row proves anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truegreen.core.decision import Decision
from truegreen.core.outcome import Word
from truegreen.forges.git import GitRepository
from truegreen.gate.bind import Asked
from truegreen.gate.decide import RULES, Rules, decide
from truegreen.gate.intake import Evidence, read_evidence
from truegreen.wiring.rehearsal.honest import Actors, honest
from truegreen.wiring.rehearsal.stage import Stage
from truegreen.wiring.rehearsal.ways import WAYS, Way


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
    environment: Mapping[str, str],
    rules: Rules = RULES,
    intake: Callable[[Sequence[Path]], Evidence] = read_evidence,
) -> Decision:
    """The real gate's decision on a stage whose evidence is written below ``folder``."""
    evidence = intake([stage.write(folder)])
    with GitRepository(stage.git.folder, environment) as git:
        asked = Asked(
            facts=stage.facts,
            git=git,
            index=stage.index_bytes(),
            now=stage.now,
            in_ci=True,
            version="rehearsal",
        )
        return decide(asked, evidence, rules)


def try_way(  # noqa: PLR0913, PLR0917 - the last two are what tests exchange
    way: Way,
    actors: Actors,
    folder: Path,
    environment: Mapping[str, str],
    rules: Rules = RULES,
    intake: Callable[[Sequence[Path]], Evidence] = read_evidence,
) -> Decision:
    """The real gate's decision on one trick; the clone's branches are put back afterwards."""
    try:
        return decide_stage(way.trick(actors), folder, environment, rules, intake)
    finally:
        actors.stage.git.run("update-ref", "refs/heads/main", actors.base)


def rehearse(environment: Mapping[str, str]) -> Iterator[Tried]:
    """Every row in order, the honest one first."""
    with tempfile.TemporaryDirectory(prefix="truegreen-self-test-") as name:
        folder = Path(name)
        actors = honest(folder, environment)
        first = decide_stage(actors.stage, folder / "honest", environment)
        yield Tried(
            id="honest",
            words="an honest pull request, to see that the rows below prove something",
            asked=f"{Word.ADMIT.value} all-lanes-hold",
            found=f"{first.word.value} {first.code}",
        )
        for way in WAYS:
            made = try_way(way, actors, folder / way.id, environment)
            yield Tried(
                id=way.id,
                words=way.words,
                asked=f"{way.word.value} {way.code}",
                found=f"{made.word.value} {made.code}",
            )
