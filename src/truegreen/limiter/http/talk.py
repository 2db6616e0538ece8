# SPDX-License-Identifier: Apache-2.0
"""What a client says to the service and how it reads the answers, whoever carries them.

What it decides: addresses, bodies, and which value or problem an answer is. What it leaves: connections, to ``client``
and ``backend``.

- Redirects are not followed and proxies of the environment are not used: the token goes to the address that was given.
- Whatever is no answer of the limiter is no leave.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
import msgspec

from truegreen.core.admission import Pressure
from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.limiter.backend import Key
from truegreen.limiter.http import wire
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go, Gone, Later, Queued, Refused, Request

CONNECT_S: Final = 2.0
ANSWER_S: Final = 10.0
"""Seconds that an answer may take beyond what was to be waited."""
HINT: Final = "truegreen limiter status"
_OK, _ACCEPTED, _CONFLICT, _GONE = 200, 202, 409, 410
READABLE: Final = "/:+ "
"""What stays as it is in a name beside letters, digits and ``_.-~``."""
Read = TypeVar("Read")


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the service is and how it is asked."""

    url: str
    """Such as ``http://127.0.0.1:8471``."""
    token: str = ""
    """Bearer token; empty for a service on loopback that asks for none."""
    wait_s: float = 90.0
    """Longest wait of an ask that names none."""
    patience_s: float = 5.0
    """How long a service that is not there is tried again."""

    def __repr__(self) -> str:
        return f"Address({self.url})"


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """One request with a body."""

    path: str
    """Where to."""
    body: msgspec.Struct
    """What."""
    answer_s: float = ANSWER_S
    """Seconds that its answer may take."""

    @property
    def request(self) -> dict[str, Any]:
        """As the client's library takes it."""
        return {
            "url": self.path,
            "content": msgspec.json.encode(self.body),
            "timeout": httpx2.Timeout(self.answer_s, connect=CONNECT_S),
        }


def options(address: Address) -> dict[str, Any]:
    """How a client of the library is made.

    Raises: UsageProblem ``bad-limiter-address`` or ``bad-limiter-token``.
    """
    if not _is_address(address.url):
        shown = quoted(address.url.rpartition("@")[2])
        raise UsageProblem(
            "bad-limiter-address",
            f"{shown} is no address of a limiter, http://HOST:PORT is asked",
            hint="truegreen policy show",
        )
    headers = {"user-agent": "truegreen-limiter", "content-type": "application/json"}
    if address.token:
        _refuse_other_characters(address.token)
        headers["authorization"] = f"Bearer {address.token}"
    return {
        "base_url": address.url,
        "headers": headers,
        "trust_env": False,
        "verify": address.url.startswith("https:"),  # certificates of the system are read for nothing else
        "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=100),
    }


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_port = parts.port != 0
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):  # a port that is none, half an IPv6 address
        return False
    return (
        parts.scheme in {"http", "https"}
        and is_port
        and bool(parts.hostname)
        and not (parts.username or parts.query)
    )


def _refuse_other_characters(token: str) -> None:
    """A header's library would put the whole token into its error."""
    other = next((at for at, one in enumerate(token) if not "!" <= one <= "~"), None)
    if other is not None:
        raise UsageProblem(
            "bad-limiter-token",
            f"character {other + 1} of the limiter's token of {len(token)} is none that a token may have",
            hint="truegreen limiter serve --help",
        )


def resource_of(key: Key) -> str:
    """The resource as the service knows it: its tenant is the token's, another one is a part of the name."""
    name = quote(key.resource, safe=READABLE)
    return name if key.tenant == "default" else f"{quote(key.tenant, safe=READABLE)}@{name}"


def asking(key: Key, request: Request, *, hold_s: float | None) -> Post:
    """The request for leave; ``hold_s`` is how long the answer may wait for it, None for not at all."""
    body = wire.Acquire(
        id=request.id,
        resource=resource_of(key),
        holder=request.holder,
        cost=request.cost,
        prompt_tokens=request.prompt_tokens,
        output_tokens=request.output_tokens,
        wait_s=None if request.wait_ns is None else request.wait_ns / SECOND,
        hold=hold_s is not None,
    )
    return Post(path=wire.ACQUIRE, body=body, answer_s=(hold_s or 0.0) + ANSWER_S)


