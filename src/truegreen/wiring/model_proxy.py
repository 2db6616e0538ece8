# SPDX-License-Identifier: Apache-2.0
"""A proxy opened with its recordings, limits, call log and account.

What it decides: which parts a mode gets, and what the end of a proxy says. What it leaves: serving, to ``proxy``;
recordings, to ``cassettes``; leave and rulings, to ``limiter``.

- ``record`` refuses where ``CI`` is set; ``replay`` writes nothing but its account.
- ``live`` and ``record`` repeat calls by the retry table and log every attempt; without a ledger nothing is limited.
- An https upstream is reached through ``HTTPS_PROXY`` where that is set and ``NO_PROXY`` does not take it out.
- The alias under which requests are keyed is the upstream's host and port unless another one is given: the same
  alias means that one endpoint's answers may stand for the other's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Store
from truegreen.core.errors import UsageProblem
from truegreen.core.ports import AsyncLedgerPort, Clock
from truegreen.core.replay_session import ReplaySession
from truegreen.limiter.budget import Budget, sentence
from truegreen.limiter.call_file import CallLog
from truegreen.limiter.door import AsyncDoor, Rulings
from truegreen.limiter.layers import layer_of
from truegreen.proxy.forward_proxy import proxy_for
from truegreen.proxy.model_proxy import ModelProxy
from truegreen.proxy.modes import Mode, Options
from truegreen.proxy.session import Tally
from truegreen.proxy.upstream import Upstream, parse_upstream
from truegreen.wiring.cassettes import recording, replaying, rules_in
from truegreen.wiring.environment import pipeline_run
from truegreen.wiring.open_ledger import OpenLedger
from truegreen.wiring.replay_account import Ending, ReplayAccount, commit_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a proxy is asked to be."""

    mode: Mode
    """What it does."""
    upstream: str
    """Base URL of the endpoint."""
    cassettes: Path | None = None
    """Folder of the recordings, for ``record`` and ``replay``."""
    name: str | None = None
    """What the account calls that folder; by default as it was given."""
    alias: str | None = None
    """Name of the endpoint in keys; by default the upstream's host and port."""
    volatile: tuple[str, ...] = ()
    """Paths of requests that are not keyed."""
    log: Path | None = None
    """File of the call log, for ``live`` and ``record``."""
    ledger: AsyncLedgerPort | None = None
    """Limits, for ``live`` and ``record``."""
    options: Options = Options()  # noqa: RUF009 - frozen, and never changed
    """The rest."""


class OpenedProxy:
    """A proxy and what belongs to it; use as a context manager."""

    def __init__(self, wish: Wish, *, environment: Mapping[str, str], clock: Clock) -> None:
        """Nothing listens yet.

        Raises: UsageProblem ``bad-upstream``, ``bad-forward-proxy``, ``recordings-needed``, ``recordings-not-used``, ``log-not-used``,
        ``recording-in-ci``, ``bad-json-path``; ReachProblem ``call-log-failed``.
        """
        upstream = _upstream(wish, environment)
        rules = rules_in(
            wish.cassettes, KeyRules(host=wish.alias or upstream.authority, volatile=wish.volatile)
        )
        store = _store(wish, rules, environment, clock)
        self.account: ReplayAccount | None = None
        self._log: CallLog | None = None
        door = None
        if wish.mode is Mode.REPLAY:
            _refuse_log(wish.log)
            if store is not None and wish.cassettes is not None:
                name = wish.name or wish.cassettes.as_posix()
                self.account = ReplayAccount(
                    wish.cassettes,
                    name=name,
                    rules=rules,
                    store=store,
                    clock=clock,
                    commit=commit_at(wish.cassettes, environment),
                )
        else:
            self._log = CallLog(wish.log, run=pipeline_run(environment))
            door = AsyncDoor(wish.ledger or OpenLedger(), Rulings(log=self._log))
        self._budget = Budget()
        options = replace(wish.options, layer_of=layer_of)
        self.proxy = ModelProxy(wish.mode, upstream, recordings=store, admission=door, options=options)

    def __enter__(self) -> Self:
        self.proxy.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and give the log up; harmless if called again.

        Raises: ReachProblem ``proxy-failed`` or ``call-log-failed``.
        """
        try:
            self.proxy.close()
        finally:
            if self._log is not None:
                self._budget = self._log.budget()
                self._log.close()
                self._log = None

    def summary(self) -> tuple[str, ...]:
        """The end of this proxy in lines; with the run's retry budget if any of it was asked for."""
        budget = self._budget
        said = (sentence(budget),) if budget.repeated or budget.refused else ()
        return (*summary_of(self.proxy.tally()), *said)

    def session(self, ending: Ending) -> ReplaySession | None:
        """The account of a replay; None in another mode."""
        if self.account is None:
            return None
        return self.account.ended(self.proxy.missed(), ending)


def summary_of(tally: Tally) -> tuple[str, ...]:
    """The end of a proxy in lines: what happened, then each miss and each trouble."""
    counts = [f"{tally.requests} requests"]
    if tally.mode == Mode.REPLAY.value:
        counts += [f"{tally.hits} replayed", f"{tally.missed} without a recording"]
    else:
        counts += [
            f"{tally.upstream_calls} calls",
            f"{tally.retries} retries",
            f"{tally.waited_s:.3f} s waited",
        ]
    if tally.mode == Mode.RECORD.value:
        counts.append(f"{tally.kept} kept")
    lines = [f"{tally.mode}: {', '.join(counts)}"]
    lines += [f"not kept: {count} {reason}" for reason, count in tally.not_kept]
    lines += [f"refused leave: {tally.refused_leave}"] if tally.refused_leave else []
    lines += [f"no request that can be served: {tally.rejected}"] if tally.rejected else []
    lines += [f"another retry layer: {layer}, in {count} requests" for layer, count in tally.layers]
    lines += [f"miss: {miss.message} [{miss.code}]" for miss in tally.misses]
    lines += [f"trouble: {one.message} [{one.code}]" for one in tally.troubles]
    return tuple(lines)


def _store(wish: Wish, rules: KeyRules, environment: Mapping[str, str], clock: Clock) -> Store | None:
    if wish.cassettes is None:
        return None
    if wish.mode is Mode.RECORD:
        keeps = wish.options.keeps_errors
        return recording(wish.cassettes, rules, clock, environment, keeps_errors=keeps)
    return replaying(wish.cassettes, rules)


def _upstream(wish: Wish, environment: Mapping[str, str]) -> Upstream:
    """The upstream, with the forward proxy that the environment names for it; in replay nothing is reached."""
    upstream = parse_upstream(wish.upstream, needs_tls=wish.mode is not Mode.REPLAY)
    if upstream.tls is None:
        return upstream
    return replace(upstream, via=proxy_for(upstream.host, upstream.port, environment))


def _refuse_log(log: Path | None) -> None:
    if log is not None:
        raise UsageProblem(
            "log-not-used", "mode replay makes no calls, but a call log is given", hint="leave --log out"
        )
