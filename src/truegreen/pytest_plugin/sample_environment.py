# SPDX-License-Identifier: Apache-2.0
"""Environment variables of one sample where many samples share a process.

The async engine asks many samples at once in one process, and a client that an application makes reads
``OPENAI_BASE_URL`` from the environment of all. Here a few names are answered from a context variable, so that
each task, and each thread that a task starts, finds its own sample's address.

- Only names that ``Start.env`` sets are answered so; everything else, and every write, is the process's own.
- Programs that a sample starts inherit the process's environment, not the sample's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar

_OWN: ContextVar[Mapping[str, str]] = ContextVar("truegreen_sample_environment")


class _SampleEnviron(os._Environ[str]):  # noqa: SLF001 - the class of os.environ has no public name
    """``os.environ`` with a view of the sample that asks."""

    def __getitem__(self, key: str) -> str:
        own = _OWN.get({}).get(key)
        return super().__getitem__(key) if own is None else own


def install() -> None:
    """Let ``os.environ`` answer by sample from now on; harmless if called again."""
    os.environ.__class__ = _SampleEnviron


def enter(env: Mapping[str, str]) -> None:
    """Give the running task, and what it starts, these values."""
    _OWN.set(dict(env))
