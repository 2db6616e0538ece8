# SPDX-License-Identifier: Apache-2.0
"""Asks a rotating sample of recordings again, live, and leaves a record of what came of it.

What it decides: which recordings are asked, where the key goes, and what is written. What it leaves: every judgement,
to ``cassettes.upkeep.drift``.

- No recording is ever written: a folder is read, and nothing else.
- The key comes from one environment variable, goes where the recording's credential stood, and nowhere else: not into
  the record, not into a message, not to another host than the one that was named (redirects are not followed).
- Not on a pull request: the key must not stand beside code that a change brings.
- Only recordings with a contract and with ordinary answers are asked; each once, one after the other. Whoever wants
  limits and retries puts ``truegreen proxy serve --mode live`` between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import httpx2
import msgspec

from truegreen.cassettes import answer, coding
from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.contracts import DEFAULT, Contract, read_contracts
from truegreen.cassettes.request import media_type
from truegreen.cassettes.upkeep.asked_again import OUR_HEADERS, asked_of, credential_places
from truegreen.cassettes.upkeep.decisions import Decided, decided
from truegreen.cassettes.upkeep.drift import (
    Compared,
    Verdict,
    compared,
    lines,
    turn,
    unknown,
    verdict,
    with_models,
)
from truegreen.cassettes.upkeep.listing import Seen, seen, template_of
from truegreen.cassettes.upkeep.reading import content_type, decoded_body
from truegreen.core.canonical import write_json
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.outcome import Exit
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.report.defused import plain
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.cassette_upkeep import every_file_of, files_of

SCHEMA: Final = "truegreen/drift/v1"
EVENTS: Final = frozenset({"pull_request", "pull_request_target"})
"""Events of a forge on which no key may be near."""
MOST_BYTES: Final = 16 << 20
SUCCESS: Final = range(200, 300)
BEARER: Final = "authorization"
KEY_HEADERS: Final = frozenset({"x-api-key", "api-key", "x-goog-api-key"})
EXITS: Final = {"drift": Exit.BLOCK, "unknown": Exit.HOLD, "no-drift-shown": Exit.DONE}


class DriftRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked again, and of whom."""

    folder: Path
    """The recordings."""
    upstream: str
    """Address of the endpoint; its path, if it has one, must be the beginning of each recorded path."""
    key_variable: str
    """Environment variable with the key."""
    size: int
    """Recordings a turn."""
    number: int | None
    """Which turn; null for today's."""
    allowed: Fraction
    """Flip rate that is allowed."""
    time_limit_s: float = 120.0
    """Longest time for one answer."""


class Drifted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    verdict: Verdict
    """The verdict."""
    lines: tuple[str, ...]
    """As a person reads it."""
    record: bytes
    """The record, canonical JSON."""

    @property
    def exit(self) -> Exit:
        """0 no drift shown, 1 drift, 3 could not tell."""
        return EXITS[self.verdict.word]

    @property
    def issue(self) -> bytes:
        """The same as the body of an issue: no line of it is Markdown or a command."""
        told = "\n".join(plain(line).replace("`", "'") for line in self.lines)
        return f"The model was asked again what its recordings hold.\n\n```text\n{told}\n```\n".encode()


def ask_again(request: DriftRequest, environment: Mapping[str, str], clock: Clock) -> Drifted:
    """Ask today's sample and judge the answers.

    Raises: UsageProblem ``drift-on-pull-request``, ``bad-upstream``, ``no-model-key``; ReachProblem
    ``file-unreadable``; EvidenceProblem ``contracts-unreadable``.
    """
    event = environment.get("GITHUB_EVENT_NAME", "")
    if event in EVENTS:
        raise UsageProblem(
            "drift-on-pull-request",
            f"the event is {quoted(event)}, and a key must not stand beside a change's code",
            hint="run it on a schedule, as examples/workflows/model-drift.yml does",
        )
    origin, prefix = _address(request.upstream)
    now = clock.now()
    chosen = _sample(request, date.fromisoformat(now[:10]).toordinal())
    key = environment.get(request.key_variable, "").strip()
    if not key and any(credential_places(cassette) for _, cassette, _ in chosen):
        raise UsageProblem(
            "no-model-key",
            f"the recordings were asked with a key, and {request.key_variable} is not set",
            hint="--key-env names the variable",
        )
    with httpx2.Client(timeout=request.time_limit_s, follow_redirects=False, trust_env=True) as client:
        asker = _Asker(client, origin, prefix, key)
        results = tuple(asker.compared(file, cassette, contract) for file, cassette, contract in chosen)
    found = verdict(results, request.allowed)
    record = {
        "schema": SCHEMA,
        "at": now,
        "cassettes": request.folder.name,
        "upstream": urlsplit(origin).netloc,
        "allowed_flips": f"{float(request.allowed * 100):g} %",
        "verdict": msgspec.to_builtins(found),
        "results": msgspec.to_builtins(results),
    }
    return Drifted(verdict=found, lines=tuple(lines(found, results)), record=write_json(record))


