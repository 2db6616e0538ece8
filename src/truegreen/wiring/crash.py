# SPDX-License-Identifier: Apache-2.0
"""The log of an unexpected error: what happened, fit to be pasted into an issue.

What it decides: which values count as secret and how they are hidden. What it leaves: the line for the
user, to the door.

- Values of environment variables whose name sounds secret are replaced by the name, wherever they appear.
- What looks like a token, whatever it is called, is replaced too.
- A log that cannot be written changes nothing else: the door still says that it failed.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from truegreen import version

SECRET_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!OR)|COOKIE|PRIVATE|DSN|_PWD$", re.IGNORECASE
)
"""Names of environment variables whose value is never written down."""

SECRET_SHAPE: Final = re.compile(
    r"(?<=://)[^/\s@]+(?=@)"  # userinfo of an address
    r"|\b(?:gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|hf_)[A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"
    r"|(?<=[Bb]earer )\S+"
)
"""Tokens by their usual shape: forge and provider prefixes, JSON web tokens, bearer headers, userinfo."""

SHORTEST_SECRET: Final = 4
"""Characters. A shorter value is not searched for: replacing it would hide the log, not the secret."""


def write_log(err: BaseException, arguments: Sequence[str]) -> Path | None:
    """Write the log into the temporary folder; nothing if no file can be written there."""
    try:
        handle, name = tempfile.mkstemp(prefix="truegreen-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(without_secrets(_told(err, arguments), os.environ))
    except OSError:
        return None
    return Path(name)


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """The text with secret values replaced by ``[NAME]`` and token shapes by ``[hidden]``."""
    secrets = [
        (value, name)
        for name, value in environment.items()
        if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
    ]
    for value, name in sorted(secrets, key=lambda pair: (-len(pair[0]), pair[1])):
        text = text.replace(value, f"[{name}]")
    return SECRET_SHAPE.sub("[hidden]", text)


def _told(err: BaseException, arguments: Sequence[str]) -> str:
    return (
        f"truegreen {version()} on Python {platform.python_version()}, {sys.platform}\n"
        f"arguments: {list(arguments)!r}\n\n"
        f"{''.join(traceback.format_exception(err))}"
    )
