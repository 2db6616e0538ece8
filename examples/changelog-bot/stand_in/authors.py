# SPDX-License-Identifier: Apache-2.0
"""The repository of the demo: a bare origin, and a work clone in which authors commit.

- Real git, with nothing of this machine's configuration.
- The test-merge commit is what a forge keeps at ``refs/pull/N/merge``: base first, head second.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

EXAMPLE = Path(__file__).parents[1]
NOT_OF_THE_BOT = (
    "demo.py",
    "stand_in",
    "replay_lane",
    "scenarios",
    "__pycache__",
    ".pytest_cache",
    "artifacts",
    ".truegreen",
)
"""What lies in the example's folder and not in the demo's repository."""
Edit = Callable[[Path], None]
"""Changes files of a work tree, given its root."""


def environment() -> dict[str, str]:
    """For git and everything else that the demo starts: this machine's PATH and nobody's settings."""
    person = {
        f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _PERSON.items()
    }
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **person,
    }


_PERSON = {"NAME": "demo", "EMAIL": "demo@example.invalid"}


def git(folder: Path, *arguments: str) -> str:
    """Output of one git command in ``folder``."""
    done = subprocess.run(
        ["git", "-C", folder, *arguments], env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


class Repository:
    """Origin and work clone."""

    def __init__(self, folder: Path) -> None:
        """Make both below ``folder``; ``main`` holds the example as it stands."""
        self.origin = folder / "origin.git"
        self.work = folder / "work"
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        git(self.origin, "config", "uploadpack.allowAnySHA1InWant", "true")  # as forges have it
        git(folder, "clone", "--quiet", str(self.origin), str(self.work))
        self.main = self.commit("main", None, copy_example, "a bot that sorts changelogs")

    def commit(self, branch: str, parent: str | None, edit: Edit, message: str) -> str:
        """A commit on ``branch``, pushed to origin."""
        git(self.work, "checkout", "--quiet", "-B", branch, *([parent] if parent else []))
        edit(self.work)
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", "--message", message)
        git(self.work, "push", "--quiet", "--force", "origin", branch)
        return git(self.work, "rev-parse", "HEAD")

    def commit_to_main(self, edit: Edit, message: str) -> None:
        """Somebody merges something."""
        self.main = self.commit("main", self.main, edit, message)

    def test_merge(self, number: int, head: str) -> None:
        """The two references that a forge keeps of a pull request: its head, and that merged into main."""
        tree = git(self.origin, "merge-tree", "--write-tree", self.main, head)
        parents = ("-p", self.main, "-p", head)
        merge = git(self.origin, "commit-tree", tree, *parents, "-m", f"Merge {head} into {self.main}")
        git(self.origin, "update-ref", f"refs/pull/{number}/head", head)
        git(self.origin, "update-ref", f"refs/pull/{number}/merge", merge)


def copy_example(root: Path) -> None:
    """The bot's files, without what the demo is made of."""
    ignore = shutil.ignore_patterns(*NOT_OF_THE_BOT)
    shutil.copytree(EXAMPLE, root, ignore=ignore, dirs_exist_ok=True)
