# SPDX-License-Identifier: Apache-2.0
"""A state in one file that is read whole after a kill at any byte: two slots, written in turn.

What it decides: the form of the file. What it leaves: locking it and the meaning of a state, to ``file``.

- A slot is a head (mark, number, length, digest) and a payload. The valid slot with the higher number counts.
- A write goes to the other slot; until its last byte is there its digest does not match, and the old one counts.
- A file without a byte holds no state. One with bytes and without a valid slot is unreadable: it is never taken for
  a new one, since that would forget who is in flight.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import Final

import msgspec

from truegreen.core.errors import ReachProblem

MARK: Final = b"TGLEDG1\n"
SLOT: Final = 1 << 20
"""Bytes of a slot; the file is as long as what was written to it."""
HEAD: Final = struct.Struct(">8sQQ16s")
"""Mark, number, length of the payload, digest of number and payload."""
MOST: Final = SLOT - HEAD.size
"""Longest payload."""
_FIRST: Final = 4096
"""Bytes that are read at once; most states are shorter."""


class Slot(msgspec.Struct, frozen=True):
    """A state as it stands in the file."""

    number: int
    """From 1; its slot is the number's last bit."""
    payload: bytes


NOTHING: Final = Slot(0, b"")
"""What a file without a byte holds."""


def written(slot: Slot) -> bytes:
    """The bytes of a slot."""
    return HEAD.pack(MARK, slot.number, len(slot.payload), _digest(slot)) + slot.payload


def read(file: int, name: str) -> Slot:
    """The state in an open file, whose lock is held.

    Raises: ReachProblem ``limiter-state-unreadable``.
    """
    starts = [os.pread(file, _FIRST, 0), os.pread(file, _FIRST, SLOT)]
    newest = 0 if starts[0][8:16] > starts[1][8:16] else 1
    for place in (newest, 1 - newest):
        slot = _valid(file, place, starts[place])
        if slot:
            return slot
    if os.fstat(file).st_size == 0 or _was_never_whole(file):
        return NOTHING
    raise ReachProblem(
        "limiter-state-unreadable",
        f"{name} holds {os.fstat(file).st_size} bytes and no state that is whole",
        hint=f"rm {name} once no call is under way",
    )


def write(file: int, slot: Slot) -> None:
    """Write a slot. Raises: OSError as it comes; the other slot then still counts."""
    data = written(slot)
    start = (slot.number & 1) * SLOT
    done = 0
    while done < len(data):
        done += os.pwrite(file, data[done:], start + done)


def _was_never_whole(file: int) -> bool:
    """Whether the first write ever was torn: nobody has been told anything yet.

    The first state has number 1 and stands in slot 1; slot 0 has no byte that is not zero.
    """
    return not any(os.pread(file, HEAD.size, 0)) and _number(file, 1) <= 1


def _number(file: int, place: int) -> int:
    head = os.pread(file, HEAD.size, place * SLOT).ljust(HEAD.size, b"\0")
    return int(HEAD.unpack(head)[1])


def _valid(file: int, place: int, data: bytes) -> Slot | None:
    if len(data) < HEAD.size:
        return None
    mark, number, length, digest = HEAD.unpack_from(data)
    if mark != MARK or length > MOST or number & 1 != place:
        return None
    if length > len(data) - HEAD.size:
        data = os.pread(file, HEAD.size + length, place * SLOT)
    slot = Slot(number, data[HEAD.size : HEAD.size + length])
    return slot if len(slot.payload) == length and _digest(slot) == digest else None


def _digest(slot: Slot) -> bytes:
    return hashlib.blake2b(b"%d:%s" % (slot.number, slot.payload), digest_size=16).digest()
