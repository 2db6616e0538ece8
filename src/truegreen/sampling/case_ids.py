# SPDX-License-Identifier: Apache-2.0
"""Case ids: one name for one case, the same on every machine and in every run.

- Path from the repository's root in NFC with ``/``, then ``::``, then what pytest puts behind the file.
- An id that names a memory address changes with every run; two cases with one id are no case.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from truegreen.core.file_names import file_name_text, nfc

SEPARATOR = "::"


def case_id(path: Path, root: Path, nodeid: str) -> str:
    """The id of what pytest calls ``nodeid`` in the file ``path`` of the repository at ``root``."""
    relative = os.path.relpath(path, root).replace(os.sep, "/")
    _, separator, remainder = nodeid.partition(SEPARATOR)
    return nfc(file_name_text(os.fsencode(relative))) + separator + remainder


def duplicates(ids: Iterable[str]) -> list[tuple[str, int]]:
    """Ids that more than one case has, with how many, sorted."""
    return sorted((name, count) for name, count in Counter(ids).items() if count > 1)
