# SPDX-License-Identifier: Apache-2.0
"""Other tools' recordings in a folder of ours."""

import json

import pytest

from factories.cassettes import NOW, SECRET, asked, folder, player, said
from truegreen.cassettes.rules import KeyRules
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.recording import Answered
from truegreen.wiring.cassette_import import import_recordings

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


class Clock:
    """Now."""

    def now(self):
        """The same."""
        return NOW


def _answer(text):
    return json.dumps({"model": "m-1", "choices": [{"finish_reason": "stop", "message": {"content": text}}]})


def _vcr(*answers, status=200, **request):
    made = [
        {
            "request": {
                "method": "POST", "uri": "https://h.example/v1/chat/completions?key=AIzaVerySecret12345", "body": json.dumps(BODY),
                "headers": {"Authorization": [f"Bearer {SECRET}"], "Content-Type": ["application/json"]}, **request,
            },
            "response": {
                "status": {"code": status, "message": "OK"},
                "headers": {"Set-Cookie": ["sid=secretcookie123"], "Content-Type": ["application/json"], "content-encoding": ["gzip"]},
                "body": {"string": _answer(answer)},
            },
        }
        for answer in answers
    ]  # fmt: skip
    return json.dumps({"interactions": made, "version": 1}).encode()


def _import(tmp_path, data, *, form="vcrpy", environment=None, **more):
    path = tmp_path / "old.json"
    path.write_bytes(data)
    options = {"host": None, "keeps_errors": False} | more
    return import_recordings(
        form, [path], tmp_path / "new", clock=Clock(), environment=environment or {}, **options
    )


def test_imported_answers_are_played_in_their_order(tmp_path):
    """The same request twice: a, b, then a miss; with today's key in the place of the old one."""
    done = _import(tmp_path, _vcr("a", "b"))
    assert (2, 1, ()) == (done.taken, done.files, done.left)
    store = player(tmp_path / "new", KeyRules(host="h.example"))
    again = asked(BODY, query="key=another", headers=(("authorization", "Bearer other"),))
    played = [store.play(again) for _ in range(3)]
    assert ["a", "b", "cassette-exhausted"] == [said(played[0]), said(played[1]), played[2].code]


def test_no_secret_of_the_old_file_reaches_the_new(tmp_path):
    """Neither key, nor cookie, nor what stood in the address, whatever the letter case of its place."""
    _import(tmp_path, _vcr(f"your key is {SECRET}"))
    text = "".join((tmp_path / "new" / name).read_text() for name in folder(tmp_path / "new").names())
    assert [] == [secret for secret in (SECRET, "secretcookie123", "AIzaVerySecret12345") if secret in text]


def test_losses_are_told_with_their_number(tmp_path):
    """A coding that the tool undid among them."""
    done = _import(tmp_path, _vcr("a", "b"))
    assert ("the body was unpacked: content-encoding gzip is dropped", 2) in done.losses


def test_errors_are_left_unless_asked_for(tmp_path):
    """A recorded 429 would be answered for ever."""
    done = _import(tmp_path, _vcr("a", status=429))
    assert (0, True) == (done.taken, "status-not-recorded" in done.left[0])
    assert 1 == _import(tmp_path, _vcr("a", status=429), keeps_errors=True).taken


def test_a_request_that_has_a_recording_keeps_it(tmp_path):
    """A second import changes no byte."""
    _import(tmp_path, _vcr("a"))
    before = {name: folder(tmp_path / "new").read(name) for name in folder(tmp_path / "new").names()}
    done = _import(tmp_path, _vcr("b"))
    assert (0, True) == (done.taken, "already-recorded" in done.left[0])
    assert before == {name: folder(tmp_path / "new").read(name) for name in folder(tmp_path / "new").names()}


def test_nothing_is_written_if_one_file_cannot_be_read(tmp_path):
    """Not even of those before it."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(_vcr("a"))
    bad.write_text("interactions:\n- !!python/name:os.system\nversion: 1\n")
    with pytest.raises(EvidenceProblem, match="YAML tag"):
        import_recordings(
            "vcrpy",
            [good, bad],
            tmp_path / "new",
            host=None,
            keeps_errors=False,
            clock=Clock(),
            environment={},
        )
    assert not (tmp_path / "new").exists()


def test_it_refuses_in_ci(tmp_path):
    """As recording does."""
    with pytest.raises(UsageProblem) as caught:
        _import(tmp_path, _vcr("a"), environment={"CI": "true"})
    assert "recording-in-ci" == caught.value.code


def test_an_alias_stands_for_the_host(tmp_path):
    """So that recordings of a staging host answer for the endpoint."""
    _import(tmp_path, _vcr("a"), host="model")
    assert isinstance(player(tmp_path / "new", KeyRules(host="model")).play(asked(BODY)), Answered)
