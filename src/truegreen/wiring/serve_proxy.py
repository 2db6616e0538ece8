# SPDX-License-Identifier: Apache-2.0
"""Runs a proxy until it is told to stop.

What it decides: how a caller learns that it listens, what ends it, and what its end says. What it leaves: the
proxy, to ``model_proxy``.

- One JSON line says address and mode once it listens and its canary came back; the same line goes to the ready file.
- SIGTERM ends it in order; Ctrl-C interrupts it. Either way the summary is said, and the account of a replay is
  written.
- Exit 1 if the session is red: a miss, or an answer that could not be kept.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Exit
from truegreen.core.ports import Clock
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import write_session
from truegreen.proxy.modes import Mode, Options, Pace
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.model_proxy import OpenedProxy, Wish
from truegreen.wiring.policy_ledger import ledger_at
from truegreen.wiring.replay_account import Ending

LOOK_S = 0.2
"""Seconds between two looks for a signal: one that another thread takes does not wake a thread that waits."""
SERVED_ALONE = "it served whoever asked, so nobody knows whether everything ran"
"""Why the account of a served replay never counts as a whole run."""


def wish_of(asked: Mapping[str, Any], warned: Callable[[str], None]) -> Wish:
    """What the command line asks for, under the limits of the policy that holds here; ``warned`` hears of shares.

    Raises: UsageProblem ``open-proxy-refused`` for an address beyond loopback without leave; as ``ledger_at``.
    """
    host = asked["host"]
    if not asked["unsafe_open"] and not _is_loopback(host):
        raise UsageProblem(
            "open-proxy-refused",
            f"{quoted(host)} is not loopback: whoever reaches it could call {quoted(asked['upstream'])}",
            hint="leave --host out, or say --unsafe-open",
        )
    return Wish(
        mode=Mode(asked["mode"]),
        upstream=asked["upstream"],
        cassettes=asked["cassettes"],
        alias=asked["alias"],
        volatile=asked["volatile"],
        log=asked["log"],
        ledger=ledger_at(Path(), warned) if Mode(asked["mode"]) is not Mode.REPLAY else None,
        options=Options(
            host=host,
            port=asked["port"],
            pace=Pace(asked["pace"]),
            keeps_errors=asked["keep_errors"],
            holder=f"proxy {os.getpid()}",
        ),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    wish: Wish,
    *,
    files: tuple[Path | None, Path | None],
    say: Callable[[str], None],
    environment: Mapping[str, str],
    clock: Clock,
) -> Exit:
    """Serve until a signal; ``files`` are the ready file and the file of a replay's account.

    Raises: as ``OpenedProxy`` and ``ModelProxy.start``; KeyboardInterrupt on Ctrl-C.
    """
    ready_file, session_file = files
    opened = OpenedProxy(wish, environment=environment, clock=clock)
    told_to_stop = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: told_to_stop.set())
    try:
        with opened:
            line = _announcement(opened)
            if ready_file is not None:
                write_atomic(ready_file, f"{line}\n".encode())
            say(line)
            while not told_to_stop.wait(LOOK_S):
                pass
    finally:
        signal.signal(signal.SIGTERM, before)
        _conclude(opened, session_file, say)
    return Exit.BLOCK if opened.proxy.tally().is_red else Exit.DONE


def _announcement(opened: OpenedProxy) -> str:
    proxy = opened.proxy
    said = {"url": proxy.base_url(), "port": proxy.port, "mode": proxy.mode.value, "pid": os.getpid()}
    return json.dumps(said)


def _conclude(opened: OpenedProxy, session_file: Path | None, say: Callable[[str], None]) -> None:
    tally = opened.proxy.tally()
    for line in opened.summary():
        say(line)
    ending = Ending(incomplete_because=SERVED_ALONE, upstream_calls=tally.upstream_calls)
    session = opened.session(ending)
    if session is not None and session_file is not None:
        write_atomic(session_file, write_session(session))
