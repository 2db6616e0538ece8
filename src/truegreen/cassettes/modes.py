# SPDX-License-Identifier: Apache-2.0
"""Modes of recorders: which of them neither call live nor write.

What it decides: whether a mode is closed, by its name in truegreen and in other tools. What it leaves: the modes
themselves, to ``proxy``.

- A name that nobody knows is open: it could be anything.
"""

from __future__ import annotations

from typing import Final

CLOSED: Final = frozenset(
    {
        "replay",  # ours, Polly.js
        "none",  # vcrpy, pytest-recording, Ruby's and PHP's VCR
        "lockdown",  # nock.back
        "simulate",  # Hoverfly
    }
)
"""Every other known mode (once, new_episodes, all, any, rewrite, record, live, spy, passthrough, update) is open."""


def is_closed(mode: str) -> bool:
    """Whether a check run in this mode reads committed bytes and nothing else."""
    return mode.strip().lower() in CLOSED
