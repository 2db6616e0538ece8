# SPDX-License-Identifier: Apache-2.0
"""The stories of the demo as data: what an author does, how the model behaves, what the gate has to say.

A story is one pull request. Its first step opens it; a further step pushes to it, edits its title, or changes main and
re-runs the gate alone. ``expected`` is checked against the gate's decision record and exit code: nothing is taken from it.
"""

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stand_in.authors import Edit, environment

PROMPT = "prompts/summarize.md"
PATCH_CASE = "tests/llm/cases/patch_release.yaml"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the gate has to say."""

    word: str
    code: str
    exit: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happens in a story; the gate decides after it."""

    id: str
    """Name of its folder in demo-out."""
    told: str
    """What somebody does."""
    expected: Expected
    push: Edit | None = None
    """Changes the pull request's branch; the model tests run on the new head."""
    on_main: Edit | None = None
    """Changes main; the gate alone is re-run, over the same evidence. Without either, the title is edited."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """One pull request."""

    scenario: str
    """How the model behaves: a file in ``scenarios``."""
    steps: tuple[Step, ...]
    is_cancelled: bool = False
    """Whether somebody cancels the run while samples are taken."""


def replaced(path: str, old: str, new: str) -> Edit:
    """Writes ``new`` for ``old`` in a file; an author who finds nothing to replace is an error of the demo."""

    def edit(root: Path) -> None:
        text = (root / path).read_text(encoding="utf-8")
        if old not in text:
            raise RuntimeError(f"{path} does not hold {old!r}")
        (root / path).write_text(text.replace(old, new), encoding="utf-8")

    return edit


def written(path: str, text: str) -> Edit:
    """Writes a new file."""

    def edit(root: Path) -> None:
        (root / path).write_text(text, encoding="utf-8")

    return edit


def announced(reason: str) -> Edit:
    """Runs the command that a hold about a changed ruler names."""

    def edit(root: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "truegreen", "ledger", "baseline", "--reason", reason],
            cwd=root,
            env=environment() | {"OPENAI_API_KEY": "none", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"truegreen ledger baseline: {done.stderr}")

    return edit


def both(*edits: Edit) -> Edit:
    """One edit after another."""

    def edit(root: Path) -> None:
        for one in edits:
            one(root)

    return edit


def quarantine() -> str:
    """An entry from yesterday for two weeks."""
    today = datetime.now(UTC).date()
    return (
        'schema = "truegreen/quarantine/v1"\n\n[[entry]]\n'
        'id = "tests/llm/cases/major_release.yaml::major_release"\nlane = "model-tests"\nowner = "@ana"\n'
        'reason = "the model now and then forgets one of two breaking changes"\nticket = "#41"\n'
        f"since = {today - timedelta(days=1)}\nexpires = {today + timedelta(days=14)}\n"
    )


REMOVED = """\
schema = "truegreen/removed/v1"

[[removed]]
id = "tests/llm/cases/patch_release.yaml::patch_release"
lane = "model-tests"
reason = "patch releases are no longer sorted"
owner = "@bo"
"""

STORIES = (
    Story(
        scenario="steady",
        steps=(
            Step(
                id="admit",
                told="A pull request words a sentence of the prompt better. The model answers every case right.",
                push=replaced(PROMPT, "Do not guess: what", "Do not guess. What"),
                expected=Expected(word="admit", code="all-lanes-hold", exit=0),
            ),
            Step(
                id="retitled",
                told="Somebody edits the title. That starts a run, and its gate decides on what was measured already.",
                expected=Expected(word="admit", code="all-lanes-hold", exit=0),
            ),
        ),
    ),
    Story(
        scenario="broken",
        steps=(
            Step(
                id="broken",
                told="A pull request shortens the prompt to save tokens. For a release with nothing to tell, the "
                "model now makes something up.",
                push=replaced(
                    PROMPT, " Do not guess: what the changelog does not say is not in the answer.", ""
                ),
                expected=Expected(word="block", code="case-broken", exit=1),
            ),
        ),
    ),
    Story(
        scenario="flaky",
        steps=(
            Step(
                id="flaky",
                told="A pull request turns the temperature up. One case now works most of the time, not always.",
                push=replaced(
                    "bot.py", "        messages=[\n", "        temperature=1.2,\n        messages=[\n"
                ),
                expected=Expected(word="hold", code="case-flaky", exit=3),
            ),
            Step(
                id="flaky-excused",
                told="The team puts the case into quarantine on main, with owner, ticket and an end, and re-runs the "
                "gate alone. The evidence is the same.",
                on_main=written("truegreen.quarantine.toml", quarantine()),
                expected=Expected(word="admit", code="all-lanes-hold", exit=0),
            ),
        ),
    ),
    Story(
        scenario="steady",
        steps=(
            Step(
                id="ruler",
                told="A pull request lets a case pass that it would have failed: up to two made-up entries are fine "
                "now.",
                push=replaced(PATCH_CASE, "max_items_per_key: 0", "max_items_per_key: 2"),
                expected=Expected(word="hold", code="ruler-changed", exit=3),
            ),
            Step(
                id="ruler-announced",
                told="The author runs the command that the line names and commits what it writes: now a reviewer "
                "sees who judges differently, and why. No call is made again.",
                push=announced("two entries are fine for a patch release"),
                expected=Expected(word="admit", code="all-lanes-hold", exit=0),
            ),
        ),
    ),
    Story(
        scenario="outage",
        steps=(
            Step(
                id="outage",
                told="A pull request touches the bot's help text while the model's endpoint turns every call away.",
                push=replaced("bot.py", "prints {", "prints JSON: {"),
                expected=Expected(word="hold", code="endpoint-outage", exit=3),
            ),
        ),
    ),
    Story(
        scenario="steady",
        steps=(
            Step(
                id="deleted",
                told="A pull request deletes a case, and makes a new baseline without it.",
                push=both(lambda root: (root / PATCH_CASE).unlink(), announced("tidied up")),
                expected=Expected(word="hold", code="tests-removed", exit=3),
            ),
            Step(
                id="deleted-named",
                told="The author says in truegreen.removed.toml what is gone, why, and who decided.",
                push=written("truegreen.removed.toml", REMOVED),
                expected=Expected(word="admit", code="all-lanes-hold", exit=0),
            ),
        ),
    ),
    Story(
        scenario="slow",
        is_cancelled=True,
        steps=(
            Step(
                id="cancelled",
                told="Somebody cancels the run while the model tests are under way. A cancelled check is no green "
                "one.",
                push=replaced("bot.py", "by asking a model", "with the help of a model"),
                expected=Expected(word="hold", code="cancelled", exit=3),
            ),
        ),
    ),
)
