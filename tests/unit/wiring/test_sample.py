# SPDX-License-Identifier: Apache-2.0
"""``truegreen sample`` over real repositories, pytest processes and an endpoint whose truth is known."""

import json

import pytest
from sample_kit import Silent, buckets, git, reasons, run, short, states

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.outcome import Exit
from truegreen.endpoint.draw import uniform
from truegreen.sampling.sequential import smoke
from truegreen.sampling.states import state

TESTS = """
    import app
    import pytest


    def test_good():
        assert "yes" == app.ask("good")


    def test_half():
        assert "yes" == app.ask("half")


    def test_bad():
        assert "yes" == app.ask("bad")
"""

CASES = """
    - id: good
      input: good.txt
      expect: {format: text, enum: ["yes"]}
    - id: half
      input: half.txt
      expect: {format: text, enum: ["yes"]}
"""


def test_a_suite_is_sampled_until_each_case_is_decided(repository, environment, fake_endpoint):
    """The record is strict, canonical and complete; every call is somebody's."""
    root = repository({"tests/llm/test_model.py": TESTS})
    sampled = run(root, environment)
    assert root / "artifacts" / "model-tests.all.1.truegreen.json" == sampled.path
    body = sampled.body
    assert Exit.DONE is sampled.code
    assert ("stable-pass", "never-passed") == (states(body)["test_good"], states(body)["test_bad"])
    assert (
        tuple(sorted(f"tests/llm/test_model.py::test_{name}" for name in ("good", "half", "bad")))
        == body.planned
    )
    assert body.wire.calls == body.wire.attributed == sum(one.calls for c in body.cases for one in c.samples)
    assert (fake_endpoint.url.removeprefix("http://").removesuffix("/v1"), ("served-1",)) == (
        body.endpoint.host,
        body.endpoint.models_served,
    )
    assert ("asked-1",) == body.endpoint.models_asked
    assert ("measured", "fork", "smoke", 1) == (body.ended, body.engine, body.rule.name, body.rule.j)
    assert () == body.chain


def test_a_ledger_keeps_itself_out_of_commits(repository, environment):
    """Whoever adds everything does not commit a record, which would change the tree that it speaks of."""
    root = repository({"tests/llm/test_model.py": TESTS})
    first = run(root, environment, runs=1).body
    git(root, "add", "--all")
    assert "" == git(root, "status", "--porcelain")
    again = run(root, environment, runs=1)
    assert first.subject == again.body.subject
    (root / "artifacts" / ".gitignore").write_text("mine\n")
    run(root, environment, runs=1)
    assert "mine\n" == (root / "artifacts" / ".gitignore").read_text()


def test_every_engine_gives_the_same_ledger(repository, environment):
    """Cases, numbers and buckets of tests and case files; the endpoint answers by prompt and number alone."""
    cases = {"tests/llm/cases.yaml": CASES, "tests/llm/good.txt": "good", "tests/llm/half.txt": "half"}
    root = repository({"tests/llm/test_model.py": TESTS, **cases})
    engines = ("auto", "fork", "serial", "xdist")
    told = {engine: buckets(run(root, environment, engine=engine, runs=6).body) for engine in engines}
    assert all(one == told["fork"] for one in told.values())
    (root / "tests" / "llm" / "test_model.py").unlink()
    alone = buckets(run(root, environment, engine="async", runs=6).body)
    assert alone == {name: told["fork"][name] for name in ("good", "half")}
    assert ["pass"] * 6 == told["fork"]["test_good"] == told["fork"]["good"]
    assert {"pass", "fail"} == set(told["fork"]["test_half"]) == set(told["fork"]["half"])


def test_both_kinds_run_side_by_side(repository, environment):
    """Plain tests in forks, case files in one process beside them."""
    root = repository(
        {
            "tests/llm/test_model.py": TESTS,
            "tests/llm/cases.yaml": CASES,
            "tests/llm/good.txt": "good",
            "tests/llm/half.txt": "half",
        }
    )
    body = run(root, environment, runs=3).body
    assert "fork+async" == body.engine
    assert {"good", "half", "test_good", "test_half", "test_bad"} == set(buckets(body))
    assert all(3 == len(told) for told in buckets(body).values())
    assert body.wire.calls == body.wire.attributed == 15
    output = next(case for case in body.cases if case.id.endswith("::good")).samples[0].output_sha256
    assert output is not None


