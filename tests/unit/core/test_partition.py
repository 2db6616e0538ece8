# SPDX-License-Identifier: Apache-2.0
"""Every tracked file has exactly one class, and the order of the rows is what the documentation says."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import Tree, baseline, policy

from truegreen.core.errors import UsageProblem
from truegreen.core.partition import Partition, harness_and_code, partition

PATHS = [
    "README.md",
    "pyproject.toml",
    "pytest.ini",
    "conftest.py",
    "truegreen.toml",
    "truegreen.baseline.json",
    "truegreen.quarantine.toml",
    "truegreen.removed.toml",
    ".github/workflows/ci.yml",
    ".github/actions/x/action.yml",
    ".githooks/pre-push",
    ".pre-commit-config.yaml",
    "requirements/truegreen.lock",
    "requirements/app.lock",
    "src/app.py",
    "src/conftest.py",
    "prompts/reply.md",
    "data/input.txt",
    "docs/guide.md",
    "tests/conftest.py",
    "tests/pytest.ini",
    "tests/llm/conftest.py",
    "tests/llm/test_a.py",
    "tests/llm/deep/prompt.txt",
    "tests/unit/test_b.py",
    "tests/unit/conftest.py",
]


def _classes(files, made=None, agreed=None):
    made = made or policy()
    return partition(Tree(dict.fromkeys(files, b"x")).entries, made, made.lanes[0], agreed)


def test_each_file_of_an_ordinary_repository_has_the_class_that_a_reader_expects():
    """Harness, ruler, subject, irrelevant and announcements of one tree."""
    made = policy(lane='irrelevant = ["docs/**"]')
    agreed = baseline(inputs=["data/input.txt"], prompts=["prompts/reply.md", "tests/llm/deep/prompt.txt"])
    assert Partition(
        harness=(
            ".githooks/pre-push",
            ".github/actions/x/action.yml",
            ".github/workflows/ci.yml",
            ".pre-commit-config.yaml",
            "requirements/truegreen.lock",
            "truegreen.toml",
        ),
        ruler=(
            "conftest.py",
            "data/input.txt",
            "pytest.ini",
            "tests/conftest.py",
            "tests/llm/conftest.py",
            "tests/llm/test_a.py",
            "tests/pytest.ini",
        ),
        subject=(
            "README.md",
            "prompts/reply.md",
            "pyproject.toml",
            "requirements/app.lock",
            "src/app.py",
            "src/conftest.py",
            "tests/llm/deep/prompt.txt",
            "tests/unit/conftest.py",
            "tests/unit/test_b.py",
        ),
        irrelevant=("docs/guide.md",),
        announcements=("truegreen.baseline.json", "truegreen.quarantine.toml", "truegreen.removed.toml"),
    ) == _classes(PATHS, made, agreed)


@given(
    paths=st.permutations(PATHS),
    used=st.integers(0, len(PATHS)),
    inputs=st.sets(st.sampled_from(PATHS)),
    prompts=st.sets(st.sampled_from(PATHS)),
    ruler=st.sampled_from(["", 'ruler = ["src/**"]', 'ruler = ["*.md", "data/"]']),
    harness=st.sampled_from(["", 'harness = ["src/**"]']),
    tests=st.sampled_from(["tests/llm", "tests", "src", "tests/llm/test_a.py", "nothing"]),
)
def test_every_file_is_in_exactly_one_class_whatever_the_policy(  # noqa: PLR0913, PLR0917 - one per axis of the product
    paths, used, inputs, prompts, ruler, harness, tests
):
    """Nothing is lost, nothing counts twice, order does not matter, each tuple is sorted."""
    made = policy(lane=ruler, top=harness, tests=tests)
    agreed = baseline(inputs=sorted(inputs), prompts=sorted(prompts))
    classes = _classes(paths[:used], made, agreed)
    rows = [getattr(classes, name) for name in Partition.__struct_fields__]
    assert sorted(paths[:used]) == sorted(path for row in rows for path in row)
    assert [tuple(sorted(row)) for row in rows] == rows
    assert classes == _classes(sorted(paths[:used]), made, agreed)


def test_a_prompt_is_judged_even_where_the_tests_lie():
    """A prompt edit asks for no new baseline, and a file that is also an input is a prompt first."""
    path = "tests/llm/deep/prompt.txt"
    agreed = baseline(inputs=[path], prompts=[path])
    assert (path,) == _classes([path, "tests/llm/t.py"], agreed=agreed).subject


def test_a_prompt_cannot_take_a_file_out_of_harness_or_announcements():
    """The baseline is written by the author; naming the workflow as a prompt changes nothing."""
    named = [".github/workflows/ci.yml", "truegreen.toml", "truegreen.baseline.json"]
    classes = _classes(named, agreed=baseline(prompts=sorted(named)))
    assert (2, 0, 1) == (len(classes.harness), len(classes.subject), len(classes.announcements))


def test_the_workflows_that_the_policy_names_are_harness_wherever_they_lie():
    """A workflow path outside .github counts too."""
    made = policy(lane='workflow = ".github/workflows/evals.yml"', top='harness = ["tools/gate/**"]')
    assert (".github/workflows/evals.yml", "tools/gate/run.sh") == _classes(
        [".github/workflows/evals.yml", "tools/gate/run.sh", "tools/x.sh"], made
    ).harness


@pytest.mark.parametrize(
    ("tests", "ruler"),
    [
        ("tests/llm", ("conftest.py", "tests/conftest.py", "tests/llm/conftest.py", "tests/llm/test_a.py")),
        (
            "tests/llm/test_a.py",
            ("conftest.py", "tests/conftest.py", "tests/llm/conftest.py", "tests/llm/test_a.py"),
        ),
        ("src", ("conftest.py", "src/app.py", "src/conftest.py")),
    ],
)
def test_conftest_counts_from_the_tests_up_to_the_root(tests, ruler):
    """Not beside, and not further down elsewhere; a lane of one file has the folders above it."""
    made = policy(tests=tests)
    assert ruler == _classes([path for path in PATHS if path.endswith(".py")], made).ruler


def test_accents_compose_before_names_are_compared():
    """A tree written on macOS and a policy written on Linux mean the same folder."""
    made = policy(tests="tests/é", lane='ruler = ["ü.txt"]')
    names = [unicodedata.normalize("NFD", name) for name in ("tests/é/t.py", "ü.txt", "tests/ö.py")]
    classes = _classes(names, made, baseline(inputs=["tests/ö.py"]))
    assert tuple(sorted(names)) == classes.ruler


@pytest.mark.parametrize(
    ("pattern", "path", "what"),
    [
        ("tests/**", "tests/llm/test_a.py", "part of its ruler (tests)"),
        ("*.py", "conftest.py", "part of its ruler (conftest)"),
        ("*.ini", "tests/pytest.ini", "part of its ruler (pytest-config)"),
        ("data/", "data/input.txt", "part of its ruler (inputs)"),
        ("*.md", "prompts/reply.md", "a prompt of its cases"),
        ("/*.toml", "truegreen.toml", "the policy"),
        (".github/**", ".github/workflows/ci.yml", "a workflow"),
        (".github/actions/**", ".github/actions/x/action.yml", "a workflow"),
        ("src/judge.py", "src/judge.py", "part of its ruler (declared)"),
    ],
)
def test_what_judges_cannot_be_called_irrelevant(pattern, path, what):
    """The problem names the pattern, the file and what it is."""
    made = policy(lane=f'irrelevant = ["nothing/**", "{pattern}"]\nruler = ["src/judge.py"]')
    agreed = baseline(inputs=["data/input.txt"], prompts=["prompts/reply.md"])
    with pytest.raises(UsageProblem) as caught:
        _classes([path], made, agreed)
    assert "irrelevant-hides-ruler" == caught.value.code
    for said in (f'"{pattern}"', f'"{path}"', what):
        assert said in caught.value.message


def test_what_is_irrelevant_to_one_lane_may_lie_outside_its_ruler():
    """Hooks, announcements and plain files may be matched; only plain ones become irrelevant."""
    made = policy(lane='irrelevant = ["docs/**", ".githooks/**", "*.json"]')
    classes = _classes(["docs/a", ".githooks/x", "truegreen.baseline.json", "src/x.json"], made)
    assert (("docs/a", "src/x.json"), (".githooks/x",)) == (classes.irrelevant, classes.harness)


# Harness beside code.


def _split(changed, made=None, *baselines):
    return harness_and_code(changed, made or policy(), baselines)


def test_harness_is_told_from_other_code():
    """Policy and workflow on one side, application and tests on the other."""
    assert (("truegreen.toml",), ("src/a.py", "tests/llm/t.py")) == _split(
        ["src/a.py", "truegreen.toml", "tests/llm/t.py"]
    )


@pytest.mark.parametrize(
    "path",
    [
        "docs/a/b.py",
        "README.md",
        "src/README.md",
        "LICENSE",
        "CHANGELOG.md",
        "notes.rst",
        "truegreen.baseline.json",
    ],
)
def test_documents_and_announcements_are_no_other_code(path):
    """They may change beside the harness."""
    assert ((), ()) == _split([path])


@pytest.mark.parametrize(
    "path", ["prompts/reply.md", "src/notes.md", "tests/llm/README.md", "docs.py", "LICENSE.py"]
)
def test_markdown_that_may_be_a_prompt_or_judges_is_other_code(path):
    """Only documents at known places are documents."""
    assert ((), (path,)) == _split([path])


def test_a_document_that_a_case_names_is_other_code_by_either_baseline():
    """What base or head calls a prompt or an input is read by the model."""
    for agreed in (baseline(prompts=["docs/tone.md"]), baseline(inputs=["docs/tone.md"])):
        assert ((), ("docs/tone.md",)) == _split(["docs/tone.md"], None, None, agreed)


def test_what_every_lane_calls_irrelevant_is_no_other_code():
    """One lane's word is not enough."""
    two = '\n[lanes.n]\ntests = "tests/n"\n'
    both = policy(lane='irrelevant = ["site/**"]' + two + 'irrelevant = ["site/**"]')
    one = policy(lane='irrelevant = ["site/**"]' + two)
    assert (((), ()), ((), ("site/a.js",))) == (_split(["site/a.js"], both), _split(["site/a.js"], one))


def test_an_advisory_lane_is_not_asked():
    """Neither what it calls irrelevant nor a pattern of it that hides its own tests weighs anything."""
    advisory = '\n[lanes.n]\ntests = "tests/n"\nrole = "advisory"\nirrelevant = ["*.md"]'
    made = policy(lane='irrelevant = ["site/**"]' + advisory)
    assert ((), ("tests/n/a.md",)) == _split(["site/a.js", "tests/n/a.md"], made)


def test_nothing_changed_is_nothing():
    """No path, no lists."""
    assert ((), ()) == _split([])


def test_a_changed_file_that_a_pattern_wrongly_hides_is_what_it_is():
    """A workflow under the pattern is harness, a file beside the tests is other code; nothing is raised."""
    hiding = policy('irrelevant = ["*.md", "*.yml"]')
    changed = (".github/workflows/truegreen.yml", "tests/llm/notes.md", "notes.md")
    assert ((".github/workflows/truegreen.yml",), ("tests/llm/notes.md",)) == _split(changed, hiding)
