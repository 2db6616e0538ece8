# SPDX-License-Identifier: Apache-2.0
r"""File names: how raw bytes become text, which names may stand in a set, and which of them are one name.

What it decides: whether a list of paths means the same files on every system that may check them out. What it
leaves: which files belong to a set, to whoever makes it.

- A path is relative, with ``/`` between its parts; no part is empty, ``.`` or ``..``.
- Newline, carriage return, NUL and backslash are refused: ``sha256sum`` escapes such names and half of all
  systems cannot hold them.
- Two paths collide when a prefix of one and a prefix of the other are one name in NFC or in another case but are
  spelled differently, when one is a file where the other has a folder, and when they are equal.
- Bytes that are not UTF-8 are written ``%XX``; see ``file_name_text`` for a literal ``%``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

_UNSAFE = re.compile(r"[\n\r\0\\]|(?:\A|/)\.{0,2}(?:/|\Z)")
_LOOKS_WRITTEN = re.compile("%(?=(?:25)*[89A-F][0-9A-F])")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def nfc(name: str) -> str:
    """The composed form (Unicode NFC), in which names are compared."""
    return unicodedata.normalize("NFC", name)


def file_name_text(raw: bytes) -> str:
    """The raw name as text, each byte that is not UTF-8 as ``%`` and two upper-case hexadecimal digits.

    No two raw names give one text: a literal ``%`` that reads like such an escape (``%FF``) is written ``%25FF``,
    a literal ``%25FF`` is written ``%2525FF``; every other ``%`` stays.
    """
    text = _LOOKS_WRITTEN.sub("%25", raw.decode("utf-8", "surrogateescape"))
    return _NOT_UTF8.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text)


def check_name(name: str) -> None:
    """Refuse a path that does not name one file alike everywhere.

    Raises: EvidenceProblem ``unsafe-name``.
    """
    if _UNSAFE.search(name) or not _is_unicode(name):
        raise EvidenceProblem(
            "unsafe-name",
            f"the file name {quoted(name)} is absolute, has an empty, . or .. part, or holds a line end, NUL or backslash",
        )


def check_names(files: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Refuse a set of paths in which a name is unsafe or two are one name somewhere.

    ``folders`` are folders that stand in the set by themselves; the folders of the files need not be among them.

    Raises: EvidenceProblem ``unsafe-name``, or ``name-collision`` (contradictory).
    """
    known_folders: dict[str, str] = {}
    known_files: dict[str, str] = {}
    for folder in folders:
        check_name(folder)
        _enter_folders(f"{folder}/", known_folders, known_files)
    for name in files:
        check_name(name)
        _enter_folders(name, known_folders, known_files)
        folded = _folded(name)
        if other := known_files.get(folded) or known_folders.get(folded):
            raise _collision(name, other)
        known_files[folded] = name


def _is_unicode(name: str) -> bool:
    """Whether the text holds whole characters only, no half of one (a surrogate)."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _enter_folders(name: str, folders: dict[str, str], files: dict[str, str]) -> None:
    """Enter each folder above the file, the nearest first, up to one that is known in this spelling."""
    folder = name.rpartition("/")[0]
    while folder:
        folded = _folded(folder)
        if folders.get(folded) == folder:
            return
        if other := folders.get(folded) or files.get(folded):
            raise _collision(folder, other)
        folders[folded] = folder
        folder = folder.rpartition("/")[0]


def _folded(name: str) -> str:
    """The key under which names that some system takes for one are one (Unicode D145)."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _collision(name: str, other: str) -> EvidenceProblem:
    return EvidenceProblem(
        "name-collision",
        f"the names {quoted(other)} and {quoted(name)} are one name on some systems",
        contradictory=True,
    )
