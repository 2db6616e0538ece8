# SPDX-License-Identifier: Apache-2.0
"""Zip archives written byte by byte, so that any field can lie.

Plain ``Entry("name", b"content")`` values give an honest archive; every other field of an entry or of ``forge``
overrules one field of the format.
"""

import struct
import zlib
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Entry:
    """One member; ``None`` means: what is true."""

    name: str | bytes
    content: bytes = b""
    method: int = 8
    flags: int | None = None
    mode: int = 0o100644
    packed: bytes | None = None
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    offset: int | None = None
    extra: bytes = b""
    disk: int = 0
    comment: bytes = b""
    local: dict[str, object] = field(default_factory=dict)
    """Fields that differ before the content: name, flags, method, crc, size, packed_size, extra, mark."""
    before: bytes = b""
    """Bytes in front of the member."""
    after: bytes = b""
    """Bytes behind its content."""

    def __post_init__(self) -> None:
        """Fill in what is true."""
        if isinstance(self.name, str):
            if self.flags is None:
                self.flags = 0 if self.name.isascii() else 0x800
            self.name = self.name.encode()
        self.flags = self.flags or 0
        if self.packed is None:
            self.packed = deflated(self.content) if self.method == 8 else self.content
        self.crc = zlib.crc32(self.content) if self.crc is None else self.crc
        self.size = len(self.content) if self.size is None else self.size
        self.packed_size = len(self.packed) if self.packed_size is None else self.packed_size


def deflated(content: bytes) -> bytes:
    """A raw deflate stream."""
    packing = zlib.compressobj(9, wbits=-15)
    return packing.compress(content) + packing.flush()


def forge(*entries: Entry, prefix: bytes = b"", gap: bytes = b"", **end) -> bytes:
    """The archive; ``end`` overrules count, count_here, size, offset, disk, comment, comment_bytes, mark or tail."""
    body, directory = prefix, b""
    for entry in entries:
        body += entry.before
        offset = len(body)
        body += _local(entry) + entry.packed + entry.after
        directory += _central(entry, offset if entry.offset is None else entry.offset)
    body += gap
    said = {
        "count": len(entries),
        "size": len(directory),
        "offset": len(body),
        "disk": 0,
        "comment": b"",
        "tail": b"",
    } | end
    said.setdefault("count_here", said["count"])
    last = struct.pack(
        "<4s4H2IH",
        said.get("mark", b"PK\x05\x06"),
        said["disk"],
        said["disk"],
        said["count_here"],
        said["count"],
        said["size"],
        said["offset"],
        said.get("comment_bytes", len(said["comment"])),
    )
    middle = said["zip64"](len(body), len(directory), len(entries)) if "zip64" in said else b""
    return body + directory + middle + last + said["comment"] + said["tail"]


def zip64_end(body: int, directory: int, number: int, /, **other) -> bytes:
    """The zip64 end and its locator; ``other`` overrules count, size, offset, at, length, mark or disks."""
    said = {
        "count": number,
        "size": directory,
        "offset": body,
        "at": body + directory,
        "length": 44,
        "disks": 1,
        "here": number,
    }
    said |= other
    end = struct.pack(
        "<4sQ2H2I4Q",
        said.get("mark", b"PK\x06\x06"),
        said["length"],
        45,
        45,
        0,
        0,
        said["here"],
        said["count"],
        said["size"],
        said["offset"],
    )
    return end + struct.pack("<4sIQI", b"PK\x06\x07", 0, said["at"], said["disks"])


def extra(kind: int, value: bytes) -> bytes:
    """One extra field."""
    return struct.pack("<2H", kind, len(value)) + value


def zip64(*values: int) -> bytes:
    """The extra field that holds what does not fit in 32 bits."""
    return extra(0x0001, struct.pack(f"<{len(values)}Q", *values))


def _local(entry: Entry) -> bytes:
    said = {
        "mark": b"PK\x03\x04",
        "name": entry.name,
        "flags": entry.flags,
        "method": entry.method,
        "crc": entry.crc,
        "size": entry.size,
        "packed_size": entry.packed_size,
        "extra": b"",
    } | entry.local
    fixed = struct.pack(
        "<4s5H3I2H",
        said["mark"],
        20,
        said["flags"],
        said["method"],
        0,
        33,
        said["crc"],
        said["packed_size"],
        said["size"],
        len(said["name"]),
        len(said["extra"]),
    )
    return fixed + said["name"] + said["extra"]


def _central(entry: Entry, offset: int) -> bytes:
    fixed = struct.pack(
        "<4s6H3I5H2I",
        b"PK\x01\x02",
        0x0314,
        20,
        entry.flags,
        entry.method,
        0,
        33,
        entry.crc,
        entry.packed_size,
        entry.size,
        len(entry.name),
        len(entry.extra),
        len(entry.comment),
        entry.disk,
        0,
        entry.mode << 16,
        offset,
    )
    return fixed + entry.name + entry.extra + entry.comment
