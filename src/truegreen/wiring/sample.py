# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen sample``: a lane's cases go in, a ledger and what it proves come out.

What it decides: the order of things, and the exit code. What it leaves: the loop, to ``measure``; the words, to
``sample_words``; showing progress, to the door.

- What was measured is written whatever ended the run: a cap, an interrupt, a test process that died.
- A record that would not be evidence (a part of a lane, a folder that changed meanwhile) is written under a name
  that no gate reads, and says so.
- Exit 0: measured what was asked. 3: not all of it. 130: interrupted. With ``--check`` the merge table decides
  as well: 1 where it blocks, 3 where it holds.
"""

from __future__ import annotations

import platform
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from truegreen import version
from truegreen.core.errors import ReachProblem
from truegreen.core.outcome import Exit
from truegreen.core.record import RECORD_SUFFIX, Envelope, Producer, file_name, write_record
from truegreen.forges.git import GitRepository
from truegreen.forges.working_copy import working_copy
from truegreen.sampling.ledger import SCHEMA, LedgerBody, Sample
from truegreen.sampling.ledger_build import Facts, components, ledger_body
from truegreen.sampling.measure import Measuring, Settings, World
from truegreen.sampling.schedule import Progress, Scheduler
from truegreen.sampling.sequential import Rule
from truegreen.sampling.states import MISSING
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.crash import without_secrets
from truegreen.wiring.model_environment import ModelEnvironment, read_model_environment
from truegreen.wiring.run_log import RunLog
from truegreen.wiring.sample_chain import Chain, read_chain
from truegreen.wiring.sample_check import Checked, check
from truegreen.wiring.sample_ground import SampleGround, read_ground
from truegreen.wiring.sample_inputs import undeclared
from truegreen.wiring.sample_request import SampleRequest, flaky_budget, rule_of
from truegreen.wiring.sample_suite import Suite
from truegreen.wiring.wires import Wires

ARTIFACTS = "artifacts"
"""Folder of records, from the root."""
OWN_FOLDER = ".truegreen"
"""Folder of what is no evidence; it never counts as part of the tree."""
RUN_PREFIX_CHARS = 12
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Watcher(Protocol):
    """Who shows a person how the run goes."""

    def planned(self, ids: tuple[str, ...], notices: tuple[str, ...], *, engine: str) -> None:
        """Sampling begins."""
        ...

    def ended(self, case_id: str, sample: Sample, progress: Progress) -> None:
        """One sample has ended."""
        ...


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a run came to."""

    body: LedgerBody
    """The ledger's body."""
    path: Path
    """Where the record lies."""
    code: Exit
    """Exit code."""
    notices: tuple[str, ...]
    """Disclosures for people."""
    checked: Checked | None
    """What the merge table says, with ``--check``."""


def sample(request: SampleRequest, environment: Mapping[str, str], watcher: Watcher) -> Sampled:
    """Sample a lane and write its record.

    Raises: TruegreenProblem of every family; what had been measured is written first.
    """
    with _ended_as_interrupted(), GitRepository(top_of(request.cwd), environment) as git:
        ground = read_ground(request, git, environment)
        rule = rule_of(request, ground.lane, environment)
        if request.is_check:
            flaky_budget(environment)  # a bad count is said before a call is paid for
        models = read_model_environment(environment, model=ground.lane.model)
        chain = read_chain(request, ground, rule)
        with Wires(models.upstreams, forward_sample=_is_test_endpoint(models)) as wires:
            return _Run(request, environment, watcher, ground, rule, models, chain, wires).go()


