# SPDX-License-Identifier: Apache-2.0
"""Recordings of one endpoint: found by key, played in order, written whole, replaced on the record."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from factories.cassettes import (
    CHAT,
    NOW,
    RULES,
    SECRET,
    answered,
    asked,
    folder,
    player,
    recorded,
    recorder,
    said,
)
from truegreen.cassettes.cassette_file import read_cassette, sealed, write_cassette
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.places import places
from truegreen.cassettes.store import REPLACED_LOG, Recorder, Store
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.recording import Miss

LATER = "2026-11-30T09:00:00Z"
TEMPLATE = [("x-truegreen-template", "plan"), ("x-truegreen-template-version", "4")]


def code(found):
    """The code of a miss."""
    assert isinstance(found, Miss)
    return found.code


def test_a_recording_answers_its_request_exactly(tmp_path):
    """Status, headers, chunks and delays as they were."""
    answer = answered("4", chunks=[b'{"a":', b"1}"])
    recorded(tmp_path, (asked(), answer))
    assert answer == player(tmp_path).play(asked())


def test_identical_requests_keep_their_order(tmp_path):
    """The first answer, the second, then a miss; another process begins at the first again."""
    recorded(tmp_path, (asked(), answered("a")), (asked(), answered("b")))
    for _ in range(2):
        store = player(tmp_path)
        assert ["a", "b"] == [said(store.play(asked())) for _ in range(2)]
        miss = store.play(asked())
        assert ("cassette-exhausted", folder(tmp_path).names()[0]) == (code(miss), miss.nearest)
        assert [2] == list(store.played().values())
        store.rewind()
        assert "a" == said(store.play(asked()))


def test_a_changed_prompt_is_a_miss_that_names_the_place(tmp_path):
    """With template, nearest recording and first path that differs."""
    name = recorded(tmp_path, (asked(headers=TEMPLATE), answered("4")))
    changed = {**CHAT, "messages": [{"role": "user", "content": "Delete prod?"}]}
    miss = player(tmp_path).play(asked(changed, headers=TEMPLATE))
    assert ("cassette-missing", "plan", name, "body.messages[0].content") == (
        miss.code,
        miss.template,
        miss.nearest,
        miss.differs_at,
    )
    assert "template plan version 4" in miss.message
    place = f"the nearest, {name}, differs first at body.messages[0].content"
    assert f'{place}: asked "Delete prod?", recorded "What is 2+2?"' in miss.message


@pytest.mark.parametrize("text", ["delete this whole database", "h", "hi there", "Hi"])
def test_a_text_that_holds_a_recorded_one_is_a_miss(tmp_path, text):
    """There is no matching by parts."""
    recorded(tmp_path, (asked({**CHAT, "messages": [{"content": "hi"}]}), answered("hello")))
    assert "cassette-missing" == code(player(tmp_path).play(asked({**CHAT, "messages": [{"content": text}]})))


def test_a_miss_in_an_empty_folder_has_no_nearest(tmp_path):
    """And nothing was made."""
    miss = player(tmp_path / "none").play(asked())
    assert ("cassette-missing", None, None, False) == (
        miss.code,
        miss.nearest,
        miss.differs_at,
        (tmp_path / "none").exists(),
    )


def test_a_request_that_cannot_be_keyed_is_a_miss(tmp_path):
    """With the code of what is wrong with it."""
    miss = player(tmp_path).play(asked(b'{"a":1,"a":2}'))
    assert ("duplicate-key", "") == (miss.code, miss.key)


def test_several_calls_of_one_turn_are_several_recordings(tmp_path):
    """Chat with tools, a title, suggestions, and the next turn: one user text, four answers."""
    bodies = [
        CHAT,
        {**CHAT, "tools": []},
        {**CHAT, "max_tokens": 9},
        {**CHAT, "messages": [*CHAT["messages"], {"role": "tool"}]},
    ]
    recorded(tmp_path, *((asked(body), answered(str(number))) for number, body in enumerate(bodies)))
    store = player(tmp_path)
    assert ["3", "2", "1", "0"] == [said(store.play(asked(body))) for body in reversed(bodies)]


def test_a_damaged_recording_is_a_miss_by_name(tmp_path):
    """It never answers, and it is said once more where a nearest one is looked for."""
    name = recorded(tmp_path, (asked(), answered("4")))
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data.replace(b"m-1", b"m-2"))
    store = player(tmp_path)
    assert "cassette-edited" == code(store.play(asked()))
    (tmp_path / name).write_bytes(data[:99])
    assert "cassette-truncated" == code(store.play(asked()))
    assert "1 of the folder's files cannot be read" in store.play(asked({"x": 1})).message


def test_a_recording_under_a_foreign_name_does_not_answer(tmp_path):
    """Copied over another one's name by a merge gone wrong."""
    one = recorded(tmp_path / "a", (asked(), answered("4")))
    two = recorded(tmp_path / "b", (asked({"x": 1}), answered("5")))
    (tmp_path / "b" / two).write_bytes((tmp_path / "a" / one).read_bytes())
    assert "cassette-misnamed" == code(player(tmp_path / "b").play(asked({"x": 1})))