def test_slow_failures_are_not_outrun(repository, environment):
    """Failures take twenty times as long: what is read is the prefix by number, and all that started has ended."""
    root = repository(
        {"tests/llm/test_slow.py": "import app\n\n\ndef test_slow():\n    assert 'yes' == app.ask('slow')\n"}
    )
    body = run(root, environment, slots=16).body
    (case,) = body.cases
    assert list(range(1, len(case.samples) + 1)) == [one.n for one in case.samples]
    assert {"pass", "fail"} >= {one.bucket for one in case.samples}
    assert case.state == state(case.samples, smoke(), cases=1).state.value
    assert body.wire.calls == len(case.samples)


def test_losses_are_drawn_again_and_what_stays_lost_is_an_outage(repository, environment):
    """A first 429 costs a redraw; an endpoint that is down holds and blames nobody."""
    root = repository(
        {
            "tests/llm/test_lost.py": """
            import app


            def test_limited():
                assert "yes" == app.ask("limited one")


            def test_down():
                assert "yes" == app.ask("down")
            """
        }
    )
    sampled = run(root, environment, runs=2)
    cases = {short(case.id): case for case in sampled.body.cases}
    assert ["pass", "pass"] == buckets(sampled.body)["test_limited"]
    assert ["status-429", "status-429"] == [one.reason for one in cases["test_limited"].lost]
    assert [1, 1] == [one.replaces for one in cases["test_limited"].samples]
    assert {"transport"} == set(buckets(sampled.body)["test_down"])
    assert ("inconclusive", "transport") == (cases["test_down"].state, cases["test_down"].why)
    assert ("no-redraws-left", Exit.HOLD) == (sampled.body.ended, sampled.code)


def test_ends_that_are_no_answers_have_their_own_buckets(repository, environment):
    """A length stop and a hang after the request left."""
    root = repository(
        {
            "tests/llm/test_ends.py": """
            import app


            def test_cut():
                app.ask("cut")


            def test_hang():
                app.ask("hang")


            def test_client_gives_up():
                app.ask("hang", timeout=0.2)
            """
        },
        policy=POLICY_WITH.format(more="timeout_s = 4"),
    )
    body = run(root, environment, runs=1).body
    assert {
        "test_cut": {"length-stop"},
        "test_hang": {"time-limit"},
        "test_client_gives_up": {"time-limit"},
    } == reasons(body)
    assert {"test_cut": ["invalid"], "test_hang": ["fail"], "test_client_gives_up": ["fail"]} == buckets(body)


POLICY_WITH = """
    schema = "truegreen/policy/v1"
    [check]
    name = "truegreen"
    workflow = ".github/workflows/truegreen.yml"
    branches = ["main"]
    [lanes.model-tests]
    tests = "tests/llm"
    {more}
"""


def test_a_cut_answer_fails_where_the_lane_says_so(repository, environment):
    """``truncated = "fail"``."""
    root = repository(
        {"tests/llm/test_cut.py": "import app\n\n\ndef test_cut():\n    app.ask('cut')\n"},
        policy=POLICY_WITH.format(more='truncated = "fail"'),
    )
    assert {"test_cut": ["fail"]} == buckets(run(root, environment, runs=1).body)


def test_a_client_made_at_import_or_kept_by_a_session_is_counted_by_process(repository, environment):
    """Neither knows a sample's own address."""
    root = repository(
        {
            "tests/llm/test_clients.py": """
            import functools
            import os

            import app
            import pytest

            AT_IMPORT = os.environ["OPENAI_BASE_URL"]


            @pytest.fixture(scope="session")
            def kept():
                return os.environ["OPENAI_BASE_URL"]


            def test_import():
                assert "yes" == app.ask("good", AT_IMPORT)


            def test_session(kept):
                assert "yes" == app.ask("good", kept)
            """
        }
    )
    for engine in ("fork", "xdist"):
        body = run(root, environment, engine=engine, runs=4, slots=2).body
        assert {"test_import": ["pass"] * 4, "test_session": ["pass"] * 4} == buckets(body)
        assert (8, 8) == (body.wire.calls, body.wire.attributed)


