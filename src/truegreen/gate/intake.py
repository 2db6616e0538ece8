# SPDX-License-Identifier: Apache-2.0
"""Reading evidence: which bytes of the folders and archives that were given may be looked at.

What it decides: the evidence files that were there, and what was refused. What it leaves: what the files say, to
the strict reader; what a refusal does to a decision (``contradictory`` blocks, everything else holds), to the gate.

- An evidence path is a folder, a zip or one file. In a folder, each folder and each ``NAME.zip`` is an artifact, as
  a forge's download leaves them; files beside them belong to the folder itself, as one file does to its folder.
- Read are files whose base name ends in ``.truegreen.json`` or is one of the flat names that a lane lists. Nothing
  else is opened; but its name counts: one hostile name refuses its whole artifact.
- No link is followed, not even an evidence path that is one; a device, a socket or a pipe is refused.
- An artifact is read whole or refused whole. A path that does not exist is a refusal too: absence is a matter for
  the decision, not for the command line.
- Size, number and depth are bounded; archives are read by the rules of ``archive``.
- The order is that of the names, not that of the file system or of the command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from truegreen.core.errors import EvidenceProblem
from truegreen.core.file_names import file_name_text
from truegreen.core.quoted import quoted
from truegreen.core.record import RECORD_SUFFIX
from truegreen.gate.entry_names import check_entries
from truegreen.gate.plain_files import is_folder, names_in, opened, read_plain

_MIB = 1024 * 1024
_ZIP = ".zip"


class IntakeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much evidence is read."""

    max_file_bytes: int = 64 * _MIB
    """Length of one evidence file, unpacked."""
    max_total_bytes: int = 512 * _MIB
    """Length of all evidence files together, unpacked."""
    max_entries: int = 20_000
    """Files and folders of one artifact, wanted or not; also the artifacts of one folder."""
    max_depth: int = 16
    """Folders within one another."""


DEFAULT = IntakeLimits()


class EvidenceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that may be a record, as it was found."""

    container: str
    """Name of the artifact that held it, as its folder or its zip without ``.zip`` is called."""
    name: str
    """Path inside of the artifact, with ``/``."""
    data: bytes
    """Its bytes."""

    @property
    def base_name(self) -> str:
        """The last part of the path, by which flat forms are known."""
        return self.name.rpartition("/")[2]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One artifact, or one evidence path, that was not read."""

    container: str
    """Name of the artifact."""
    name: str
    """The zip, folder or file that was refused."""
    code: str
    """The error's code."""
    message: str
    """What was found and what was asked."""
    contradictory: bool = False
    """Whether it speaks against itself (block) instead of being unreadable or absent (hold)."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, in the order of the names."""

    files: tuple[EvidenceFile, ...] = ()
    """The files that may be records."""
    refusals: tuple[Refusal, ...] = ()
    """What was not read."""
    ignored: int = 0
    """Files that are no evidence by their names."""


def read_evidence(
    paths: Sequence[Path], limits: IntakeLimits = DEFAULT, flat_names: frozenset[str] = frozenset()
) -> Evidence:
    """All evidence under the paths; a path given twice is read once.

    Raises: nothing of its own: whatever is wrong with a path, an artifact or a file is one of the refusals.
    """
    reading = _Reading(limits, flat_names)
    for path in sorted({os.path.abspath(path) for path in paths}, key=os.fsencode):  # noqa: PTH100 - resolve() follows links
        reading.read_path(path)
    return Evidence(
        files=tuple(sorted(reading.files, key=lambda file: (file.container, file.name, file.data))),
        refusals=tuple(sorted(reading.refusals, key=lambda no: (no.container, no.name, no.code, no.message))),
        ignored=reading.ignored,
    )


