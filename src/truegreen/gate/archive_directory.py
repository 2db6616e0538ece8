# SPDX-License-Identifier: Apache-2.0
"""The directory of a zip archive, read strictly.

What it decides: which entries an archive's directory lists, and whether directory, end and zip64 fields agree.
What it leaves: whether the members stand where it says, and their content, to ``archive``.

- The archive ends with its end record: no comment, no byte after it, one disk.
- The directory ends where the end record begins, and holds its entries and nothing else.
- A zip64 field holds exactly the values whose short form is full.
- Names are ASCII or declared to be UTF-8 and have no second spelling.
- Links, devices, encryption and methods other than stored and deflated are refused.

Source: PKWARE APPNOTE.TXT 6.3.10; its sections stand in the code.
"""

from __future__ import annotations

import stat
import struct
from typing import BinaryIO

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

MAX_MEMBERS = 20_000
"""Members of one archive, wanted or not."""

MAX_DIRECTORY_BYTES = 16 * 1024 * 1024
"""Length of an archive's directory."""

STORED, DEFLATED = 0, 8
SIZES_FOLLOW = 0x0008
"""The flag that says: checksum and lengths stand after the content (4.4.4 bit 3)."""

_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_PATCHED, _UTF8 = 0x0020, 0x0800
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_ZIP64, _UNICODE_PATH = 0x0001, 0x7075

_END = struct.Struct("<4s4H2IH")  # 4.3.16
_END64_LOCATOR = struct.Struct("<4sIQI")  # 4.3.15
_END64 = struct.Struct("<4sQ2H2I4Q")  # 4.3.14
_CENTRAL = struct.Struct("<4s6H3I5H2I")  # 4.3.12
_EXTRA = struct.Struct("<2H")  # 4.5.1


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the directory; lengths and places in bytes."""

    name: str
    """Path with ``/``, without the ``/`` at the end that marks a folder."""
    raw_name: bytes
    """The name as it is written."""
    is_folder: bool
    """Whether the entry is a folder."""
    flags: int
    """General purpose flags (4.4.4)."""
    method: int
    """Compression method (4.4.5)."""
    crc: int
    """CRC-32 of the content."""
    packed: int
    """Length as stored."""
    size: int
    """Length of the content, as declared."""
    offset: int
    """Where what stands before the content begins."""


class Source:
    """A file of known length, of which every read is whole or an error."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, 2)

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes."""
        if offset >= 0 and offset + length <= self.size:
            self._file.seek(offset)
            data = self._file.read(length)
            if len(data) == length:
                return data
        raise broken(f"{length} bytes at {offset} are asked of an archive of {self.size}")


def read_directory(source: Source) -> tuple[list[Member], int]:
    """All entries and where the directory begins."""
    count, size, offset = _end(source)
    if count > MAX_MEMBERS:
        raise too_large(f"{count} members, more than the {MAX_MEMBERS} that are read")
    if size > MAX_DIRECTORY_BYTES:
        raise too_large(f"a directory of {size} bytes, more than the {MAX_DIRECTORY_BYTES} that are read")
    data = source.read(offset, size)
    members = []
    position = 0
    for _ in range(count):
        member, position = _entry(data, position)
        members.append(member)
    if position != size:
        raise ambiguous(f"its directory has {size - position} bytes more than its {count} entries take")
    return members, offset


def _end(source: Source) -> tuple[int, int, int]:
    """Entries, length and place of the directory, from the archive's last bytes."""
    end_at = source.size - _END.size
    mark, disk, first_disk, on_disk, count, size, offset, comment = _END.unpack(
        source.read(end_at, _END.size)
    )
    if mark != b"PK\x05\x06" or comment:
        raise broken("it does not end as an archive without comment ends; it may be cut short")
    if (disk, first_disk, on_disk) != (0, 0, count):
        raise EvidenceProblem("archive-unsupported", "it spans several disks")
    directory_end = end_at
    if _has_end64(source, end_at):
        directory_end, count, size, offset = _end64(source, end_at, (count, size, offset))
    elif count == _FULL16 or _FULL32 in (size, offset):
        raise broken("it promises a zip64 end and has none")
    if offset + size != directory_end:
        raise ambiguous(f"its directory ends at {offset + size} and its end begins at {directory_end}")
    return count, size, offset


def _has_end64(source: Source, end_at: int) -> bool:
    locator_at = end_at - _END64_LOCATOR.size
    return locator_at >= 0 and source.read(locator_at, 4) == b"PK\x06\x07"


