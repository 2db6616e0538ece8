# SPDX-License-Identifier: Apache-2.0
"""Tests mirror the source: whoever opens a module knows where its tests stand."""

import ast

import tree

UNIT = tree.ROOT / "tests" / "unit"
WAYS = "every way to fool the gate is tried in tests/unit/wiring/rehearsal/test_ways.py"
ELSEWHERE: dict[str, str] = {
    "conformance/ports.py": "Protocols without code",
    "conformance/ports_five.py": "shapes without code; tests/unit/wiring/test_conformance_recordings.py fills them",
    "conformance/ports_four.py": "Protocols without code",
    "pytest_plugin/fork_worker.py": "tests/unit/pytest_plugin/test_fork_host.py runs it in forks",
    "pytest_plugin/hooks.py": "tests/unit/pytest_plugin/test_case_item.py answers through it",
    "pytest_plugin/mixed_host.py": "tests/unit/pytest_plugin/test_async_host.py and tests/unit/wiring/test_sample.py",
    "pytest_plugin/plain_run.py": "tests/unit/pytest_plugin/test_plugin.py starts plain runs",
    "pytest_plugin/question.py": "shapes without code",
    "pytest_plugin/xdist_worker.py": "tests/unit/pytest_plugin/test_xdist_host.py runs it in workers",
    "sampling/engines/messages.py": "shapes without code; tests/unit/sampling/engines/test_channel.py sends them",
    "wiring/sample_suite.py": "tests/unit/wiring/test_sample.py starts it with every engine",
    "cassettes/contract_check.py": "shapes without code; tests/unit/cassettes/test_check.py fills them",
    "wiring/rehearsal/honest.py": WAYS,
    "wiring/rehearsal/replays.py": "tests/unit/gate/test_replay_lane.py plays them",
    "wiring/rehearsal/chains.py": WAYS,
    "wiring/rehearsal/events.py": WAYS,
    "wiring/rehearsal/heads.py": WAYS,
    "wiring/rehearsal/records.py": WAYS,
    "wiring/rehearsal/stage.py": WAYS,
    "wiring/rehearsal/tricks.py": WAYS,
    "__main__.py": "tests/unit/cli/test_main.py starts it as a process",
    "core/admission.py": "fields without code; filled by the tests of the limiter and of the proxy",
    "limiter/bounds.py": "tests/unit/limiter/test_backend.py asks what is no ask of every backend",
    "limiter/http/backend.py": "tests/unit/limiter/test_backend.py has it among all backends",
    "limiter/http/overview.py": "tests/unit/limiter/http/test_app.py reads it over the wire",
    "limiter/http/talk.py": "tests/unit/limiter/http/test_client.py hears every answer through it",
    "limiter/http/wire.py": "tests/unit/limiter/http/test_app.py sends and refuses every shape",
    "limiter/valkey/answers.py": "tests/unit/limiter/valkey/test_script.py compares every answer",
    "limiter/valkey/server.py": "tests/unit/limiter/valkey/test_backend.py breaks real servers under it",
    "core/recording.py": "fields without code; filled by the tests of the cassettes and of the proxy",
    "wiring/limiter_leave.py": "tests/unit/cli/test_limiter_leave.py starts processes with it",
    "core/path_shapes.py": "tests/unit/core/test_policy_read.py refuses what they refuse",
    "core/limiter_keys.py": "tests/unit/core/test_policy_keys.py walks every key",
    "core/decision.py": "shapes without rules; filled and replayed by the tests of the gate",
    "core/exchange.py": "fields without code; tests/unit/core/test_wire.py and the observer's tests fill them",
    "wiring/serve_proxy.py": "tests/unit/cli/test_proxy.py starts it as a process",
    "proxy/async_transport.py": "tests/unit/proxy/test_transport.py runs both transports",
    "proxy/unwired.py": "tests/unit/proxy/test_transport.py runs both transports",
    "proxy/canary.py": "tests/unit/proxy/test_model_proxy.py starts proxies that do not hold",
    "proxy/modes.py": "values without code; every test of a proxy names them",
    "cli/proxy_run.py": "tests/unit/wiring/test_proxy_run.py starts it as a process",
    "guards/injected/sitecustomize.py": "tests/unit/guards/test_hook.py loads it in interpreters of its own",
    "guards/outside/canary.py": "a program; tests/unit/guards/test_guarded.py runs it under every guard",
    "guards/keeper.py": "a program; tests/unit/guards/test_guarded.py runs it under every guard",
    "guards/relay.py": "a program; tests/unit/guards/test_guarded.py carries ports by it",
    "limiter/stepping.py": "tests/unit/limiter/test_backend.py asks memory and file through it",
    "limiter/state.py": "fields without code; filled by tests/unit/limiter/test_ledger.py",
    "cli/drift.py": "tests/unit/wiring/test_drift.py calls the verb against live endpoints",
    "wiring/endpoint.py": "tests/unit/cli/test_endpoint.py starts it as a process",
    "proxy/passage.py": "tests/unit/proxy/test_tunnel.py names every end over real sockets",
    "core/ports.py": "Protocols without code; their adapters and simulators are tested",
}
"""Modules without a test file of their own, and where they are tested."""


def _has_tests(name):
    folder, _, file = name.rpartition("/")
    return any((UNIT / folder).glob(f"test_{file.removesuffix('.py')}*.py"))


def _does_something(syntax):
    return any(not isinstance(node, ast.Expr) for node in syntax.body)


def test_every_module_has_a_test_file_beside_its_twin():
    """``src/truegreen/a/b.py`` is tested by ``tests/unit/a/test_b*.py``, or the list says where."""
    without = {
        name
        for name, syntax in tree.modules().items()
        if not name.endswith("__init__.py") and _does_something(syntax) and not _has_tests(name)
    }
    assert set(ELSEWHERE) == without


def test_no_folder_of_unit_tests_is_without_a_room():
    """A room that moved takes its tests along."""
    rooms = {name.rpartition("/")[0] for name in tree.modules()}
    folders = {path.parent.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py")}
    assert set() == folders - rooms
