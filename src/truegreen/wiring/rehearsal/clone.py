# SPDX-License-Identifier: Apache-2.0
"""The clone of a rehearsal: a bare repository that is written by plumbing and asked as the gate asks it.

- Nothing of the machine's or the user's git configuration is read.
- What was answered about objects is kept, so that fifty decisions over one clone cost little more than one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from truegreen.core.errors import ReachProblem
from truegreen.forges.git import GitRepository
from truegreen.wiring.rehearsal.remembered import Remembered, forget_branches

Files = Mapping[str, str | bytes]
"""Path to content."""
_PERSON = {"NAME": "rehearsal", "EMAIL": "rehearsal@example.invalid", "DATE": "2026-01-01T09:00:00Z"}


class Git:
    """A bare repository that is written with plumbing alone."""

    def __init__(self, folder: Path, environment: Mapping[str, str], branch: str = "main") -> None:
        """Make an empty bare repository at ``folder``."""
        self.folder = folder
        self._asker = {"PATH": environment.get("PATH", os.defpath)}
        self._environment = {
            **self._asker,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in _PERSON.items()
            },
        }
        self._blobs: dict[bytes, str] = {}
        self._answers: dict[tuple[str, ...], object] = {}
        self._open: GitRepository | None = None
        folder.mkdir(parents=True)
        self.run("init", "--quiet", "--bare", f"--initial-branch={branch}", ".")

    @contextmanager
    def asking(self) -> Iterator[Remembered]:
        """The clone as the gate asks it; opened once however deeply this is nested."""
        if self._open is not None:
            yield Remembered(self._open, self._answers)
            return
        with GitRepository(self.folder, self._asker) as port:
            self._open = port
            try:
                yield Remembered(port, self._answers)
            finally:
                self._open = None

    def run(self, *arguments: str, stdin: bytes = b"", person: Mapping[str, str] | None = None) -> str:
        """Output of one git command.

        Raises: ReachProblem ``git-failed``.
        """
        if arguments[0] == "update-ref":
            forget_branches(self._answers)
        done = subprocess.run(  # noqa: S603 - our own arguments, no shell
            ["git", "-C", str(self.folder), *arguments],  # noqa: S607 - git of this machine
            input=stdin,
            env={**self._environment, **(person or {})},
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip()[:200]
            raise ReachProblem(
                "git-failed", f"git {arguments[0]} ended with {done.returncode}, asked 0: {words}"
            )
        return done.stdout.decode("utf-8", "replace").strip()

    def tree(self, files: Files) -> str:
        """A tree that holds exactly ``files``."""
        rows = [f"100644 {self._blob(text)}\t{path}\0" for path, text in sorted(files.items())]
        self.run("read-tree", "--empty")
        self.run("update-index", "-z", "--add", "--index-info", stdin="".join(rows).encode())
        return self.run("write-tree")

    def commit(self, files: Files, parents: tuple[str, ...], branch: str, *, author: str = "") -> str:
        """A commit that holds exactly ``files``, put on ``branch``."""
        return self.commit_tree(self.tree(files), parents, branch, author=author)

    def commit_tree(self, tree: str, parents: tuple[str, ...], branch: str, *, author: str = "") -> str:
        """A commit of a tree, put on ``branch``; ``author`` is an address of its own."""
        marks = [mark for parent in parents for mark in ("-p", parent)]
        person = {"GIT_AUTHOR_EMAIL": author} if author else {}
        made = self.run("commit-tree", tree, *marks, "-m", f"rehearsal of {branch}", person=person)
        self.branch(branch, made)
        return made

    def branch(self, name: str, commit: str) -> None:
        """Put a branch on a commit."""
        self.run("update-ref", f"refs/heads/{name}", commit)

    def _blob(self, text: str | bytes) -> str:
        data = text if isinstance(text, bytes) else text.encode()
        if data not in self._blobs:
            self._blobs[data] = self.run("hash-object", "-w", "--stdin", stdin=data)
        return self._blobs[data]
