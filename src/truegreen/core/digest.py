# SPDX-License-Identifier: Apache-2.0
"""Digests of bytes and of file sets, in the one spelling that counts as identity.

What it decides: how bytes and sets of files are named. What it leaves: which bytes, to whoever names them.

- A digest carries its algorithm: ``sha256:`` and 64 lower-case hexadecimal digits. Abbreviations are refused.
- A set of files has the h1 form of Go's ``dirhash`` (in-toto ``dirHash1``): the SHA-256, in Base64, of one line
  ``<hex>  <name>`` per file, sorted by name in byte order. ``sha256sum`` and ``sort`` reproduce it.
- Names stand in NFC; a set that is empty, or whose names are unsafe or collide, has no digest.
- A Git LFS pointer is not the file that it stands for; ``is_lfs_pointer`` tells.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import NewType

from truegreen.core.errors import EvidenceProblem
from truegreen.core.file_names import check_names, file_name_text, nfc
from truegreen.core.quoted import quoted

__all__ = ["H1", "Sha256", "file_name_text", "h1", "is_lfs_pointer", "parse_digest", "parse_h1", "sha256_of"]

Sha256 = NewType("Sha256", str)
"""``sha256:`` and 64 lower-case hexadecimal digits."""

H1 = NewType("H1", str)
"""``h1:`` and the 44 characters of a SHA-256 in standard Base64."""

LFS_POINTER_BELOW = 1024
"""A Git LFS pointer is shorter than this, in bytes (git-lfs, docs/spec.md)."""

_SHA256_DIGITS = 64
_H1 = r"h1:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=\Z"
_LFS_BEGINNINGS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_LFS_OBJECT_LINE = rb"(?m)^oid [a-z0-9]+:[0-9a-f]+\r?$"


def sha256_of(data: bytes) -> Sha256:
    """The digest of these bytes."""
    return Sha256("sha256:" + hashlib.sha256(data).hexdigest())


def parse_digest(text: str) -> Sha256:
    """The text, if it is a whole digest in the one spelling.

    Raises: EvidenceProblem ``bad-digest`` for an abbreviation, upper case, another algorithm or anything else.
    """
    algorithm, _, digits = text.partition(":")
    if algorithm != "sha256" or len(digits) != _SHA256_DIGITS or digits.strip("0123456789abcdef"):
        raise _bad_digest(text, "sha256: and 64 lower-case hexadecimal digits")
    return Sha256(text)


def parse_h1(text: str) -> H1:
    """The text, if it is a whole h1 digest in the one spelling that Base64 has for it.

    Raises: EvidenceProblem ``bad-digest``.
    """
    if not re.match(_H1, text):
        raise _bad_digest(text, "h1: and 44 characters of canonical Base64")
    return H1(text)


def h1(files: Iterable[tuple[str, Sha256]]) -> H1:
    """The digest of a set of files, given as pairs of path and content digest, in any order.

    Raises: EvidenceProblem ``empty-set``, ``unsafe-name``, ``name-collision`` (contradictory) or ``bad-digest``.
    Source: golang.org/x/mod/sumdb/dirhash, Hash1.
    """
    listed = list(files)
    if not listed:
        raise EvidenceProblem("empty-set", "a set of 0 files has no digest, at least 1 is asked")
    check_names(name for name, _ in listed)
    lines = sorted((nfc(name).encode(), parse_digest(content)[7:].encode()) for name, content in listed)
    summary = hashlib.sha256(b"".join(b"%s  %s\n" % (content, name) for name, content in lines))
    return H1("h1:" + base64.b64encode(summary.digest()).decode())


def h1_of_files(files: Mapping[str, bytes | None]) -> H1 | None:
    """The digest of the plain files of a folder, by their names from it; None if there are none.

    None in the place of content stands for what is no regular file: it is left out. Raises: as ``h1``.
    """
    plain = [(name, sha256_of(content)) for name, content in files.items() if content is not None]
    return h1(plain) if plain else None


def is_lfs_pointer(data: bytes) -> bool:
    """Whether the bytes are a Git LFS pointer, that is, not the content that a file of this name should have."""
    return (
        len(data) < LFS_POINTER_BELOW
        and data.startswith(_LFS_BEGINNINGS)
        and re.search(_LFS_OBJECT_LINE, data) is not None
    )


def _bad_digest(text: str, asked: str) -> EvidenceProblem:
    return EvidenceProblem("bad-digest", f"the digest {quoted(text)} is not {asked}")
