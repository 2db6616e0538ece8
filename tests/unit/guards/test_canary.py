# SPDX-License-Identifier: Apache-2.0
"""What the canary must have met before a command may start."""

import json

import pytest

from truegreen.guards.canary import failure

GOOD = {
    "proxy": "connected",
    "hook": "13: truegreen refused connect 192.0.2.1:9: …",
    "listener": "111",
    "outside": "13",
}
GUARDS = ("audit", "preload", "landlock", "namespace")


def found(guard="namespace", *, refuses=True, **changed):
    """What is wrong with the good answer after a change."""
    return failure(json.dumps({**GOOD, **changed}).encode(), guard=guard, refuses=refuses)


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_that_holds_lets_the_command_start(guard):
    """The proxy was reached, nothing else was."""
    assert None is found(guard)


@pytest.mark.parametrize("guard", GUARDS)
def test_without_the_proxy_nothing_starts(guard):
    """Every test would be red for no reason."""
    assert "the proxy cannot be reached from inside the guard (13: no)" == found(guard, proxy="13: no")


@pytest.mark.parametrize("said", ["connected", "111: Connection refused", "13: Permission denied"])
def test_the_hook_must_refuse_in_its_own_words(said):
    """A refusal by anything else says that the hook was not there."""
    assert f"the audit hook let a connection to 192.0.2.1:9 pass ({said})" == found("audit", hook=said)


@pytest.mark.parametrize("what", ["listener", "outside"])
@pytest.mark.parametrize("said", ["connected", "silence", "101", "110", ""])
def test_an_outer_layer_must_refuse_at_once(what, said):
    """Silence and a missing route are no refusal: another machine might have let it through."""
    assert f"({said})" in found("landlock", **{what: said})
    assert None is found("audit", **{what: said})


def test_a_run_that_only_watches_asks_for_the_proxy_alone():
    """Nothing is refused there."""
    assert None is found("audit", refuses=False, hook="connected", listener="connected")
    assert "cannot be reached" in found("audit", refuses=False, proxy="silence")


@pytest.mark.parametrize("printed", [b"", b"[]", b'{"proxy":"connected"}', b"Traceback (most recent"])
def test_a_canary_that_says_nothing_proves_nothing(printed):
    """An answer that cannot be read keeps the command from starting."""
    assert failure(printed, guard="audit", refuses=True).startswith("the canary did not answer")
