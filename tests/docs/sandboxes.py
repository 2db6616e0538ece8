# SPDX-License-Identifier: Apache-2.0
"""The folders in which documented commands run.

Each is a function that fills an empty folder and returns variables for the shell; a page names it in the comment
before a block. One that has to be closed afterwards is a context manager that gives them. Register a new one in
``SANDBOXES``.
"""

import datetime as dt
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from factories.cassettes import answered, asked, recorded
from factories.decisions import several_defects
from factories.records import record_of
from truegreen.core.call_log import CallEntry, line_of, microseconds
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario_file import load_scenario
from truegreen.wiring.rehearsal import replays

ROOT = Path(__file__).parents[2]


def empty(folder: Path) -> dict[str, str]:
    """A folder with nothing in it, in no repository."""
    return {"GIT_CEILING_DIRECTORIES": str(folder.parent)}


def checkout(folder: Path) -> dict[str, str]:
    """A copy of this checkout as it stands, committed; ``./dev`` uses the environment that runs the tests."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "as it stands"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return {"TRUEGREEN_DEV_ENVIRONMENT": sys.prefix}


def endpoint(folder: Path) -> dict[str, str]:
    """The scenario and the client of the endpoint's page, as they stand there."""
    page = (ROOT / "docs" / "endpoint.md").read_text(encoding="utf-8")
    for name, language in (("scenario.toml", "toml"), ("ask.py", "python")):
        block = page.partition(f"```{language}\n")[2].partition("```")[0]
        (folder / name).write_text(block, encoding="utf-8")
    return empty(folder)


