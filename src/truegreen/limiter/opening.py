# SPDX-License-Identifier: Apache-2.0
"""A backend by its address, such as ``file:/var/ci/limiter`` or ``memory:``.

What it decides: which scheme is which backend. What it leaves: everything else, to that backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from truegreen.core.errors import UsageProblem, extra_missing
from truegreen.limiter.async_client import AsyncLimiter
from truegreen.limiter.backend import Backend
from truegreen.limiter.client import Limiter
from truegreen.limiter.file import File
from truegreen.limiter.limits import SECOND, Limits
from truegreen.limiter.memory import Memory


def opened(url: str, limits: Limits, *, token: str = "") -> Backend:
    """The backend at an address; ``token`` is a service's bearer token, or a server's ``PASSWORD`` or ``USER:PASSWORD``.

    Raises: UsageProblem ``limiter-backend-unknown``, and what the backend raises.
    """
    scheme, colon, rest = url.partition(":")
    if scheme in SERVICES:
        return _http(url, limits, token)
    if scheme in SERVERS:
        return _redis(f"{SERVERS[scheme]}:{rest}", limits, token)
    make = SCHEMES.get(scheme) if colon else None
    if make is None:
        known = ", ".join(f"{name}:" for name in (*SCHEMES, *SERVERS, *SERVICES))
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


def _http(url: str, limits: Limits, token: str) -> Backend:
    from truegreen.limiter.http.backend import Http  # noqa: PLC0415 - httpx2 takes a while to load
    from truegreen.limiter.http.talk import Address  # noqa: PLC0415 - as above

    return Http(Address(url=url, token=token, wait_s=limits.wait_ns / SECOND))


def _redis(url: str, limits: Limits, token: str) -> Backend:
    try:
        from truegreen.limiter.valkey.backend import Redis  # noqa: PLC0415 - an extra
    except ImportError as err:
        raise extra_missing("a limiter in Redis", "redis", err.name) from err
    return Redis(with_password(url, token), limits)


def with_password(url: str, token: str) -> str:
    """The address with ``PASSWORD`` or ``USER:PASSWORD`` in it; one that has its own keeps it."""
    scheme, mark, rest = url.partition("://")
    if not token or not mark or "@" in rest.partition("/")[0]:
        return url
    user, colon, password = token.partition(":")
    if not colon:
        user, password = "", token
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"


def limiter_at(url: str, limits: Limits, *, token: str = "", holder: str = "") -> Limiter:
    """Leave for threads at an address: from a service by long polls, else by looking. Raises: as ``opened``."""
    if url.partition(":")[0] in SERVICES:
        from truegreen.limiter.http.client import HttpLimiter  # noqa: PLC0415 - as above
        from truegreen.limiter.http.talk import Address  # noqa: PLC0415 - as above

        return HttpLimiter(Address(url=url, token=token, wait_s=limits.wait_ns / SECOND), holder=holder)
    return Limiter(opened(url, limits, token=token), holder=holder)


def async_limiter_at(url: str, limits: Limits, *, token: str = "", holder: str = "") -> AsyncLimiter:
    """As ``limiter_at``, for tasks."""
    if url.partition(":")[0] in SERVICES:
        from truegreen.limiter.http.client import AsyncHttpLimiter  # noqa: PLC0415 - as above
        from truegreen.limiter.http.talk import Address  # noqa: PLC0415 - as above

        return AsyncHttpLimiter(Address(url=url, token=token, wait_s=limits.wait_ns / SECOND), holder=holder)
    return AsyncLimiter(opened(url, limits, token=token), holder=holder)


SERVICES: Final = ("http", "https")
"""What stands before the first colon of a service's address."""
SERVERS: Final = {
    "redis": "redis",
    "rediss": "rediss",
    "unix": "unix",
    "valkey": "redis",
    "valkeys": "rediss",
}
"""What stands before the first colon of a server's address, and what its client's library calls it."""
SCHEMES: Final[Mapping[str, Callable[[str, Limits], Backend]]] = {
    "file": _file,
    "memory": _memory,
}
"""What stands before the first colon, and what it opens."""