def test_two_keys_that_begin_alike_have_two_files(tmp_path, monkeypatch):
    """The second has all its digits in its name."""
    real = sha256_of

    def alike(data):
        return "sha256:" + "0" * 12 + real(data)[19:] if b"cassette-key/v1" in data[:2000] else real(data)

    monkeypatch.setattr("truegreen.cassettes.key.sha256_of", alike)
    recorded(tmp_path, (asked({"x": 1}), answered("one")), (asked({"x": 2}), answered("two")))
    assert [17, 69] == sorted(map(len, folder(tmp_path).names()))
    store = player(tmp_path)
    assert ["two", "one"] == [said(store.play(asked({"x": number}))) for number in (2, 1)]
    assert "cassette-missing" == code(store.play(asked({"x": 3})))


def test_nothing_is_written_where_recordings_are_played(tmp_path):
    """Whoever keeps without leave is told."""
    with pytest.raises(UsageProblem) as caught:
        player(tmp_path).keep(asked(), answered())
    assert ("recording-not-open", []) == (caught.value.code, list(tmp_path.iterdir()))


@pytest.mark.parametrize("status", [301, 400, 429, 500, 529])
def test_only_final_successes_are_kept(tmp_path, status):
    """Unless a test asks for an error."""
    with pytest.raises(EvidenceProblem) as caught:
        recorder(tmp_path).keep(asked(), answered(status=status))
    assert ("status-not-recorded", []) == (caught.value.code, list(tmp_path.iterdir()))
    recorder(tmp_path, keeps_errors=True).keep(asked(), answered(status=status))
    assert status == player(tmp_path).play(asked()).status


def test_a_re_recording_replaces_and_the_log_keeps_what_was_replaced(tmp_path):
    """The digests of the old bodies and of the new one; the log only grows."""
    recorded(tmp_path, (asked(), answered("a")), (asked(), answered("b")))
    for number, text in enumerate(("c", "d")):
        now = LATER.replace("09", f"1{number}")
        recorder(tmp_path, now=now, since=now).keep(asked(), answered(text))
    store = player(tmp_path)
    assert ("d", "cassette-exhausted") == (said(store.play(asked())), code(store.play(asked())))
    lines = [json.loads(line) for line in (tmp_path / REPLACED_LOG).read_text().splitlines()]
    digests = {text: sha256_of(answered(text).body) for text in "abcd"}
    assert [[digests["a"], digests["b"]], [digests["c"]]] == [line["replaced"] for line in lines]
    assert [[digests["c"]], [digests["d"]]] == [line["by"] for line in lines]
    assert [LATER.replace("09", "10"), LATER.replace("09", "11")] == [line["at"] for line in lines]


