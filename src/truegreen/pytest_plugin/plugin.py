# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin ``truegreen``: model tests as cases, in a plain run and while samples are taken.

What it decides: when anything else of this package is loaded. What it leaves: case files, to ``case_item``; a
plain run's words and log, to ``plain_run``; sampling, to ``host`` and the engines; replaying, to ``replay_run``.

- It costs nothing where it is not used: without a policy, its option, a run log or a sampler it loads no more
  than this file and the specification of its hook.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from truegreen.pytest_plugin import hooks

ADDRESS = "TRUEGREEN_HOST"
"""Environment variable by which a sampler says where it listens."""
POLICY_FILE = "truegreen.toml"
YAML = frozenset({".yaml", ".yml"})
_PLACES = pytest.StashKey[tuple[Path, ...]]()
_ROOT = pytest.StashKey[Path]()
_REPLAYED = pytest.StashKey[tuple[str, ...]]()
"""Names of the variables that point to replay proxies."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """``pytest_truegreen_answer``."""
    pluginmanager.add_hookspecs(hooks)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The option; in a process that a sampler started, its host."""
    group = parser.getgroup("truegreen", "model tests")
    group.addoption(
        "--truegreen-cases",
        action="append",
        default=[],
        metavar="PATH",
        help="Folder or file with case files (YAML); may be given more than once.",
    )
    group.addoption(
        "--truegreen-replay",
        metavar="DIR",
        help="Replay every model call from the recordings in this folder; a call without one makes the run red.",
    )
    group.addoption(
        "--truegreen-session",
        metavar="FILE",
        help="Write what the replay came to.",
    )
    parser.addini("truegreen_replay", "Default of --truegreen-replay, from the folder of this file.")
    address = os.environ.pop(ADDRESS, None)  # tests do not see it
    if address is not None:
        from truegreen.pytest_plugin.host import plugin_for  # noqa: PLC0415 - only while samples are taken

        pluginmanager.register(plugin_for(address), "truegreen-host")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """In a pytest-xdist worker of a sampler: its part of the portable engine."""
    if "truegreen_folder" in getattr(config, "workerinput", {}):
        from truegreen.pytest_plugin.xdist_worker import SampleWorker  # noqa: PLC0415 - only while samples are taken

        config.pluginmanager.register(SampleWorker(config), "truegreen-worker")


def pytest_configure(config: pytest.Config) -> None:
    """The marker, the places of case files, and in a plain run its words and its log."""
    config.addinivalue_line(
        "markers",
        "model(blast_radius='normal', owner=None, feature=None, golden=False): "
        "a test that asks a model; `truegreen sample` runs it many times",
    )
    _configure_replay(config)
    given = config.getoption("--truegreen-cases")
    root = _root_of(config)
    if not given and root is None and not os.environ.get("MODEL_RUN_LOG"):
        return
    from truegreen.pytest_plugin.plain_run import PlainRun, places_of  # noqa: PLC0415 - only where it is used

    config.stash[_ROOT] = root or config.rootpath
    config.stash[_PLACES] = places_of(config, given, root)
    if not config.pluginmanager.hasplugin("truegreen-host") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(PlainRun(config.stash[_ROOT], os.environ), "truegreen-plain-run")


@pytest.fixture(scope="session")
def model_proxy(pytestconfig: pytest.Config) -> Mapping[str, str]:
    """Variables that point to the replay proxies of this run, such as ``OPENAI_BASE_URL``, with their values."""
    names = getattr(pytestconfig, "workerinput", {}).get("truegreen_replay") or pytestconfig.stash.get(
        _REPLAYED, ()
    )
    if not names:
        raise pytest.UsageError(
            "the fixture model_proxy needs --truegreen-replay DIR, or truegreen_replay in the configuration"
        )
    return {name: os.environ[name] for name in names}


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A case file below the places of case files."""
    places = parent.config.stash.get(_PLACES, ())
    if not places or file_path.suffix.lower() not in YAML:
        return None
    from truegreen.pytest_plugin.case_files import is_case_file  # noqa: PLC0415 - only where it is used

    if not is_case_file(file_path, places):
        return None
    from truegreen.pytest_plugin.case_item import CaseFile  # noqa: PLC0415 - loads an HTTP client

    collector: CaseFile = CaseFile.from_parent(parent, path=file_path)
    collector.root = parent.config.stash[_ROOT]
    return collector


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Say with the report which problem a case file had."""
    report = yield
    problem: Any = getattr(collector, "problem", None)
    if problem is not None:
        report.truegreen_problem = (problem.code, problem.message)  # type: ignore[attr-defined] # plugins may add
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist which variables point to the proxies."""
    node.workerinput["truegreen_replay"] = list(node.config.stash.get(_REPLAYED, ()))


def _configure_replay(config: pytest.Config) -> None:
    """Start the proxies of a replay, in the process that was started."""
    named = config.getoption("--truegreen-replay")
    folder = config.invocation_params.dir / named if named else _of_configuration(config)
    session = config.getoption("--truegreen-session")
    if folder is None:
        if session:
            raise pytest.UsageError("--truegreen-session needs --truegreen-replay DIR")
        return
    is_sampling = config.pluginmanager.hasplugin("truegreen-host")
    if is_sampling or "truegreen_folder" in getattr(config, "workerinput", {}):
        if named:
            raise pytest.UsageError(
                "--truegreen-replay: a replayed answer is no sample, and samples are being taken"
            )
        return
    from truegreen.pytest_plugin.replay_run import ReplayRun, ReplayWorker  # noqa: PLC0415 - only where it is used

    if hasattr(config, "workerinput"):
        config.pluginmanager.register(ReplayWorker(config), "truegreen-replay")
        return
    run = ReplayRun(config, folder, config.invocation_params.dir / session if session else None, os.environ)
    config.stash[_REPLAYED] = tuple(run.replay.addresses())
    config.pluginmanager.register(run, "truegreen-replay")


def _of_configuration(config: pytest.Config) -> Path | None:
    said = config.getini("truegreen_replay")
    return (config.inipath.parent if config.inipath else config.rootpath) / said if said else None


def _root_of(config: pytest.Config) -> Path | None:
    """The nearest folder from pytest's root upwards that holds a policy."""
    return next(
        (one for one in (config.rootpath, *config.rootpath.parents) if (one / POLICY_FILE).is_file()), None
    )
