# SPDX-License-Identifier: Apache-2.0
"""Files that samples read though they belong neither to what judges nor to what is judged.

What it decides: which of the files that were opened are inputs that no digest covers. What it leaves: what
follows (such a lane is sampled and never banked), to the gate.

- Files of the tree are covered, unless the lane calls them irrelevant.
- A file that is younger than the run was made by it and is no input.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from truegreen.core.file_names import file_name_text, nfc
from truegreen.core.partition import partition
from truegreen.wiring.sample_ground import SampleGround

MOST_NAMED = 100


def undeclared(ground: SampleGround, read: Iterable[str], began: float) -> tuple[str, ...]:
    """The first ``MOST_NAMED`` of such files, sorted; ``began`` is when the run did, in seconds since the epoch."""
    classes = partition(ground.entries, ground.policy, ground.lane, ground.baseline)
    irrelevant = {nfc(name) for name in classes.irrelevant}
    covered = {nfc(entry.path) for entry in ground.entries} - irrelevant
    found = set()
    for name in read:
        told = nfc(file_name_text(os.fsencode(name.replace(os.sep, "/"))))
        if told not in covered and _is_older(ground, name, began):
            found.add(told)
    return tuple(sorted(found)[:MOST_NAMED])


def _is_older(ground: SampleGround, name: str, began: float) -> bool:
    try:
        return (ground.root / name).stat().st_mtime < began
    except OSError:
        return False
