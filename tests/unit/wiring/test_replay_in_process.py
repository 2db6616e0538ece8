# SPDX-License-Identifier: Apache-2.0
"""Which endpoints are replayed in this process, and what their account says together."""

import pytest

from truegreen.core.errors import UsageProblem
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.replay_account import Ending
from truegreen.wiring.replay_in_process import NO_KEY, ReplayInProcess


def _replay(folder, environment):
    return ReplayInProcess(folder, environment, clock=SystemClock())


def test_the_vendors_own_endpoints_stand_in_for_none(tmp_path):
    """Each vendor has an address, and a word that is no key."""
    with _replay(tmp_path, {}) as replay:
        made = replay.variables()
        assert made["OPENAI_BASE_URL"] == made["MODEL_BASE_URL"] == made["OPENAI_API_BASE"]
        assert made["ANTHROPIC_BASE_URL"] != made["OPENAI_BASE_URL"]
        assert (NO_KEY, NO_KEY) == (made["OPENAI_API_KEY"], made["ANTHROPIC_API_KEY"])
    assert (False, ()) == (replay.is_red, replay.summary())
    session = replay.session(Ending())
    assert ((), (), ()) == (session.hits, session.misses, session.unused)


def test_a_named_endpoint_is_the_one_that_is_replayed(tmp_path):
    """A key that is set stays, and loopback goes through no proxy."""
    environment = {"MODEL_BASE_URL": "http://up:1/v1", "OPENAI_API_KEY": "k", "HTTP_PROXY": "http://p:1"}
    with _replay(tmp_path, environment) as replay:
        made = replay.variables()
        hosts = [opened.proxy.host for opened in replay._opened]
    assert ["up:1", "api.anthropic.com"] == hosts
    assert ("OPENAI_API_KEY" in made, made["NO_PROXY"]) == (False, "127.0.0.1,localhost")


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    """Nothing would be replayed."""
    with pytest.raises(UsageProblem) as caught:
        _replay(tmp_path / "none", {})
    assert "nothing-to-replay" == caught.value.code
