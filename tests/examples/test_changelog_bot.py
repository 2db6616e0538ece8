# SPDX-License-Identifier: Apache-2.0
"""The demo: what is left in its folder is what was expected, and nothing of it is made up.

Words and codes are read from the decision records, exit codes from the gate that runs once more on what is left: the
repository, the checkouts and the endpoints of the demo are gone by then.
"""

import json
import shlex
import subprocess
import sys
import tempfile
import zipfile
from base64 import b64decode
from itertools import pairwise
from pathlib import Path

import pytest
import runner
from ruamel.yaml import YAML

from truegreen.core.policy_read import read_policy
from truegreen.core.record import artifact_name
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario_file import load_scenario
from truegreen.gate.decide import RULES

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "changelog-bot"
EXPECTED = {
    "admit": ("admit", "all-lanes-hold"),
    "retitled": ("admit", "all-lanes-hold"),
    "broken": ("block", "case-broken"),
    "flaky": ("hold", "case-flaky"),
    "flaky-excused": ("admit", "all-lanes-hold"),
    "ruler": ("hold", "ruler-changed"),
    "ruler-announced": ("admit", "all-lanes-hold"),
    "outage": ("hold", "endpoint-outage"),
    "deleted": ("hold", "tests-removed"),
    "deleted-named": ("admit", "all-lanes-hold"),
    "cancelled": ("hold", "cancelled"),
}
EXITS = {"admit": 0, "hold": 3, "block": 1}


def demo(out, *arguments, code=None):
    """The finished demo, with what it left in ``out``."""
    script = [EXAMPLE / "demo.py"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *script, "--out", out, *arguments],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )


def body(folder):
    """Body of the decision record in a folder."""
    return json.loads((folder / "decision.json").read_text(encoding="utf-8"))["body"]


def decisions(out):
    """Step to word and code, by the records that are left."""
    made = {folder.name: body(folder) for folder in out.iterdir()}
    return {name: (one["word"], one["code"]) for name, one in made.items()}


@pytest.fixture(scope="module")
def told():
    """The whole demo, told once; what it leaves lies inside of this checkout, as with ``./dev demo``."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="demo-", dir=ROOT / "build") as folder:
        out = Path(folder) / "out"
        yield demo(out), out


@pytest.fixture(scope="module")
def out(told):
    """What the demo left."""
    return told[1]


def test_every_story_ends_as_expected(told):
    """Eleven decisions by their records; the demo exits 0."""
    done, out = told
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    assert EXPECTED == decisions(out)


def test_the_lines_say_what_happened_and_what_to_do(out):
    """K of n and an owner where a case is at fault; the command for a ruler; nobody's name for an outage."""
    lines = {name: body(out / name)["line"] for name in EXPECTED}
    assert lines["broken"].startswith("BLOCK patch_release never passed here: 0 of ")
    assert "owner @bo" in lines["broken"]
    assert lines["flaky"].startswith("HOLD  major_release is unsteady: ")
    assert ", 1 excused by quarantine" in lines["flaky-excused"]
    assert "truegreen ledger baseline" in lines["ruler"]
    assert "truegreen.removed.toml" in lines["deleted"]
    assert "owner" not in lines["outage"]
    assert max(map(len, lines.values())) <= 140


def test_every_line_is_printed_beside_its_story(told):
    """A person reads in the terminal what stands in the records."""
    done, out = told
    assert [] == [name for name in EXPECTED if body(out / name)["line"] not in done.stdout]


def test_the_readme_shows_what_the_demo_prints(told):
    """The screen on the first page is this run's, where it leaves nothing open."""
    (block,) = [b for b in runner.blocks(ROOT / "README.md", "README.md") if "$ ./dev demo" in b.text]
    (step,) = runner.steps(block)
    assert ("./dev demo", True) == (
        step.command,
        runner.agrees(step.output, tuple(map(str.rstrip, told[0].stdout.splitlines()))),
    )


@pytest.mark.parametrize("name", ["retitled", "broken", "flaky-excused", "cancelled"])
def test_the_gate_decides_the_same_from_what_is_left(out, name):
    """With no repository, checkout or endpoint behind it; the exit code is the word's."""
    before = body(out / name)
    done = subprocess.run(["sh", out / name / "gate.sh"], capture_output=True, text=True, check=False)
    after = body(out / name)
    assert EXITS[before["word"]] == done.returncode
    assert (before["word"], before["code"], before["line"]) == (after["word"], after["code"], after["line"])


def command_of(folder):
    """The words with which the gate was started, its environment before them."""
    line = (folder / "gate.sh").read_text(encoding="utf-8").splitlines()[1]
    return shlex.split(line.rpartition("; code=")[0])