def top_of(folder: Path) -> Path:
    """The root of the working folder that holds ``folder``; the folder itself if none does."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


class _Run:
    """One sampling run, step by step."""

    def __init__(  # noqa: PLR0913, PLR0917 - what the steps share
        self,
        request: SampleRequest,
        environment: Mapping[str, str],
        watcher: Watcher,
        ground: SampleGround,
        rule: Rule,
        models: ModelEnvironment,
        chain: Chain,
        wires: Wires,
    ) -> None:
        self._request = request
        self._environment = environment
        self._watcher = watcher
        self._ground = ground
        self._rule = rule
        self._models = models
        self._chain = chain
        self._wires = wires
        self._clock = SystemClock()
        self._started_at = self._clock.now()
        self._began = time.monotonic()
        self._began_at = time.time()
        self._slots = request.slots or ground.lane.concurrency

    def go(self) -> Sampled:
        """Collect, measure, write, say."""
        suite = Suite(
            self._ground,
            self._models,
            self._wires,
            self._environment,
            engine=self._request.engine,
            slots=self._slots,
        )
        with suite:
            ids = tuple(case.id for case in suite.cases)
            self._chain.check_ids(ids)
            gated = [case.id for case in suite.cases if not case.golden]
            schedule = Scheduler(
                gated,
                self._rule,
                slots=self._slots,
                suite=len(ids),
                j=dict.fromkeys(ids, self._chain.j or 1),
                earlier=self._chain.samples,
            )
            measuring = self._measuring(suite, schedule)
            self._watcher.planned(ids, self._notices(suite), engine=suite.choice.engine)
            problem: ReachProblem | None = None
            try:
                measuring.run()
            except ReachProblem as err:
                problem = err
                measuring.ended = "interrupted"
            with _uninterrupted():
                sampled = self._written(suite, schedule, measuring, frozenset(gated))
        if problem is not None:
            raise problem
        return sampled

    def _measuring(self, suite: Suite, schedule: Scheduler) -> Measuring:
        lane = self._ground.lane
        settings = Settings(
            timeout_s=lane.timeout_s,
            truncated=lane.truncated,
            max_calls=lane.max_calls,
            max_seconds=None if lane.max_minutes is None else lane.max_minutes * 60.0,
        )
        log = RunLog.named_in(self._environment, self._request.cwd)
        prefix = self._run_prefix()

        def told(case_id: str, one: Sample) -> None:
            log.write(f"{prefix}-{one.n}", case_id, one.bucket, one.reason)
            self._watcher.ended(case_id, one, schedule.progress(case_id))

        world = World(
            open_engine=suite.reopened,
            wire=self._wires,
            environment=lambda index, n, token: {
                **self._wires.addresses(token),
                "TRUEGREEN_CASE": suite.cases[index].id,
                "TRUEGREEN_SAMPLE": str(n),
                "MODEL_RUN_ID": f"{prefix}-{n}",
            },
            hide=lambda text: without_secrets(self._wires.told(text), self._environment),
            clock_s=time.monotonic,
            told=told,
        )
        return Measuring(suite.cases, schedule, settings, world, suite.host)

    def _run_prefix(self) -> str:
        """What names this run in ``MODEL_RUN_ID``: the user's own, else the ruler's digest."""
        own = self._environment.get("MODEL_RUN_ID", "").strip()
        return own or self._ground.digests.ruler.digest.partition(":")[2][:RUN_PREFIX_CHARS]

    def _notices(self, suite: Suite) -> tuple[str, ...]:
        found = suite.collected
        told = [*found.notices]
        if suite.choice.why:
            told.append(f"the {suite.choice.engine} engine runs this suite: {suite.choice.why}")
        if found.unmarked:
            told.append(
                f"{found.unmarked} tests without the marker `model` are not sampled, since others carry it"
            )
        if found.deselected:
            told.append(f"the project's own options deselected {found.deselected} tests")
        if self._ground.policy.limiter is not None:
            told.append("the policy's [limiter] is not asked: calls of samples count in no limit")
        if not self._ground.is_whole:
            told.append(
                "only a part of a lane is sampled, or no policy names it: the ledger is no evidence for a gate"
            )
        return tuple(told)

    def _written(
        self, suite: Suite, schedule: Scheduler, measuring: Measuring, gated: frozenset[str]
    ) -> Sampled:
        self._wires.drain()
        exchanges = self._wires.exchanges()
        body = ledger_body(
            self._facts(suite, measuring),
            cases=suite.cases,
            samples=lambda case: schedule.samples(case) if case in gated else (),
            lost=lambda case: schedule.lost(case) if case in gated else (),
            missing=measuring.missing,
            exchanges=exchanges,
            claimed=measuring.claimed,
            chain=self._chain.links,
        )
        notices = self._disclosed(body)
        tree = working_copy(self._ground.git, untracked=self._ground.facts.local).tree
        is_same = tree == self._ground.copy.tree
        path = self._path(is_evidence=self._ground.is_whole and is_same)
        make_folder(path.parent, self._ground.root)
        write_atomic(path, self._record(body))
        if not is_same:
            raise ReachProblem(
                "tree-changed",
                f"files changed while samples were taken: the tree was {self._ground.copy.tree} and is {tree}; "
                f"what was measured is in {path} and is no evidence",
                hint="let tests write below tmp_path, and sample again",
            )
        checked = check(self._ground, body, self._rule, self._environment) if self._request.is_check else None
        return Sampled(body=body, path=path, code=exit_code(body, checked), notices=notices, checked=checked)

    def _facts(self, suite: Suite, measuring: Measuring) -> Facts:
        digests = self._ground.digests
        return Facts(
            policy_digest=self._ground.policy.digest,
            ruler=components(digests.ruler.digest, digests.ruler.components),
            subject=components(digests.subject.digest, digests.subject.components),
            rule=self._rule,
            j=self._chain.j,
            engine=suite.choice.engine,
            interpreter=f"{platform.python_implementation()} {platform.python_version()}",
            host=self._wires.host,
            started_at=self._started_at,
            wall_ms=round((time.monotonic() - self._began) * 1000),
            ended=measuring.ended,
            undeclared_inputs=undeclared(
                self._ground, {*suite.collected.read, *measuring.read}, self._began_at
            ),
        )

    def _path(self, *, is_evidence: bool) -> Path:
        subject, lane, root = self._ground.subject, self._ground.lane, self._ground.root
        if self._request.ledger is not None:
            return self._request.cwd / self._request.ledger
        name = file_name(lane.name, self._request.part, subject.run_attempt)
        if is_evidence:
            return root / ARTIFACTS / name
        return root / OWN_FOLDER / f"{name.removesuffix(RECORD_SUFFIX)}.partial.json"

    def _record(self, body: LedgerBody) -> bytes:
        return write_record(
            Envelope(
                schema=SCHEMA,
                lane=self._ground.lane.name,
                part=self._request.part,
                subject=self._ground.subject,
                producer=Producer(name="truegreen", version=version(), verb="sample"),
                issued_at=self._clock.now(),
                body=msgspec.to_builtins(body),
            )
        )

    def _disclosed(self, body: LedgerBody) -> tuple[str, ...]:
        """What a reader of the summary should know before believing it."""
        told = []
        silent = [
            row.id
            for row in body.cases
            if any(one.reason != MISSING for one in row.samples) and not any(one.calls for one in row.samples)
        ]
        if silent:
            told.append(
                f"{len(silent)} of {len(body.cases)} cases never asked the model through the observer, "
                f"{silent[0]} is the first: their samples say nothing about it"
            )
        if body.undeclared_inputs:
            told.append(
                f"{len(body.undeclared_inputs)} files were read that no digest covers, {body.undeclared_inputs[0]} is the "
                "first: commit them, or take them out of `irrelevant`"
            )
        if body.wire.unattributed:
            told.append(
                f"{body.wire.unattributed} calls belong to no sample (set-up, or clients that many samples share)"
            )
        return tuple(told)


def make_folder(folder: Path, root: Path) -> None:
    """The folder of a record; a new one of ours keeps itself out of commits, so that a record changes no tree."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new and folder in (root / ARTIFACTS, root / OWN_FOLDER):
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def exit_code(body: LedgerBody, checked: Checked | None) -> Exit:
    """What the process says: interrupted before incomplete before the merge table."""
    if body.ended == "interrupted":
        return Exit.INTERRUPTED
    if checked is not None and checked.code is Exit.BLOCK:
        return Exit.BLOCK
    if body.ended != "measured":
        return Exit.HOLD
    return Exit.DONE if checked is None else checked.code


def _is_test_endpoint(models: ModelEnvironment) -> bool:
    """Whether the endpoint is on this machine: only there a sample's number may be told to it."""
    return all(urlsplit(one.url).hostname in LOOPBACK for one in models.upstreams)


@contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """A runner that cancels a job says so by SIGTERM: what was measured is kept then too."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let nobody interrupt the writing of what was measured."""
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError):  # not in the main thread: no interrupt arrives here
            before[number] = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