def test_a_damaged_recording_can_be_recorded_again(tmp_path):
    """It is replaced, and the log has the digest of its bytes."""
    name = recorded(tmp_path, (asked(), answered("a")))
    damaged = (tmp_path / name).read_bytes()[:-9]
    (tmp_path / name).write_bytes(damaged)
    recorder(tmp_path).keep(asked(), answered("b"))
    assert "b" == said(player(tmp_path).play(asked()))
    (line,) = (tmp_path / REPLACED_LOG).read_text().splitlines()
    assert [sha256_of(damaged)] == json.loads(line)["replaced"]


def test_two_recordings_within_one_second_are_two(tmp_path):
    """The clock of files tells them apart; what the same store wrote, and what was written since, is added to."""

    def opened(since_ns):
        return Store(folder(tmp_path), RULES, Recorder(now=lambda: NOW, since=NOW, since_ns=since_ns))

    first = opened(0)
    first.keep(asked(), answered("a"))
    first.keep(asked(), answered("b"))
    later = folder(tmp_path).modified_ns(folder(tmp_path).names()[0]) + 1
    second = opened(later)
    second.keep(asked(), answered("c"))
    second.keep(asked(), answered("d"))
    store = player(tmp_path)
    assert ["c", "d"] == [said(store.play(asked())) for _ in range(2)]
    opened(later - 1).keep(asked(), answered("e"))
    store = player(tmp_path)
    assert ["c", "d", "e"] == [said(store.play(asked())) for _ in range(3)]


def test_a_first_recording_leaves_no_log(tmp_path):
    """Nothing was replaced."""
    recorded(tmp_path, (asked(), answered("a")))
    assert not (tmp_path / REPLACED_LOG).exists()


def test_no_secret_reaches_the_disk(tmp_path):
    """Headers, query, body, cookie, answer, Base64: the bytes of all files are searched; the key tells them apart."""
    headers = [("Authorization", f"Bearer {SECRET}"), ("Cookie", "s=cookie-secret-1")]
    given = asked({"messages": f"my key is {SECRET}"}, headers=headers, query="api_key=query-secret-1&a=1")
    other = asked({"messages": f"my key is {SECRET}x"}, headers=headers)
    back = answered(
        f"ok {SECRET} cookie-secret-1 query-secret-1",
        headers=[("Set-Cookie", "t=answer-secret-1"), ("x", "answer-secret-1")],
    )
    recorded(tmp_path, (given, back), (other, answered("5")))
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [False] * 4 == [
        word in written for word in (SECRET.encode(), b"cookie-secret", b"query-secret", b"answer-secret")
    ]
    store = player(tmp_path)
    assert (
        "ok [redacted: credential-value] [redacted: credential-value] [redacted: credential-value]"
        == said(store.play(given))
    )
    assert "5" == said(store.play(other))
    assert "cassette-missing" == code(
        store.play(asked({"messages": "my key is [redacted: credential-value]"}))
    )


def test_another_key_of_the_same_user_finds_the_recording(tmp_path):
    """Credentials are no part of a request."""
    recorded(
        tmp_path,
        (asked(headers=[("authorization", f"Bearer {SECRET}")], query="key=aaaaaaaa"), answered("4")),
    )
    assert "4" == said(
        player(tmp_path).play(asked(headers=[("authorization", "Bearer none")], query="key=b"))
    )


def test_a_scrubbed_request_is_compared_with_the_asked_one(tmp_path):
    """The file's key cannot be computed; somebody who gives it another request is found out."""
    given = asked({"model": "m", "messages": SECRET})
    name = recorded(tmp_path, (given, answered("4")))
    cassette = read_cassette((tmp_path / name).read_bytes(), name)
    forged = msgspec.structs.replace(
        cassette,
        request=msgspec.structs.replace(cassette.request, body={**cassette.request.body, "model": "cheap"}),
    )
    (tmp_path / name).write_bytes(write_cassette(sealed(forged)))
    miss = player(tmp_path).play(given)
    assert ("cassette-wrong-key", "body.model") == (miss.code, miss.differs_at)


