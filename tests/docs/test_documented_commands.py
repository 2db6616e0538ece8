# SPDX-License-Identifier: Apache-2.0
"""Every command on every page runs, and prints what the page says."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import click
import pytest
import runner
import sandboxes
from ruamel.yaml import YAML

from truegreen.cli import verbs
from truegreen.cli.main import truegreen

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    block
    for page in PAGES
    if "_build" not in page.parts
    for block in runner.blocks(page, page.relative_to(ROOT).as_posix())
]
SHOWN_ONLY: dict[str, int] = {
    "README.md": 2,
    "CONTRIBUTING.md": 1,
    "docs/how-to-replay.md": 2,
    "docs/how-to-sample.md": 1,
    "docs/subject.md": 1,
    "docs/threat-model.md": 1,
}
"""Sessions that are not run, by page. Each gives its reason; a new one is a decision."""
LANGUAGES = {"console", "ini", "json", "mermaid", "python", "text", "toml", "yaml", "{toctree}"}
"""Languages of blocks. Commands stand in ``console``, where they are run."""


@pytest.mark.parametrize("session", list(runner.sessions(BLOCKS)), ids=lambda session: session[0].place)
def test_a_documented_session_prints_what_the_page_says(session, tmp_path):
    """The commands run in their sandbox; output and exit codes are those of the page."""
    with sandboxes.opened(session[0].said.get("sandbox", "empty"), tmp_path) as environment:
        for block in session:
            steps = runner.steps(block)
            assert [] == runner.failures(block, steps, runner.run(steps, tmp_path, environment))


def test_sessions_that_are_not_run_are_few_and_say_why():
    """``no-run`` needs a reason in the comment before it, and a place in the list."""
    shown = [block for block in BLOCKS if "no-run" in block.flags]
    assert [] == [block.place for block in shown if not block.said.get("no-run")]
    assert SHOWN_ONLY == Counter(block.page for block in shown)


def test_every_block_says_its_language():
    """A block without a language, or one of the shell, would be a command that nobody runs."""
    assert [] == [block.place for block in BLOCKS if block.language not in LANGUAGES]


@pytest.mark.parametrize(
    ("language", "read"),
    [("json", json.loads), ("toml", tomllib.loads), ("yaml", YAML(typ="safe").load_all)],
)
def test_documents_in_blocks_can_be_read(language, read):
    """JSON, TOML and YAML on a page are what they claim to be."""
    for block in BLOCKS:
        if block.language == language:
            list(read("\n".join(block.text)))


def _help_lines(command, words):
    yield f"$ {' '.join([*words, '--help'])}"
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _help_lines(command.get_command(click.Context(command), name), [*words, name])


def test_the_reference_shows_the_help_of_every_verb():
    """docs/cli.md holds a session for each built verb and for its sub-verbs; the runner compares them."""
    shown = {line for block in BLOCKS if block.page == "docs/cli.md" and block.is_run for line in block.text}
    assert [] == [line for line in _help_lines(truegreen, ["truegreen"]) if line not in shown]


def test_the_reference_shows_no_verb_that_is_not_built():
    """A page that names the options of a verb that answers ``not-in-this-version`` would be a promise."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [] == [name for name in verbs.missing() if f"truegreen {name} --help" in text]


LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def test_links_between_pages_lead_somewhere():
    """Every relative link of README and docs names a file of this repository."""
    assert [] == [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