def test_an_application_answers_its_own_cases(repository, environment):
    """By a conftest's hook, plain or async, with the sample's own address in its environment."""
    files = {"tests/llm/cases.yaml": CASES, "tests/llm/good.txt": "good", "tests/llm/half.txt": "half"}
    root = repository(
        {
            **files,
            "tests/llm/conftest.py": """
            import asyncio
            import app


            async def pytest_truegreen_answer(case):
                assert case.base_url and case.model == "asked-1" and case.sample >= 1
                return await asyncio.to_thread(app.ask, case.input)
            """,
        }
    )
    for engine in ("auto", "async"):
        body = run(root, environment, engine=engine, runs=4).body
        assert ("fork" if engine == "auto" else "async") == body.engine
        assert ["pass"] * 4 == buckets(body)["good"]
        assert (8, 8) == (body.wire.calls, body.wire.attributed)


def test_a_hook_that_gives_no_text_fails_its_sample(repository, environment):
    """And one that gives nothing leaves the case to the plain request."""
    files = {"tests/llm/cases.yaml": CASES, "tests/llm/good.txt": "good", "tests/llm/half.txt": "half"}
    hook = "def pytest_truegreen_answer(case):\n    return {} if case.input == 'half' else None\n"
    root = repository({**files, "tests/llm/conftest.py": hook})
    for engine in ("fork", "async"):
        body = run(root, environment, engine=engine, runs=1).body
        assert {"good": {""}, "half": {"answer-not-text"}} == reasons(body)


def test_nothing_collected_is_a_clear_error(repository, environment):
    """No traceback and no record."""
    root = repository({"tests/llm/conftest.py": ""})
    with pytest.raises(ReachProblem) as caught:
        run(root, environment)
    assert "nothing-collected" == caught.value.code
    assert not (root / "artifacts").exists()


def test_what_cannot_be_collected_stops_before_the_first_call(repository, environment, fake_endpoint):
    """A broken test file is our caller's trouble; a broken case says file and line."""
    before = fake_endpoint.oracle().calls
    root = repository({"tests/llm/test_broken.py": "import no_such_module\n"})
    with pytest.raises(ReachProblem, match="ModuleNotFoundError: No module named 'no_such_module'") as caught:
        run(root, environment)
    assert "collection-failed" == caught.value.code
    (root / "tests" / "llm" / "test_broken.py").unlink()
    (root / "tests" / "llm" / "cases.yaml").write_text("id: one\ninput: no.txt\nexpct: {}\n")
    with pytest.raises(UsageProblem, match=r"tests/llm/cases\.yaml:3") as caught:
        run(root, environment)
    assert "bad-case" == caught.value.code
    assert before == fake_endpoint.oracle().calls


def test_ids_that_pytest_would_count_are_refused(repository, environment):
    """The string and the value None have one id."""
    root = repository(
        {
            "tests/llm/test_ids.py": """
            import pytest


            @pytest.mark.parametrize("value", ["None", None])
            def test_one(value):
                pass
            """
        }
    )
    with pytest.raises(UsageProblem) as caught:
        run(root, environment)
    assert "unstable-id" == caught.value.code


def test_no_endpoint_is_one_line(repository, environment):
    """Before anything is started."""
    root = repository({"tests/llm/test_model.py": TESTS})
    without = {name: value for name, value in environment.items() if name != "MODEL_BASE_URL"}
    with pytest.raises(UsageProblem) as caught:
        run(root, without)
    assert "no-endpoint" == caught.value.code


def test_caps_hold_and_say_so(repository, environment):
    """So many calls and not one more."""
    root = repository({"tests/llm/test_model.py": TESTS}, policy=POLICY_WITH.format(more="max_calls = 4"))
    sampled = run(root, environment)
    assert ("cap-calls", 4, Exit.HOLD) == (sampled.body.ended, sampled.body.wire.calls, sampled.code)
    assert all(one.reason != "missing" for case in sampled.body.cases for one in case.samples)


