# SPDX-License-Identifier: Apache-2.0
"""``sample --check``: the merge table, and the article's budget for unsteady cases."""

import os
from textwrap import dedent

import msgspec
import pytest
from sample_kit import POLICY, Silent, git, run, short

from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Exit
from truegreen.forges.git import GitRepository
from truegreen.sampling.sequential import fixed
from truegreen.wiring.sample_check import check
from truegreen.wiring.sample_ground import read_ground
from truegreen.wiring.sample_request import SampleRequest

TESTS = """
    import os

    import pytest


    def number():
        return int(os.environ["TRUEGREEN_SAMPLE"])


    def test_steady():
        pass


    def test_mostly_passing():
        assert number() != 2


    def test_mostly_failing():
        assert number() == 2


    def test_never():
        assert False


    def test_skips():
        pytest.skip("no")


    @pytest.mark.parametrize("one", ["a", "b"])
    def test_two_mostly_passing(one):
        assert number() != 3
"""


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """Every test above, sampled five times, with the ground that it stood on."""
    root = tmp_path_factory.mktemp("repository")
    for name, text in {"truegreen.toml": POLICY, "tests/llm/test_check.py": TESTS}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        git(root, *arguments)
    environment = {
        **os.environ,
        "MODEL_BASE_URL": "http://127.0.0.1:9/v1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    body = run(root, environment, runs=5).body
    with GitRepository(root, os.environ) as repository:
        return body, read_ground(SampleRequest(cwd=root), repository, os.environ)


@pytest.fixture
def checked(sampled):
    """Exit code and rows for the tests of these names alone."""
    body, ground = sampled

    def go(*names, **more):
        cases = tuple(case for case in body.cases if short(case.id).partition("[")[0][5:] in names)
        part = msgspec.structs.replace(body, cases=cases, planned=tuple(case.id for case in cases))
        found = check(ground, part, fixed(5), more)
        return found.code, {short(name)[5:]: row.id for name, row in found.rows.items()}

    return go


@pytest.mark.parametrize(
    ("name", "code", "row"),
    [
        ("steady", Exit.DONE, "stable-pass"),
        ("mostly_passing", Exit.HOLD, "mostly-passing"),
        ("mostly_failing", Exit.BLOCK, "mostly-failing"),
        ("never", Exit.BLOCK, "never-passed"),
        ("skips", Exit.HOLD, "spoiled"),
    ],
)
def test_each_row_has_its_exit_code(checked, name, code, row):
    """Merge 0, block 1, hold 3."""
    assert (code, {name: row}) == checked(name)


@pytest.mark.parametrize(
    ("names", "budget", "code"),
    [
        (("steady", "mostly_passing"), "0", Exit.BLOCK),
        (("steady", "mostly_passing"), "1", Exit.DONE),
        (("two_mostly_passing",), "1", Exit.BLOCK),
        (("two_mostly_passing",), "2", Exit.DONE),
        (("mostly_failing",), "1", Exit.BLOCK),
        (("never",), "9", Exit.BLOCK),
        (("skips", "mostly_passing"), "1", Exit.HOLD),
        (("steady",), "0", Exit.DONE),
    ],
)
def test_the_budget_excuses_what_is_merely_unsteady(checked, names, budget, code):
    """One more than it allows blocks; what blocks or is unknown it excuses never."""
    assert code is checked(*names, FLAKY_BUDGET=budget)[0]


def test_a_budget_that_is_no_count_is_an_error(checked):
    """It is not read as no budget."""
    with pytest.raises(UsageProblem) as caught:
        checked("steady", FLAKY_BUDGET="one")
    assert "bad-count" == caught.value.code


def test_the_check_says_which_case_decides(sampled):
    """The word first, then what blocks, then what holds; nothing of what passes."""
    body, ground = sampled
    said = list(check(ground, body, fixed(5), {}).lines())
    assert "check: blocks" == said[0]
    assert [
        "  blocks: test_mostly_failing [case-mostly-failing]",
        "  blocks: test_never [case-broken]",
    ] == [line.replace("tests/llm/test_check.py::", "") for line in said[1:3]]
    assert ["  holds"] * 4 == [line.partition(":")[0] for line in said[3:]]


@pytest.mark.parametrize(
    ("budget", "first", "second"),
    [
        ("2", "passes", "holds, within FLAKY_BUDGET"),
        ("1", "blocks", "holds"),
    ],
)
def test_the_check_says_what_the_budget_did(sampled, budget, first, second):
    """A budget that excuses and one that is spent are told apart."""
    body, ground = sampled
    cases = tuple(case for case in body.cases if "two_mostly" in case.id)
    part = msgspec.structs.replace(body, cases=cases, planned=tuple(case.id for case in cases))
    said = list(check(ground, part, fixed(5), {"FLAKY_BUDGET": budget}).lines())
    assert f"check: {first}, 2 unsteady and FLAKY_BUDGET allows {budget}" == said[0]
    assert {second} == {line.strip().partition(":")[0] for line in said[1:]}


def test_a_suite_of_golden_cases_alone_holds(sampled):
    """Nothing gated is nothing shown."""
    body, ground = sampled
    found = check(ground, msgspec.structs.replace(body, cases=(), planned=()), fixed(5), {})
    assert (Exit.HOLD, ["check: holds, no case is gated"]) == (found.code, list(found.lines()))


def test_a_bad_budget_is_said_before_a_call_is_made(sampled):
    """Nobody pays for samples whose reading is refused."""
    _, ground = sampled
    environment = {**os.environ, "MODEL_BASE_URL": "http://127.0.0.1:9/v1", "FLAKY_BUDGET": "x"}
    watcher = Silent()
    with pytest.raises(UsageProblem) as caught:
        run(ground.root, environment, watcher, is_check=True)
    assert ("bad-count", []) == (caught.value.code, watcher.samples)
