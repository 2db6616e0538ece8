# SPDX-License-Identifier: Apache-2.0
"""From a request to its reply: routes, rules, draws and faults put together.

What it decides: which reply a request gets. What it leaves: bytes in and out, to ``connection``.

- ``x-truegreen-sample`` names the sample; else ``/s/<case>-<number>/`` before the path does; else the calls of a
  prompt are numbered as they arrive.
- The scenario's own limits come first: what they refuse is 429, and neither a sample nor an arrival.
- A sample number is 1 to 80 of ``A-Z a-z 0-9 . _ -``; anything else is 400.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from truegreen.endpoint import chat, messages, reply, responses
from truegreen.endpoint.allowance import Meter, TooMany
from truegreen.endpoint.api import REFUSAL, Answer, Api, ApiError, Said, Wanted, tokens
from truegreen.endpoint.draw import STORED, Drawn, Outcome, draw, fault_of, prompt_digest, request_id
from truegreen.endpoint.oracle import Call, Entered, Oracle, shown
from truegreen.endpoint.reply import Rendered, Reply
from truegreen.endpoint.scenario import Fault, Rule, Scenario, rule_for
from truegreen.endpoint.wait_header import wait_headers

APIS: Final[Mapping[str, Api]] = {
    "/chat/completions": chat,
    "/responses": responses,
    "/messages": messages,
}
"""Route below ``/v1`` to the API that is asked there."""
MESSAGES_HEADER: Final = "anthropic-version"
SAMPLE: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
SAMPLE_PATH: Final = re.compile(r"/s/([^/]*)(/.*)")
SAMPLE_HEADER: Final = "x-truegreen-sample"
RETRY_HEADER: Final = "x-stainless-retry-count"
COUNT: Final = re.compile(r"[0-9]{1,6}", re.ASCII)
REFUSED: Final = "/refused"
"""Stands for the sample in the request id of a call that was not taken."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One whole HTTP request."""

    method: str
    """HTTP method."""
    path: str
    """Path without query."""
    headers: Mapping[str, str]
    """Headers by lower-case name; of one that stands twice, the first."""
    body: bytes
    """The body, free of framing."""


