# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen cassette record --pr N``: a maintainer records what a pull request asked in vain.

What it decides: which missed requests are sent, and in whose name. What it leaves: sending and writing, to the
recording proxy; vouching, to ``cassette_seal``; pushing, to the maintainer.

- Nothing of the pull request is checked out or run. What is read is its ``contract-check`` record, and that is text
  which a stranger may have written: every request is shown first, and nothing is sent without leave.
- Only requests that ask a model for an answer are sent: ``POST`` to the paths of ``ASKING``, no query, no header that
  is not keyed. Whatever else stands there could spend or destroy in the maintainer's name.
- A request is sent only if its key is the one that was missed: else the recording would answer something else.
- Never in CI: the model's key is the maintainer's own.
"""

from __future__ import annotations

import base64
import binascii
import http.client
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from truegreen.cassettes.key import key_of
from truegreen.cassettes.places import TEMPLATE, TEMPLATE_VERSION
from truegreen.cassettes.request import read_request
from truegreen.cassettes.rules import KeyRules
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.core.record import kind_of, read_record
from truegreen.core.recording import Asked
from truegreen.core.replay_session import Missed
from truegreen.gate.intake import read_evidence
from truegreen.gate.replay_record import decode
from truegreen.proxy.modes import Mode
from truegreen.proxy.upstream import parse_upstream
from truegreen.wiring.cassette_seal import Sealed, seal_folder
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.event import is_ci
from truegreen.wiring.model_proxy import OpenedProxy, Wish

ASKING = ("/chat/completions", "/completions", "/responses", "/messages", "/embeddings")
"""Endings of the paths that ask a model for an answer."""
LIMIT_S = 600
_OK = range(200, 300)
_BODY_CHARS = 160


class RecordRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of ``truegreen cassette record``."""

    pull_request: int
    """Its number."""
    evidence: tuple[Path, ...]
    """What its lanes left: folders and zips."""
    upstream: str
    """Base URL of the endpoint."""
    folder: Path
    """Folder that the recordings go into."""
    alias: str | None
    """Name of the endpoint in keys."""
    volatile: tuple[str, ...]
    """Paths of requests that are not keyed."""
    key: Path | None
    """The recorder's private key; None leaves the recordings unsealed."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One missed request."""

    miss: Missed
    """What the record says of it."""
    asked: Asked | None
    """The request; None if it may not or cannot be sent."""
    refused: str
    """Why not, in words; empty otherwise."""

    @property
    def shown(self) -> str:
        """One line for a person who is to give leave."""
        if self.asked is None:
            return f"not sent: {self.refused}"
        body = self.asked.body.decode("utf-8", "replace")
        cut = body if len(body) <= _BODY_CHARS else f"{body[:_BODY_CHARS]}…"
        return f"{self.asked.method} {self.asked.path}, {len(self.asked.body)} bytes: {cut}"


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    kept: int
    """Answers that were kept."""
    failed: tuple[str, ...]
    """Requests that got no answer to keep, in words."""
    files: tuple[str, ...]
    """Recordings that are new or changed, from the folder."""
    sealed: Sealed | None
    """The seal over them."""


def wanted(request: RecordRequest, environment: Mapping[str, str]) -> tuple[Wanted, ...]:
    """What the pull request's newest record missed.

    Raises: UsageProblem ``recording-in-ci`` or ``bad-upstream``; EvidenceProblem for a file that is refused, or
    ``no-misses`` if no record of this pull request names any.
    """
    if is_ci(environment):
        raise UsageProblem(
            "recording-in-ci",
            "CI is set, and recordings are made on a maintainer's own machine, with a key of its own",
            hint="record locally, then push",
        )
    misses = tuple(_misses(request))
    if not misses:
        raise EvidenceProblem(
            "no-misses",
            f"no contract-check record of pull request {request.pull_request} with a miss was given",
            hint=f"gh run download RUN_ID of pull request {request.pull_request}, and name the folder with --evidence",
        )
    upstream = parse_upstream(request.upstream)
    rules = KeyRules(host=request.alias or upstream.authority, volatile=request.volatile)
    return tuple(_wanted(miss, rules) for miss in misses)


def record(request: RecordRequest, asked: Iterable[Asked], environment: Mapping[str, str]) -> Recorded:
    """Send the requests through a recording proxy, and seal what was kept.

    Raises: UsageProblem and ReachProblem of proxy and seal.
    """
    before = _bytes(request.folder)
    wish = Wish(
        mode=Mode.RECORD,
        upstream=request.upstream,
        cassettes=request.folder,
        alias=request.alias,
        volatile=request.volatile,
    )
    failed = []
    with OpenedProxy(wish, environment=environment, clock=SystemClock()) as opened:
        for one in asked:
            status = _sent(opened, one, request.upstream, environment)
            if status not in _OK:
                failed.append(f"{one.method} {one.path} was answered {status}, nothing is kept")
    kept = opened.proxy.tally().kept
    after = _bytes(request.folder)
    files = tuple(sorted(name for name, data in after.items() if before.get(name) != data))
    sealed = None
    if request.key is not None and files:
        sealed = seal_folder(request.folder, request.key, environment, files)
    return Recorded(kept=kept, failed=tuple(failed), files=files, sealed=sealed)


