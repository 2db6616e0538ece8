# SPDX-License-Identifier: Apache-2.0
"""The replay lane: recorded once against the endpoint, then replayed without it, and decided by the gate.

- Recording is done by hand, on a developer's machine; the recording is committed and reviewed like code.
- A pull request that asks what was recorded is admitted without a call. One that changes the prompt has no recording
  for it: the miss is red, and the gate blocks.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stand_in.authors import EXAMPLE, copy_example, environment, git

LANE = EXAMPLE / "replay_lane"
LIMIT_S = 300
MODEL = "demo-model-2026-01-01"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/replay")
"""What is run; ``python -m`` puts the bot's folder on the path."""


@dataclass(frozen=True)
class Shown:
    """One command with what it said."""

    command: str
    code: int
    said: str


@dataclass(frozen=True)
class Replayed:
    """One step and what became of it."""

    id: str
    told: str
    expected: tuple[str, str]
    """Word and reason code that the gate has to give."""
    found: tuple[str, str]
    shown: tuple[Shown, ...]


def add_lane(root: Path) -> None:
    """The bot with a lane that is replayed in place of the one that is sampled."""
    copy_example(root)
    shutil.copytree(LANE, root, dirs_exist_ok=True)
    (root / "truegreen.baseline.json").unlink()
    (root / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")


def another_code(root: Path) -> None:
    """The bot strips what it prints; it asks the same."""
    path = root / "bot.py"
    path.write_text(path.read_text(encoding="utf-8").replace("indent=2", "indent=4"), encoding="utf-8")


def another_prompt(root: Path) -> None:
    """The prompt gains a line, so that the request is another one."""
    path = root / "prompts" / "summarize.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nKeep each item short.\n", encoding="utf-8")


STEPS: tuple[tuple[str, str, Callable[[Path], None], tuple[str, str]], ...] = (
    (
        "replayed",
        "The bot's code changes and asks the model the same. The recording answers; nobody is called.",
        another_code,
        ("admit", "all-lanes-hold"),
    ),
    (
        "unrecorded",
        "The prompt changes and nobody recorded an answer to it. No call stands in for it: the gate blocks.",
        another_prompt,
        ("block", "recording-missing"),
    ),
)


class ReplayLane:
    """A repository with a recording on its main branch."""

    def __init__(self, folder: Path, url: str) -> None:
        """Record against the endpoint at ``url`` and commit what was recorded."""
        self.root = folder / "replay"
        self.root.mkdir(parents=True)
        git(self.root, "init", "--quiet", "--initial-branch=main")
        add_lane(self.root)
        self._commit("a bot with a lane that is replayed")
        self.recorded = self._run("proxy", "run", "--mode", "record", "--upstream", url, "--", *PYTEST)
        self._commit("what the model answered, for review")
        self._url = url

    def steps(self, out: Path) -> list[Replayed]:
        """Each pull request, replayed, checked and decided; what was written stays in ``out``."""
        return [self._step(out / name, name, told, edit, expected) for name, told, edit, expected in STEPS]

    def _step(
        self, out: Path, name: str, told: str, edit: Callable[[Path], None], expected: tuple[str, str]
    ) -> Replayed:
        out.mkdir(parents=True)
        git(self.root, "checkout", "--quiet", "-B", name, "main")
        edit(self.root)
        self._commit(told)
        shutil.rmtree(self.root / "artifacts", ignore_errors=True)
        session, decision = out / "session.json", out / "decision.json"
        replay = ("--mode", "replay", "--upstream", self._url, "--whole", "--session", session)
        shown = (
            self._run("proxy", "run", *replay, "--", *PYTEST),
            self._run("cassette", "check", "--session", session),
            self._run("gate", "--evidence", "artifacts", "--decision", decision),
        )
        body = json.loads(decision.read_text(encoding="utf-8"))["body"]
        shutil.copytree(
            self.root / "artifacts", out / "evidence", ignore=shutil.ignore_patterns(".gitignore")
        )
        return Replayed(
            id=name, told=told, expected=expected, found=(body["word"], body["code"]), shown=shown
        )

    def _commit(self, message: str) -> None:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", message)

    def _run(self, *arguments: str | Path) -> Shown:
        variables = {"OPENAI_API_KEY": "none", "MODEL_NAME": MODEL, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "truegreen", *arguments],
            cwd=self.root,
            env=environment() | variables,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Shown(command=_shown(arguments), code=done.returncode, said=done.stdout + done.stderr)


def _shown(arguments: tuple[str | Path, ...]) -> str:
    """The command as one would type it: files by their names, without the address of this run's endpoint."""
    words = [word.name if isinstance(word, Path) else word for word in arguments]
    if "--upstream" in words:
        at = words.index("--upstream")
        del words[at : at + 2]
    if "--" in words:
        words = [*words[: words.index("--")], "--", "pytest", "tests/replay"]
    return f"truegreen {' '.join(words)}"
