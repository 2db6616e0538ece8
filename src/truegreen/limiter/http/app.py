# SPDX-License-Identifier: Apache-2.0
"""The service's addresses: who may ask, what is read, what is answered.

What it decides: tokens, bounds, statuses. What it leaves: leave, to ``desk``; sockets, to ``serving``.

- Every address but ``/healthz`` wants a bearer token; the token names the tenant, a body never does.
- The operator's token (tenant ``*``) reads numbers and asks for nothing.
- A body is read whole within ``BODY_S`` and up to ``wire.BODY_BYTES``, or refused.
- While an ask waits its connection is watched: a client that goes away is a waiter that is cancelled.
- Every answer but the metrics is JSON; every error has a code of ``docs/errors.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, assert_never

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from truegreen import __version__
from truegreen.core.errors import EvidenceProblem, ReachProblem, TruegreenProblem, UsageProblem
from truegreen.limiter.backend import Key
from truegreen.limiter.http import metrics, wire
from truegreen.limiter.http.desk import Desk, Refusal, lost, refusal
from truegreen.limiter.http.overview import overview
from truegreen.limiter.http.tokens import OPERATOR, Tokens
from truegreen.limiter.limits import SECOND
from truegreen.limiter.state import Answer, Go, Gone, Later, Queued, Refused
from truegreen.limiter.state import Request as Asked

BODY_S: Final = 10.0
"""Seconds that a client has for a body."""
JSON: Final = "application/json"
STATUS_OF: Final = {
    "bad-request": HTTPStatus.BAD_REQUEST,
    "token-refused": HTTPStatus.UNAUTHORIZED,
    "operator-only-reads": HTTPStatus.FORBIDDEN,
    "no-such-address": HTTPStatus.NOT_FOUND,
    "other-method": HTTPStatus.METHOD_NOT_ALLOWED,
    "leave-refused": HTTPStatus.CONFLICT,
    "too-many-resources": HTTPStatus.CONFLICT,
    "lease-lost": HTTPStatus.GONE,
    "body-too-large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "limiter-stopping": HTTPStatus.SERVICE_UNAVAILABLE,
    "limiter-unreachable": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""Status of each error that a client can cause; any other is 500."""