def sampling(folder: Path) -> dict[str, str]:
    """The repository of the page about sampling, as its blocks stand there."""
    page = (ROOT / "docs" / "how-to-sample.md").read_text(encoding="utf-8")
    for name in (
        "tests/llm/test_tone.py",
        "tests/llm/cases/changelog.yaml",
        "truegreen.toml",
        "scenario.toml",
    ):
        block = page.partition(f"`{name}`:\n\n```")[2].partition("\n")[2].partition("```")[0]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(block, encoding="utf-8")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "summarize.md").write_text("Sort the changelog.\n", encoding="utf-8")
    (folder / "tests" / "llm" / "cases" / "changelog.txt").write_text("dark mode\n", encoding="utf-8")
    (folder / ".gitignore").write_text("artifacts/\nendpoint.log\nready.json\n", encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "cases"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def replayed(folder: Path) -> dict[str, str]:
    """A folder with one recording that keeps its contract."""
    made = replays.recordings(folder.parent / f"{folder.name}-scratch")
    for name, data in made.items():
        (folder / "cassettes" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cassettes" / name).write_bytes(data)
    return empty(folder) | {"CI": "", "GITHUB_ACTIONS": ""}


def calls(folder: Path) -> dict[str, str]:
    """A week's call log: three runs a day, the jobs of the last two days turned away now and then."""
    end = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)
    lines = []
    for run in range(21):
        start = end - dt.timedelta(days=7) + dt.timedelta(hours=8 * run)
        for number in range(12):
            is_refused = run >= 15 and number == 5
            entry = CallEntry(
                ended_us=microseconds(start + dt.timedelta(seconds=4 + 3 * number)),
                took_s=9.0 if not is_refused else 0.2,
                waited_s=0.1 * (number % 3),
                run=f"run-{run:02}",
                job=f"job-{number % 3}",
                call=f"{run}-{number}",
                status=429 if is_refused else 200,
                end="complete",
                is_ok=not is_refused,
                wants_again=is_refused,
                reason="429-told" if is_refused else "answered",
            )
            lines.append(line_of(entry))
    (folder / "calls.jsonl").write_bytes(b"".join(lines))
    return empty(folder)


def shared_endpoint(folder: Path) -> dict[str, str]:
    """The job of the page about sharing one endpoint, as it stands there."""
    page = (ROOT / "docs" / "how-to-share-one-endpoint.md").read_text(encoding="utf-8")
    block = page.partition("```python\n")[2].partition("```")[0]
    (folder / "job.py").write_text(block, encoding="utf-8")
    return empty(folder)


def policy(folder: Path) -> dict[str, str]:
    """A repository whose branch main holds the shortest policy, committed, and one that is wrong beside it."""
    text = 'schema = "truegreen/policy/v1"\n\n[lanes.model-tests]\ntests = "tests/llm"\n'
    (folder / "truegreen.toml").write_text(text, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a policy"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    wrong = '[check]\nbranches = ["main", "release/*"]\n[lanes.model-tests]\ntests = "tests/llm"\n'
    wrong += 'role = "requird"\nsmples = 7\nmax_usd = 1.00\n'
    (folder / "new.toml").write_text(f'schema = "truegreen/policy/v1"\n{wrong}', encoding="utf-8")
    return {}


QUARANTINE = """\
schema = "truegreen/quarantine/v1"

[[entry]]
id = "tests/llm/test_tone.py::test_reply[de]"
lane = "model-tests"
owner = "@ana"
reason = "the model sometimes answers in English"
ticket = "#41"
since = 2025-11-01
expires = 2025-12-01
"""
FLAKES = """\
- id: "tests/llm/test_links.py::test_sources"
  first_seen: 2125-11-02
  expires: 2125-11-30
  owner: "@emil"
  reason: "the model sometimes leaves out a source"
  retry_count: 3
- id: "tests/llm/test_tone.py::test_greeting"
  first_seen: 2025-10-02
  expires: 2025-11-02
  owner: "@ana"
  reason: "answers in prose"
"""


def quarantine(folder: Path) -> dict[str, str]:
    """A quarantine whose only entry is over, and a list of flaky tests."""
    (folder / "truegreen.quarantine.toml").write_text(QUARANTINE, encoding="utf-8")
    (folder / "flakes.yaml").write_text(FLAKES, encoding="utf-8")
    return empty(folder)


def decision(folder: Path) -> dict[str, str]:
    """A folder in which the gate left the decision on a pull request with several defects."""
    (folder / "decision.truegreen.json").write_bytes(record_of(several_defects()))
    return empty(folder)


def recordings(folder: Path) -> dict[str, str]:
    """A folder with one recording, made by a client that names its template."""
    body = '{"model": "m", "temperature": 0.0, "messages": [{"role": "user", "content": "What is 2+2?"}]}'
    headers = [
        ("authorization", "Bearer of-nobody-1"),
        ("user-agent", "a client"),
        ("x-truegreen-template", "sums"),
        ("x-truegreen-template-version", "4"),
    ]
    recorded(folder / "cassettes", (asked(body.encode(), headers=headers), answered("Four.\nOr 4.")))
    return empty(folder)


EXAMPLE = ROOT / "examples" / "changelog-bot"
OF_A_REPOSITORY_THAT_HAS_A_GATE = (".github", "truegreen.toml", "truegreen.baseline.json")
MAKES_THINGS_UP = """\
[[rules]]
id = "unless-told-not-to"
when = { pattern = "^(?![\\\\s\\\\S]*(Do not guess|How urgent))[\\\\s\\\\S]*2\\\\.4\\\\.1" }
pass = 0.0
answer = "never given"
fails = [{ breaking = [], added = ["a more stable report"], removed = [] }]

"""
"""A model that needs the prompt's last sentence: what an author changes there shows."""


@contextmanager
def changelog_bot(folder: Path) -> Iterator[dict[str, str]]:
    """The example as a repository that has model tests and no gate yet, with a model that answers it."""
    ignored = shutil.ignore_patterns("demo.py", "stand_in", "scenarios", "__pycache__", ".pytest_cache")
    shutil.copytree(EXAMPLE, folder, ignore=ignored, dirs_exist_ok=True)
    for name in OF_A_REPOSITORY_THAT_HAS_A_GATE:
        shutil.move(folder / name, folder.parent / f"{folder.name}.{name}")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a bot"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    steady = (EXAMPLE / "scenarios" / "steady.toml").read_text(encoding="utf-8")
    scenario = folder.parent / f"{folder.name}.scenario.toml"
    scenario.write_text(steady.replace("[[rules]]\n", f"{MAKES_THINGS_UP}[[rules]]\n", 1), encoding="utf-8")
    with FakeEndpoint(load_scenario(scenario)) as model:
        yield {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "MODEL_NAME": "demo-model",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TRUEGREEN": str(ROOT),
            "TRUEGREEN_DEV_ENVIRONMENT": sys.prefix,
        }


@contextmanager
def opened(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """The sandbox of that name in ``folder``; what it gives is closed at the end."""
    made = SANDBOXES[name](folder)
    if isinstance(made, dict):
        yield made
    else:
        with made as variables:
            yield variables


SANDBOXES: dict[str, Callable[[Path], dict[str, str] | AbstractContextManager[dict[str, str]]]] = {
    "calls": calls,
    "changelog-bot": changelog_bot,
    "empty": empty,
    "checkout": checkout,
    "endpoint": endpoint,
    "sampling": sampling,
    "policy": policy,
    "shared-endpoint": shared_endpoint,
    "quarantine": quarantine,
    "decision": decision,
    "recordings": recordings,
    "replayed": replayed,
}
