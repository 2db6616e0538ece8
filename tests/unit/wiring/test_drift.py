# SPDX-License-Identifier: Apache-2.0
"""Recordings asked again of a live endpoint, which has changed or has not."""

import json

import httpx2
import pytest

from factories.cassettes import folder, recorder
from factories.contracts import write_contracts
from truegreen.cassettes.rules import KeyRules
from truegreen.cli.main import run
from truegreen.core.errors import UsageProblem
from truegreen.core.recording import Answered, Asked, Chunk
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Rule, Scenario
from truegreen.wiring.drift import DriftRequest, ask_again

KEY = "sk-live-0aB1cD2eF3gH4iJ5kL6mN7oP"
LABELS = (("x-truegreen-template", "labels"), ("x-truegreen-template-version", "1"))


class Clock:
    """A day."""

    def now(self):
        """Its noon."""
        return "2026-11-29T12:00:00Z"


def _rule(label="bug", **more):
    return Rule(**{"id": "r", "answer": json.dumps({"label": label, "reason": "because"})} | more)


@pytest.fixture
def endpoint():
    """Start fake endpoints that end with the test."""
    started = []

    def start(*rules):
        started.append(FakeEndpoint(Scenario(seed="d", rules=rules)).start())
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def cassettes(tmp_path, endpoint):
    """Six recordings of an endpoint that says ``bug``, with a contract."""
    live = endpoint(_rule())
    store = recorder(tmp_path / "cassettes", KeyRules(host="model"))
    for number in range(6):
        body = json.dumps(
            {"model": "m", "messages": [{"role": "user", "content": f"text {number}"}]}
        ).encode()
        answer = httpx2.post(f"{live.url}/chat/completions", content=body)
        store.keep(
            Asked(
                method="POST", path="/v1/chat/completions", body=body,
                headers=(("authorization", "Bearer old"), ("content-type", "application/json"), *LABELS),
            ),
            Answered(status=200, headers=tuple(answer.headers.multi_items()), chunks=(Chunk(after_s=0, data=answer.content),)),
        )  # fmt: skip
    write_contracts(tmp_path / "cassettes")
    return tmp_path / "cassettes"


def _ask(cassettes, upstream, *, environment=None, **more):
    options = {"size": 10, "number": None, "allowed": 0.05, "key_variable": "MODEL_API_KEY"} | more
    return ask_again(
        DriftRequest(folder=cassettes, upstream=upstream, **options),
        {"MODEL_API_KEY": KEY} if environment is None else environment,
        Clock(),
    )


def _bytes(cassettes):
    return {path: path.read_bytes() for path in sorted(cassettes.rglob("*")) if path.is_file()}


def test_the_same_model_shows_no_drift(cassettes, endpoint):
    """Every recording is asked once, with today's key, and no file changes."""
    live, before = endpoint(_rule()), _bytes(cassettes)
    done = _ask(cassettes, live.url)
    assert (0, "no-drift-shown", 6, 6, 0) == (
        done.exit, done.verdict.word, done.verdict.judged, done.verdict.decisions, done.verdict.flipped,
    )  # fmt: skip
    assert (6, before) == (live.oracle().calls, _bytes(cassettes))


def test_a_model_that_decides_otherwise_has_drifted(cassettes, endpoint):
    """Exit 1; the recordings stay."""
    before = _bytes(cassettes)
    done = _ask(cassettes, endpoint(_rule("feature")).url)
    assert (1, 6, before) == (done.exit, done.verdict.flipped, _bytes(cassettes))
    assert "decision-flip" in done.issue.decode()


def test_a_model_that_breaks_the_contract_has_drifted(cassettes, endpoint):
    """Another word, no JSON, a refusal, half an answer."""
    for rule in (
        _rule("other"),
        _rule(answer="It is a bug."),
        _rule(pass_rate=0.0, refuse_rate=1.0),
        _rule(pass_rate=0.0, truncate_rate=1.0),
    ):
        done = _ask(cassettes, endpoint(rule).url)
        assert (1, "drift") == (done.exit, done.verdict.word)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=429, share=1), Fault(kind="status", status=500, share=1),
        Fault(kind="cut", at="midway", share=1), Fault(kind="cut", share=1), Fault(kind="malformed", how="not-http", share=1),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.at}-{fault.status}",
)  # fmt: skip
def test_an_endpoint_that_does_not_answer_says_nothing(cassettes, endpoint, fault):
    """Exit 3, never green and never drift."""
    done = _ask(cassettes, endpoint(_rule(faults=(fault,))).url)
    assert (3, "unknown", 0) == (done.exit, done.verdict.word, done.verdict.judged)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("/v1/responses", {"input": "x"}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 9}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_every_api_is_asked_again_whole_and_streamed(tmp_path, endpoint, path, body, stream):
    """The decision is read out of each form."""
    data = json.dumps({"model": "m", "stream": stream, **body}).encode()
    answer = httpx2.post(endpoint(_rule()).url.removesuffix("/v1") + path, content=data)
    headers = (("x-api-key", "old"), ("content-type", "application/json"), *LABELS)
    recorder(tmp_path, KeyRules(host="model")).keep(
        Asked(method="POST", path=path, body=data, headers=headers),
        Answered(
            status=200,
            headers=tuple(answer.headers.multi_items()),
            chunks=(Chunk(after_s=0, data=answer.content),),
        ),
    )
    write_contracts(tmp_path)
    same, other = (_ask(tmp_path, endpoint(_rule(label)).url) for label in ("bug", "feature"))
    assert ("no-drift-shown", 1, 0) == (same.verdict.word, same.verdict.decisions, same.verdict.flipped)
    assert 1 == other.verdict.flipped


