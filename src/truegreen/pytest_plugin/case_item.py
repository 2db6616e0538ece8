# SPDX-License-Identifier: Apache-2.0
"""Case files as pytest collects them: one file, one item a case.

What it decides: how a case asks, in a plain run and in every engine. What it leaves: reading the file, to
``sampling.case_file``; judging the answer, to ``sampling.expect``; the plain request, to ``answer``.

- A file that is no case file is a collection error with its line.
- An answer that misses its expectations fails in one line, without a traceback.
- An answer that the model did not finish is no failure of the model's: it is ``unfinished``.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from truegreen.core.errors import TruegreenProblem
from truegreen.pytest_plugin import answer as plain
from truegreen.pytest_plugin.question import Answer, KnownError, ModelCase
from truegreen.sampling.case_file import read_case_file
from truegreen.sampling.cases import Case
from truegreen.sampling.engines.messages import Found
from truegreen.sampling.expect import INVALID, judge

BASE_URLS = ("MODEL_BASE_URL", "OPENAI_BASE_URL")
MODELS = ("MODEL_NAME", "OPENAI_MODEL")
SAMPLE = "TRUEGREEN_SAMPLE"
MOST_REASONS = 5


class CaseFailedError(KnownError, AssertionError):
    """An answer misses its expectations; ``reason_code`` is the first reason's."""

    def __init__(self, reason_code: str, text: str) -> None:
        """Keep the reason code apart from the sentence."""
        super().__init__(text)
        self.reason_code = reason_code


class UnfinishedError(KnownError):
    """The model did not finish its answer."""

    def __init__(self, reason_code: str, text: str) -> None:
        """Keep the reason code apart from the sentence."""
        super().__init__(text)
        self.reason_code = reason_code


class NoTextError(KnownError):
    """A conftest answered with something that is no text."""

    reason_code = "answer-not-text"


class CaseFile(pytest.File):
    """One case file."""

    root: Path
    """Root that ids and paths are told from."""
    problem: TruegreenProblem | None = None
    """Why it could not be read."""

    def collect(self) -> Iterable[CaseItem]:
        """An item a case.

        Raises: UsageProblem or ReachProblem of the reader.
        """
        try:
            cases = read_case_file(self.path, self.root)
        except TruegreenProblem as problem:
            self.problem = problem
            raise
        for case in cases:
            name = case.id.partition("::")[2]
            yield CaseItem.from_parent(self, name=name, case=case, root=self.root)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A case file's problem in its own sentence."""
        if isinstance(excinfo.value, TruegreenProblem):
            return str(excinfo.value)
        del style
        return super().repr_failure(excinfo)


class CaseItem(pytest.Item):
    """One case."""

    judged_output: str | None = None
    """The text that was judged."""
    judged_reason: str = ""
    """The judge's first reason."""
    judged_status: str = ""
    """``unfinished``, or empty."""

    def __init__(self, *, case: Case, root: Path, **rest: Any) -> None:
        """``root`` is the root that the case's paths are told from."""
        super().__init__(**rest)
        self.case = case
        self.root = root

    def found(self, _name: str) -> Found:
        """The case as an engine tells of it."""
        case = self.case
        return Found(
            id=case.id,
            nodeid=self.nodeid,
            kind="yaml",
            blast_radius=case.blast_radius,
            owner=case.owner,
            feature=case.feature,
            golden=case.golden,
            inputs=tuple(path for path in (case.input, case.schema_file) if path),
            prompts=(case.prompt,) if case.prompt else (),
        )

    def question(self, env: Mapping[str, str]) -> ModelCase:
        """What is asked; ``env`` goes before the process's environment."""
        case = self.case
        return ModelCase(
            id=case.id,
            feature=case.feature,
            prompt=self._text(case.prompt),
            prompt_path=case.prompt,
            input=self._text(case.input),
            input_path=case.input,
            model=case.model or _first(MODELS, env),
            settings=case.settings,
            base_url=_first(BASE_URLS, env),
            sample=int(_first((SAMPLE,), env) or "1"),
        )

    @property
    def is_answered_by_hook(self) -> bool:
        """Whether a conftest on the way to this file answers cases."""
        return bool(self.ihook.pytest_truegreen_answer.get_hookimpls())

    def ask_hook(self, question: ModelCase) -> Any:
        """What the nearest conftest answers: a text, something to await, or None."""
        return self.ihook.pytest_truegreen_answer(case=question)

    def checked(self, answer: object) -> Answer:
        """A conftest's answer, if it is a text.

        Raises: NoTextError.
        """
        if not isinstance(answer, str):
            raise NoTextError(f"pytest_truegreen_answer gave {type(answer).__name__}, a text is asked")
        return Answer(text=answer)

    def judge(self, answer: Answer) -> None:
        """Compare an answer with what the case expects.

        Raises: CaseFailedError or UnfinishedError.
        """
        self.judged_output = answer.text
        judgement = judge(self.case.expect, answer.text, finish_reason=answer.finish_reason)
        if not judgement.reasons:
            return
        self.judged_reason = judgement.reasons[0].code
        told = "; ".join(
            f"{reason.where}: {reason.detail}" if reason.where else reason.detail
            for reason in judgement.reasons[:MOST_REASONS]
        )
        if judgement.outcome == INVALID:
            self.judged_status = "unfinished"
            raise UnfinishedError(self.judged_reason, told)
        raise CaseFailedError(self.judged_reason, told)

    def runtest(self) -> None:
        """Ask once and judge, in this thread."""
        question = self.question({})
        answered = self.ask_hook(question) if self.is_answered_by_hook else None
        if inspect.isawaitable(answered):
            answered = asyncio.run(_awaited(answered))
        self.judge(plain.ask(question) if answered is None else self.checked(answered))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """One line for a judged answer, a traceback for everything else."""
        if isinstance(excinfo.value, KnownError):
            return f"{self.case.file}:{self.case.line}: {excinfo.value} ({excinfo.value.reason_code})"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands."""
        return self.path, self.case.line - 1, self.name

    def _text(self, path: str | None) -> str | None:
        return (
            None if path is None else (self.root / path).read_text(encoding="utf-8", errors="surrogateescape")
        )


def _first(names: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    return next((value for name in names if (value := env.get(name) or os.environ.get(name))), None)


async def _awaited(answer: Any) -> Any:
    return await answer
