# SPDX-License-Identifier: Apache-2.0
"""Who asks the service: bearer tokens, read from a file and compared in constant time.

What it decides: which file is taken, which tenant a token speaks for. What it leaves: what a tenant may do, to
``app``.

- A line is ``TENANT TOKEN`` or ``TENANT sha256:DIGEST``; ``#`` starts a comment line. Several lines of one tenant
  let tokens be exchanged without a gap.
- The tenant ``*`` is the operator's: its token reads the numbers of every tenant and never gets leave.
- A token has 32 to 256 of ``A-Z a-z 0-9 - . _ ~ + /`` and ``=``: what cannot be guessed needs no slow hash.
- A file that others may read is refused, and so is one without a token.
- Only digests are kept in memory. No message and no ``repr`` holds a token; every stored digest is compared, whichever
  matched.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from pathlib import Path
from typing import Final

from truegreen.core.errors import UsageProblem
from truegreen.core.quoted import quoted

OPERATOR: Final = "*"
MAX_BYTES: Final = 1 << 20
TENANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{32,256}")
DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
SCHEME: Final = "bearer"


class Tokens:
    """Digests of tokens, and the tenant of each."""

    def __init__(self, rows: tuple[tuple[bytes, str], ...]) -> None:
        """``rows`` holds the SHA-256 of a token and its tenant."""
        self._rows = rows

    def __repr__(self) -> str:
        return f"<{len(self._rows)} tokens>"

    def tenant_of(self, header: str | None) -> str | None:
        """The tenant that an ``Authorization`` header speaks for, or None."""
        scheme, _, token = (header or "").strip().partition(" ")
        if scheme.lower() != SCHEME:
            return None
        digest = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        found: str | None = None
        for known, tenant in self._rows:  # to the end, so that the time does not tell which matched
            if hmac.compare_digest(known, digest):
                found = tenant
        return found

    @property
    def tenants(self) -> frozenset[str]:
        """Every tenant that has a token, the operator left out."""
        return frozenset(tenant for _, tenant in self._rows if tenant != OPERATOR)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file.

    Raises: UsageProblem ``tokens-unreadable``, ``tokens-open-to-others``, ``bad-tokens``.
    """
    return Tokens(_rows(_text(path), path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o027:  # a service manager that hands a file over by access list shows 0440
                raise UsageProblem(
                    "tokens-open-to-others",
                    f"{quoted(str(path))} has the permissions {mode:04o}, at most 0640 is asked",
                    hint=f"chmod 600 {path}",
                )
            data = file.read(MAX_BYTES + 1)
    except OSError as err:
        raise UsageProblem(
            "tokens-unreadable", f"{quoted(str(path))} cannot be read: {err.strerror}"
        ) from err
    if len(data) > MAX_BYTES:
        raise UsageProblem("bad-tokens", f"{quoted(str(path))} is longer than {MAX_BYTES} bytes")
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b"\n") + 1
        raise _bad(path, line, "a byte that is not ASCII") from err


def _rows(text: str, path: Path) -> tuple[tuple[bytes, str], ...]:
    rows: dict[bytes, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        digest, tenant = _row(words, path, number)
        if rows.setdefault(digest, tenant) != tenant:
            raise _bad(path, number, f"a token of {tenant} that is {rows[digest]}'s too")
    if not rows:
        raise UsageProblem(
            "bad-tokens",
            f"{quoted(str(path))} holds no token, at least one line TENANT TOKEN is asked",
            hint="python -c \"import secrets; print('ci', secrets.token_urlsafe(32))\" > FILE",
        )
    return tuple(rows.items())


def _row(words: list[str], path: Path, number: int) -> tuple[bytes, str]:
    if len(words) != 2:  # noqa: PLR2004 - a tenant and its token
        raise _bad(path, number, f"{len(words)} words")
    tenant, token = words
    if tenant != OPERATOR and not TENANT.fullmatch(tenant):
        raise _bad(
            path, number, "a tenant of other characters than letters, digits, '.', '_' and '-', or over 64"
        )
    if stored := DIGEST.fullmatch(token):
        return bytes.fromhex(stored.group(1)), tenant
    if not TOKEN.fullmatch(token):
        raise _bad(
            path, number, f"a token of {len(token)} characters that is not 32 to 256 of A-Z a-z 0-9 -._~+/="
        )
    return hashlib.sha256(token.encode()).digest(), tenant


def _bad(path: Path, number: int, found: str) -> UsageProblem:
    return UsageProblem(
        "bad-tokens", f"line {number} of {quoted(str(path))} holds {found}, TENANT TOKEN is asked"
    )
