# SPDX-License-Identifier: Apache-2.0
"""Project options that would cut, repeat or redirect samples, switched off for the run and named.

What it decides: which options of pytest and its plugins cannot hold while samples are taken. What it leaves:
every other option of the project, which stays as it is.

- ``-x``, ``--maxfail``, ``--stepwise``: one failing sample would end the run.
- ``--lf``, ``--ff``, ``--sw-skip``: what ran last would change what is collected now.
- reruns by any plugin: a failure that was tried again would be shown as a pass.
- ``-n``, ``--dist``: another scheduler would number the samples.
- ``--pdb``, ``--junitxml``: nobody is there to type; the file would describe no run.
- a fixed seed per test: every sample would draw the same numbers.
"""

from __future__ import annotations

import random
import sys
import zlib

import pytest

RERUNNERS = ("pytest_rerunfailures", "flaky.flaky_pytest_plugin", "pytest_retry", "pytest_retry.retry_plugin")
"""Modules whose hooks run a failing test again."""

OFF: tuple[tuple[str, str, object], ...] = (
    ("maxfail", "-x and --maxfail", 0),
    ("stepwise", "--stepwise", False),
    ("lf", "--last-failed", False),
    ("failedfirst", "--failed-first", False),
    ("newfirst", "--new-first", False),
    ("usepdb", "--pdb", False),
    ("trace", "--trace", False),
    ("xmlpath", "--junitxml", None),
    ("setuponly", "--setup-only", False),
    ("setupplan", "--setup-plan", False),
    ("collectonly", "--collect-only", False),
    ("randomly_reorganize", "a shuffled order", False),
)
"""Option, how people write it, and the value that switches it off."""

NUMPY_SEED_RANGE = 2**32
_FIRST_SEED = pytest.StashKey[object]()


def switch_off(config: pytest.Config) -> tuple[str, ...]:
    """Switch off what cannot hold, before plugins are configured; a sentence for each that was on."""
    told = []
    for name, written, off in OFF:
        if getattr(config.option, name, off) not in (off, None) and name != "randomly_reorganize":
            told.append(f"{written} is switched off while samples are taken")
        if hasattr(config.option, name):
            setattr(config.option, name, off)
    for plugin in list(config.pluginmanager.get_plugins()):
        module = getattr(plugin, "__name__", type(plugin).__module__)
        if module in RERUNNERS:
            config.pluginmanager.unregister(plugin)
            if any(getattr(config.option, name, None) for name in ("reruns", "force_reruns", "retries")):
                told.append("reruns are switched off: each run of a test is a sample of its own")
    return tuple(dict.fromkeys(told))


def without_xdist(config: pytest.Config) -> None:
    """Keep pytest-xdist from distributing, whatever the project's options say."""
    for name, off in (
        ("numprocesses", 0),
        ("dist", "no"),
        ("tx", []),
        ("distload", False),
        ("looponfail", False),
    ):
        if hasattr(config.option, name):
            setattr(config.option, name, off)


def seed_anew(config: pytest.Config, case_id: str, n: int, draw: int) -> None:
    """Give a sample its own random numbers where a fork or a plugin would give each the same.

    Python's own generator is seeded anew by the fork itself; numpy's and torch's are not.
    """
    if hasattr(config.option, "randomly_seed"):
        seed = config.stash.setdefault(_FIRST_SEED, config.option.randomly_seed)
        mixed = zlib.crc32(f"{seed}:{case_id}:{n}:{draw}".encode("utf-8", "surrogatepass"))
        config.option.randomly_seed = mixed
    fresh = random.SystemRandom().randrange(NUMPY_SEED_RANGE)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(fresh)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(fresh)
