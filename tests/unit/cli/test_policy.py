# SPDX-License-Identifier: Apache-2.0
"""The verb ``policy`` as one sees it."""

import json

import pytest

from truegreen.cli.main import run

SHORT = 'schema = "truegreen/policy/v1"\n\n[lanes.model-tests]\ntests = "tests/llm"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a policy, entered."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truegreen.toml").write_text(SHORT, encoding="utf-8")
    return tmp_path


def test_show_prints_every_value_with_its_source(here, capfd):
    """And exits 0."""
    assert 0 == run(["policy", "show"])
    shown = capfd.readouterr()
    assert "" == shown.err
    assert shown.out.startswith("policy of the working copy (truegreen.toml), sha256:")
    assert (
        'lanes.model-tests.tests          "tests/llm"                        truegreen.toml:4\n' in shown.out
    )


def test_show_as_json_is_one_document(here, capfd):
    """For tools."""
    assert 0 == run(["policy", "show", "--format", "json"])
    made = json.loads(capfd.readouterr().out)
    assert {"value": "tests/llm", "source": "truegreen.toml:4"} == made["values"]["lanes.model-tests.tests"]


def test_a_policy_that_is_wrong_is_not_shown(here, capfd):
    """The first problem, exit 2."""
    (here / "truegreen.toml").write_text(SHORT + "x = 1\ny = 2\n", encoding="utf-8")
    assert 2 == run(["policy", "show"])
    shown = capfd.readouterr()
    assert (
        "",
        "truegreen: truegreen.toml:5: lanes.model-tests.x is no key of a policy [unknown-key]\n",
    ) == (shown.out, shown.err)


def test_check_says_everything_that_is_wrong(here, capfd):
    """One line each, exit 2."""
    (here / "bad\n.toml").write_text(SHORT + "x = 1\nrole = 2\n", encoding="utf-8")
    assert 2 == run(["policy", "check", "bad\n.toml"])
    shown = capfd.readouterr()
    assert (
        "",
        (
            "truegreen: bad\\n.toml:5: lanes.model-tests.x is no key of a policy [unknown-key]\n"
            "truegreen: bad\\n.toml:6: lanes.model-tests.role is 2, one of required, consulted, advisory [policy-type]\n"
        ),
    ) == (shown.out, shown.err)


def test_check_of_a_good_file_says_so(here, capfd):
    """Exit 0."""
    assert 0 == run(["policy", "check", "truegreen.toml"])
    assert ("truegreen.toml is a policy\n", "") == tuple(capfd.readouterr())


def test_check_as_json_lists_codes_and_sentences(here, capfd):
    """The exit code is the same."""
    (here / "truegreen.toml").write_text("", encoding="utf-8")
    assert 2 == run(["policy", "check", "--format", "json", "truegreen.toml"])
    assert {
        "schema": "truegreen/policy-check/v1",
        "problems": [
            {
                "code": "missing-key",
                "message": 'truegreen.toml: the file has no schema, asked "truegreen/policy/v1"',
            }
        ],
    } == json.loads(capfd.readouterr().out)


def test_without_a_policy_nothing_is_shown(tmp_path, monkeypatch, capfd):
    """Exit 2 with the next command."""
    monkeypatch.chdir(tmp_path)
    assert 2 == run(["policy", "show"])
    assert (
        "",
        'truegreen: there is no file truegreen.toml [no-policy]\n  hint: a policy is three lines: schema = "truegreen/policy/v1", [lanes.NAME], tests = "PATH"\n',
    ) == tuple(capfd.readouterr())
