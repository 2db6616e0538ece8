# SPDX-License-Identifier: Apache-2.0
"""Which endpoints are replayed in this process, and what their account says together."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.replay_account import Ending
from truegreen.wiring.replay_in_process import ReplayInProcess


def _replay(folder, environment):
    return ReplayInProcess(folder, environment, clock=SystemClock())


def test_the_vendors_own_endpoints_stand_in_for_none(tmp_path):
    """Each vendor has an address, and a word that is no key; nothing goes through a forward proxy."""
    with _replay(tmp_path, {"HTTPS_PROXY": "http://p:1", "KEPT": "1"}) as replay:
        made, environment = replay.addresses(), replay.environment()
        assert made["OPENAI_BASE_URL"] == made["MODEL_BASE_URL"]
        assert made["ANTHROPIC_BASE_URL"] != made["OPENAI_BASE_URL"]
        assert made.items() <= environment.items()
        assert ("HTTPS_PROXY" in environment, environment["KEPT"]) == (False, "1")
        assert environment["OPENAI_API_KEY"]
    assert (False, ()) == (replay.is_red, replay.summary())
    session = replay.session(Ending())
    assert ((), (), ()) == (session.hits, session.misses, session.unused)


def test_a_named_endpoint_is_the_one_that_is_replayed(tmp_path):
    """Its host is its name in keys."""
    with _replay(tmp_path, {"MODEL_BASE_URL": "http://up:1/v1"}) as replay:
        assert "up:1" in [opened.proxy.host for opened in replay._opened]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    """Nothing would be replayed."""
    with pytest.raises(UsageProblem) as caught:
        _replay(tmp_path / "none", {})
    assert "nothing-to-replay" == caught.value.code
