# SPDX-License-Identifier: Apache-2.0
"""The plugin in plain pytest runs, as separate processes."""

import os
import subprocess
import sys

import pytest

LOADED = """
import sys
import pytest

def test_what_is_loaded():
    print(sorted(name for name in sys.modules if name.startswith("truegreen")))
    print([name for name in ("msgspec", "httpx2", "asyncio", "ruamel") if name in sys.modules])
"""
CASE = "id: one\ninput: one.txt\nexpect: {format: text, enum: ['yes']}\n"
HOOK = "def pytest_truegreen_answer(case):\n    return case.input\n"
POLICY = 'schema = "truegreen/policy/v1"\n[lanes.llm]\ntests = "tests"\n'


@pytest.fixture
def pytest_run(tmp_path):
    """Run pytest in a folder with the plugin alone; output and exit code."""

    def go(*arguments, **more):
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "truegreen", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr, done.returncode

    return go


@pytest.fixture
def files(suite):
    """A policy, one case that is answered by a conftest, and a marked test."""
    return suite(
        {"truegreen.toml": POLICY, "tests/one.yaml": CASE, "tests/one.txt": "yes", "tests/conftest.py": HOOK}
    )


def test_unused_it_loads_itself_and_its_hook_alone(suite, pytest_run):
    """No record type, no HTTP client, no loop, no YAML reader."""
    suite(test_loaded=LOADED)
    out, code = pytest_run("-s", "tests")
    assert 0 == code
    assert (
        "['truegreen', 'truegreen.pytest_plugin', 'truegreen.pytest_plugin.hooks', 'truegreen.pytest_plugin.plugin', 'truegreen.pytest_plugin.question']"
        in out
    )
    assert "\n[]\n" in out.replace("[]\n.", "[]\n")


def test_a_plain_run_asks_each_case_once_and_says_what_that_is_worth(files, pytest_run):
    """As a test of its own, by the policy's lane."""
    out, code = pytest_run("-v", "tests")
    assert 0 == code
    assert "tests/one.yaml::one PASSED" in out
    assert (
        "truegreen: 1 of 1 model tests passed, each asked once: a sample of size one proves next to nothing"
        in out
    )


def test_a_failing_case_is_one_line(files, pytest_run):
    """File, line, expected and got, and the reason's code."""
    (files / "tests" / "one.txt").write_text("no")
    out, code = pytest_run("tests")
    assert 1 == code
    assert 'tests/one.yaml:1: one of "yes" was asked, got "no" (not-listed)' in out
    assert "Traceback" not in out


def test_an_invalid_case_is_a_collection_error_with_its_line(files, pytest_run):
    """An unknown key."""
    (files / "tests" / "one.yaml").write_text("id: one\ninput: one.txt\nexpect: {}\nownr: x\n")
    out, code = pytest_run("tests")
    assert 2 == code
    assert 'tests/one.yaml:4: unknown key "ownr"' in out


def test_the_option_names_cases_without_a_policy(files, pytest_run):
    """And without either a YAML file is no test."""
    (files / "truegreen.toml").unlink()
    assert 0 == pytest_run("tests", "--truegreen-cases", "tests")[1]
    assert 5 == pytest_run("tests")[1]


def test_a_policy_that_cannot_be_read_breaks_no_plain_run(files, pytest_run):
    """Its lanes are not known, that is all."""
    (files / "truegreen.toml").write_text("lanes = [[\n")
    assert 5 == pytest_run("tests")[1]


def test_the_article_s_log_has_a_row_for_every_model_test(files, pytest_run, suite):
    """A set-up error, a skip and an expected failure too; other tests have none."""
    suite(
        {
            "other/test_other.py": """
            import pytest


            def test_other():
                pass


            @pytest.mark.model
            def test_marked():
                pass
            """
        },
        test_rows="""
        import pytest


        def test_passes():
            pass


        def test_fails():
            assert False


        def test_skips():
            pytest.skip("no")


        @pytest.mark.xfail
        def test_expected():
            assert False


        def test_no_set_up(no_such_fixture):
            pass
        """,
    )
    pytest_run("tests", "other", MODEL_RUN_LOG="out/run.jsonl", MODEL_RUN_ID="r7")
    rows = (files / "out" / "run.jsonl").read_text().splitlines()
    name = '{"run": "r7", "case": "tests/test_rows.py::test_'
    assert [
        '{"run": "r7", "case": "other/test_other.py::test_marked", "passed": true}',
        '{"run": "r7", "case": "tests/one.yaml::one", "passed": true}',
        name + 'expected", "passed": false, "bucket": "invalid", "reason": "xfail"}',
        name + 'fails", "passed": false}',
        name + 'no_set_up", "passed": false, "bucket": "invalid", "reason": "setup-error"}',
        name + 'passes", "passed": true}',
        name + 'skips", "passed": false, "bucket": "invalid", "reason": "skipped"}',
    ] == sorted(rows)


def test_a_case_without_an_endpoint_fails_and_says_what_is_missing(files, pytest_run):
    """It is not skipped."""
    (files / "tests" / "conftest.py").write_text("")
    out, code = pytest_run("tests")
    assert 1 == code
    assert "MODEL_BASE_URL is not set, and no conftest answers the case (no-answer)" in out


def test_the_marker_is_known(suite, pytest_run):
    """Also where markers are strict."""
    suite(test_marked="import pytest\n\n\n@pytest.mark.model(owner='@ana')\ndef test_one():\n    pass\n")
    assert 0 == pytest_run("tests", "--strict-markers")[1]
