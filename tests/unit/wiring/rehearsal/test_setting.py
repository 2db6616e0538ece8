# SPDX-License-Identifier: Apache-2.0
"""The rehearsal plays under the checkout's own policy, with files that have their part under it."""

import os

import pytest

from simulators.disk_git import DiskGit
from truegreen.core.errors import UsageProblem
from truegreen.core.policy_read import read_policy
from truegreen.gate.decide import RULES
from truegreen.wiring.rehearsal.setting import SMALL, setting, setting_of

ENVIRONMENT = {"PATH": os.environ["PATH"]}
HEAD = 'schema = "truegreen/policy/v1"\n'


def under(text):
    """The setting of a policy."""
    return setting(read_policy(text.encode(), kinds=RULES.facts()), "main", "here")


@pytest.fixture
def disk(tmp_path):
    """An empty bare repository."""
    return DiskGit(tmp_path / "clone.git")


def test_the_policy_is_the_default_branch_s(disk):
    """Not the one of the branch that is checked out."""
    own = HEAD + '[lanes.replies]\ntests = "evals"\n'
    other = HEAD + '[lanes.other]\ntests = "evals"\n'
    disk.commit({"truegreen.toml": own.encode()}, branch="main")
    disk.commit({"truegreen.toml": other.encode()}, branch="feature")
    found = setting_of(disk.path, ENVIRONMENT)
    assert ("main:truegreen.toml", "main", ["replies"]) == (
        found.source,
        found.default_branch,
        [cast.lane.name for cast in found.casts],
    )


@pytest.mark.parametrize("files", [{"README.md": b"x"}, {"truegreen.toml": ("120000", b"elsewhere")}])
def test_a_checkout_without_a_policy_has_a_small_one(disk, files):
    """A symlink is no policy, as it is none for the gate."""
    disk.commit(files, branch="main")
    assert SMALL == setting_of(disk.path, ENVIRONMENT).policy.text


def test_a_folder_without_commits_and_no_folder_have_the_small_one(disk, tmp_path):
    """There is nothing to read there."""
    (tmp_path / "plain").mkdir()
    found = [setting_of(where, ENVIRONMENT).policy.text for where in (None, tmp_path / "plain", disk.path)]
    assert [SMALL] * 3 == found


def test_a_policy_that_cannot_be_read_is_a_configuration_error(disk):
    """As the gate itself has it, with branch, file and line."""
    disk.commit(
        {"truegreen.toml": (HEAD + 'mode = 1\n[lanes.one]\ntests = "evals"\n').encode()}, branch="main"
    )
    with pytest.raises(UsageProblem, match=r"main:truegreen\.toml:2"):
        setting_of(disk.path, ENVIRONMENT)


def test_every_file_has_its_part():
    """Endings and folders that the policy calls irrelevant, ruler or harness are passed by."""
    found = under(
        HEAD
        + 'harness = ["src/**"]\n[lanes.one]\ntests = "evals"\nirrelevant = ["*.txt"]\nruler = ["app.py"]\n'
    )
    assert ("evals/cases/labels.yaml", "app.ts") == (found.lead.files[0], found.program)


def test_the_lane_that_is_fooled_is_the_first_required_one():
    """An advisory lane cannot be fooled: it says nothing."""
    found = under(
        HEAD + '[lanes.a]\ntests = "a"\nrole = "advisory"\n[lanes.b]\ntests = "b"\n[lanes.c]\ntests = "c"\n'
    )
    assert "b" == found.lead.lane.name


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[lanes.one]\ntests = "evals"\nirrelevant = ["evals/**"]\n', "a case of lane one"),
        ('harness = ["**"]\n[lanes.one]\ntests = "evals"\n', "a case of lane one"),
        ('[lanes.one]\ntests = "evals"\nruler = ["**"]\n', "the program"),
    ],
)
def test_a_policy_that_leaves_nothing_to_judge_is_told(text, what):
    """No row could prove anything under it."""
    with pytest.raises(UsageProblem, match=f"no path for {what}") as caught:
        under(HEAD + text)
    assert "nothing-to-rehearse" == caught.value.code


@pytest.mark.parametrize(
    ("rule", "passing", "later", "failing"),
    [
        ("", "pppppp", "ppppppppp", "ff"),
        ("cap = 7\n", "pppppp", "ppppppp", "ff"),
        ('rule = "fixed"\nsamples = 3\n', "ppp", "ppp", "fff"),
        ('rule = "fixed"\nsamples = 1\n', "p", "p", "f"),
    ],
)
def test_outcomes_are_as_many_as_the_rule_asks_for(rule, passing, later, failing):
    """The first sequence of two cases, the second one, and the failure that is certain."""
    lead = under(HEAD + '[lanes.one]\ntests = "evals"\n' + rule).lead
    assert (passing, later, failing) == (lead.passing(), lead.passing(2), lead.failing())


def test_side_branches_are_never_listed_ones():
    """A branch that the policy guards would be a base."""
    found = under(HEAD + '[check]\nbranches = ["weak", "weak-2"]\n[lanes.one]\ntests = "evals"\n')
    assert ["weak-2-2", "change", "main-2"] == [found.branch(name) for name in ("weak", "change", "main")]


def test_a_policy_that_only_replays_has_a_small_one_that_replays_too(disk):
    """Otherwise nothing that fools a replay would be tried for it."""
    own = HEAD + '[lanes.replies]\nkind = "contract-check"\ntests = "evals"\n'
    disk.commit({"truegreen.toml": own.encode()}, branch="main")
    found = setting_of(disk.path, ENVIRONMENT)
    assert [("model-tests", False), ("replayed", True)] == [
        (cast.lane.name, cast.is_replayed) for cast in found.casts
    ]
