# SPDX-License-Identifier: Apache-2.0
"""Case files in the engines that run them one by one."""

import pytest

CASES = """
- id: good
  input: good.txt
  prompt: ../prompts/p.md
  feature: f
  owner: "@ana"
  blast_radius: high
  expect: {format: text, enum: ["yes"]}
- id: bad
  input: bad.txt
  expect: {format: text, enum: ["yes"]}
- id: empty
  input: empty.txt
  expect: {format: text, forbid_substrings: ["x"]}
"""
HOOK = """
async def pytest_truegreen_answer(case):
    if case.input == "raise":
        raise ConnectionError("lost")
    return case.input
"""


@pytest.fixture
def cases(suite):
    """Three cases that a conftest answers with their own input."""
    root = suite(
        {"tests/good.txt": "yes", "tests/bad.txt": "no", "tests/empty.txt": "", "tests/conftest.py": HOOK}
    )
    (root / "prompts").mkdir()
    (root / "prompts" / "p.md").write_text("p")
    (root / "tests" / "all.yaml").write_text(CASES.replace("../prompts", "prompts"))
    return root


@pytest.mark.parametrize("engine", ["fork", "serial", "async"])
def test_engines_judge_alike(cases, drive, engine):
    """Status, reason, text and the output's digest."""
    found, ends = drive(cases, "--truegreen-cases=tests", engine=engine, runs=2)
    told = {(end.index, end.n): (end.status, end.reason, end.detail) for end in ends}
    for n in (1, 2):
        assert ("passed", "", "") == told[0, n]
        assert ("failed", "not-listed", 'one of "yes" was asked, got "no"') == told[1, n]
        assert ("failed", "empty-output") == told[2, n][:2]
    assert 3 == len({end.output_sha256 for end in ends})
    assert found.answers_by_hook


def test_a_case_says_what_it_is_about(cases, drive):
    """Owner, feature, blast radius, inputs and prompts."""
    found, _ = drive(cases, "--truegreen-cases=tests", engine="serial")
    good = found.cases[0]
    assert ("tests/all.yaml::good", "yaml", "high", "@ana", "f") == (
        good.id, good.kind, good.blast_radius, good.owner, good.feature,
    )  # fmt: skip
    assert (("tests/good.txt",), ("prompts/p.md",)) == (good.inputs, good.prompts)


def test_what_a_hook_raises_is_known_by_its_class(cases, drive):
    """With its text."""
    (cases / "tests" / "bad.txt").write_text("raise")
    _, ends = drive(cases, "--truegreen-cases=tests", "-k", "bad", engine="async")
    assert "failed" == ends[0].status
    assert "builtins.ConnectionError" in ends[0].raised
    assert "ConnectionError: lost" == ends[0].detail


def test_a_broken_file_is_told_with_its_code(cases, drive):
    """And nothing is run."""
    (cases / "tests" / "all.yaml").write_text("id: a\ninput: no.txt\nexpect: {enum: [1]}\n")
    found, ends = drive(cases, "--truegreen-cases=tests", engine="serial")
    assert [] == ends
    assert [("case-path", True)] == [
        (one.code, one.message.startswith("tests/all.yaml:2")) for one in found.problems
    ]