def _misses(request: RecordRequest) -> Iterator[Missed]:
    """The misses of the newest record of the pull request, each key once."""
    newest: dict[str, tuple[tuple[str, int, int], tuple[Missed, ...]]] = {}
    evidence = read_evidence(request.evidence)
    for refusal in evidence.refusals:
        raise EvidenceProblem(
            "earlier-unreadable", f"{quoted(refusal.name)} is refused: {refusal.message} [{refusal.code}]"
        )
    for file in evidence.files:
        envelope, _ = read_record(file.data)
        if kind_of(envelope.schema) != ("contract-check", 1):
            continue
        subject = envelope.subject
        session = decode(envelope.body).session
        if subject.pull_request != request.pull_request or session is None:
            continue
        order = (envelope.issued_at, subject.run_id, subject.run_attempt)
        if envelope.lane not in newest or newest[envelope.lane][0] < order:
            newest[envelope.lane] = (order, session.misses)
    seen = set()
    for _, misses in newest.values():
        for miss in misses:
            if miss.key not in seen:
                seen.add(miss.key)
                yield miss


def _wanted(miss: Missed, rules: KeyRules) -> Wanted:
    try:
        asked = _asked(miss)
    except EvidenceProblem as err:
        return Wanted(miss=miss, asked=None, refused=err.message)
    if refused := _refused(asked, miss, rules):
        return Wanted(miss=miss, asked=None, refused=refused)
    return Wanted(miss=miss, asked=asked, refused="")


def _asked(miss: Missed) -> Asked:
    """The request as it was sent, without credentials.

    Raises: EvidenceProblem ``not-in-the-record``.
    """
    stored = miss.asked
    try:
        body = base64.b64decode(stored.body_base64, validate=True) if stored else b""
    except binascii.Error:
        stored = None
    if stored is None:
        raise EvidenceProblem(
            "not-in-the-record", "the request is not in the record, record it from a checkout"
        )
    headers = tuple((one.name, one.value) for one in stored.headers)
    return Asked(method=stored.method, path=stored.path, query=stored.query, headers=headers, body=body)


def _refused(asked: Asked, miss: Missed, rules: KeyRules) -> str:
    """Why a request is not sent in the maintainer's name; empty if it may be."""
    if asked.method != "POST" or asked.query or not asked.path.endswith(ASKING) or ".." in asked.path:
        return f"{quoted(asked.method, 20)} {quoted(asked.path, 80)} does not ask a model for an answer"
    try:
        read = read_request(asked, rules)
        key = key_of(asked, rules)
    except EvidenceProblem as err:
        return err.message
    kept = {*read.request.headers, TEMPLATE, TEMPLATE_VERSION}
    odd = sorted(name for name, _ in asked.headers if name.lower() not in kept)
    if read.credentials or odd:
        return f"it has a header that no recording keeps: {quoted((odd or ['a credential'])[0], 40)}"
    if key != miss.key:
        return "its key is not the one that was missed: give --alias and --volatile as the replay had them"
    return ""


def _sent(opened: OpenedProxy, asked: Asked, upstream: str, environment: Mapping[str, str]) -> int:
    """Send one request to the proxy; the status of its answer."""
    prefix = urlsplit(upstream).path.rstrip("/")
    base = urlsplit(opened.proxy.base_url())
    path = base.path.rstrip("/") + asked.path.removeprefix(prefix)
    connection = http.client.HTTPConnection(base.hostname or "", base.port, timeout=LIMIT_S)
    try:
        headers = {**dict(asked.headers), **_credentials(asked, environment)}
        headers.setdefault("content-type", "application/json")
        connection.request(asked.method, path, body=asked.body, headers=headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, ValueError, http.client.HTTPException) as err:
        raise ReachProblem("proxy-failed", f"the recording proxy did not answer: {err}") from err
    else:
        return answer.status
    finally:
        connection.close()


def _credentials(asked: Asked, environment: Mapping[str, str]) -> dict[str, str]:
    """The maintainer's own key, in the header that the API reads."""
    if asked.path.endswith("/messages"):
        return {"x-api-key": environment.get("ANTHROPIC_API_KEY", "none")}
    return {"authorization": f"Bearer {environment.get('OPENAI_API_KEY', 'none')}"}


def _bytes(folder: Path) -> dict[str, bytes]:
    """Plain files of a folder, by name; none if it is not there."""
    if not folder.is_dir():
        return {}
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file() and not one.is_symlink()}
