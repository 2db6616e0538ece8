# SPDX-License-Identifier: Apache-2.0
"""Sockets of daemons that would act outside for a command: which paths of this machine they have.

What it decides: paths, from the table ``daemons.toml`` and from variables that name such a socket. What it leaves:
covering them, to ``namespace``; refusing them by name, to the audit hook and the preloaded library.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

RUN = ("/run", "/var/run")
NAMED_BY = (
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
)
"""Variables that name a socket, as a path or as ``unix:…``."""


def paths(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Real paths of those that are there, sorted."""
    table = tomllib.loads(files("truegreen.guards").joinpath("daemons.toml").read_text(encoding="utf-8"))
    runtime = environment.get("XDG_RUNTIME_DIR")
    asked = [f"{folder}/{name}" for row in table["daemon"] for folder in RUN for name in row["run"]]
    if runtime:
        asked += [f"{runtime}/{name}" for row in table["daemon"] for name in row["runtime"]]
    asked += [path for name in NAMED_BY if (path := _named(environment.get(name, "")))]
    return tuple(sorted({real for path in asked if (real := _socket(path))}))


def _named(value: str) -> str:
    text = value.removeprefix("unix:").removeprefix("path=").partition(",")[0]
    return "/" + text.lstrip("/") if text.startswith("/") else ""


def _socket(path: str) -> str:
    try:
        found = Path(path).resolve()
        return str(found) if found.is_socket() else ""
    except OSError:
        return ""
