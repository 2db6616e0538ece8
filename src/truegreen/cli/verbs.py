# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command line: which exist, and in which module each lives.

What it decides: names, the order of the first screen, and what is not in this version. What it leaves: what a
verb does, to its own module, which is imported only when the verb is called.

- A verb is a ``click.Command`` whose callback returns the exit code; register it in ``MODULE_OF_VERB``.
- A name in ``NAMES`` without a module is answered ``not-in-this-version``, never guessed.
"""

from __future__ import annotations

from typing import Final

FIRST: Final[dict[str, str]] = {
    "scan": "what today's checks cannot catch, with file and line",
    "try": "sample model tests as they are, enforce nothing",
    "init": "propose a policy and a workflow that only observe",
    "gate": "read the evidence and say admit, hold or block",
    "why": "explain a reason code or a decision",
    "report": "show decisions and ledgers to people and tools",
}
"""The six verbs of the first screen, in reading order, with the line that each shows there."""

NAMES: Final[tuple[str, ...]] = (
    *FIRST,
    "budget",
    "cassette",
    "checks",
    "cold",
    "conformance",
    "doctor",
    "drift",
    "endpoint",
    "enforce",
    "exit",
    "explain",
    "frozen",
    "history",
    "ledger",
    "limiter",
    "lock",
    "policy",
    "proposal",
    "proxy",
    "quarantine",
    "rerun",
    "run-index",
    "sample",
    "service",
    "shards",
    "verdict",
)
"""Every verb of the design, whether it is built yet or not."""

MODULE_OF_VERB: Final[dict[str, str]] = {
    "cassette": "truegreen.cli.cassette:cassette",
    "conformance": "truegreen.cli.conformance:conformance",
    "drift": "truegreen.cli.drift:drift",
    "endpoint": "truegreen.cli.endpoint:endpoint",
    "gate": "truegreen.cli.gate:gate",
    "ledger": "truegreen.cli.ledger:ledger",
    "limiter": "truegreen.cli.limiter:limiter",
    "policy": "truegreen.cli.policy:policy",
    "proxy": "truegreen.cli.proxy:proxy",
    "quarantine": "truegreen.cli.quarantine:quarantine",
    "run-index": "truegreen.cli.run_index:run_index",
    "sample": "truegreen.cli.sample:sample",
    "why": "truegreen.cli.why:why",
}
"""Name of a built verb to ``module:attribute``."""


def is_built(name: str) -> bool:
    """Whether the verb does something in this version."""
    return name in MODULE_OF_VERB


def folded() -> tuple[str, ...]:
    """The built verbs that the first screen names without a line of their own."""
    return tuple(name for name in NAMES if name not in FIRST and is_built(name))


def missing() -> tuple[str, ...]:
    """The verbs that this version refuses with ``not-in-this-version``."""
    return tuple(name for name in NAMES if not is_built(name))