def write_drift(done: Drifted, record: Path | None, issue: Path | None) -> None:
    """Leave the record, and the body of an issue.

    Raises: ReachProblem ``not-written``, ``disk-full``.
    """
    if record is not None:
        write_atomic(record, done.record)
    if issue is not None:
        write_atomic(issue, done.issue)


def _sample(request: DriftRequest, today: int) -> list[tuple[str, Cassette, Contract]]:
    """Today's recordings, each with its contract."""
    contracts = read_contracts(every_file_of(request.folder))
    asked: dict[str, tuple[Seen, Cassette, Contract]] = {}
    for one in seen(files_of(request.folder)):
        template = one.cassette.about.template if one.cassette else None
        contract = contracts.of(template.id if template else None)
        if contract and contract.template != DEFAULT and template and template.version != contract.version:
            continue  # stale: ``cassette check`` says so, and today's answer is judged by another version
        if one.cassette and contract and all(stored.status in SUCCESS for stored in one.cassette.responses):
            asked[one.cassette.key] = (one, one.cassette, contract)
    number = today if request.number is None else request.number
    chosen = (asked[key] for key in turn(list(asked), request.size, number))
    return [(one.file, cassette, contract) for one, cassette, contract in chosen]


class _Asker:
    """Asks one endpoint with one key."""

    def __init__(self, client: httpx2.Client, origin: str, prefix: str, key: str) -> None:
        self.client, self.origin, self.prefix, self.key = client, origin, prefix, key

    def compared(self, file: str, cassette: Cassette, contract: Contract) -> Compared:
        """One recording beside today's answer; whatever cannot be done is unknown."""
        template = template_of(cassette)
        try:
            headers, body = self._ask(cassette)
            decoded = coding.decoded(body, coding.codings(headers))
            recorded = list(_recorded(cassette, contract))
        except EvidenceProblem as err:
            return unknown(file, template, "not-asked", err.message)
        except httpx2.HTTPError as err:
            return unknown(file, template, "not-asked", f"no whole answer came: {type(err).__name__}")
        if decoded is None:
            return unknown(
                file, template, "not-judged", "today's answer has a coding that is not undone here"
            )
        said = answer.facts(decoded, media_type(headers))
        models = [stored.model_served for stored in cassette.responses if stored.model_served]
        today = decided(contract, decoded, media_type(headers))
        return with_models(compared(file, template, recorded, today), models, said.model)

    def _ask(self, cassette: Cassette) -> tuple[tuple[tuple[str, str], ...], bytes]:
        """Headers and body of today's answer. Raises: EvidenceProblem for anything else."""
        asked = asked_of(cassette)
        if not asked.path.startswith(self.prefix):
            raise _not_asked(f"its path {quoted(asked.path)} does not begin with {quoted(self.prefix)}")
        headers = [pair for pair in asked.headers if pair[0].lower() not in OUR_HEADERS]
        query = asked.query
        for kind, name in credential_places(cassette):
            if kind == "header" and name == BEARER:
                headers.append((name, f"Bearer {self.key}"))
            elif kind == "header" and name in KEY_HEADERS:
                headers.append((name, self.key))
            elif kind == "query":
                query = f"{query}&{quote(name)}={quote(self.key, safe='')}".removeprefix("&")
            else:
                raise _not_asked(f"its credential stood in {kind} {name}, where no key is put")
        url = f"{self.origin}{asked.path}" + (f"?{query}" if query else "")
        with self.client.stream(
            asked.method, url, headers=[*headers, ("accept-encoding", "gzip")], content=asked.body
        ) as response:
            if response.status_code not in SUCCESS:
                raise _not_asked(f"the endpoint said {response.status_code}")
            body = bytearray()
            for piece in response.iter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    raise _not_asked(f"today's answer is longer than {MOST_BYTES} bytes")
            return tuple(response.headers.multi_items()), bytes(body)


def _recorded(cassette: Cassette, contract: Contract) -> Iterator[Decided]:
    for stored in cassette.responses:
        body = decoded_body(stored)
        if body is not None:
            yield decided(contract, body, content_type(stored))


def _address(upstream: str) -> tuple[str, str]:
    """Origin and path of an address."""
    try:
        parts = urlsplit(upstream)
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.username or parts.query or parts.fragment:
        raise UsageProblem(
            "bad-upstream",
            f"{quoted(upstream)} is no address of an endpoint, asked http or https, host, and no credentials",
        )
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _not_asked(sentence: str) -> EvidenceProblem:
    return EvidenceProblem("cannot-be-asked-again", sentence)