def test_markers_choose_and_what_they_leave_out_is_told(repository, environment):
    """With owner, feature and blast radius; an unmarked suite is sampled whole."""
    root = repository(
        {
            "tests/llm/test_marked.py": """
            import app
            import pytest


            @pytest.mark.model(blast_radius="high", owner="@ana", feature="changelog")
            def test_marked():
                assert "yes" == app.ask("good")


            def test_ordinary():
                pass
            """
        }
    )
    watcher = Silent()
    body = run(root, environment, watcher, runs=1).body
    (case,) = body.cases
    assert ("high", "@ana", "changelog", False) == (case.blast_radius, case.owner, case.feature, case.golden)
    assert any("1 tests without the marker" in notice for notice in watcher.notices)


def test_golden_cases_are_shown_and_never_asked(repository, environment):
    """They have a row and no sample."""
    golden = CASES.replace("- id: half", "- id: half\n      golden: true")
    root = repository(
        {"tests/llm/cases.yaml": golden, "tests/llm/good.txt": "good", "tests/llm/half.txt": "half"}
    )
    body = run(root, environment, runs=2).body
    assert {"good": ["pass", "pass"], "half": []} == buckets(body)
    assert {"good": "stable-pass", "half": "not-sampled"} == states(body)


def test_secrets_are_in_no_ledger_and_no_log(repository, environment):
    """A test that prints its key into its failure."""
    root = repository(
        {
            "tests/llm/test_leak.py": """
            import os


            def test_leaks():
                key = os.environ["OPENAI_API_KEY"]
                assert key == "", "the key is " + key + " at https://user:pass-word@example.invalid"
            """
        }
    )
    log = root / "artifacts" / "run.jsonl"
    sampled = run(
        root, {**environment, "MODEL_API_KEY": "my-own-api-key-1234", "MODEL_RUN_LOG": str(log)}, runs=1
    )
    text = sampled.path.read_text() + log.read_text()
    assert "my-own-api-key-1234" not in text
    assert "pass-word" not in text
    assert "[MODEL_API_KEY]" in text


def test_secrets_are_in_no_message_either(repository, environment):
    """A conftest that fails with a key, and one that prints it and leaves."""
    secret = {**environment, "MODEL_API_KEY": "my-own-api-key-1234"}
    root = repository({"tests/llm/conftest.py": "import os\nraise ValueError(os.environ['MODEL_API_KEY'])\n"})
    with pytest.raises(ReachProblem) as caught:
        run(root, secret)
    assert "my-own-api-key-1234" not in caught.value.message
    leave = "import os, sys\nos.write(1, os.environ['OPENAI_API_KEY'].encode())\nos._exit(3)\n"
    (root / "tests" / "llm" / "conftest.py").write_text(leave)
    with pytest.raises(ReachProblem) as caught:
        run(root, secret)
    assert "my-own-api-key-1234" not in caught.value.message
    assert "exit code 3" in caught.value.message


def test_limits_that_sampling_does_not_ask_are_named(repository, environment):
    """A table of the policy that counts elsewhere is not passed over in silence."""
    policy = '[lanes.model-tests]\ntests = "tests/llm"\n[limiter]\nowner = "@ana"\ncapacity = 1\n'
    root = repository({"tests/llm/test_model.py": TESTS}, f'schema = "truegreen/policy/v1"\n{policy}')
    watcher = Silent()
    run(root, environment, watcher, runs=1)
    assert any("[limiter] is not asked" in notice for notice in watcher.notices)


def test_a_part_of_a_lane_is_no_evidence(repository, environment):
    """It lies where no gate looks, and says so; so does a run without a policy."""
    root = repository({"tests/llm/test_model.py": TESTS, "tests/llm/test_other.py": TESTS})
    watcher = Silent()
    sampled = run(root, environment, watcher, runs=1, paths=("tests/llm/test_model.py",))
    assert ".truegreen" == sampled.path.parent.name
    assert not sampled.path.name.endswith(".truegreen.json")
    assert 3 == len(sampled.body.planned)
    assert any("no evidence" in notice for notice in watcher.notices)
    git(root, "rm", "--quiet", "truegreen.toml")
    assert 6 == len(run(root, environment, runs=1, paths=("tests/llm",)).body.planned)


