# SPDX-License-Identifier: Apache-2.0
"""A maintainer records what a pull request missed: nothing of it runs, and nothing else is sent."""

import base64
import json

import msgspec
import pytest

from truegreen.cassettes.check import checked
from truegreen.cassettes.contract_check import SCHEMA, ContractCheckBody, Made
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rules import KeyRules
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.record import Envelope, Producer, write_record
from truegreen.core.replay_session import AskedAgain, Header, Missed
from truegreen.core.seal import opened
from truegreen.core.subject import CommitId, Subject, TreeId
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Rule, Scenario
from truegreen.wiring.cassette_check import folder_files
from truegreen.wiring.cassette_record import RecordRequest, record, wanted
from truegreen.wiring.cassette_seal import new_key
from truegreen.wiring.rehearsal import replays

RULES = KeyRules(host="models")
DIGEST = Sha256("sha256:" + "1" * 64)


@pytest.fixture
def endpoint():
    """A fake endpoint that keeps the contract."""
    answer = json.dumps({"label": "yes"})
    with FakeEndpoint(Scenario(seed="w", rules=(Rule(id="r", answer=answer),))) as started:
        yield started


def missed(given=None, **changes):
    """A missed request as a replay writes it."""
    asked = given or replays.request("and now?")
    stored = AskedAgain(
        method=asked.method,
        path=asked.path,
        query=asked.query,
        headers=tuple(Header(name=name, value=value) for name, value in asked.headers),
        body_base64=base64.b64encode(asked.body).decode(),
    )
    stored = msgspec.structs.replace(
        stored, **{k: v for k, v in changes.items() if k in stored.__struct_fields__}
    )
    key = changes.get("key", key_of(asked, RULES))
    return Missed(code="cassette-missing", key=key, count=1, asked=changes.get("asked", stored))


@pytest.fixture
def request_of(tmp_path):
    """A request to record, beside records of a pull request with these misses."""

    def made(*misses, number=7, endpoint="http://127.0.0.1:9/v1", at="2026-01-01T10:00:00Z", **more):
        lane = msgspec.defstruct("Lane", [("cassettes", str)])(cassettes="cassettes")
        made = Made(digest=DIGEST, components={})
        body = ContractCheckBody(
            policy_digest=DIGEST,
            ruler=made,
            subject=made,
            folder="cassettes",
            recordings=(),
            findings=(),
            session=replays.replay(lane, {}, misses=tuple(misses)),
        )
        subject = Subject(
            repo="o/n",
            head_repo="fork/n",
            pull_request=number,
            head_sha=CommitId("1" * 40),
            base_ref="main",
            base_sha=CommitId("2" * 40),
            head_tree=TreeId("3" * 40),
            tested_tree=TreeId("4" * 40),
            run_id=1,
            run_attempt=1,
            workflow="w.yml",
            event="pull_request",
        )
        envelope = Envelope(
            schema=SCHEMA,
            lane="replayed",
            part="all",
            subject=subject,
            producer=Producer(name="truegreen", version="0", verb="cassette check"),
            issued_at=at,
            body=msgspec.to_builtins(body),
        )
        folder = tmp_path / "evidence" / "one"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{at.replace(':', '')}.truegreen.json").write_bytes(write_record(envelope))
        said = {
            "pull_request": 7,
            "evidence": (tmp_path / "evidence",),
            "upstream": endpoint,
            "folder": tmp_path / "cassettes",
            "alias": "models",
            "volatile": (),
            "key": None,
        }
        return RecordRequest(**(said | more))

    return made


def test_what_was_missed_is_recorded_sealed_and_keeps_its_contract(request_of, endpoint, tmp_path):
    """One call, one file, one seal; the recording answers what was missed."""
    private = tmp_path / "recorder.pem"
    public = new_key(private)
    asked = request_of(missed(), endpoint=endpoint.url, key=private)
    (one,) = wanted(asked, {})
    assert ("", True) == (one.refused, "and now?" in one.shown)
    done = record(asked, [one.asked], {"OPENAI_API_KEY": "sk-mine-0123456789abcdef"})
    assert (1, (), 1) == (done.kept, done.failed, len(done.files))
    assert done.files == tuple(opened(done.sealed.path.read_bytes(), [public]).files)
    files = folder_files(tmp_path / "cassettes")
    assert b"sk-mine" not in b"".join(data or b"" for data in files.values())
    (found,) = checked(files | {"contracts.toml": replays.CONTRACTS.encode()}).recordings
    assert (key_of(replays.request("and now?"), RULES), "labels") == (found.key, found.template)


