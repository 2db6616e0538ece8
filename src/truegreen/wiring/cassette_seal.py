# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen cassette seal``: a recorder vouches for recordings with a key of its own.

What it decides: which files a seal names, and where key and seal lie. What it leaves: the signed bytes, to
``core.seal``; which keys count, to the base's policy.

- Never in CI: a signing key has no place in a job that runs a change's code.
- What fails its own check is not sealed.
- A new private key is a file that only its owner reads, and never replaces one that is there.
- A seal names each file by its path from the folder and by its digest, so that no file can take another's name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from truegreen.cassettes.check import checked
from truegreen.cassettes.provenance import PREDICATE, SEAL_SUFFIX, SEALS
from truegreen.core import seal
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.cassette_check import folder_files
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.event import is_ci
from truegreen.wiring.reading import bytes_of

KEY_BYTES = 16 << 10
"""Longest private key file that is read, in bytes."""
SHORT = 12


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What was sealed."""

    path: Path
    """The seal."""
    files: tuple[str, ...]
    """Names of the sealed files, from the folder."""
    key: str
    """The public key, as a policy lists it."""


def new_key(path: Path) -> str:
    """Make a private key at ``path`` and give its public key.

    Raises: ReachProblem ``not-written`` if something is there or it cannot be written.
    """
    pem = seal.new_private_key()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(pem)
    except OSError as err:
        raise ReachProblem("not-written", f"{quoted(str(path))} was not written: {err.strerror}") from err
    return seal.public_key(pem)


def seal_folder(folder: Path, key: Path, environment: Mapping[str, str], names: Iterable[str] = ()) -> Sealed:
    """Seal files of a folder, every one but seals by default.

    Raises: UsageProblem ``recording-in-ci``, ``bad-key`` or ``no-such-recording``; EvidenceProblem
    ``recording-refused`` for a file that fails its check; ReachProblem if something cannot be read or written.
    """
    if is_ci(environment):
        raise UsageProblem(
            "recording-in-ci",
            "CI is set, and recordings are sealed on a recorder's own machine: no signing key belongs into a job",
            hint="seal locally, then push",
        )
    files = folder_files(folder)
    chosen = tuple(names) or tuple(name for name in files if not name.startswith(f"{SEALS}/"))
    for name in chosen:
        if files.get(name) is None:
            raise UsageProblem("no-such-recording", f"{quoted(name)} is no file of {quoted(str(folder))}")
    _refuse_failing(files, chosen)
    pem = bytes_of(key, KEY_BYTES)
    data = seal.sealed_bytes(
        {name: sha256_of(files[name] or b"") for name in chosen},
        predicate_type=PREDICATE,
        predicate={"sealed_at": SystemClock().now()},
        private_key=pem,
    )
    path = folder / SEALS / f"{sha256_of(data).partition(':')[2][:SHORT]}{SEAL_SUFFIX}"
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, data)
    return Sealed(path=path, files=tuple(sorted(chosen)), key=seal.public_key(pem))


def _refuse_failing(files: Mapping[str, bytes | None], chosen: tuple[str, ...]) -> None:
    for finding in checked(files).findings:
        if finding.weight == "fails" and finding.file in chosen:
            raise EvidenceProblem(
                "recording-refused",
                f"{quoted(finding.file)} fails its check ({finding.code}), only what holds is sealed",
                hint="truegreen cassette check",
            )