def test_single_cases_are_named_by_their_ids(repository, environment):
    """As a decision names them: what it says to run can be run."""
    files = {"cases.yaml": CASES, "test_model.py": TESTS, "good.txt": "good", "half.txt": "half"}
    root = repository({f"tests/llm/{name}": text for name, text in files.items()})
    ids = ("tests/llm/test_model.py::test_good", "tests/llm/cases.yaml::half")
    assert set(ids) == set(run(root, environment, runs=1, paths=ids).body.planned)


PARSES = """
    import os

    import _pytest._code.code


    def parsed(*_):
        open(os.environ["PARSED"], "a").close()
        raise AssertionError("a module was parsed to tell of a failure")


    _pytest._code.code.getstatementrange_ast = parsed
"""


def test_a_failure_is_told_without_parsing_the_modules_on_its_way(repository, environment, tmp_path):
    """Its last line is what a ledger keeps; an SDK's modules take pytest longer to parse than a call takes."""
    root = repository({"tests/llm/test_model.py": TESTS, "tests/llm/conftest.py": PARSES})
    parsed = tmp_path / "parsed"
    body = run(root, {**environment, "PARSED": str(parsed)}, runs=2).body
    assert ["fail", "fail"] == buckets(body)["test_bad"]
    assert not parsed.exists()


def test_a_tree_that_changes_under_the_samples_is_no_evidence(repository, environment):
    """A test that writes into the repository."""
    root = repository(
        {
            "tests/llm/test_writes.py": """
            from pathlib import Path


            def test_writes():
                Path("app.py").write_text("changed")
            """
        }
    )
    with pytest.raises(ReachProblem) as caught:
        run(root, environment, runs=1)
    assert "tree-changed" == caught.value.code
    assert not (root / "artifacts").exists()
    assert 1 == len(list((root / ".truegreen").glob("*.partial.json")))


def test_the_article_s_variables_are_read(repository, environment):
    """SAMPLE_RUNS, MODEL_RUN_ID and MODEL_RUN_LOG, a row for each sample."""
    root = repository(
        {
            "tests/llm/test_rows.py": """
            import os

            import app
            import pytest


            def test_good():
                assert os.environ["MODEL_RUN_ID"] == "mine-" + os.environ["TRUEGREEN_SAMPLE"]
                assert os.environ["TRUEGREEN_CASE"] == "tests/llm/test_rows.py::test_good"
                assert "MODEL_RUN_LOG" not in os.environ


            def test_skip():
                pytest.skip("no")


            def test_bad():
                assert "yes" == app.ask("bad")
            """
        }
    )
    more = {"SAMPLE_RUNS": "2", "MODEL_RUN_ID": "mine", "MODEL_RUN_LOG": "artifacts/run.jsonl"}
    body = run(root, {**environment, **more}).body
    assert ("fixed", 2) == (body.rule.name, body.rule.samples)
    rows = [json.loads(line) for line in (root / "artifacts" / "run.jsonl").read_text().splitlines()]
    name = "tests/llm/test_rows.py::test_"
    assert {"run": "mine-1", "case": f"{name}good", "passed": True} in rows
    assert {"run": "mine-2", "case": f"{name}bad", "passed": False} in rows
    skipped = {
        "run": "mine-1",
        "case": f"{name}skip",
        "passed": False,
        "bucket": "invalid",
        "reason": "skipped",
    }
    assert skipped in rows
    assert 6 == len(rows)


def test_the_endpoint_s_truth_is_what_is_counted(repository, environment):
    """The share of passes that the ledger shows is the one that was drawn."""
    root = repository({"tests/llm/test_model.py": TESTS})
    body = run(root, environment, runs=8).body
    half = next(case for case in body.cases if case.id.endswith("half"))
    passed = sum(one.bucket == "pass" for one in half.samples)
    assert 0 < passed < 8
    assert 0.0 <= uniform("s") < 1.0
    assert ("flaky-mostly-passing" if passed >= 5 else "flaky-mostly-failing") == half.state
