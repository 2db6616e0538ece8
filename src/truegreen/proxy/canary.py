# SPDX-License-Identifier: Apache-2.0
"""A request that must not reach the upstream, sent through the proxy's own socket before anything else is.

What it decides: whether a proxy in ``replay`` holds. What it leaves: the socket guard around the program under
test, to whoever starts it.

- The body holds a nonce, so that no recording can answer it; the only right answer is the proxy's own miss.
- Anything else, an answer of the upstream above all, is refused at the start: ``canary-not-held``.
- The canary is marked by a header whose value only this proxy knows; it is not counted as a miss.
"""

from __future__ import annotations

import http.client
import json
import secrets
from typing import Final

from truegreen.core.errors import ReachProblem
from truegreen.proxy.modes import Mode
from truegreen.proxy.refusal import ANSWER_HEADER, MISS_STATUS
from truegreen.proxy.visit import CANARY_HEADER, HEALTH

LIMIT_S: Final = 10.0


def check_canary(*, host: str, port: int, mode: Mode, mark: bytes) -> None:
    """Ask the proxy for its mode, and in ``replay`` send a request that only the upstream could answer.

    Raises: ReachProblem ``canary-not-held``.
    """
    connection = http.client.HTTPConnection(host, port, timeout=LIMIT_S)
    try:
        connection.request("GET", HEALTH)
        said = json.loads(connection.getresponse().read())
        if said.get("mode") != mode.value:
            raise _not_held(f"it says mode {said.get('mode')!r}, not {mode.value!r}")
        if mode is Mode.REPLAY:
            _send(connection, mark)
    except (OSError, http.client.HTTPException, ValueError) as err:
        raise _not_held(f"asking it ended in {type(err).__name__}: {str(err)[:100]}") from err
    finally:
        connection.close()


def _send(connection: http.client.HTTPConnection, mark: bytes) -> None:
    message = {"role": "user", "content": f"truegreen canary {secrets.token_hex(16)}"}
    body = json.dumps({"model": "truegreen-canary", "messages": [message]})
    headers = {"Content-Type": "application/json", CANARY_HEADER.decode(): mark.decode()}
    connection.request("POST", "/chat/completions", body=body, headers=headers)
    answer = connection.getresponse()
    answer.read()
    own = answer.getheader(ANSWER_HEADER)
    if answer.status != MISS_STATUS or own in (None, "replayed"):
        raise _not_held(f"a request without a recording was answered {answer.status} ({own or 'not by it'})")


def _not_held(what: str) -> ReachProblem:
    return ReachProblem(
        "canary-not-held",
        f"the proxy does not hold its mode: {what}",
        hint="nothing was run; report it",
    )
