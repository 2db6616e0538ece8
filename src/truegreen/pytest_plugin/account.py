# SPDX-License-Identifier: Apache-2.0
"""What the reports of one sample say: one status out of all phases and of all that reruns tried to hide.

What it decides: the status of a sample from pytest's reports. What it leaves: the bucket, to ``buckets``.

The first row that matches decides:

- a rerun, under whatever name a plugin gives it → ``rerun``: the first try was the sample;
- marked xfail, in whatever way it ended → ``xfail``: the project says that its result means nothing;
- set-up failed → ``setup-error``;
- anything of the call failed, sub-tests too → ``failed``;
- skipped in any phase → ``skipped``;
- tear-down failed after a passing call → ``teardown-error``;
- set-up, call and tear-down each passed → ``passed``; anything else → ``left-early``.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Iterable
from typing import Any

import pytest

from truegreen.pytest_plugin.opened import Opened
from truegreen.pytest_plugin.question import KnownError
from truegreen.sampling.engines.messages import DETAIL_LIMIT, Ended, Start

KNOWN_OUTCOMES = frozenset({"passed", "failed", "skipped"})
PHASES = ("setup", "call", "teardown")


class Account:
    """A plugin that keeps the reports of the sample that runs now; one sample at a time."""

    def __init__(self, opened: Opened) -> None:
        """Nothing heard yet; ``opened`` notes which files are read."""
        self.opened = opened
        self._forget()

    def _forget(self) -> None:
        self._reports: list[pytest.TestReport] = []
        self._raised: tuple[str, ...] = ()
        self._output: str | None = None
        self._reason = ""
        self._status = ""
        self._said = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Remember which exception it was and what a case file's item judged."""
        report = yield
        if call.excinfo is not None and report.failed and not self._raised:
            self._raised = class_names(call.excinfo.value)
            if isinstance(call.excinfo.value, KnownError):
                self._said = str(call.excinfo.value)
                self._reason = call.excinfo.value.reason_code
        self._output = getattr(item, "judged_output", self._output)
        self._reason = getattr(item, "judged_reason", "") or self._reason
        self._status = getattr(item, "judged_status", self._status)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep one report."""
        self._reports.append(report)

    def run(self, twin: pytest.Item, nextitem: Any, start: Start) -> Ended:
        """Run one twin through pytest's own protocol and say how it ended.

        ``nextitem`` is the node that stays set up; None tears everything down.
        """
        self._forget()
        began = time.monotonic()
        try:
            twin.config.hook.pytest_runtest_protocol(item=twin, nextitem=nextitem)
            status, detail = status_of(self._reports)
        except BaseException as err:  # noqa: BLE001 - pytest.exit, an interrupt or a broken plugin ends one sample, not the run
            self._raised = class_names(err)
            status, detail = "left-early", told(err)
        return Ended(
            index=start.index,
            n=start.n,
            draw=start.draw,
            status=self._status if self._status and status == "failed" else status,
            reason=self._reason,
            detail=encodable((self._said or detail)[:DETAIL_LIMIT]),
            raised=self._raised,
            output_sha256=None if self._output is None else digest_of(self._output),
            duration_ms=round((time.monotonic() - began) * 1000),
            read=self.opened.take(),
        )


def status_of(reports: Iterable[pytest.TestReport]) -> tuple[str, str]:
    """Status and text of one sample's reports, by the ordered rows above."""
    reports = list(reports)
    failed = [report for report in reports if report.failed]
    skipped = [report for report in reports if report.skipped]
    phases = [report.when for report in reports if not _is_subtest(report)]
    if any(report.outcome not in KNOWN_OUTCOMES for report in reports) or len(set(phases)) != len(phases):
        again = [report for report in reports if report.outcome not in KNOWN_OUTCOMES] or failed
        return "rerun", _text(again)
    if any(hasattr(report, "wasxfail") or "xfail" in report.keywords for report in reports):
        return "xfail", _text(failed or skipped)
    if any(report.when == "setup" for report in failed):
        return "setup-error", _text(failed)
    if any(report.when == "call" for report in failed):
        return "failed", _text(failed)
    if skipped:
        return "skipped", _text(skipped)
    if failed:
        return "teardown-error", _text(failed)
    if tuple(phases) == PHASES:
        return "passed", ""
    return "left-early", f"phases that were reported: {', '.join(map(str, phases)) or 'none'}"


def class_names(err: BaseException) -> tuple[str, ...]:
    """Dotted names of an exception's class, its ancestors and its explicit causes, nearest first."""
    names: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = err
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        names += [f"{kind.__module__}.{kind.__qualname__}" for kind in type(cause).__mro__]
        cause = cause.__cause__
    return tuple(dict.fromkeys(names))


def told(err: BaseException) -> str:
    """An exception as one text, whatever its own ``__str__`` does."""
    try:
        return f"{type(err).__name__}: {err}"
    except Exception:  # noqa: BLE001 - code of the suite
        return f"{type(err).__name__}, which cannot be shown"


def encodable(text: str) -> str:
    """A text that UTF-8 can carry: half of a surrogate pair, which a model can give, as an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def digest_of(text: str) -> str:
    """``sha256:`` digest of a judged text."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_subtest(report: pytest.TestReport) -> bool:
    return type(report) is not pytest.TestReport


def _text(reports: list[pytest.TestReport]) -> str:
    """What a person reads first: the failing line's message, else the end of the whole text."""
    for report in reports:
        longrepr = report.longrepr
        crash = getattr(longrepr, "reprcrash", None)
        if crash is not None:
            return str(crash.message)
        if isinstance(longrepr, tuple):
            return str(longrepr[2])
        if longrepr:
            return report.longreprtext
    return ""
