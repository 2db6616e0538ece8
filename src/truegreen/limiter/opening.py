# SPDX-License-Identifier: Apache-2.0
"""A backend by its address, such as ``file:/var/ci/limiter`` or ``memory:``.

What it decides: which scheme is which backend. What it leaves: everything else, to that backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from truegreen.core.errors import UsageProblem
from truegreen.limiter.backend import Backend
from truegreen.limiter.file import File
from truegreen.limiter.limits import Limits
from truegreen.limiter.memory import Memory


def opened(url: str, limits: Limits) -> Backend:
    """The backend at an address.

    Raises: UsageProblem ``limiter-backend-unknown``, and what the backend raises.
    """
    scheme, colon, rest = url.partition(":")
    make = SCHEMES.get(scheme) if colon else None
    if make is None:
        known = ", ".join(f"{name}:" for name in SCHEMES)
        raise UsageProblem(
            "limiter-backend-unknown",
            f"{url!r} is no address of a limiter; addresses begin with {known}",
            hint="truegreen policy show",
        )
    return make(rest, limits)


def _file(rest: str, limits: Limits) -> Backend:
    path = rest.removeprefix("//") if rest.startswith("///") else rest
    if not path.startswith("/"):
        raise UsageProblem(
            "limiter-backend-unknown",
            f"file:{rest} names no folder from the root, such as file:/var/ci/limiter",
            hint="truegreen policy show",
        )
    return File(Path(path), limits)


def _memory(rest: str, limits: Limits) -> Backend:
    if rest:
        raise UsageProblem(
            "limiter-backend-unknown",
            f"memory: has no address, and {rest!r} follows",
            hint="truegreen policy show",
        )
    return Memory(limits)


SCHEMES: Final[Mapping[str, Callable[[str, Limits], Backend]]] = {"file": _file, "memory": _memory}
"""What stands before the first colon, and what it opens."""
