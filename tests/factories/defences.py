# SPDX-License-Identifier: Apache-2.0
"""Switching off the gate's defences one by one, to see what each of them keeps out."""

from __future__ import annotations

import io
import json
import re
import zipfile
from functools import partial

import msgspec

from truegreen.core.decision import LaneRow
from truegreen.core.digest import sha256_of
from truegreen.core.outcome import Outcome
from truegreen.core.record import Envelope
from truegreen.gate.bind import CHECKS as BIND
from truegreen.gate.complete import CHECKS as COMPLETE
from truegreen.gate.decide import RULES
from truegreen.gate.intake import Evidence, EvidenceFile
from truegreen.gate.ledger_cases import judge
from truegreen.gate.ledger_lane import CHECKS as LANE
from truegreen.gate.model import Judged
from truegreen.gate.verify import CHECKS as VERIFY

LISTS = {"verify": VERIFY, "complete": COMPLETE, "bind": BIND, "lane": LANE}
CHECKS = tuple((room, check.__name__) for room, checks in LISTS.items() for check in checks)
"""Every check that can be taken away, with the room that it belongs to."""
OTHERS = frozenset({"strict_reader", "strict_archives", "recount", "unknown_holds"})
"""Defences that are no entry of a list."""


def rules_without(*names):
    """The gate's rules without the checks of these names."""
    gone = frozenset(names)
    unknown = gone - {name for _, name in CHECKS} - OTHERS
    assert frozenset() == unknown

    def kept(checks):
        return tuple(check for check in checks if check.__name__ not in gone)

    kinds = {
        name: msgspec.structs.replace(
            kind, judge=trusting if "recount" in gone else partial(judge, checks=kept(LANE))
        )
        if kind.judge is judge
        else kind
        for name, kind in RULES.kinds.items()
    }
    return msgspec.structs.replace(
        RULES,
        kinds=kinds,
        verify=kept(VERIFY),
        complete=kept(COMPLETE),
        bind=kept(BIND),
        read=lenient if "strict_reader" in gone else RULES.read,
        unknown_holds="unknown_holds" not in gone,
    )


def trusting(evidence, ground):
    """A judge that believes the producer."""
    lane = evidence.lane
    row = LaneRow(
        lane=lane.name, kind=lane.kind, role=lane.role, seal=lane.seal, outcome=Outcome.HOLDS, code="holds"
    )
    return Judged(row=row, causes=(), notes=())


def lenient(data):
    """A reader that keeps the last of two equal keys and repairs what was cut off."""
    text = data.decode()
    while text.count("}") < text.count("{"):
        text += "}"
    return msgspec.convert(json.loads(text), Envelope, strict=False), sha256_of(data)


def naive_intake(paths):
    """Archives unpacked as they come, whatever their members are called."""
    files = []
    for path in paths:
        for found in sorted(path.rglob("*.zip")):
            with zipfile.ZipFile(io.BytesIO(found.read_bytes())) as archive:
                files.extend(
                    EvidenceFile(
                        container=found.stem, name=re.sub(r"^(\.\./)+", "", name), data=archive.read(name)
                    )
                    for name in archive.namelist()
                )
    return Evidence(files=tuple(files))
