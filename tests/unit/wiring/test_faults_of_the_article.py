# SPDX-License-Identifier: Apache-2.0
"""What the article's sampler gets wrong, each row of it, on the same suites."""

import os

import pytest
from sample_kit import buckets, run, short, states

from truegreen.core.outcome import Exit
from truegreen.forges.git import GitRepository
from truegreen.sampling.recount import recounted
from truegreen.sampling.sequential import smoke
from truegreen.sampling.summary import lines
from truegreen.wiring.sample_ground import read_ground
from truegreen.wiring.sample_request import SampleRequest

SUITE = """
    import os

    import app
    import pytest

    NUMBER = int(os.environ.get("TRUEGREEN_SAMPLE", "0"))


    @pytest.fixture
    def sometimes_broken():
        if int(os.environ["TRUEGREEN_SAMPLE"]) <= 3:
            raise OSError("no set-up")


    def test_set_up(sometimes_broken):
        assert "yes" == app.ask("good")


    def test_skipped():
        pytest.skip("not today")


    def test_good():
        assert "yes" == app.ask("good")


    def test_bad():
        assert "yes" == app.ask("bad")


    def test_outage():
        assert "yes" == app.ask("down")


    def test_slow_model():
        assert "yes" == app.ask("hang", timeout=0.2)
"""


@pytest.fixture
def body(repository, environment):
    """Five samples of each."""
    return run(repository({"tests/llm/test_suite.py": SUITE}), environment, runs=5, slots=8).body


def test_every_sample_that_was_asked_for_is_accounted_for(body):
    """Three set-up errors of five are three invalid samples, and no stable pass; a skip is no failure."""
    told = buckets(body)
    assert ["invalid"] * 3 + ["pass"] * 2 == told["test_set_up"]
    assert ["invalid"] * 5 == told["test_skipped"]
    assert "inconclusive" == states(body)["test_set_up"] == states(body)["test_skipped"]
    assert all(5 == len(one) for one in told.values())


def test_an_outage_is_not_the_model_s_and_a_time_out_is(body):
    """503 blames nobody; a client that gives up on a slow answer counts as failed."""
    assert {"transport"} == set(buckets(body)["test_outage"])
    assert ("inconclusive", "never-passed") == (states(body)["test_outage"], states(body)["test_slow_model"])


def test_the_ledger_says_what_its_n_proves(body):
    """Five of five: at least 54 %, not "stable"."""
    told = {line.split()[1].rpartition("::")[2]: line for line in lines(body) if "::" in line}
    assert told["test_good"].endswith("passes: works at least 54 % of the time (95 % sure)")
    assert told["test_bad"].endswith("never passed: works at most 46 % of the time (95 % sure)")


def test_the_endpoint_is_named(body, fake_endpoint):
    """Host, models asked and served."""
    used = body.endpoint
    host = fake_endpoint.url.removeprefix("http://").removesuffix("/v1")
    assert (host, ("asked-1",), ("served-1",)) == (used.host, used.models_asked, used.models_served)


def test_samples_run_at_once_and_stop_when_it_is_certain(repository, environment, fake_endpoint):
    """In this suite of six a dead case is decided by three samples, a healthy one by six, far below the cap."""
    root = repository({"tests/llm/test_suite.py": SUITE})
    found = run(root, environment, slots=4)
    cases = {short(case.id): case for case in found.body.cases}
    read = {short(name): one.tally.read for name, one in recounted(found.body, smoke(), j=1).items()}
    assert (3, 6) == (read["test_bad"], read["test_good"])
    assert len(cases["test_bad"].samples) < smoke().cap
    assert fake_endpoint.oracle().in_flight_peak > 1
    assert found.code is Exit.HOLD


CASES = "- id: a\n  input: fixtures/changelog.txt\n  prompt: prompts/p.md\n  expect: {format: json}\n"
FILES = {
    "tests/llm/deep/er/cases.yaml": CASES,
    "fixtures/changelog.txt": "one",
    "prompts/p.md": "p",
    "tests/llm/test_code.py": "def test_one():\n    pass\n",
    "tests/conftest.py": "",
    "pytest.ini": "[pytest]\n",
    "truegreen.baseline.json": """
        {"schema": "truegreen/baseline/v1", "lanes": {"model-tests": {"ruler": "sha256:%s", "components": {},
        "case_ids": [], "inputs": ["fixtures/changelog.txt"], "prompts": ["prompts/p.md"], "endpoint": null,
        "models_served": [], "previous": null, "reason": "r"}}}
    """
    % ("0" * 64),
}


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("fixtures/changelog.txt", "ruler"),
        ("tests/llm/deep/er/cases.yaml", "ruler"),
        ("tests/llm/test_code.py", "ruler"),
        ("tests/conftest.py", "ruler"),
        ("pytest.ini", "ruler"),
        ("truegreen.toml", "ruler"),
        ("prompts/p.md", "subject"),
        ("app.py", "subject"),
    ],
)
def test_a_stale_ledger_blesses_nothing(repository, name, moved):
    """The digests cover inputs, prompts, nested cases, test code, configuration and the lane's own settings."""
    root = repository(FILES)

    def digests():
        with GitRepository(root, os.environ) as git:
            return read_ground(SampleRequest(cwd=root), git, os.environ).digests

    before = digests()
    path = root / name
    path.write_text(path.read_text() + ("cap = 40\n" if name == "truegreen.toml" else "# more\n"))
    after = digests()
    changed = {part for part in ("ruler", "subject") if getattr(before, part) != getattr(after, part)}
    assert {moved} == changed


def test_names_and_contents_do_not_run_together(repository):
    """Moving bytes from a name to a content is another ruler."""
    root = repository({"tests/llm/ab.yaml": "cd", "tests/llm/test_one.py": ""})
    seen = set()
    for name, text in (("ab.yaml", "cd"), ("a.yaml", "bcd"), ("abc.yaml", "d")):
        for old in (root / "tests" / "llm").glob("*.yaml"):
            old.unlink()
        (root / "tests" / "llm" / name).write_text(text)
        with GitRepository(root, os.environ) as git:
            seen.add(read_ground(SampleRequest(cwd=root), git, os.environ).digests.ruler.digest)
    assert 3 == len(seen)