def ending(key: Key, lease: str, used_tokens: int | None, pressure: Pressure, *, is_unused: bool) -> Post:
    """The end of a call, or of an ask; without a lease, what its end means for everybody."""
    pause_s = min(max(0.0, pressure.pause_s), float(wire.DAY_S))
    body = wire.Release(
        lease=lease or "none",
        resource=resource_of(key),
        used_tokens=used_tokens,
        unused=is_unused,
        pause_s=pause_s,
        overload=pressure.is_overload,
        answered=pressure.is_answered,
    )
    return Post(path=wire.RELEASE, body=body)


def looking(key: Key, lease: str) -> Post:
    """How an ask stands."""
    return Post(path=wire.LOOK, body=wire.Look(lease=lease, resource=resource_of(key)))


def beating(key: Key, lease: str) -> Post:
    """A sign of life."""
    return Post(path=wire.HEARTBEAT, body=wire.Heartbeat(lease=lease, resource=resource_of(key)))


def unreachable(address: Address, err: Exception) -> ReachProblem:
    """A service that could not be asked."""
    said = quoted(str(err) or type(err).__name__)
    return ReachProblem(
        "limiter-unreachable",
        f"the limiter at {address.url} cannot be reached ({said}), no leave is given",
        hint=HINT,
    )


def standing(status: int, body: bytes) -> Answer:
    """How an ask stands, by the answer to it.

    Raises: ReachProblem, as ``body_of``.
    """
    if status == _OK:
        granted = decoded(body, wire.Granted)
        waited, lease = round(granted.waited_s * SECOND), round(granted.lease_s * SECOND)
        return Go(ticket=granted.ticket, waited_ns=waited, lease_ns=lease)
    if status == _ACCEPTED:
        pending = decoded(body, wire.Pending)
        if pending.state == "queued":
            return Queued(ticket=pending.ticket, ahead=pending.ahead or 0)
        return Later(ticket=pending.ticket, wait_ns=round((pending.wait_s or 0.0) * SECOND))
    told = _trouble(status, body)
    if status == _CONFLICT and told.code == "leave-refused":
        wait_ns = None if told.wait_s is None else round(told.wait_s * SECOND)
        return Refused(reason=told.reason or "", message=told.message, wait_ns=wait_ns)
    if status == _GONE:
        return Gone()
    raise _problem(told)


def body_of(status: int, body: bytes) -> bytes:
    """The body of a good answer.

    Raises: ReachProblem ``limiter-stopping``, ``token-refused``, ``too-many-resources``, ``limiter-unreachable``,
    ``limiter-answered-otherwise``.
    """
    if status == _OK:
        return body
    raise _problem(_trouble(status, body))


def decoded(body: bytes, kind: type[Read]) -> Read:
    """A body of this shape. Raises: ReachProblem ``limiter-answered-otherwise``."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as err:
        raise _otherwise(f"{quoted(body[:200])}, which is not what was asked") from err


def _trouble(status: int, body: bytes) -> wire.Trouble:
    try:
        return msgspec.json.decode(body, type=wire.Trouble)
    except msgspec.MsgspecError as err:
        raise _otherwise(f"status {status} with {quoted(body[:200])}") from err


def _problem(told: wire.Trouble) -> ReachProblem:
    match told.code:
        case "limiter-stopping":
            return ReachProblem("limiter-stopping", told.message, hint=told.hint)
        case "limiter-unreachable":
            return ReachProblem("limiter-unreachable", told.message, hint=told.hint)
        case "token-refused":
            return ReachProblem("token-refused", told.message, hint=told.hint)
        case "too-many-resources":
            return ReachProblem("too-many-resources", told.message, hint=told.hint)
        case _:
            return _otherwise(f"{told.code}: {told.message}")


def _otherwise(found: str) -> ReachProblem:
    return ReachProblem("limiter-answered-otherwise", f"the limiter answered {found}", hint=HINT)
