# SPDX-License-Identifier: Apache-2.0
"""Names that may stand in a folder or an archive of evidence.

What it decides: whether the names of all entries, wanted or not, could be unpacked anywhere without harm. What it
leaves: what the entries hold.

- The rules of ``core.file_names``: relative, no ``..``, no backslash, no two names that are one on some system.
- No control character, which could forge lines in a log, and no drive letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from truegreen.core.errors import EvidenceProblem
from truegreen.core.file_names import check_names
from truegreen.core.quoted import quoted

_HOSTILE = re.compile(r"[\0-\x1f\x7f-\x9f]|\A[A-Za-z]:")


def check_entries(files: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Refuse entries whose names are unsafe or collide; ``folders`` are those that stand by themselves.

    Raises: EvidenceProblem ``unsafe-name``, or ``name-collision`` (contradictory).
    """
    for name in (*files, *folders):
        if _HOSTILE.search(name):
            raise EvidenceProblem(
                "unsafe-name", f"the name {quoted(name)} holds a control character or a drive letter"
            )
    if len(set(folders)) != len(folders):
        raise EvidenceProblem("name-collision", "a folder stands twice in the archive", contradictory=True)
    check_names(files, folders)
