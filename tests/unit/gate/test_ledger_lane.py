# SPDX-License-Identifier: Apache-2.0
"""The lane's universe is the agreed one: ruler, baseline, case ids; and where exactly each line is drawn."""

import json
import os
from dataclasses import replace

import pytest

from truegreen.core.outcome import Word
from truegreen.core.policy import BASELINE_FILE, REMOVED_FILE
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.wiring.rehearsal.heads import baseline_of_nowhere, edited_ruler, no_baseline, with_head
from truegreen.wiring.rehearsal.honest import honest_under
from truegreen.wiring.rehearsal.records import case_row, samples
from truegreen.wiring.rehearsal.run import decide_stage
from truegreen.wiring.rehearsal.setting import SMALL, setting
from truegreen.wiring.rehearsal.tricks import fewer_cases, more_cases, put, rows, skipped_case


def codes(decision):
    """What speaks against a merge."""
    return [cause.code for cause in decision.causes]


def baseline(actors, **changes):
    """The files of a head whose baseline says something else of the lane."""
    content = json.loads(actors.files[BASELINE_FILE])
    content["lanes"][actors.lane.name] |= changes
    return {**actors.files, BASELINE_FILE: json.dumps(content)}


def removed(actors, *entries):
    """A committed file of removals."""
    texts = [
        f'[[removed]]\nid = "{name}"\nlane = "{lane}"\nreason = "merged"\nowner = "@a"\n{more}'
        for name, lane, more in entries
    ]
    return {**actors.files, REMOVED_FILE: 'schema = "truegreen/removed/v1"\n' + "".join(texts)}


def test_what_is_agreed_and_sampled_holds(decided):
    """Nothing speaks against the honest lane."""
    assert [] == codes(decided(lambda actors: actors.stage))


def test_a_baseline_tells_the_components_of_its_ruler(actors, decided):
    """A digest with other components is no agreement."""
    components = {**actors.baselines(actors.tree_of(actors.base))[actors.lane.name].components}
    components["tests"] = "h1:" + "A" * 43 + "="
    made = decided(lambda actors: with_head(actors, baseline(actors, components=components)).stage)
    assert ["baseline-mismatch"] == codes(made)


def test_a_baseline_that_says_which_one_it_replaces_is_an_announcement(actors, decided):
    """The ruler changed, and the file's own diff says from, to and why."""

    def announced(actors):
        edited = {**actors.files, actors.cast.files[-1]: "id: tone\nexpect: {}\n"}
        before = actors.baselines(actors.tree_of(actors.base))[actors.lane.name]
        after = actors.baselines(actors.stage.git.tree(edited))[actors.lane.name]
        agreed = baseline(actors, ruler=after.ruler, components=dict(after.components), previous=before.ruler)
        return with_head(actors, {**edited, BASELINE_FILE: agreed[BASELINE_FILE]}).stage

    assert [] == codes(decided(announced))


def test_a_lane_without_a_baseline_holds(decided):
    """Nobody agreed on what judges; that is told once, whatever base had."""
    assert ["no-baseline"] == codes(decided(no_baseline))


def test_a_baseline_out_of_nowhere_holds(decided):
    """It does not say which one it replaces."""
    assert ["baseline-mismatch"] == codes(decided(baseline_of_nowhere))


def test_a_case_that_turned_into_a_skip_holds(decided):
    """It is as good as gone."""
    assert "tests-turned-skip" == codes(decided(skipped_case))[0]


def test_what_moved_in_the_ruler_is_named(decided):
    """A case file was edited."""
    [cause] = [c for c in decided(edited_ruler).causes if c.code == "ruler-changed"]
    assert "tests" == cause.facts["moved"]


def test_a_case_that_is_listed_and_not_sampled_holds(actors, decided):
    """The change announced it and did not ask it."""
    ids = sorted([*actors.cast.ids, f"{actors.cast.files[-1]}::zz-new"])

    def listed(actors):
        head = with_head(actors, baseline(actors, case_ids=ids))
        return put(head, head.ledger())

    assert ["tests-not-sampled"] == codes(decided(listed))


def test_a_case_that_nobody_announced_holds(decided):
    """A larger suite is announced like a smaller one."""
    assert ["tests-unannounced"] == codes(decided(more_cases))


@pytest.mark.parametrize(
    ("lane", "more", "code"),
    [
        ("model-tests", "", []),
        ("other-lane", "", ["tests-removed"]),
        ("model-tests", 'renamed_to = "nowhere::x"\n', ["tests-removed"]),
    ],
)
def test_a_removal_is_announced_for_its_lane_and_leads_somewhere(actors, decided, lane, more, code):
    """A rename names an id that is asked."""

    def announced(actors):
        head = with_head(actors, removed(actors, (actors.cast.ids[1], lane, more)))
        return rows(head, (case_row(actors.cast.ids[0], samples(actors.cast.passing())),))

    assert code == codes(decided(announced))


def test_a_rename_leads_to_the_new_id(actors, decided):
    """The old one is gone on purpose, and the new one is asked and agreed on."""
    new = f"{actors.cast.files[-1]}::zz-new"

    def renamed(actors):
        files = removed(actors, (actors.cast.ids[1], actors.lane.name, f'renamed_to = "{new}"\n'))
        agreed = baseline(actors, case_ids=sorted([actors.cast.ids[0], new]))
        head = with_head(actors, {**files, BASELINE_FILE: agreed[BASELINE_FILE]})
        taken = samples(actors.cast.passing())
        return rows(head, tuple(case_row(name, taken) for name in (actors.cast.ids[0], new)))

    assert [] == codes(decided(renamed))


def test_many_ids_are_counted_and_three_are_named(actors, decided):
    """A line has an end."""
    ids = [f"{actors.cast.files[-1]}::zz-{number}" for number in range(5)]
    taken = samples(actors.cast.passing())

    def grown(actors):
        return rows(actors, tuple(case_row(name, taken) for name in sorted([*actors.cast.ids, *ids])))

    [cause] = decided(grown).causes
    assert (5, "and 2 more") == (cause.facts["count"], cause.facts["ids"][-10:])


def test_a_lane_that_base_has_no_baseline_of_cannot_lose_cases(actors, decided):
    """Its first baseline comes with this change."""
    bare = {path: text for path, text in actors.files.items() if path != BASELINE_FILE}

    def first(actors):
        git = actors.stage.git
        base = git.commit({**bare, actors.setting.program: "ANSWER = 1\n"}, (actors.base,), "main")
        head = with_head(replace(actors, base=base), actors.files)
        return fewer_cases(head)

    made = decided(first)
    assert (Word.HOLD, ["tests-not-sampled"]) == (made.word, codes(made))


@pytest.mark.parametrize(
    ("allowed", "gone", "code"), [(0, 1, "tests-removed"), (1, 1, None), (1, 2, "tests-removed")]
)
def test_as_many_cases_may_vanish_as_the_policy_allows(allowed, gone, code, tmp_path):
    """``allow_removed``, and not one more."""
    policy = read_policy(f"{SMALL}allow_removed = {allowed}\n".encode(), kinds=RULES.facts())
    actors = honest_under(setting(policy, "main", "here"), tmp_path / "stage", {"PATH": os.environ["PATH"]})
    taken = samples(actors.cast.passing())
    kept = actors.cast.ids[gone:]
    made = decide_stage(rows(actors, tuple(case_row(name, taken) for name in kept)), tmp_path / "evidence")
    assert (code == "tests-removed") == ("tests-removed" in codes(made))