class Service:
    """The application and what stands behind it."""

    def __init__(self, desk: Desk, tokens: Tokens | None) -> None:
        """Without ``tokens`` everybody is the tenant ``default``: for loopback alone."""
        self.desk = desk
        self._tokens = tokens
        self.app = Starlette(
            routes=[
                Route(wire.ACQUIRE, self._told(self._acquire), methods=["POST"]),
                Route(wire.LOOK, self._told(self._look), methods=["POST"]),
                Route(wire.LEDGER, self._told(self._ledger), methods=["GET"]),
                Route(wire.RELEASE, self._told(self._release), methods=["POST"]),
                Route(wire.HEARTBEAT, self._told(self._heartbeat), methods=["POST"]),
                Route(wire.HOLD_OFF, self._told(self._hold_off), methods=["POST"]),
                Route(wire.STATUS, self._told(self._status), methods=["GET"]),
                Route(wire.METRICS, self._told(self._metrics), methods=["GET"]),
                Route(wire.HEALTH, self._health, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _unknown},
        )

    def _told(
        self, answer: Callable[[Request, str], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """The handler, for those who have a token, with every problem told as JSON."""

        async def told(request: Request) -> Response:
            try:
                return await answer(request, self._tenant(request))
            except TruegreenProblem as problem:
                return _problem(problem)
            except ClientDisconnect:
                return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody is there to read it

        return told

    def _tenant(self, request: Request) -> str:
        if self._tokens is None:
            return "default"
        tenant = self._tokens.tenant_of(request.headers.get("authorization"))
        if tenant is None:
            raise ReachProblem(
                "token-refused",
                "the request has no bearer token that the service knows",
                hint="truegreen limiter serve --help",
            )
        return tenant

    async def _acquire(self, request: Request, tenant: str) -> Response:
        body = await _body(request, tenant, wire.Acquire)
        key = Key(tenant=tenant, resource=body.resource)
        asked = Asked(
            id=body.id,
            holder=body.holder,
            cost=body.cost,
            prompt_tokens=body.prompt_tokens,
            output_tokens=body.output_tokens,
            wait_ns=None if body.wait_s is None else round(body.wait_s * SECOND),
        )
        if body.hold:
            return _standing(body.id, await self._while_connected(request, key, asked))
        return _standing(body.id, self.desk.ask(key, asked))

    async def _look(self, request: Request, tenant: str) -> Response:
        body = await _body(request, tenant, wire.Look)
        return _standing(body.lease, self.desk.look(Key(tenant=tenant, resource=body.resource), body.lease))

    async def _while_connected(self, request: Request, key: Key, asked: Asked) -> Go:
        """Leave, unless the client goes away before it comes.

        Raises: ClientDisconnect; as ``Desk.enter``.
        """
        entering = asyncio.ensure_future(self.desk.enter(key, asked))
        await asyncio.sleep(0)  # most leave at once, and then nobody need watch
        if entering.done():
            return entering.result()
        watching = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait((entering, watching), return_when=asyncio.FIRST_COMPLETED)
            if entering.done() and not watching.done():
                return entering.result()
            if entering.done() and entering.exception() is None:
                self.desk.take_back(key, asked.id)
            raise ClientDisconnect
        finally:
            entering.cancel()
            watching.cancel()
            await asyncio.gather(entering, watching, return_exceptions=True)

    async def _release(self, request: Request, tenant: str) -> Response:
        body = await _body(request, tenant, wire.Release)
        self.desk.hand_back(Key(tenant=tenant, resource=body.resource), body)
        return _json(wire.Done())

    async def _heartbeat(self, request: Request, tenant: str) -> Response:
        body = await _body(request, tenant, wire.Heartbeat)
        go = self.desk.beat(Key(tenant=tenant, resource=body.resource), body.lease)
        return _json(wire.Alive(lease_s=go.lease_ns / SECOND))

    async def _hold_off(self, request: Request, tenant: str) -> Response:
        body = await _body(request, tenant, wire.HoldOff)
        self.desk.hold_off(Key(tenant=tenant, resource=body.resource), body.for_s)
        return _json(wire.Done())

    async def _status(self, request: Request, tenant: str) -> Response:
        del request
        rows = self.desk.rows(None if tenant == OPERATOR else tenant)
        return _json(overview(rows, is_stopping=self.desk.is_stopping))

    async def _ledger(self, request: Request, tenant: str) -> Response:
        _refuse_operator(tenant)
        resource = request.query_params.get("resource", "default")
        if not 0 < len(resource) <= 200:  # noqa: PLR2004 - as ``wire.Name``
            raise _bad("a resource has 1 to 200 characters")
        return _json(wire.Kept(ledger=self.desk.ledger(Key(tenant=tenant, resource=resource))))

    async def _metrics(self, request: Request, tenant: str) -> Response:
        del request
        rows = self.desk.rows(None if tenant == OPERATOR else tenant)
        page = metrics.exposition(
            metrics.Row(tenant=key.tenant, resource=key.resource, ledger=ledger, now_ns=now)
            for key, ledger, now in rows
        )
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    async def _health(self, request: Request) -> Response:
        del request
        if self.desk.is_stopping:
            return _json(wire.Health(status="stopping", version=__version__), HTTPStatus.SERVICE_UNAVAILABLE)
        return _json(wire.Health(status="ok", version=__version__))


async def _body(request: Request, tenant: str, kind: type[wire.Body]) -> wire.Body:
    """The request's body, read strictly.

    Raises: UsageProblem ``operator-only-reads``, ``body-too-large``, ``bad-request``.
    """
    _refuse_operator(tenant)
    data = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                data += piece
                if len(data) > wire.BODY_BYTES:
                    raise UsageProblem("body-too-large", f"the body is longer than {wire.BODY_BYTES} bytes")
    except TimeoutError as err:
        raise _bad(f"the body did not come whole within {BODY_S:g} s") from err
    try:
        return wire.read(data, kind)
    except EvidenceProblem as err:
        raise _bad(f"the body is no JSON that is taken: {err.message}") from err
    except msgspec.ValidationError as err:
        raise _bad(f"the body is not what {request.url.path} asks: {err}") from err


def _refuse_operator(tenant: str) -> None:
    if tenant == OPERATOR:
        raise UsageProblem("operator-only-reads", "the operator's token reads numbers and asks for nothing")


def _standing(lease: str, answer: Answer) -> Response:
    """How an ask stands.

    Raises: ReachProblem ``leave-refused`` or ``lease-lost``.
    """
    match answer:
        case Go():
            waited_s, lease_s = answer.waited_ns / SECOND, answer.lease_ns / SECOND
            return _json(wire.Granted(lease=lease, ticket=answer.ticket, waited_s=waited_s, lease_s=lease_s))
        case Later():
            pending = wire.Pending(state="later", ticket=answer.ticket, wait_s=answer.wait_ns / SECOND)
        case Queued():
            pending = wire.Pending(state="queued", ticket=answer.ticket, ahead=answer.ahead)
        case Refused():
            raise refusal(answer)
        case Gone():
            raise lost(lease)
        case _:
            assert_never(answer)
    return _json(pending, HTTPStatus.ACCEPTED)


def _bad(message: str) -> UsageProblem:
    return UsageProblem("bad-request", message)


def _problem(problem: TruegreenProblem) -> Response:
    told = wire.Trouble(code=problem.code, message=problem.message, hint=problem.hint)
    if isinstance(problem, Refusal):
        told = msgspec.structs.replace(told, reason=problem.reason, wait_s=problem.wait_s)
    headers = {}
    if problem.code == "token-refused":
        headers["www-authenticate"] = 'Bearer realm="truegreen"'
    if problem.code == "limiter-stopping":
        headers["retry-after"] = "5"
    if problem.code in {"body-too-large", "bad-request"}:
        headers["connection"] = "close"  # what is left of the body is not read
    return _json(told, STATUS_OF.get(problem.code, HTTPStatus.INTERNAL_SERVER_ERROR), headers)


async def _unknown(request: Request, err: Exception) -> Response:
    """What the router itself refuses."""
    status = err.status_code if isinstance(err, HTTPException) else HTTPStatus.NOT_FOUND
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = getattr(err, "headers", None) or {}
        told = wire.Trouble(
            code="other-method", message=f"{request.url.path} is not asked with {request.method}"
        )
        return _json(told, HTTPStatus.METHOD_NOT_ALLOWED, dict(allowed))
    told = wire.Trouble(code="no-such-address", message="the service has no such address")
    return _json(told, HTTPStatus.NOT_FOUND)


def _json(
    value: msgspec.Struct, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(value),
        status_code=status,
        headers={"content-type": JSON, "cache-control": "no-store", **(headers or {})},
    )