class _Artifact:
    """One artifact while it is read: nothing of it counts until all of it was read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.contents: list[tuple[str, bytes]] = []
        self.entries: list[str] = []
        self.folders: list[str] = []
        self.ignored = 0


class _Reading:
    """What one reading has found so far."""

    def __init__(self, limits: IntakeLimits, flat_names: frozenset[str]) -> None:
        self.files: list[EvidenceFile] = []
        self.refusals: list[Refusal] = []
        self.ignored = 0
        self._limits = limits
        self._flat_names = flat_names
        self._left_bytes = limits.max_total_bytes

    def read_path(self, path: str) -> None:
        """One evidence path: a folder of artifacts, an archive or a file."""
        name = _text(Path(path).name)
        with self._artifact(name) as artifact, opened(path) as (number, is_a_folder):
            if is_a_folder:
                self._read_artifacts(number, artifact)
            elif self._is_wanted(name):
                artifact.name = _text(Path(path).parent.name)
                self._read_file(number, name, artifact)
            else:
                artifact.name = name.removesuffix(_ZIP)
                self._read_zip(number, artifact)

    def _read_artifacts(self, folder: int, loose: _Artifact) -> None:
        """Each folder and zip in the folder is an artifact; the files beside them are the folder's own."""
        for entry in names_in(folder, self._limits.max_entries):
            name = _text(entry)
            with self._artifact(name) as artifact:
                if is_folder(entry, folder):
                    with opened(entry, folder) as (number, _):
                        self._read_folder(number, "", artifact, depth=1)
                elif name.endswith(_ZIP):
                    artifact.name = name.removesuffix(_ZIP)
                    with opened(entry, folder) as (number, _):
                        self._read_zip(number, artifact)
                else:
                    artifact.name = loose.name
                    self._read_entry(folder, entry, name, loose)

    def _read_folder(self, folder: int, path: str, artifact: _Artifact, depth: int) -> None:
        """Everything below one folder of an artifact; ``path`` is the folder's, with ``/`` at its end."""
        if depth > self._limits.max_depth:
            raise EvidenceProblem(
                "evidence-too-large", f"its folders are more than {self._limits.max_depth} deep"
            )
        for entry in names_in(folder, self._limits.max_entries):
            if len(artifact.entries) + len(artifact.folders) == self._limits.max_entries:
                raise EvidenceProblem(
                    "evidence-too-large", f"it has more than {self._limits.max_entries} entries"
                )
            name = path + _text(entry)
            if is_folder(entry, folder):
                artifact.folders.append(name)
                with opened(entry, folder) as (number, _):
                    self._read_folder(number, f"{name}/", artifact, depth + 1)
            else:
                self._read_entry(folder, entry, name, artifact)

    def _read_entry(self, folder: int, entry: str, name: str, artifact: _Artifact) -> None:
        """A file among others: opened only if it is wanted."""
        if self._is_wanted(name):
            with opened(entry, folder) as (number, _):
                self._read_file(number, name, artifact)
        else:
            artifact.entries.append(name)
            artifact.ignored += 1

    def _read_file(self, number: int, name: str, artifact: _Artifact) -> None:
        artifact.entries.append(name)
        data = read_plain(number, name, min(self._limits.max_file_bytes, self._left_bytes))
        self._left_bytes -= len(data)
        artifact.contents.append((name, data))

    def _read_zip(self, number: int, artifact: _Artifact) -> None:
        from truegreen.gate.archive import read_archive  # noqa: PLC0415 - folders do without

        with os.fdopen(number, "rb", closefd=False) as file:
            contents, artifact.ignored = read_archive(
                file,
                is_wanted=self._is_wanted,
                max_file_bytes=self._limits.max_file_bytes,
                max_total_bytes=self._left_bytes,
            )
        self._left_bytes -= sum(len(data) for _, data in contents)
        artifact.contents.extend(contents)

    def _is_wanted(self, name: str) -> bool:
        base_name = name.rpartition("/")[2]
        return base_name.endswith(RECORD_SUFFIX) or base_name in self._flat_names

    @contextmanager
    def _artifact(self, name: str) -> Iterator[_Artifact]:
        """An artifact, called as its folder or file until told otherwise: kept if all goes well, or refused whole."""
        artifact = _Artifact(name)
        try:
            yield artifact
            check_entries([name])
            check_entries(artifact.entries, artifact.folders)
        except (EvidenceProblem, OSError) as err:
            self.refusals.append(_refusal(artifact.name, name, err))
        else:
            self.files.extend(
                EvidenceFile(container=artifact.name, name=n, data=data) for n, data in artifact.contents
            )
            self.ignored += artifact.ignored


def _refusal(container: str, name: str, err: EvidenceProblem | OSError) -> Refusal:
    problem = err if isinstance(err, EvidenceProblem) else _unreadable(err)
    return Refusal(
        container=container,
        name=name,
        code=problem.code,
        message=f"{quoted(name)}: {problem.message}",
        contradictory=problem.contradictory,
    )


def _unreadable(err: OSError) -> EvidenceProblem:
    if isinstance(err, FileNotFoundError | NotADirectoryError):
        return EvidenceProblem("evidence-missing", "nothing of that name is there")
    return EvidenceProblem("evidence-unreadable", f"the system says {quoted(os.strerror(err.errno or 0))}")


def _text(entry: str) -> str:
    return file_name_text(os.fsencode(entry))
