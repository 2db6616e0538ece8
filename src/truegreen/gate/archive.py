# SPDX-License-Identifier: Apache-2.0
"""Zip archives read so that no other reader can have seen anything else in them.

What it decides: whether an archive has one reading, and which bytes its members hold. What it leaves: which
members are wanted, and what a refusal means, to the intake.

- Members are read in memory; nothing is ever written to a disk.
- The archive is its members in a row from its first byte, then its directory, then its end: no byte before,
  between or after them. So nothing can overlap and nothing can hide.
- What stands before a member says the same as the directory: name, method, flags, lengths, checksum.
- Every name is checked, also of members that nobody wants.
- Lengths are bounded as declared before anything is unpacked, and must be what comes out.

Source: PKWARE APPNOTE.TXT 6.3.10; its sections stand in the code.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import BinaryIO

from truegreen.core.quoted import quoted
from truegreen.gate.archive_directory import (
    DEFLATED,
    SIZES_FOLLOW,
    Member,
    Source,
    ambiguous,
    broken,
    read_directory,
    read_extra,
    too_large,
    wide,
)
from truegreen.gate.entry_names import check_entries

RATIO_FROM_BYTES = 1024 * 1024
"""Unpacked length from which the ratio counts; small texts of one letter are no bombs."""

MAX_RATIO = 250
"""Unpacked bytes for each packed one; long lists of test ids reach 40, deflate at most 1032."""

_LOCAL = struct.Struct("<4s5H3I2H")  # 4.3.7
_DESCRIPTORS = ("<3I", "<4s3I", "<I2Q", "<4sI2Q")  # 4.3.9, with and without signature, 32 and 64 bits


def read_archive(
    file: BinaryIO, *, is_wanted: Callable[[str], bool], max_file_bytes: int, max_total_bytes: int
) -> tuple[tuple[tuple[str, bytes], ...], int]:
    """The wanted members as (name, content) in the order of their names, and how many others there are.

    Raises: EvidenceProblem ``archive-broken``, ``archive-ambiguous`` (contradictory), ``archive-unsupported``,
    ``evidence-too-large``, ``unsafe-name``, ``name-collision`` (contradictory) or ``evidence-not-plain``.
    """
    source = Source(file)
    members, directory_at = read_directory(source)
    check_entries([m.name for m in members if not m.is_folder], [m.name for m in members if m.is_folder])
    places = _places(source, members, directory_at)
    files = sorted((m for m in members if not m.is_folder), key=lambda member: member.name)
    wanted = [member for member in files if is_wanted(member.name)]
    _check_sizes(wanted, max_file_bytes, max_total_bytes)
    return tuple((m.name, _content(source, m, places[m.raw_name])) for m in wanted), len(files) - len(wanted)


def _places(source: Source, members: list[Member], directory_at: int) -> dict[bytes, int]:
    """Where each member's content begins; the members must stand in a row from byte 0 to the directory."""
    places: dict[bytes, int] = {}
    in_row = sorted(members, key=lambda member: member.offset)
    starts = [*(member.offset for member in in_row), directory_at]
    if starts[0] != 0:
        raise ambiguous(f"its first {starts[0]} bytes belong to no member")
    for member, (_, following) in zip(in_row, pairwise(starts), strict=True):
        places[member.raw_name] = content_at = _local(source, member)
        content_end = content_at + member.packed
        _check_descriptor(source, member, content_end, following - content_end)
    return places


def _local(source: Source, member: Member) -> int:
    """Where the content begins; what stands before it must say what the directory says."""
    (mark, _, flags, method, _, _, crc, packed, size, name_bytes, extra_bytes) = _LOCAL.unpack(
        source.read(member.offset, _LOCAL.size)
    )
    if mark != b"PK\x03\x04":
        raise ambiguous(f"no member stands at byte {member.offset}, where {quoted(member.name)} should")
    name_at = member.offset + _LOCAL.size
    extra_at = name_at + name_bytes
    if (source.read(name_at, name_bytes), flags, method) != (member.raw_name, member.flags, member.method):
        raise ambiguous(f"{quoted(member.name)} has another name, method or flags before its content")
    fields = read_extra(source.read(extra_at, extra_bytes), member.raw_name)
    lengths = (crc, *wide((size, packed), fields, member.raw_name))
    expected = (member.crc, member.size, member.packed)
    may_be_0 = bool(flags & SIZES_FOLLOW)
    if any(said != true and (said or not may_be_0) for said, true in zip(lengths, expected, strict=True)):
        raise ambiguous(f"{quoted(member.name)} has another checksum or length before its content")
    return int(extra_at + extra_bytes)


def _check_descriptor(source: Source, member: Member, at: int, length: int) -> None:
    """Between a member's end and the next there is nothing, or its sizes where they were promised (4.3.9)."""
    if not member.flags & SIZES_FOLLOW:
        if length:
            raise ambiguous(f"{length} bytes after {quoted(member.name)} belong to no member, or overlap it")
        return
    said = (member.crc, member.packed, member.size)
    for form in _DESCRIPTORS:
        if struct.calcsize(form) == length:
            *mark, crc, packed, size = struct.unpack(form, source.read(at, length))
            if mark in ([], [b"PK\x07\x08"]) and (crc, packed, size) == said:
                return
    raise ambiguous(f"the sizes after {quoted(member.name)} are not those of the directory")


def _check_sizes(wanted: list[Member], max_file_bytes: int, max_total_bytes: int) -> None:
    """Bound what is unpacked before anything is, by what the directory declares."""
    for member in wanted:
        if member.size > max_file_bytes:
            raise too_large(
                f"{quoted(member.name)} has {member.size} bytes, more than the {max_file_bytes} that are read"
            )
        if member.size > RATIO_FROM_BYTES and member.size > MAX_RATIO * member.packed:
            raise too_large(
                f"{quoted(member.name)} grows from {member.packed} bytes to {member.size}, above 1 to {MAX_RATIO}"
            )
    total = sum(member.size for member in wanted)
    if total > max_total_bytes:
        raise too_large(f"{total} bytes of evidence, more than the {max_total_bytes} that are left to read")


def _content(source: Source, member: Member, at: int) -> bytes:
    """The unpacked content, of exactly the declared length and checksum."""
    data = source.read(at, member.packed)
    if member.method == DEFLATED:
        inflating = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = inflating.decompress(data, member.size + 1)
        except zlib.error as err:
            raise broken(f"{quoted(member.name)} cannot be unpacked") from err
        if not inflating.eof or inflating.unused_data:
            raise broken(f"{quoted(member.name)} does not unpack to the {member.size} bytes that it declares")
    if len(data) != member.size or zlib.crc32(data) != member.crc:
        raise broken(f"{quoted(member.name)} has another length or checksum than the archive says")
    return data
