# SPDX-License-Identifier: Apache-2.0
"""Every way to fool the gate with a replay fails for its own reason, and works once its defences are switched off."""

import os
from functools import partial

import msgspec
import pytest

from truegreen.core.outcome import Word
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.gate.kinds import CONTRACT_CHECK
from truegreen.gate.replay_lane import CHECKS, judge
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.replay_ways import REPLAY_WAYS, replayed_lane
from truegreen.wiring.rehearsal.run import decide_stage, try_trick, ways_under
from truegreen.wiring.rehearsal.setting import SMALL, setting
from truegreen.wiring.rehearsal.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
POLICY = SMALL + '\n[lanes.replayed]\nkind = "contract-check"\ntests = "tests/replay"\n'
BY_ID = {way.id: way for way in REPLAY_WAYS}
OWN = [way.id for way in REPLAY_WAYS if way.id != "replay-as-samples"]


def staged(text, folder):
    """An honest pull request under a policy."""
    policy = read_policy(text.encode(), kinds=RULES.facts())
    return honest_under(setting(policy, "main", "a test"), folder, ENVIRONMENT)


@pytest.fixture(scope="module")
def actors(tmp_path_factory):
    """An honest pull request with a lane that is replayed."""
    made = staged(POLICY, tmp_path_factory.mktemp("stage"))
    with made.stage.git.asking():
        yield made


def without(*names):
    """The gate's rules without these checks of a replay."""
    kept = tuple(check for check in CHECKS if check.__name__ not in names)
    kind = msgspec.structs.replace(CONTRACT_CHECK, judge=partial(judge, checks=kept))
    return msgspec.structs.replace(RULES, kinds={**RULES.kinds, "contract-check": kind})


def test_the_honest_stage_is_admitted(actors, tmp_path):
    """Otherwise the rows would prove nothing."""
    assert Word.ADMIT is decide_stage(actors.stage, tmp_path).word


@pytest.mark.parametrize("name", BY_ID)
def test_each_way_gets_its_own_answer(actors, tmp_path, name):
    """Being stopped by something else is not being stopped."""
    made = try_trick(BY_ID[name].trick, actors, tmp_path)
    assert (BY_ID[name].word, BY_ID[name].code) == (made.word, made.code)


@pytest.mark.parametrize("name", OWN)
def test_each_way_works_without_its_defences(actors, tmp_path, name):
    """A row that stays red without them would prove nothing about them."""
    made = try_trick(BY_ID[name].trick, actors, tmp_path, without(*BY_ID[name].defences))
    assert (Word.ADMIT, "all-lanes-hold") == (made.word, made.code)


@pytest.mark.parametrize("name", OWN)
def test_each_defence_of_a_row_is_needed(actors, tmp_path, name):
    """With one of several left, the row is still stopped."""
    way = BY_ID[name]
    for kept in way.defences if len(way.defences) > 1 else ():
        others = tuple(one for one in way.defences if one != kept)
        assert Word.ADMIT is not try_trick(way.trick, actors, tmp_path / kept, without(*others)).word


def test_rows_of_replays_are_tried_where_there_is_a_lane_for_them(actors, tmp_path):
    """Under a policy that only samples, one row is left: a replay that is passed off as samples."""
    small = staged(SMALL, tmp_path / "small")
    assert ["replay-as-samples"] == [way.id for way in ways_under(small) if way in REPLAY_WAYS]
    assert set(BY_ID) <= {way.id for way in ways_under(actors)}
    assert replayed_lane(small.setting) is None
    with pytest.raises(LookupError):
        BY_ID["replay-missed"].trick(small)
    with small.stage.git.asking():
        made = try_trick(BY_ID["replay-as-samples"].trick, small, tmp_path / "tried")
    assert (Word.HOLD, "wrong-kind") == (made.word, made.code)


def test_no_two_rows_share_a_name():
    """Rows are named in reports."""
    assert len({way.id for way in (*WAYS, *REPLAY_WAYS)}) == len(WAYS) + len(REPLAY_WAYS)