@pytest.mark.parametrize("name", EXPECTED)
def test_the_gate_sees_zips_and_a_bare_clone(out, name):
    """It runs isolated; its inputs are zips, index, event and a bare clone with full history."""
    folder = out / name
    words = command_of(folder)
    start = words.index("gate")
    zips = [path for option, path in pairwise(words) if option == "--evidence"]
    inputs = [word for word in words[start:] if word.startswith("/")]
    inputs += [word.partition("=")[2] for word in words if word.startswith("GITHUB_EVENT_PATH=")]
    assert ["-I", "-m", "truegreen"] == words[start - 3 : start]
    assert [] == [path for path in inputs if not Path(path).is_relative_to(folder)]
    assert [] == [path for path in zips if not zipfile.is_zipfile(path)]
    assert zips == sorted(map(str, (folder / "evidence").rglob("*.*")))
    asked = [
        "git",
        "-C",
        folder / "clone.git",
        "rev-parse",
        "--is-bare-repository",
        "--is-shallow-repository",
    ]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert ["true", "false"] == said.split()


@pytest.mark.parametrize("name", ["admit", "broken", "outage", "cancelled"])
def test_a_bundle_gives_the_same_bytes(out, name):
    """A replay makes the record that the gate wrote, or it would say where the two differ."""
    bundle, record = out / name / "bundle.json", (out / name / "decision.json").read_bytes()
    command = [sys.executable, "-m", "truegreen", "gate", "--format", "json", "--replay", bundle]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (EXITS[EXPECTED[name][0]], b"") == (done.returncode, done.stderr)
    assert record == b64decode(json.loads(bundle.read_bytes())["decision"])
    assert json.loads(record) == json.loads(done.stdout)


def record_in(folder):
    """The newest ledger among a step's evidence."""
    newest = max((folder / "evidence").rglob("*.zip"))
    with zipfile.ZipFile(newest) as zipped:
        (name,) = zipped.namelist()
        return json.loads(zipped.read(name))


def test_quarantine_changes_the_decision_and_not_the_evidence(out):
    """The gate alone ran again: attempt 2 of the same run, over the same zip."""
    before, after = out / "flaky", out / "flaky-excused"
    zips = [sorted((one / "evidence").rglob("*.zip")) for one in (before, after)]
    assert [one.read_bytes() for one in zips[0]] == [one.read_bytes() for one in zips[1]]
    assert [1, 2] == [body(one)["about"]["run_attempt"] for one in (before, after)]
    assert "case-quarantined" in [note["code"] for note in body(after)["notes"]]


@pytest.mark.parametrize(
    ("name", "calls"), [("ruler-announced", range(1)), ("deleted-named", range(1)), ("admit", range(36, 60))]
)
def test_what_was_measured_is_not_asked_again(out, name, calls):
    """A commit that only announces goes on with the samples of the head before it; a slow machine may start more."""
    assert record_in(out / name)["body"]["wire"]["calls"] in calls


def test_a_cancelled_run_leaves_no_artifact(out):
    """The forge says cancelled and lists nothing; the ledger that was kept never left the runner."""
    (run,) = json.loads((out / "cancelled" / "run-index.json").read_text(encoding="utf-8"))["runs"]
    (attempt,) = run["attempts"]
    assert ("cancelled", []) == (attempt["jobs"][0]["conclusion"], attempt["artifacts"])
    assert "it was interrupted" in (out / "cancelled" / "sample.log").read_text(encoding="utf-8")
    assert [] == list(out.glob("cancelled/evidence/**/*.zip"))


def test_swapping_two_scenarios_swaps_the_decisions(tmp_path):
    """What an author changes is the same as before; how the model behaves decides."""
    done = demo(tmp_path / "out", "--swap", "admit", "broken", "--only", "admit", "broken")
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    assert {"admit": EXPECTED["broken"], "broken": EXPECTED["admit"]} == decisions(tmp_path / "out")


SURPRISED = """
import dataclasses, sys
sys.path.insert(0, "")
from stand_in import stories
stories.STORIES = (dataclasses.replace(stories.STORIES[1], scenario="steady"),)
import demo
sys.exit(demo.main())
"""


def test_a_decision_that_nobody_expected_fails_the_demo(tmp_path):
    """It is shown all the same, with what was expected."""
    done = demo(tmp_path / "out", code=SURPRISED)
    assert (1, "") == (done.returncode, done.stderr)
    assert {"broken": EXPECTED["admit"]} == decisions(tmp_path / "out")
    assert (
        "NOT AS EXPECTED: admit all-lanes-hold with exit 0, expected block case-broken with exit 1"
        in done.stdout
    )


