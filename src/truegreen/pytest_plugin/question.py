# SPDX-License-Identifier: Apache-2.0
"""What a case asks the model, as an application's own code is handed it.

A ``ModelCase`` is public: it is the argument of the hook ``pytest_truegreen_answer``. This module is loaded by every
pytest run, so it loads nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ModelCase:
    """One question: answer with the text that the application would give."""

    id: str
    """The case id: path of the case file from the root, ``::``, the ``id`` in the file."""
    feature: str | None
    """Feature that it belongs to."""
    prompt: str | None
    """Text of the file that the case names by ``prompt``."""
    prompt_path: str | None
    """That file, from the repository's root."""
    input: str | None
    """Text of the file that the case names by ``input``."""
    input_path: str | None
    """That file, from the repository's root."""
    model: str | None
    """Model to ask: the case's, else the lane's or the environment's."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The case's ``settings``, such as ``temperature``."""
    base_url: str | None
    """Address of the endpoint for this sample; ``OPENAI_BASE_URL`` and its kin hold the same."""
    sample: int
    """Number of the sample, 1 in a plain run. Not a seed: it says nothing about the question."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    text: str
    """The text that is judged."""
    finish_reason: str | None = None
    """The provider's word for how it ended, if it is known here."""


class KnownError(Exception):
    """An end of a case that has a reason code of ours and is told without a traceback."""

    reason_code: str = ""
    """Kebab-case code for the ledger."""
