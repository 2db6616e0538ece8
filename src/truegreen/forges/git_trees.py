# SPDX-License-Identifier: Apache-2.0
"""Trees as git stores them: which files a tree holds, at any depth.

What it decides: how the bytes of a tree object are read, and the order of its files. What it leaves: fetching
objects and proving them, to ``git_objects``.

- The answer is that of ``git ls-tree -r -z --full-tree``, file by file: git's order, git's six modes.
- Folders are asked for level by level, many at once; one that two trees share is asked for once.
- A small tree can name itself into any number of files, folder in folder: there is an end at ``MOST_ENTRIES``.

Source: git, Documentation/gitformat-pack and tree-walk.c (``decode_tree_entry``, ``canon_mode``).
"""

from __future__ import annotations

import stat

import msgspec

from truegreen.core.errors import ReachProblem
from truegreen.core.file_names import file_name_text
from truegreen.core.ports import TreeEntry
from truegreen.forges.git_objects import ObjectReader

MOST_ENTRIES = 4_000_000
"""Files and folders of one tree, counted at every place where they stand; the largest known repositories have fewer."""
FOLDER = "040000"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of one tree object."""

    mode: str
    """As in ``TreeEntry``, or ``FOLDER``."""
    name: bytes
    """Name in its folder."""
    oid: str
    """What stands there."""


class TreeReader:
    """Reads trees through one conversation, and keeps them: trees of one history share most folders."""

    def __init__(self, objects: ObjectReader) -> None:
        self._objects = objects
        self._rows: dict[str, tuple[Row, ...]] = {}

    def files(self, tree: str) -> tuple[TreeEntry, ...]:
        """All files of a tree, in git's order.

        Raises: ReachProblem ``missing-object``, ``object-too-large`` or ``git-failed``.
        """
        self._fetch(tree)
        found = []
        waiting = [(b"", row) for row in reversed(self._rows[tree])]
        steps = 0
        while waiting:
            folder, row = waiting.pop()
            steps += 1
            if steps > MOST_ENTRIES:
                raise ReachProblem(
                    "object-too-large",
                    f"the tree {tree} holds more than the {MOST_ENTRIES} files that are read",
                )
            path = folder + row.name
            if row.mode == FOLDER:
                waiting += [(path + b"/", below) for below in reversed(self._rows[row.oid])]
            else:
                found.append(TreeEntry(path=file_name_text(path), mode=row.mode, oid=row.oid))
        return tuple(found)

    def _fetch(self, tree: str) -> None:
        """Make every folder of a tree known; nothing is kept of a tree that is not there whole."""
        new: dict[str, tuple[Row, ...]] = {}
        level = [tree]
        while level := [oid for oid in dict.fromkeys(level) if oid not in self._rows and oid not in new]:
            contents = self._objects.contents(level, "tree")
            new.update((oid, rows_of(oid, content)) for oid, content in contents.items())
            level = [row.oid for oid in level for row in new[oid] if row.mode == FOLDER]
        self._rows.update(new)


def rows_of(oid: str, content: bytes) -> tuple[Row, ...]:
    """The rows of a tree object: mode, space, name, NUL and the id's bytes, again and again.

    Raises: ReachProblem ``git-failed`` for anything else.
    """
    rows = []
    id_bytes = len(oid) // 2
    at = 0
    while at < len(content):
        space = content.find(b" ", at)
        end = content.find(b"\0", space + 1)
        next_at = end + 1 + id_bytes
        mode = _mode(content[at:space])
        if mode is None or min(space, end) < 0 or end == space + 1 or next_at > len(content):
            raise ReachProblem("git-failed", f"the tree {oid} is malformed at byte {at} of {len(content)}")
        rows.append(Row(mode=mode, name=content[space + 1 : end], oid=content[end + 1 : next_at].hex()))
        at = next_at
    return tuple(rows)


def _mode(digits: bytes) -> str | None:
    """The mode that git takes octal digits for, or None for what is no mode.

    Git knows six: what has another type is a submodule, and of a file's permissions only "executable" counts.
    """
    if not digits or digits.strip(b"01234567"):
        return None
    number = int(digits[-6:], 8)
    match stat.S_IFMT(number):
        case stat.S_IFREG:
            return "100755" if number & stat.S_IXUSR else "100644"
        case stat.S_IFLNK:
            return "120000"
        case stat.S_IFDIR:
            return FOLDER
        case _:
            return "160000"