class Service:
    """Answers requests from one scenario."""

    def __init__(self, scenario: Scenario, *, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        """``clock_ns`` is what the scenario's own limits measure time with."""
        self._scenario = scenario
        self._meter = Meter(scenario.allowance, clock_ns)
        self.oracle = Oracle()

    def answer(self, request: Request) -> Reply:
        """The reply to a request."""
        api: Api = messages if MESSAGES_HEADER in request.headers else chat
        try:
            token, path = _routed(request.path)
            route = path.removeprefix("/v1")
            if route in APIS:
                api = APIS[route]
                _allow(request, "POST")
                return self._call(api, request, token)
            self.oracle.other()
            _allow(request, "GET")
            return self._other(path)
        except ApiError as problem:
            return reply.error(api, problem)

    def _other(self, path: str) -> Reply:
        if path == "/_oracle":
            return reply.document(shown(self.oracle.counts()))
        route = path.removeprefix("/v1")
        models = self._scenario.models
        if route == "/models":
            return reply.document(chat.model_list(models))
        name = route.removeprefix("/models/")
        if name != route and name in models:
            return reply.document(chat.model_list([name])["data"][0])
        raise ApiError(404, f"Unknown request URL: {path[:200]}", code="unknown_url")

    def _call(self, api: Api, request: Request, token: str | None) -> Reply:
        asked = api.read(request.body)
        if self._scenario.models and asked.model not in self._scenario.models:
            raise ApiError(404, f"The model `{asked.model[:100]}` does not exist.", code="model_not_found")
        rule = rule_for(self._scenario, prompt=asked.prompt, model=asked.model)
        if rule is None:
            raise ApiError(400, "No rule of the scenario matches.", code="no_rule")
        named = _sample(request, token)
        told = _told_retry(request)
        entered = self.oracle.enter(request=_identity(request, named), told_retry=told)
        known = _Known(
            api=api, entered=entered, named=named, told=told, digest=prompt_digest(asked.messages), rule=rule
        )
        refused = self._meter.take()
        if refused is not None:
            return self._refuse(known, refused)
        self.oracle.take(entered.number)
        return self._take(asked, known)

    def ended(self, made: Reply, *, is_sent: bool) -> None:
        """A reply was sent as far as its client waited for it."""
        if made.call is not None and self.oracle.leave(made.call, is_sent=is_sent):
            self._meter.give_back()

    def _refuse(self, known: _Known, refused: TooMany) -> Reply:
        """The 429 of the endpoint's own limits; it counts neither as an arrival nor as a sample."""
        digest, number = known.digest, known.entered.number
        made_id = request_id(self._scenario, digest=digest, sample=REFUSED, arrival=number)
        wait = wait_headers(self._scenario.allowance.retry_as, refused.wait_ns)
        made = reply.too_many(known.api, wait, headers=[f"{known.api.REQUEST_ID}: {made_id}"])
        self.oracle.reply(number, known.call(status=made.status, refused_by=refused.limit.value))
        return msgspec.structs.replace(made, call=number)

    def _take(self, asked: Wanted, known: _Known) -> Reply:
        digest, rule = known.digest, known.rule
        sample = known.named or self.oracle.number(digest)
        arrivals = self.oracle.arrive(digest=digest, sample=sample)
        drawn = draw(self._scenario, rule, digest=digest, sample=sample)
        fault = fault_of(self._scenario, rule, digest=digest, sample=sample, arrivals=arrivals)
        place = _Place(api=known.api, digest=digest, sample=sample, arrival=arrivals["sample"])
        made = self._reply(asked, rule, place, drawn, fault)
        self.oracle.reply(
            known.entered.number,
            known.call(
                sample=sample,
                arrival=place.arrival,
                status=made.status,
                outcome=None if fault is not None and fault.kind == "status" else drawn.outcome.value,
                fault=fault.kind if fault else None,
                is_stored=drawn.is_stored,
            ),
        )
        return msgspec.structs.replace(made, call=known.entered.number)

    def _reply(self, asked: Wanted, rule: Rule, place: _Place, drawn: Drawn, fault: Fault | None) -> Reply:
        stored = rule.response_cache if drawn.is_stored else None
        repeats = stored is not None and stored.repeats_request_id
        fresh_id = request_id(self._scenario, digest=place.digest, sample=place.sample, arrival=place.arrival)
        stored_id = request_id(self._scenario, digest=place.digest, sample=STORED, arrival=0)
        api = place.api
        headers = [f"{api.REQUEST_ID}: {stored_id if repeats else fresh_id}"]
        if fault is not None and fault.kind == "status":
            return reply.status_fault(api, fault, headers=[f"{api.REQUEST_ID}: {fresh_id}"])
        if stored is not None and stored.header:
            headers.append(stored.header)
        answer = Answer(
            id=f"{api.ID_PREFIX}{(stored_id if stored else fresh_id)[4:28]}",
            model=rule.served or self._scenario.served or asked.model,
            fingerprint=self._scenario.fingerprint,
            choices=self._choices(asked, rule, place, drawn),
            prompt_tokens=max(1, tokens(asked.prompt)),
            cached_tokens=drawn.cached_tokens,
        )
        wait_s = drawn.latency_s
        piece_s = rule.latency.piece_ms / 1000 if asked.is_stream else 0.0
        made = self._rendered(asked, place, answer, headers)
        if fault is not None and fault.kind == "error-inside":
            made, fault = reply.failed(api, made, fault, headers=headers), None
        if fault is not None:
            return reply.broken(made, fault, wait_s=wait_s, piece_s=piece_s)
        return reply.whole(made, wait_s=wait_s, piece_s=piece_s)

    def _rendered(self, asked: Wanted, place: _Place, answer: Answer, headers: list[str]) -> Rendered:
        if not asked.is_stream:
            return reply.as_document(place.api, answer, headers=headers)
        return reply.as_stream(
            place.api,
            answer,
            headers=headers,
            piece_chars=self._scenario.piece_chars,
            wants_usage=asked.wants_usage,
        )

    def _choices(self, asked: Wanted, rule: Rule, place: _Place, first: Drawn) -> tuple[Said, ...]:
        """The sample's own choice, and further ones drawn beside it."""
        others = (
            draw(self._scenario, rule, digest=place.digest, sample=f"{place.sample}/{index}")
            for index in range(1, asked.n)
        )
        return tuple(_said(drawn) for drawn in (first, *others))


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call stands among all."""

    api: Api
    digest: str
    sample: str
    arrival: int


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call before its reply is."""

    api: Api
    entered: Entered
    named: str | None
    told: int | None
    digest: str
    rule: Rule

    def call(self, **reply: Any) -> Call:
        """The call as the oracle keeps it, with what its reply adds."""
        begun = Call(
            rule=self.rule.id,
            prompt=self.digest,
            sample=self.named or "",
            arrival=0,
            status=None,
            outcome=None,
            fault=None,
            is_stored=False,
            attempt=self.entered.attempt,
            told_retry=self.told,
            api=self.api.NAME,
        )
        return msgspec.structs.replace(begun, **reply)


def _identity(request: Request, named: str | None) -> str:
    """What two attempts at one request share: path, body, and the sample if it is named."""
    parts = "\0".join([request.path, named or ""]).encode("utf-8", "surrogateescape")
    return hashlib.sha256(parts + b"\0" + request.body).hexdigest()


def _told_retry(request: Request) -> int | None:
    """How often the client says that it has tried before; a value that is no count says nothing."""
    value = request.headers.get(RETRY_HEADER, "")
    return int(value) if COUNT.fullmatch(value) else None


def _said(drawn: Drawn) -> Said:
    if drawn.outcome is Outcome.REFUSAL:
        return Said(text=None, refusal=REFUSAL, finish="stop")
    if drawn.outcome is Outcome.LENGTH:
        return Said(text=drawn.text[: len(drawn.text) // 2], refusal=None, finish="length")
    return Said(text=drawn.text, refusal=None, finish="stop")


def _routed(path: str) -> tuple[str | None, str]:
    found = SAMPLE_PATH.fullmatch(path)
    return (found.group(1), found.group(2)) if found else (None, path)


def _sample(request: Request, token: str | None) -> str | None:
    """The sample's number: the header's value, or what follows the token's last hyphen."""
    named = request.headers.get(SAMPLE_HEADER, token)
    if named is None:
        return None
    if not SAMPLE.fullmatch(named):
        raise ApiError(400, "The sample number has other characters.", param="sample")
    return named if SAMPLE_HEADER in request.headers else named.rpartition("-")[2]


def _allow(request: Request, method: str) -> None:
    if request.method != method:
        raise ApiError(405, f"Not allowed to {request.method[:20]} here.")