def _end64(source: Source, end_at: int, said: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Place of the zip64 end, then entries, length and place of the directory; what both ends say must agree."""
    locator_at = end_at - _END64_LOCATOR.size
    _, disk, end64_at, disks = _END64_LOCATOR.unpack(source.read(locator_at, _END64_LOCATOR.size))
    if end64_at != locator_at - _END64.size:
        raise ambiguous(f"its zip64 end is said to be at {end64_at}, not before its locator at {locator_at}")
    mark, length, _, _, on_disk, first_disk, here, *values = _END64.unpack(source.read(end64_at, _END64.size))
    if mark != b"PK\x06\x06" or length != _END64.size - 12:
        raise broken("its zip64 end is none")
    count, size, offset = values
    if (disk, disks, on_disk, first_disk, here) != (0, 1, 0, 0, count):
        raise EvidenceProblem("archive-unsupported", "it spans several disks")
    for short, full, long in zip(said, (_FULL16, _FULL32, _FULL32), (count, size, offset), strict=True):
        if short not in (full, long):
            raise ambiguous(f"its end says {short} and its zip64 end says {long}")
    return end64_at, count, size, offset


def _entry(data: bytes, at: int) -> tuple[Member, int]:
    """One entry of the directory and where the next begins."""
    fixed = data[at : at + _CENTRAL.size]
    if len(fixed) < _CENTRAL.size or fixed[:4] != b"PK\x01\x02":
        raise broken(f"byte {at} of its directory begins no entry")
    (
        _,
        _,
        _,
        flags,
        method,
        _,
        _,
        crc,
        packed,
        size,
        name_bytes,
        extra_bytes,
        comment_bytes,
        disk,
        _,
        mode,
        offset,
    ) = _CENTRAL.unpack(fixed)
    name_at = at + _CENTRAL.size
    extra_at = name_at + name_bytes
    after = extra_at + extra_bytes + comment_bytes
    if after > len(data):
        raise broken(f"the entry at byte {at} of its directory is cut short")
    raw_name = data[name_at:extra_at]
    fields = read_extra(data[extra_at : extra_at + extra_bytes], raw_name)
    size, packed, offset = wide((size, packed, offset), fields, raw_name)
    if disk:
        raise EvidenceProblem("archive-unsupported", "it spans several disks")
    name = _name(raw_name, flags)
    member = Member(
        name=name.removesuffix("/"),
        raw_name=raw_name,
        is_folder=name.endswith("/"),
        flags=flags,
        method=method,
        crc=crc,
        packed=packed,
        size=size,
        offset=offset,
    )
    _check_kind(member, mode >> 16)
    return member, after


def _name(raw: bytes, flags: int) -> str:
    """The name as text: ASCII, or UTF-8 where the entry says so (4.4.4 bit 11)."""
    try:
        return raw.decode("utf-8" if flags & _UTF8 else "ascii")
    except UnicodeDecodeError as err:
        raise EvidenceProblem(
            "unsafe-name", f"the name {quoted(raw)} is neither ASCII nor declared UTF-8"
        ) from err


def _check_kind(member: Member, mode: int) -> None:
    """Refuse what is no plain file or folder, and what cannot be unpacked."""
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR) > member.is_folder:
        raise EvidenceProblem(
            "evidence-not-plain", f"{quoted(member.name)} is a link or another special file"
        )
    if member.flags & (_ENCRYPTED | _PATCHED) or member.method not in (STORED, DEFLATED):
        raise EvidenceProblem(
            "archive-unsupported",
            f"{quoted(member.name)} has flags {member.flags:#06x} and method {member.method}",
        )
    if (member.method == STORED and member.packed != member.size) or (member.is_folder and member.size):
        raise broken(f"{quoted(member.name)} takes {member.packed} bytes for {member.size}, which cannot be")


def read_extra(data: bytes, raw_name: bytes) -> dict[int, bytes]:
    """Extra fields by id (4.5); one that stands twice, is cut short or gives another name is refused."""
    fields: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        start = data[at : at + _EXTRA.size]
        kind, length = _EXTRA.unpack(start) if len(start) == _EXTRA.size else (0, _FULL16)
        value = data[at + _EXTRA.size : at + _EXTRA.size + length]
        if len(value) != length or kind in fields:
            raise broken(f"an extra field of {quoted(raw_name)} stands twice or is cut short")
        fields[kind] = value
        at += _EXTRA.size + length
    other_name = fields.get(_UNICODE_PATH)  # 4.6.9: one byte of version, four of checksum, then the name
    if other_name is not None and other_name[5:] != raw_name:
        raise ambiguous(f"the member {quoted(raw_name)} is also called {quoted(other_name[5:])}")
    return fields


def wide(said: tuple[int, ...], fields: dict[int, bytes], raw_name: bytes) -> tuple[int, ...]:
    """The values said, each that is full replaced from the zip64 field, in order (4.5.3).

    A field that no value needs may only repeat what was said.
    """
    field = fields.get(_ZIP64, b"")
    places = [place for place, value in enumerate(said) if value == _FULL32]
    needed = places or range(min(len(said), len(field) // 8))
    if len(field) != 8 * len(needed):
        raise ambiguous(
            f"the zip64 field of {quoted(raw_name)} has {len(field)} bytes, asked are {8 * len(needed)}"
        )
    values = list(said)
    for place, value in zip(needed, struct.unpack(f"<{len(needed)}Q", field), strict=True):
        if said[place] not in (value, _FULL32):
            raise ambiguous(f"the zip64 field of {quoted(raw_name)} says {value} where {said[place]} is said")
        values[place] = value
    return tuple(values)


def broken(sentence: str) -> EvidenceProblem:
    """The error for an archive that is cut short or damaged."""
    return EvidenceProblem("archive-broken", f"it is damaged or cut short: {sentence}")


def ambiguous(sentence: str) -> EvidenceProblem:
    """The error for an archive in which two readers could see two contents."""
    return EvidenceProblem("archive-ambiguous", f"it has two readings: {sentence}", contradictory=True)


def too_large(sentence: str) -> EvidenceProblem:
    """The error for an archive that asks for more than is read."""
    return EvidenceProblem("evidence-too-large", sentence)
