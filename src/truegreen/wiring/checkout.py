# SPDX-License-Identifier: Apache-2.0
"""Which repository a verb works in where none is named.

- It is the one that holds the working folder: whoever stands in a subfolder need not name it.
- A bare clone is only the folder itself, and then before any working copy around it.
- Nothing is run to find out.
"""

from __future__ import annotations

from pathlib import Path

BARE = ("HEAD", "objects", "refs")
"""What lies in a bare clone."""


def checkout_of(folder: Path) -> Path | None:
    """The nearest folder, from this one up, that holds ``.git``; absolute."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), None)


def repository_of(named: Path | None, folder: Path) -> Path:
    """The repository that was named, or the one that holds ``folder``, or the folder itself."""
    if named is not None:
        return named
    if (folder / ".git").exists() or _is_bare(folder):
        return folder
    return checkout_of(folder) or folder


def working_copies_of(folder: Path, clone: Path) -> tuple[Path, ...]:
    """The working copies whose code a gate that is started in ``folder`` on ``clone`` must not have loaded.

    A bare clone has none, whatever lies around it.
    """
    named = () if _is_bare(clone) else (clone,)
    return tuple(dict.fromkeys(filter(None, map(checkout_of, (folder, *named)))))


def _is_bare(folder: Path) -> bool:
    return not (folder / ".git").exists() and all((folder / name).exists() for name in BARE)
