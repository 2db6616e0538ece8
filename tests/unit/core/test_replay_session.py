# SPDX-License-Identifier: Apache-2.0
"""What a replay came to, read strictly and joined."""

import msgspec
import pytest

from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem
from truegreen.core.replay_session import (
    GUARDS,
    SCHEMA,
    Missed,
    Played,
    ReplaySession,
    is_weaker,
    joined,
    read_session,
    refuse_doubled,
    weakest,
    write_session,
)

KEY = Sha256("sha256:" + "1" * 64)
OTHER = Sha256("sha256:" + "2" * 64)


def session(**changes):
    """A whole replay of one recording."""
    said = {
        "schema": SCHEMA,
        "cassettes": "cassettes",
        "guard": "namespace",
        "started_at": "2026-01-01T10:00:00Z",
        "ended_at": "2026-01-01T10:01:00Z",
        "command_exit": 0,
        "complete": True,
        "incomplete_because": "",
        "hits": (Played(file="a.json", key=KEY, count=1),),
        "misses": (),
        "unused": (),
        "upstream_calls": 0,
        "guard_stops": 0,
        "before": None,
        "after": None,
    }
    return ReplaySession(**(said | changes))


def missed(key=OTHER, count=1):
    """A request without a recording."""
    return Missed(code="cassette-missing", key=key, count=count)


def test_a_session_is_read_as_it_was_written():
    """Nothing is lost on the way through the file."""
    one = session(misses=(missed(),))
    assert one == read_session(write_session(one))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema", "truegreen/replay-session/v2"),
        ("guard", "hope"),
        ("command_exit", True),
        ("upstream_calls", -1),
        ("started_at", "2026-13-01T10:00:00Z"),
        ("before", "sha256:" + "1" * 64),
        ("more", 1),
    ],
)
def test_what_the_schema_does_not_know_is_refused(field, value):
    """An unknown word, a count below zero, an impossible time, another digest or a new field."""
    body = msgspec.to_builtins(session()) | {field: value}
    with pytest.raises(EvidenceProblem) as caught:
        read_session(msgspec.json.encode(body))
    assert "schema-refused" == caught.value.code


def test_a_file_that_was_cut_is_refused():
    """Half a session is none."""
    with pytest.raises(EvidenceProblem):
        read_session(write_session(session())[:-20])


def test_workers_are_one_run():
    """Hits and misses add up; a recording is unused only if no worker played it."""
    one = session(hits=(Played(file="a.json", key=KEY, count=1),), unused=("b.json", "c.json"))
    two = session(
        hits=(Played(file="a.json", key=KEY, count=2), Played(file="b.json", key=OTHER, count=1)),
        unused=("c.json",),
        misses=(missed(),),
        started_at="2026-01-01T09:00:00Z",
    )
    three = session(misses=(missed(count=2),), unused=("a.json", "b.json", "c.json"), hits=())
    whole = joined([one, two, three])
    assert (("a.json", 3), ("b.json", 1)) == tuple((hit.file, hit.count) for hit in whole.hits)
    assert (missed(count=3),) == whole.misses
    assert ("c.json",) == whole.unused
    assert ("2026-01-01T09:00:00Z", "2026-01-01T10:01:00Z") == (whole.started_at, whole.ended_at)


def test_the_weakest_part_speaks_for_the_whole():
    """The weakest guard, the part that did not end, the command that failed, the folder that changed."""
    before, after = "h1:" + "A" * 43 + "=", "h1:" + "B" * 42 + "A="
    parts = [
        session(before=before, after=before),
        session(guard="audit", before=before, after=after, command_exit=2),
        session(complete=False, incomplete_because="interrupted", before=before, after=before),
    ]
    whole = joined(parts)
    assert ("audit", 2, False, "interrupted", after) == (
        whole.guard,
        whole.command_exit,
        whole.complete,
        whole.incomplete_because,
        whole.after,
    )
    assert joined([*parts, session(command_exit=None, before=before)]).command_exit is None


def test_nothing_is_no_run():
    """An empty list of sessions is refused, not a run without misses."""
    with pytest.raises(EvidenceProblem) as caught:
        joined([])
    assert "no-session" == caught.value.code


def test_sessions_of_other_recordings_are_not_joined():
    """Two folders are two runs."""
    with pytest.raises(EvidenceProblem) as caught:
        joined([session(), session(cassettes="elsewhere")])
    assert "sessions-differ" == caught.value.code


def test_guards_have_an_order():
    """Less than what is demanded is weaker; the same is not."""
    assert [True, False, False] == [is_weaker(one, "landlock") for one in ("audit", "landlock", "namespace")]
    assert GUARDS[0] == weakest([])


def test_a_part_that_is_given_twice_is_refused():
    """It would stand in for a missing one; parts in which nothing was asked may well be equal."""
    refuse_doubled([session(), session(guard="audit"), session(hits=()), session(hits=())])
    with pytest.raises(EvidenceProblem) as caught:
        refuse_doubled([session(), session(guard="audit"), session()])
    assert "session-twice" == caught.value.code


def test_parts_on_two_commits_are_no_run():
    """One run has one commit."""
    with pytest.raises(EvidenceProblem) as caught:
        joined([session(commit="1" * 40), session(commit="2" * 40)])
    assert ("sessions-differ", "1" * 40) == (caught.value.code, joined([session(commit="1" * 40)]).commit)
