# SPDX-License-Identifier: Apache-2.0
"""One GET of GitHub's REST API: a JSON value, or a problem that says whose fault it was.

What it decides: how long is waited, what is tried again, whom the token is shown. What it leaves: which pages are
asked for and whether they are complete, to ``github_listing``.

- The token goes to the API's own origin and nowhere else: a redirect to another origin is refused, one within it
  (a renamed repository) is followed a few times. It appears in no message.
- Server errors, cut answers and lost connections are tried again ``TRIES`` times; a rate limit is waited for once,
  if the forge asks for at most ``LONGEST_WAIT_S``. Everything else is final.
- An answer is read up to ``LONGEST_ANSWER`` bytes and strictly: a name twice or a cut value is no answer.

Source: GitHub Docs, "Best practices for using the REST API" and "Rate limits for the REST API".
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2

from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.quoted import quoted

TRIES = 3
"""Requests for one answer before a server that fails is given up."""
LONGEST_WAIT_S = 60.0
"""Longest ``Retry-After`` that is waited for, seconds."""
TIMEOUT_S = 30.0
"""Silence after which a request is given up, seconds."""
LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of one answer."""
MOST_REDIRECTS = 3
PERMISSIONS = "give the step's token `actions: read` and `pull-requests: read`"
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_DEFAULT_PORT = {"https": 443, "http": 80}


class GithubApi:
    """A connection to the API; close it when done."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        agent: str = "truegreen",
        timeout_s: float = TIMEOUT_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``url`` is the API's address, such as ``https://api.github.com``.

        Raises: UsageProblem ``bad-api-url``.
        """
        self._url = checked_url(url)
        self._sleep = sleep
        headers = _HEADERS | {"User-Agent": agent} | ({"Authorization": f"Bearer {token}"} if token else {})
        is_https = urlsplit(self._url).scheme == "https"  # plain loopback needs no certificates to be loaded
        self._client = httpx2.Client(
            headers=headers, timeout=timeout_s, follow_redirects=False, verify=is_https, trust_env=is_https
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, str | int] | None = None) -> Any:
        """The JSON value at ``path`` (which begins with ``/``), or None if there is no such thing.

        Raises: ReachProblem ``forge-unreachable`` or ``forge-refused``.
        """
        waited = False
        failed = ReachProblem("forge-unreachable", f"{path} was not asked")
        for number in range(TRIES):
            if number:
                self._sleep(float(number))
            try:
                answer = self._answer(path, query)
                if (pause := _pause(answer)) is not None and not waited:
                    waited = True
                    self._sleep(pause)
                    answer = self._answer(path, query)
                return _value(path, answer)
            except (_FleetingError, httpx2.TransportError) as err:
                failed = ReachProblem(
                    "forge-unreachable", f"{path} gave no answer {TRIES} times: {_said(err)}"
                )
        raise failed

    def _answer(self, path: str, query: Mapping[str, str | int] | None) -> _Answer:
        address = self._url + path
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._request(address, query)
            if not answer.location:
                return answer
            address = urljoin(address, answer.location)
            query = None  # a redirect's address holds it already
            if _origin(address) != _origin(self._url):
                raise ReachProblem(
                    "forge-refused",
                    f"{path} redirects to {quoted(_origin(address)[1])}, which is not shown the token",
                )
        raise ReachProblem("forge-refused", f"{path} redirects more than {MOST_REDIRECTS} times")

    def _request(self, address: str, query: Mapping[str, str | int] | None) -> _Answer:
        body = bytearray()
        with self._client.stream("GET", address, params=dict(query) if query else None) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > LONGEST_ANSWER:
                    raise ReachProblem("forge-refused", f"an answer is longer than {LONGEST_ANSWER} bytes")
            return _Answer(response.status_code, bytes(body), response.headers)


class _FleetingError(Exception):
    """A failure that may be gone at the next try."""


class _Answer:
    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        redirects = httpx2.codes.is_redirect(status)
        self.location = headers.get("location", "") if redirects else ""


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises: UsageProblem ``bad-api-url`` unless it is https, or http on loopback, with nothing but a path behind.
    """
    try:
        parts = urlsplit(url)
        fits = (
            bool(parts.hostname)
            and not (parts.username or parts.password or parts.query or parts.fragment)
            and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or "")))
            and parts.port != 0
        )
    except ValueError:
        fits = False
    if not fits:
        raise UsageProblem(
            "bad-api-url",
            f"the forge's address is {quoted(_without_userinfo(url))}, asked is https, or http on this machine",
            hint="unset GITHUB_API_URL, or set it to https://HOST/api/v3",
        )
    return url.rstrip("/")


def _value(path: str, answer: _Answer) -> Any:
    status = answer.status
    if status == httpx2.codes.OK:
        try:
            return read_json(answer.body)
        except EvidenceProblem as err:
            raise _FleetingError(err.message) from err
    if status in (httpx2.codes.NOT_FOUND, httpx2.codes.GONE):
        return None
    if status >= httpx2.codes.INTERNAL_SERVER_ERROR:
        raise _FleetingError(f"status {status}")
    if _is_rate_limit(answer):
        raise ReachProblem(
            "forge-refused", f"{path} answers {status}: the rate limit is reached", hint="run it later"
        )
    if status == httpx2.codes.UNAUTHORIZED:
        raise ReachProblem(
            "forge-refused", f"{path} answers {status}: the token is not accepted", hint=PERMISSIONS
        )
    raise ReachProblem("forge-refused", f"{path} answers {status}", hint=PERMISSIONS)


def _is_rate_limit(answer: _Answer) -> bool:
    if answer.status == httpx2.codes.TOO_MANY_REQUESTS:
        return True
    spent = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
    return answer.status == httpx2.codes.FORBIDDEN and spent


def _pause(answer: _Answer) -> float | None:
    """Seconds that the forge asks for, if that is a rate limit and short enough."""
    asked = answer.headers.get("retry-after", "")
    if not _is_rate_limit(answer) or not (asked.isascii() and asked.isdigit()):
        return None
    return float(asked) if float(asked) <= LONGEST_WAIT_S else None


def _said(err: Exception) -> str:
    return quoted(str(err) or type(err).__name__, 160)


def _origin(address: str) -> tuple[str, str, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORT.get(parts.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _without_userinfo(url: str) -> str:
    before, mark, after = url.rpartition("@")
    return f"…@{after}" if mark and before else url
