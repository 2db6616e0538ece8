# SPDX-License-Identifier: Apache-2.0
"""The hook by which an application answers its own case files."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from truegreen.pytest_plugin.question import ModelCase


@pytest.hookspec(firstresult=True)
def pytest_truegreen_answer(case: ModelCase) -> str | Awaitable[str] | None:
    """Answer one case with the application's own code; put it in a ``conftest.py``.

    Return the text that is to be judged, or a coroutine that gives it; ``None`` leaves the case to the next
    conftest, and at last to a plain chat completion. Whatever it raises fails the sample.
    """