@pytest.fixture
def bot(tmp_path):
    """Runs a command in a copy of the bot whose model reads everything right."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        from stand_in.authors import copy_example, environment
    finally:
        sys.path.remove(str(EXAMPLE))
    copy_example(tmp_path / "bot")
    with FakeEndpoint(load_scenario(EXAMPLE / "scenarios" / "steady.toml")) as endpoint:
        variables = {
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_API_KEY": "none",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

        def run(*command):
            return subprocess.run(
                [sys.executable, *command],
                cwd=tmp_path / "bot",
                env=environment() | variables,
                capture_output=True,
                text=True,
                check=False,
            )

        yield run


def test_the_bot_sorts_a_changelog(bot):
    """The program itself, with a real client and a real socket."""
    done = bot("bot.py", "fixtures/release-3.0.txt")
    assert (0, "") == (done.returncode, done.stderr)
    assert ["breaking", "added", "removed"] == list(json.loads(done.stdout))


def test_the_bots_own_tests_pass(bot):
    """Unit tests without a model, and each model test once, by plain pytest."""
    done = bot("-m", "pytest", "-q", "-p", "truegreen", "tests/unit", "tests/llm")
    assert 0 == done.returncode, done.stdout
    assert "6 of 6 model tests passed, each asked once" in done.stdout


WORKFLOW = YAML(typ="safe").load(EXAMPLE / ".github" / "workflows" / "truegreen.yml")
GATE = WORKFLOW["jobs"]["truegreen"]


def test_the_workflow_runs_wherever_a_green_could_be_lost():
    """Retargeting is an edit, and a queue asks for the check as well."""
    assert {"pull_request", "merge_group"} == set(WORKFLOW["on"])
    assert {"opened", "synchronize", "reopened", "edited"} == set(WORKFLOW["on"]["pull_request"]["types"])


def test_the_gates_job_always_decides_and_checks_nothing_out():
    """It waits for the lane whatever became of it; its one action that is no upload sets up Python."""
    assert (["model-tests"], "always()") == (GATE["needs"], GATE["if"])
    actions = [step["uses"].partition("@")[0] for step in GATE["steps"] if "uses" in step]
    assert ["actions/setup-python", "actions/upload-artifact"] == actions
    assert any(
        '/gate/bin/python" -I -m truegreen gate --format github' in step.get("run", "")
        for step in GATE["steps"]
    )


def test_no_job_may_write_and_the_key_stays_with_the_tests():
    """Read permissions only; the model's key is in the step that samples and nowhere else."""
    assert {} == WORKFLOW["permissions"]
    granted = [set(job["permissions"].values()) for job in WORKFLOW["jobs"].values()]
    assert [{"read"}, {"read"}] == granted
    steps = [(name, step) for name, job in WORKFLOW["jobs"].items() for step in job["steps"]]
    assert [("model-tests", "Sample")] == [
        (name, step["name"]) for name, step in steps if "secrets." in str(step)
    ]


def test_jobs_and_artifact_are_called_as_the_policy_expects():
    """The lane's job has the lane's name, the gate's the check's; the artifact says lane, part and attempt."""
    policy = read_policy((EXAMPLE / "truegreen.toml").read_bytes(), kinds=RULES.facts())
    assert [policy.lanes[0].job, policy.check.name] == list(WORKFLOW["jobs"])
    (upload,) = [
        step["with"] for step in WORKFLOW["jobs"]["model-tests"]["steps"] if "upload" in step.get("uses", "")
    ]
    written = (
        upload["name"]
        .replace("${{ env.LANE }}", policy.lanes[0].name)
        .replace("${{ github.run_attempt }}", "3")
    )
    assert artifact_name(policy.lanes[0].name, "all", 3) == written


def test_the_lane_that_replays_decides_without_the_model(tmp_path):
    """What was recorded is played and admitted; a prompt that nobody recorded blocks; the line is the record's own."""
    done = demo(tmp_path / "out", "--replay")
    assert (0, "") == (done.returncode, done.stderr)
    expected = {"replayed": ("admit", "all-lanes-hold"), "unrecorded": ("block", "recording-missing")}
    assert expected == decisions(tmp_path / "out")
    lines = {name: body(tmp_path / "out" / name)["line"] for name in expected}
    assert [] == [line for line in lines.values() if line not in done.stdout]
    assert "replayed, not sampled" in lines["replayed"]
    replay = json.loads((tmp_path / "out" / "replayed" / "session.json").read_text(encoding="utf-8"))
    assert (0, [], True) == (replay["upstream_calls"], replay["misses"], replay["complete"])