def test_nobody_there_says_nothing(cassettes):
    """A port that nobody listens on."""
    assert 3 == _ask(cassettes, "http://127.0.0.1:9").exit


def test_a_few_outages_hide_no_verdict(cassettes, endpoint):
    """Half of the sample is enough."""
    fault = Fault(kind="status", status=503, first=2, per="endpoint")
    done = _ask(cassettes, endpoint(_rule(faults=(fault,))).url)
    assert (0, 4, 6) == (done.exit, done.verdict.judged, len(json.loads(done.record)["results"]))


def test_the_sample_rotates(cassettes, endpoint):
    """Three turns of two ask all six; the same turn asks the same two."""
    live = endpoint(_rule())

    def files(number):
        return {
            one["file"]
            for one in json.loads(_ask(cassettes, live.url, size=2, number=number).record)["results"]
        }

    turns = [files(number) for number in range(3)]
    assert ([2, 2, 2], 6, turns[1]) == ([len(one) for one in turns], len(set.union(*turns)), files(4))


def test_the_key_goes_to_the_endpoint_and_nowhere_else(cassettes, endpoint):
    """Not into record, lines or issue; without it nothing is asked."""
    live = endpoint(_rule("feature"))
    done = _ask(cassettes, live.url)
    assert KEY not in (done.record + done.issue).decode() + "".join(done.lines)
    with pytest.raises(UsageProblem) as caught:
        _ask(cassettes, live.url, environment={})
    assert ("no-model-key", 6) == (caught.value.code, live.oracle().calls)


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target"])
def test_no_key_stands_beside_a_changes_code(cassettes, endpoint, event):
    """Refused before anything is read or asked."""
    live = endpoint(_rule())
    with pytest.raises(UsageProblem) as caught:
        _ask(cassettes, live.url, environment={"MODEL_API_KEY": KEY, "GITHUB_EVENT_NAME": event})
    assert ("drift-on-pull-request", 0) == (caught.value.code, live.oracle().calls)


@pytest.mark.parametrize(
    "upstream", ["", "x", "ftp://h", "http://", "http://u:p@h", "http://h/?k=v", "http://h:x"]
)
def test_an_address_that_is_none_is_refused(cassettes, upstream):
    """Credentials do not belong into it."""
    with pytest.raises(UsageProblem) as caught:
        _ask(cassettes, upstream)
    assert "bad-upstream" == caught.value.code


def test_an_address_with_another_path_asks_nothing(cassettes, endpoint):
    """The recordings hold the whole path."""
    live = endpoint(_rule())
    assert 3 == _ask(cassettes, live.url.replace("/v1", "/v2")).exit
    assert 0 == live.oracle().calls


def test_what_has_no_contract_of_its_version_is_not_asked(cassettes, endpoint):
    """Nothing could be said about its answer: a stale template, no contract at all."""
    live = endpoint(_rule())
    write_contracts(cassettes, version=2)
    assert 3 == _ask(cassettes, live.url).exit
    text = (cassettes / "contracts.toml").read_bytes().replace(b"labels]", b"other]")
    (cassettes / "contracts.toml").write_bytes(text)
    assert (3, 0) == (_ask(cassettes, live.url).exit, live.oracle().calls)


def test_the_verb_writes_record_and_issue(cassettes, endpoint, capsys, monkeypatch, tmp_path):
    """Exit 1 for drift, 0 for none; the issue holds no Markdown of the model's."""
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    hostile = endpoint(
        _rule(answer=json.dumps({"label": "bug", "reason": "x", "`#@ana\n```\n# closes #1": 1}))
    )
    for live, code in ((endpoint(_rule("feature")), 1), (hostile, 0)):
        arguments = [
            "drift",
            "cassettes",
            "--upstream",
            live.url,
            "--record",
            "drift.json",
            "--issue",
            "drift.md",
        ]
        assert code == run(arguments)
        assert capsys.readouterr().out
        assert "truegreen/drift/v1" == json.loads((tmp_path / "drift.json").read_text())["schema"]
        body = (tmp_path / "drift.md").read_text()
        assert (2, False) == (body.count("```"), "\n# closes" in body)
    assert 2 == run(["drift", "cassettes"])
    assert folder(cassettes).names()