def test_ignored_dropped_and_referenced_places_are_printed(tmp_path):
    """A reviewer sees what the key does not hold."""
    rules = msgspec.structs.replace(RULES, volatile=("body.run[*]", "body.gone"))
    given = asked(
        {"run": [1, 2], "file_id": "file-1"}, headers=[("authorization", "Bearer x"), ("user-agent", "y")]
    )
    name = recorded(tmp_path, (given, answered("4")), rules=rules)
    about = json.loads((tmp_path / name).read_text())["about"]
    assert {
        "credentials": ["header authorization"],
        "headers": ["user-agent"],
        "number_types": False,
        "paths": [{"count": 2, "path": "body.run[*]"}, {"count": 0, "path": "body.gone"}],
    } == about["ignored"]
    assert [{"at": "body.file_id", "kind": "id"}] == about["references"]
    assert "4" == said(player(tmp_path, rules).play(asked({"run": [3, 4], "file_id": "file-1"})))
    assert "cassette-missing" == code(player(tmp_path, rules).play(asked({"run": [3], "file_id": "file-1"})))


def test_threads_record_and_play_without_losing_anything(tmp_path):
    """Eight of them, the same and different requests."""
    store = recorder(tmp_path)

    def work(number):
        store.keep(asked({"x": number}), answered(str(number)))
        store.keep(asked(), answered("same"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    played = player(tmp_path)
    assert [str(number) for number in range(8)] == [
        said(played.play(asked({"x": number}))) for number in range(8)
    ]
    assert ["same"] * 8 == [said(played.play(asked())) for _ in range(8)]


WRITE = """
import sys
sys.path.insert(0, sys.argv[1])
import pathlib
from factories.cassettes import answered, asked, recorder
path, number = pathlib.Path(sys.argv[2]), sys.argv[3]
for turn in range(int(sys.argv[4])):
    store = recorder(path)
    store.keep(asked({"x": f"{number}.{turn}"}), answered(number))
    store.keep(asked(), answered(number))
"""
TESTS = str(Path(__file__).parents[2])


def writer(path, number, turns):
    """A process that records."""
    return subprocess.Popen([sys.executable, "-c", WRITE, TESTS, str(path), str(number), str(turns)])


def test_processes_record_into_one_folder(tmp_path):
    """Four of them, each its own requests and one that all make: every answer is there."""
    assert [0] * 4 == [one.wait(60) for one in [writer(tmp_path, number, 3) for number in range(4)]]
    store = player(tmp_path)
    assert ["0", "0", "0", "1", "1", "1", "2", "2", "2", "3", "3", "3"] == sorted(
        said(store.play(asked())) for _ in range(12)
    )
    assert 13 == len(folder(tmp_path).names())


def test_a_killed_recorder_leaves_whole_files(tmp_path):
    """Whatever it was doing, the next one goes on."""
    for delay in (0.0, 0.05, 0.1):
        one = writer(tmp_path, "k", 10_000)
        while not folder(tmp_path).names():
            assert one.poll() is None
            time.sleep(0.01)
        time.sleep(delay)
        os.kill(one.pid, signal.SIGKILL)
        one.wait(60)
        for name in folder(tmp_path).names():
            read_cassette((tmp_path / name).read_bytes(), name)
    recorder(tmp_path).keep(asked({"last": 1}), answered("5"))
    assert "5" == said(player(tmp_path).play(asked({"last": 1})))


def test_a_full_disk_leaves_the_old_recording(tmp_path):
    """Whole or not at all."""
    name = recorded(tmp_path, (asked(), answered("4")))
    before = (tmp_path / name).read_bytes()

    def full(path, data):
        raise ReachProblem("disk-full", "no room")

    store = Store(Folder(tmp_path, full), RULES, Recorder(now=lambda: NOW, since=NOW))
    with pytest.raises(ReachProblem):
        store.keep(asked(), answered("5"))
    assert before == (tmp_path / name).read_bytes()


def test_recordings_without_types_of_numbers_say_so(tmp_path):
    """They answer both spellings, and are read by what they say."""
    rules = msgspec.structs.replace(RULES, ignores_number_types=True)
    name = recorded(tmp_path, (asked({"n": 1.0}), answered("4")), rules=rules)
    assert json.loads((tmp_path / name).read_text())["about"]["ignored"]["number_types"]
    assert "4" == said(player(tmp_path, rules).play(asked({"n": 1})))
    miss = player(tmp_path).play(asked({"n": 1}))
    assert ("cassette-other-rules", "body.n") == (miss.code, miss.differs_at)


def test_a_path_that_is_no_longer_volatile_counts_in_old_recordings(tmp_path):
    """A request without it has the old key; a declared path that is added changes nothing for other requests."""
    loose = msgspec.structs.replace(RULES, volatile=("body.id",))
    recorded(tmp_path, (asked({"id": "x"}), answered("4")), rules=loose)
    miss = player(tmp_path).play(asked({}))
    assert ("cassette-other-rules", "body.id") == (miss.code, miss.differs_at)
    looser = msgspec.structs.replace(RULES, volatile=("body.id", "body.run"))
    assert "4" == said(player(tmp_path, looser).play(asked({"id": "y"})))


def test_a_recording_that_is_kept_is_known_to_the_next_miss(tmp_path):
    """The index is made once and grows with what is kept; what was deleted since is not told as a difference."""
    store = recorder(tmp_path)
    store.keep(asked({"a": 1}), answered("1"))
    assert "body.a" == store.play(asked({"a": 2})).differs_at
    store.keep(asked({"a": 1, "b": 2}), answered("2"))
    miss = store.play(asked({"a": 1, "b": 3}))
    assert "body.b" == miss.differs_at
    (tmp_path / miss.nearest).write_bytes(b"{")
    assert (miss.nearest, None) == (
        store.play(asked({"a": 1, "b": 3})).nearest,
        store.play(asked({"a": 1, "b": 3})).differs_at,
    )
    (tmp_path / miss.nearest).unlink()
    assert store.play(asked({"a": 1, "b": 3})).differs_at is None


def test_a_file_that_goes_while_the_folder_is_listed_is_no_problem(tmp_path, monkeypatch):
    """Another process may clear out."""
    name = recorded(tmp_path, (asked(), answered("4")))
    monkeypatch.setattr(Folder, "names", lambda self: (name, "000000000000.json"))
    assert name == player(tmp_path).play(asked({"x": 1})).nearest


def test_what_is_written_is_read_back(tmp_path):
    """A disk that keeps other bytes is found out at once."""

    def other(path, data):
        path.write_bytes(data[:-1])

    store = Store(Folder(tmp_path, other), RULES, Recorder(now=lambda: NOW, since=NOW))
    with pytest.raises(ReachProblem) as caught:
        store.keep(asked(), answered("5"))
    assert "not-written" == caught.value.code


def test_a_header_that_counts_now_and_was_ignored_is_no_answer(tmp_path):
    """What it said is not in the recording; one that was never sent is no matter."""
    strict = msgspec.structs.replace(RULES, places=places(semantic_headers=("accept-language",)))
    recorded(
        tmp_path,
        (asked(headers=[("accept-language", "de"), ("accept", "*/*")]), answered("4")),
        (asked({"x": 1}), answered("5")),
    )
    store = player(tmp_path, strict)
    miss = store.play(asked())
    assert ("cassette-other-rules", "headers.accept-language") == (miss.code, miss.differs_at)
    assert "5" == said(store.play(asked({"x": 1})))
