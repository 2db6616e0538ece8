# SPDX-License-Identifier: Apache-2.0
"""Real repositories for tests: built through git's plumbing with the interface of ``SimulatedGit``."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class DiskGit:
    """A real repository at ``path`` that is filled like the simulator."""

    def __init__(self, path: Path, *, bare: bool = True, object_format: str = "sha1"):
        self.path = path
        self.git(
            "init",
            "-q",
            f"--object-format={object_format}",
            "-b",
            "main",
            *(["--bare"] if bare else []),
            path,
        )

    def git(self, *arguments, feed: bytes = b"", **environment) -> str:
        """Output of a git command in the repository."""
        where = [] if arguments[0] == "init" else ["-C", self.path]
        ran = subprocess.run(
            ["git", *where, *arguments],
            input=feed,
            capture_output=True,
            check=False,
            env={
                **os.environ,
                "GIT_AUTHOR_DATE": "1700000000 +0000",
                "GIT_COMMITTER_DATE": "1700000000 +0000",
                **environment,
            },
        )
        assert 0 == ran.returncode, ran.stderr.decode()
        return ran.stdout.decode("utf-8", "surrogateescape").strip("\n")

    def commit(
        self,
        files: Mapping[str, bytes | tuple[str, bytes]],
        *,
        parents=(),
        branch=None,
        message="",
        author="",
    ) -> str:
        """Add a commit of these files and move the branch there."""
        lineage = [word for parent in parents for word in ("-p", parent)]
        named = {"GIT_AUTHOR_EMAIL": author} if author else {}
        oid = self.git("commit-tree", self.add_tree(files), *lineage, feed=message.encode(), **named)
        if branch:
            self.git("update-ref", f"refs/heads/{branch}", oid)
        return oid

    def add_tree(self, files: Mapping[str, bytes | tuple[str, bytes]]) -> str:
        """Add a tree; names are text or bytes."""
        index = self.path / "index-of-test"
        rows = b""
        for path, given in files.items():
            mode, content = given if isinstance(given, tuple) else ("100644", given)
            oid = (
                content.decode()
                if mode == "160000"
                else self.git("hash-object", "-w", "--stdin", feed=content)
            )
            name = path if isinstance(path, bytes) else path.encode()
            rows += f"{mode} {oid}\t".encode() + name + b"\0"
        self.git("update-index", "-z", "--index-info", feed=rows, GIT_INDEX_FILE=str(index))
        tree = self.git("write-tree", "--missing-ok", GIT_INDEX_FILE=str(index))
        index.unlink(missing_ok=True)
        return tree
