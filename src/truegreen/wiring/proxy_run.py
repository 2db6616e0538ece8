# SPDX-License-Identifier: Apache-2.0
"""``truegreen proxy run``: a command with its proxies, under a guard, from start to end.

What it decides: the order of things and the exit code. What it leaves: each of the things, to ``guards`` and
``model_proxy``; what the end looks like, to ``run_end``.

1. The guard is chosen by trying, and taken: from here on this process may live in a namespace of its own.
2. A proxy for each upstream starts, and its own canary asks it.
3. The command gets the variables that point there, and runs under the guard.
4. The proxies stop; what came of it is told and, if asked for, written.

A miss, an attempt to get past the proxy in replay, and what the proxy could not do make the run red (1), whatever the
command made of it; otherwise the exit code is the command's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from truegreen.core.outcome import Exit
from truegreen.guards import choice, sdks
from truegreen.guards.guarded import Ended, Guarded
from truegreen.proxy.modes import Mode, Options
from truegreen.wiring import run_end
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.checkout import checkout_of
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.model_environment import without_proxy
from truegreen.wiring.model_proxy import OpenedProxy, Wish
from truegreen.wiring.policy_ledger import ledger_at
from truegreen.wiring.proxy_upstreams import Served, served


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    mode: Mode
    """``replay``, ``record`` or ``live``."""
    command: tuple[str, ...]
    """The command and its arguments."""
    folder: Path
    """Folder of the recordings."""
    upstreams: tuple[str, ...] = ()
    """Upstreams that were named; none for those of the environment."""
    guard: str = "auto"
    """``auto`` or a guard."""
    ports: tuple[int, ...] = ()
    """Ports of loopback that may be asked besides."""
    volatile: tuple[str, ...] = ()
    """Places of requests that are not keyed."""
    options: Options = msgspec.field(default_factory=Options)
    """What each proxy is told besides."""
    log: Path | None = None
    """Call log, for ``record`` and ``live``."""
    session: Path | None = None
    """Where to write what a replay came to."""
    is_whole: bool = False
    """Whether the caller says that the command runs everything."""


def run(request: Request, environment: Mapping[str, str], say: Callable[[str], None]) -> int:
    """Run it; the exit code. ``say`` gets the lines of the end.

    Raises: UsageProblem and ReachProblem of the parts, before the command is started.
    """
    upstreams = served(request.upstreams, environment)
    proxies = [_opened(request, each, environment, say) for each in upstreams]
    is_replay = request.mode is Mode.REPLAY
    guard, stronger = choice.choose(request.guard, refuses=is_replay, tried=choice.trials())
    own = Path(tempfile.mkdtemp(prefix="truegreen-run-"))
    try:
        with Guarded(
            guard, refuses=is_replay, folder=own, ports=request.ports, cache=_cache(environment)
        ).enter(environment) as guarded:
            ended = _run(request, guarded, list(zip(upstreams, proxies, strict=True)), environment)
    finally:
        shutil.rmtree(own, ignore_errors=True)
    end = run_end.End(
        mode=request.mode,
        guard=guard,
        stronger=stronger,
        ended=ended,
        tallies=tuple(each.proxy.tally() for each in proxies),
        session=run_end.joined_session(proxies, ended, guard=guard, is_whole=request.is_whole),
    )
    if request.session is not None and end.session is not None:
        write_atomic(request.session, run_end.write_session(end.session))
    for line in run_end.lines(end):
        say(line)
    if run_end.is_red(end):
        return Exit.BLOCK
    return Exit.HOLD if ended.code == 0 and run_end.played_nothing(end) else ended.code


def _run(
    request: Request,
    guarded: Guarded,
    proxies: Sequence[tuple[Served, OpenedProxy]],
    environment: Mapping[str, str],
) -> Ended:
    with ExitStack() as stack:
        for _, opened in proxies:
            stack.enter_context(opened)
        addresses = [(each.provider, opened.proxy.base_url()) for each, opened in proxies]
        is_replay = request.mode is Mode.REPLAY
        made = sdks.variables(addresses, environment, is_replay=is_replay)
        made |= {"TRUEGREEN_PROXY_MODE": request.mode.value, "TRUEGREEN_PROXY": addresses[0][1]}
        made |= {} if is_replay else without_proxy(environment)
        return guarded.run(request.command, made, proxy_ports=[opened.proxy.port for _, opened in proxies])


def _opened(
    request: Request, upstream: Served, environment: Mapping[str, str], warned: Callable[[str], None]
) -> OpenedProxy:
    is_live = request.mode is Mode.LIVE
    wish = Wish(
        mode=request.mode,
        upstream=upstream.url,
        cassettes=None if is_live else request.folder,
        name=_from_root(request.folder),
        alias=upstream.alias,
        volatile=request.volatile,
        log=request.log,
        ledger=None if request.mode is Mode.REPLAY else ledger_at(Path(), warned),
        options=request.options,
    )
    return OpenedProxy(wish, environment=environment, clock=SystemClock())


def _from_root(folder: Path) -> str:
    """The folder's name from the root of the repository, or as it was given."""
    root = checkout_of(Path()) or Path.cwd()
    try:
        return folder.resolve().relative_to(root).as_posix()
    except ValueError:
        return folder.as_posix()


def _cache(environment: Mapping[str, str]) -> Path | None:
    """Where a compiled library is kept between runs."""
    if said := environment.get("XDG_CACHE_HOME"):
        return Path(said) / "truegreen"
    return Path(home) / ".cache" / "truegreen" if (home := environment.get("HOME")) else None