def test_without_a_key_nothing_is_sealed(request_of, endpoint):
    """The files alone; a second time nothing is new but the answer."""
    asked = request_of(missed(), endpoint=endpoint.url)
    done = record(asked, [wanted(asked, {})[0].asked], {})
    assert (1, None) == (done.kept, done.sealed)


def test_an_answer_that_is_no_answer_is_not_kept(request_of, tmp_path):
    """Nobody listens there: nothing is written, and it is said."""
    asked = request_of(missed())
    done = record(asked, [wanted(asked, {})[0].asked], {})
    assert (0, (), 1) == (done.kept, done.files, len(done.failed))


HOSTILE = {
    "another method": missed(method="DELETE", path="/v1/files/f1/chat/completions"),
    "a path that spends": missed(path="/v1/fine_tuning/jobs"),
    "a path that climbs": missed(path="/v1/../admin/chat/completions"),
    "a query": missed(query="a=1"),
    "another key than was missed": missed(key=DIGEST),
    "a credential": missed(headers=(Header(name="Authorization", value="Bearer sk-x"),)),
    "a header that no recording keeps": missed(headers=(Header(name="user-agent", value="x"),)),
    "no request": missed(asked=None),
    "a body that is no Base64": missed(body_base64="?"),
    "a body that is read two ways": missed(body_base64=base64.b64encode(b'{"a":1,"a":2}').decode()),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_ask_a_model_is_never_sent(request_of, name):
    """A stranger wrote it, and it would be sent in the maintainer's name."""
    (one,) = wanted(request_of(HOSTILE[name]), {})
    assert (None, True) == (one.asked, one.shown.startswith("not sent: "))


def test_only_records_of_the_pull_request_count(request_of):
    """Another one's misses are not recorded."""
    with pytest.raises(EvidenceProblem) as caught:
        wanted(request_of(missed(), number=8), {})
    assert "no-misses" == caught.value.code


def test_the_newest_record_counts_and_each_key_once(request_of):
    """An older push may have missed something else."""
    request_of(missed(replays.request("before")), at="2026-01-01T09:00:00Z")
    found = wanted(request_of(missed(), missed()), {})
    assert ["and now?"] == [json.loads(one.asked.body)["messages"][0]["content"] for one in found]


def test_nothing_is_recorded_in_ci(request_of):
    """Before anything is read."""
    with pytest.raises(UsageProblem) as caught:
        wanted(request_of(missed()), {"GITHUB_ACTIONS": "true"})
    assert "recording-in-ci" == caught.value.code


def test_a_refused_file_stops_it(request_of, tmp_path):
    """An archive with two readings, or a record that was cut."""
    asked = request_of(missed())
    (tmp_path / "evidence" / "bad.zip").write_bytes(b"PK")
    with pytest.raises(EvidenceProblem):
        wanted(asked, {})


def test_a_header_that_breaks_the_line_is_an_error_of_ours(request_of):
    """No request is smuggled behind another one."""
    asked = request_of(missed())
    (one,) = wanted(asked, {})
    smuggled = msgspec.structs.replace(one.asked, headers=(("x-truegreen-template", "a\r\nX: y"),))
    with pytest.raises(ReachProblem) as caught:
        record(asked, [smuggled], {})
    assert "proxy-failed" == caught.value.code


def test_the_key_of_another_api_goes_into_its_own_header(request_of, endpoint):
    """Messages are asked with x-api-key; the fake endpoint answers both."""
    body = {"model": "m-1", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    plain = replays.request()
    messages = type(plain)(method="POST", path="/v1/messages", body=json.dumps(body).encode())
    asked = request_of(missed(messages), endpoint=endpoint.url)
    done = record(asked, [wanted(asked, {})[0].asked], {"ANTHROPIC_API_KEY": "none"})
    assert 1 == done.kept + len(done.failed)
