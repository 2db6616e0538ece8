# SPDX-License-Identifier: Apache-2.0
"""The committed announcement of what judges."""

import os

import pytest
from sample_kit import git, run

from truegreen.core.baseline import read_baseline
from truegreen.core.errors import EvidenceProblem
from truegreen.wiring.ledger_baseline import BaselineRequest, baseline

FILES = {
    "tests/llm/test_model.py": "def test_one():\n    pass\n",
    "tests/llm/cases.yaml": (
        "- id: good\n  input: data/good.txt\n  prompt: prompts/p.txt\n  expect: {format: text, enum: ['yes']}\n"
        "- id: shown\n  golden: true\n  input: data/good.txt\n  expect: {format: text, enum: ['yes']}\n"
    ),
    "data/good.txt": "good",
    "prompts/p.txt": "p",
}
CLEAN = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def root(repository):
    """A lane with a test, a case and a golden one."""
    return repository(FILES)


def _baseline(root, *, reason="because", check=False, ledgers=(), lane=None):
    request = BaselineRequest(cwd=root, lane=lane, reason=reason, ledgers=ledgers, base=None, is_check=check)
    path, changes = baseline(request, CLEAN)
    found = read_baseline(path.read_bytes()).lanes if path.exists() else {}
    return found.get("model-tests"), [line for change in changes for line in change.lines]


def _commit(root):
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "more")


def test_the_first_baseline_names_everything_that_judges(root):
    """Ids without golden ones, files that cases name, the ruler with its components; no rates."""
    entry, told = _baseline(root)
    assert ("tests/llm/cases.yaml::good", "tests/llm/test_model.py::test_one") == entry.case_ids
    assert (("data/good.txt",), ("prompts/p.txt",)) == (entry.inputs, entry.prompts)
    assert {"tests", "inputs", "lane-table"} == set(entry.components)
    assert (None, None, "because") == (entry.previous, entry.endpoint, entry.reason)
    assert 1 == len(told)
    assert "new, 2 cases" in told[0]


def test_a_baseline_that_fits_is_left_alone(root):
    """Also with another reason; a check says so and writes nothing."""
    first, _ = _baseline(root)
    data = (root / "truegreen.baseline.json").read_bytes()
    assert (first, []) == _baseline(root, reason="other")
    assert (first, []) == _baseline(root, reason=None, check=True)
    assert data == (root / "truegreen.baseline.json").read_bytes()


def test_what_moved_is_said_and_the_base_s_ruler_is_named(root):
    """A changed input, an added test, a removed case; the commit before is the base."""
    first, _ = _baseline(root)
    _commit(root)
    git(root, "checkout", "--quiet", "-b", "change")
    (root / "data" / "good.txt").write_text("better")
    (root / "tests" / "llm" / "test_model.py").write_text("def test_two():\n    pass\n")
    before = (root / "truegreen.baseline.json").read_bytes()
    _, told = _baseline(root, reason=None, check=True)
    assert before == (root / "truegreen.baseline.json").read_bytes()
    assert "the ruler changed (inputs, tests)" in told[0]
    assert [
        "lane model-tests: + tests/llm/test_model.py::test_two",
        "lane model-tests: - tests/llm/test_model.py::test_one",
    ] == told[1:]
    second, _ = _baseline(root, reason="two is better")
    assert (first.ruler, "two is better") == (second.previous, second.reason)
    assert second.ruler != first.ruler


def test_a_changed_prompt_or_application_needs_no_baseline(root):
    """They are judged; they do not judge."""
    _baseline(root)
    _commit(root)
    (root / "prompts" / "p.txt").write_text("other")
    (root / "app.py").write_text("other")
    assert [] == _baseline(root, reason=None, check=True)[1]


def test_the_endpoint_of_a_ledger_can_be_agreed_on(root, environment):
    """Its host and the models that answered; later baselines keep them."""
    (root / "tests" / "llm" / "test_model.py").write_text(
        "import app\n\n\ndef test_one():\n    app.ask('good')\n"
    )
    _commit(root)
    ledger = run(root, environment, runs=1).path
    entry, _ = _baseline(root, ledgers=(ledger,))
    assert (environment["MODEL_BASE_URL"].split("/")[2], ("served-1",)) == (
        entry.endpoint,
        entry.models_served,
    )
    _commit(root)
    (root / "data" / "good.txt").write_text("better")
    assert entry.endpoint == _baseline(root)[0].endpoint


def test_ids_that_differ_between_two_collections_are_refused(root):
    """An id out of a set's order."""
    (root / "tests" / "llm" / "test_set.py").write_text(
        'import pytest\n\n\n@pytest.mark.parametrize(\'one\', [f\'{next(iter({"a", "b", "c", "d"}))}{hash("x")}\'])\n'
        "def test_one(one):\n    pass\n"
    )
    _commit(root)
    with pytest.raises(EvidenceProblem) as caught:
        _baseline(root)
    assert "unstable-id" == caught.value.code
    assert not (root / "truegreen.baseline.json").exists()


def test_other_lanes_keep_their_entries(repository):
    """One lane's baseline does not speak for another's."""
    root = repository(
        {
            "tests/one/test_a.py": "def test_a():\n    pass\n",
            "tests/two/test_b.py": "def test_b():\n    pass\n",
        },
        policy='schema = "truegreen/policy/v1"\n[lanes.one]\ntests = "tests/one"\n[lanes.two]\ntests = "tests/two"\n',
    )
    request = BaselineRequest(cwd=root, lane=None, reason="both", ledgers=(), base=None, is_check=False)
    path, _ = baseline(request, CLEAN)
    both = read_baseline(path.read_bytes()).lanes
    assert {"one", "two"} == set(both)
    (root / "tests" / "one" / "test_a.py").write_text("def test_c():\n    pass\n")
    baseline(BaselineRequest(cwd=root, lane="one", reason="c", ledgers=(), base=None, is_check=False), CLEAN)
    after = read_baseline(path.read_bytes()).lanes
    assert both["two"] == after["two"]
    assert ("tests/one/test_a.py::test_c",) == after["one"].case_ids
