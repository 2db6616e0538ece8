# SPDX-License-Identifier: Apache-2.0
"""Events come out the same however the bytes were cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.proxy.sse import Event, EventStream

LINE_ENDS = ("\n", "\r\n", "\r")
TEXT = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=12)
HOSTILE = st.lists(
    st.sampled_from(
        [b"data:", b"data: ", b"event:", b"\r", b"\n", b"\r\n", b"x", b"\xff", b"\xef\xbb\xbf", b":"]
    )
).map(b"".join)


def _read(raw, cuts=(), **options):
    stream = EventStream(**options)
    edges = [0, *sorted(cuts), len(raw)]
    events = [e for a, b in itertools.pairwise(edges) for e in stream.feed(raw[a:b])]
    return events + stream.flush(), stream


@st.composite
def _streams(draw):
    """Bytes of a stream and its events, written with mixed line ends, comments and unknown fields."""
    raw, events = draw(st.sampled_from(["", "\ufeff"])), []
    for _ in range(draw(st.integers(0, 5))):
        name, rows = draw(TEXT), draw(st.lists(TEXT, max_size=4))
        lines = [f"event: {name}"] if name else []
        lines += [f"data: {row}" for row in rows]
        lines += draw(
            st.lists(st.sampled_from([": ping", "id: 7", "retry: 1", "nonsense", "data2: x"]), max_size=2)
        )
        end = draw(st.sampled_from(LINE_ENDS))
        raw += end.join([*lines, "", ""])
        if rows:
            events.append(Event(name=name, data="\n".join(rows)))
    return raw.encode(), events


@given(_streams(), st.data())
def test_events_do_not_depend_on_how_the_bytes_were_cut(made, data):
    """Cuts within characters, line ends, marks and field names change nothing."""
    raw, expected = made
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=12))
    assert expected == _read(raw, cuts)[0]
    assert expected == _read(raw, range(len(raw)))[0]


@given(HOSTILE, st.data())
def test_any_bytes_give_the_same_events_in_any_pieces(raw, data):
    """Bytes that are no stream at all are read the same way whole and cut, and raise nothing."""
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=12))
    assert _read(raw)[0] == _read(raw, cuts)[0]
    whole, pieces = _read(raw, max_event_bytes=8), _read(raw, cuts, max_event_bytes=8)
    assert (whole[0], whole[1].oversized) == (pieces[0], pieces[1].oversized)


@given(HOSTILE, st.data(), st.integers(1, 20))
def test_memory_stays_within_the_limit(raw, data, limit):
    """What is held is never more than one event of the allowed size and one piece."""
    stream = EventStream(max_event_bytes=limit)
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=12))), len(raw)]
    for a, b in itertools.pairwise(edges):
        for event in stream.feed(raw[a:b]):
            assert len(event.data.encode("utf-8", "replace")) <= 3 * limit + 3
        assert len(stream._rest) <= max(limit, 3)
        assert sum(map(len, stream._data)) <= limit


@pytest.mark.parametrize("size", [10, 11])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_an_event_above_the_limit_is_dropped_and_said(size, step):
    """The event before and the event after it are read; the one above the limit is not."""
    raw = b"data: a\n\n" + b"data: " + b"x" * size + b"\n\ndata: b\n\n"
    events, stream = _read(raw, range(0, len(raw), step), max_event_bytes=17)
    assert ["a", "x" * size, "b"] == [event.data for event in events]
    events, stream = _read(raw, range(0, len(raw), step), max_event_bytes=9)
    assert (["a", "b"], True) == ([event.data for event in events], stream.oversized)


def test_a_line_that_never_ends_is_read_in_linear_time():
    """A megabyte in pieces of one byte copies no megabyte each time."""
    stream = EventStream(max_event_bytes=1 << 20)
    for _ in range(200_000):
        stream.feed(b"x")
    assert 200_000 == len(stream._rest)


def test_what_stands_after_the_last_blank_line_is_read_at_the_end():
    """An end mark without its blank line was sent all the same."""
    assert [Event(name="", data="[DONE]")] == _read(b"data: [DONE]")[0]
    assert [] == _read(b"data")[1].flush()


def test_bytes_that_are_not_utf_8_are_replaced():
    """A broken character costs the character, not the event."""
    assert [Event(name="", data="a\ufffdb")] == _read(b"data: a\xffb\n\n")[0]


def test_only_one_space_after_the_colon_is_dropped():
    """Further spaces belong to the value, and a value may start at once."""
    assert [Event(name="", data=" a\nb\n")] == _read(b"data:  a\ndata:b\ndata\n\n")[0]
