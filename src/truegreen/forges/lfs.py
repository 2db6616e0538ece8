# SPDX-License-Identifier: Apache-2.0
"""Git LFS content in a working folder: the file that a pointer in the tree stands for.

What it decides: whether a file on disk is exactly what a pointer names. What it leaves: fetching, to Git LFS;
whether pointers may judge, to ``core.lane_digests``.

git decides by a file's time whether it looks at the content, and then it sees content where the tree has a
pointer. Without this question a folder with large files would be dirty or not by chance.

Source: git-lfs, docs/spec.md, "The Pointer".
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from truegreen.core.digest import is_lfs_pointer

_POINTER = re.compile(rb"^oid sha256:(?P<oid>[0-9a-f]{64})\nsize (?P<size>[0-9]{1,19})$", re.MULTILINE)


def is_content_of(pointer: bytes, file: Path) -> bool:
    """Whether ``pointer`` is a Git LFS pointer and the file holds the content that it names."""
    named = _POINTER.search(pointer) if is_lfs_pointer(pointer) else None
    if named is None or file.is_symlink() or not file.is_file() or file.stat().st_size != int(named["size"]):
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest().encode() == named["oid"]
