# SPDX-License-Identifier: Apache-2.0
"""The directory of an archive, its end and its zip64 fields."""

import io

import pytest
from forged_zip import Entry, extra, forge, zip64, zip64_end

from truegreen.core.errors import EvidenceProblem
from truegreen.gate import archive_directory
from truegreen.gate.archive_directory import Source, read_directory

ONE = Entry(name="a", content=b"{}")
FULL = 0xFFFFFFFF
AMBIGUOUS = ("archive-ambiguous", True)
BROKEN = ("archive-broken", False)
UNSUPPORTED = ("archive-unsupported", False)


def entries(data: bytes):
    """Name, packed length, length and place of each entry."""
    members, _ = read_directory(Source(io.BytesIO(data)))
    return [(member.name, member.packed, member.size, member.offset) for member in members]


def refusal(data: bytes) -> tuple[str, bool]:
    """The code with which a directory is refused, and whether it contradicts itself."""
    with pytest.raises(EvidenceProblem) as caught:
        entries(data)
    return caught.value.code, caught.value.contradictory


def test_entries_are_read_in_order():
    """Names without the mark of a folder, and all lengths."""
    data = forge(
        Entry(name="b/", method=0), Entry(name="a", content=b"{}", extra=extra(0x5455, b"\1\0\0\0\0"))
    )
    assert [("b", 0, 0, 0), ("a", 4, 2, 32)] == entries(data)
    assert 32 + 31 + 4 == read_directory(Source(io.BytesIO(data)))[1]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ({"comment": b"hello"}, BROKEN),
        ({"tail": b"\0"}, BROKEN),
        ({"comment_bytes": 5}, BROKEN),
        ({"tail": forge()}, AMBIGUOUS),
        ({"mark": b"PK\x05\x07"}, BROKEN),
        ({"disk": 1}, UNSUPPORTED),
        ({"count_here": 2}, UNSUPPORTED),
        ({"count": 2}, BROKEN),
        ({"count": 0}, AMBIGUOUS),
        ({"size": 46}, AMBIGUOUS),
        ({"offset": 0}, AMBIGUOUS),
        ({"count": 0xFFFF}, BROKEN),
        ({"size": FULL}, BROKEN),
        ({"offset": FULL}, BROKEN),
    ],
)
def test_an_end_that_lies_is_refused(end, expected):
    """About where the directory is, how long, and how many entries it has."""
    assert expected == refusal(forge(ONE, **end))


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\x05\x06", b"x" * 22, b"not a zip at all, but long enough to be one"]
)
def test_what_is_no_archive_is_refused(data):
    """Empty, short, or something else."""
    assert BROKEN == refusal(data)


@pytest.mark.parametrize(
    "full",
    [
        {"count": 0xFFFF},
        {"size": FULL},
        {"offset": FULL},
        {"count": 0xFFFF, "size": FULL, "offset": FULL},
        {},
    ],
)
def test_a_wide_end_is_read_where_both_ends_agree(full):
    """Short values are full or the same."""
    assert [("a", 4, 2, 0)] == entries(
        forge(ONE, zip64=zip64_end, **full, **({"count_here": 0xFFFF} if "count" in full else {}))
    )


@pytest.mark.parametrize(
    ("wide", "expected"),
    [
        ({"count": 2, "here": 2}, AMBIGUOUS),
        ({"size": 46}, AMBIGUOUS),
        ({"offset": 0}, AMBIGUOUS),
        ({"at": 0}, AMBIGUOUS),
        ({"at": 2**63}, AMBIGUOUS),
        ({"length": 45}, BROKEN),
        ({"mark": b"PK\x06\x05"}, BROKEN),
        ({"disks": 2}, UNSUPPORTED),
        ({"here": 0}, UNSUPPORTED),
    ],
)
def test_a_wide_end_that_lies_is_refused(wide, expected):
    """It would be read by one reader and not by another."""
    assert expected == refusal(forge(ONE, zip64=lambda *sizes: zip64_end(*sizes, **wide)))


def test_a_wide_end_that_moves_the_directory_is_refused():
    """Full values send a reader to the wide ones, which must still end where the wide end begins."""
    lie = {"size": 46, "offset": 0}
    assert AMBIGUOUS == refusal(
        forge(ONE, size=FULL, offset=FULL, zip64=lambda *sizes: zip64_end(*sizes, **lie))
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"size": FULL, "extra": zip64(2)}, ("a", 4, 2, 0)),
        ({"packed_size": FULL, "extra": zip64(4)}, ("a", 4, 2, 0)),
        ({"size": FULL, "packed_size": FULL, "offset": FULL, "extra": zip64(2, 4, 0)}, ("a", 4, 2, 0)),
        ({"size": FULL, "extra": zip64(2**40)}, ("a", 4, 2**40, 0)),
        ({"extra": zip64(2, 4, 0)}, ("a", 4, 2, 0)),
        ({"extra": zip64(2)}, ("a", 4, 2, 0)),
        ({"extra": extra(0x7075, b"\1\0\0\0\0a")}, ("a", 4, 2, 0)),
        ({"comment": b"PK\x05\x06"}, ("a", 4, 2, 0)),
    ],
)
def test_wide_fields_of_an_entry_are_read(entry, expected):
    """Exactly those whose short form is full; others may only repeat what was said."""
    assert [expected] == entries(forge(Entry(name="a", content=b"{}", **entry)))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"size": FULL}, AMBIGUOUS),
        ({"size": FULL, "extra": zip64()}, AMBIGUOUS),
        ({"size": FULL, "extra": zip64(2, 4)}, AMBIGUOUS),
        ({"size": FULL, "packed_size": FULL, "extra": zip64(2)}, AMBIGUOUS),
        ({"extra": zip64(3)}, AMBIGUOUS),
        ({"extra": zip64(2, 4, 0, 0)}, AMBIGUOUS),
        ({"extra": extra(0x0001, b"\0" * 7)}, AMBIGUOUS),
        ({"extra": zip64(2) + zip64(2)}, BROKEN),
        ({"extra": b"\1"}, BROKEN),
        ({"extra": b"\1\0\x08\0\0"}, BROKEN),
        ({"extra": extra(0x7075, b"\1\0\0\0\0b")}, AMBIGUOUS),
        ({"extra": extra(0x7075, b"")}, AMBIGUOUS),
        ({"disk": 1}, UNSUPPORTED),
    ],
)
def test_fields_that_contradict_the_entry_are_refused(entry, expected):
    """A second length or a second name is a second reading."""
    assert expected == refusal(forge(Entry(name="a", content=b"{}", **entry)))


@pytest.mark.parametrize("cut", range(1, 47))
def test_a_directory_cut_short_is_refused(cut):
    """With an end that says so honestly."""
    honest = forge(ONE)
    directory = honest[35 : -22 - cut]
    assert BROKEN == refusal(honest[:35] + directory + forge(size=len(directory), offset=35, count=1)[-22:])


def test_an_entry_without_its_mark_is_none():
    """What stands there may look like an entry otherwise."""
    assert BROKEN == refusal(forge(ONE).replace(b"PK\x01\x02", b"PK\x01\x03"))


def test_an_entry_that_takes_no_other_room_than_its_content_is_stored():
    """A stored member of another length would leave or take bytes."""
    assert BROKEN == refusal(forge(Entry(name="a", content=b"{}", method=0, size=3)))


def test_what_lies_outside_of_the_archive_is_never_read():
    """A place or a length beyond the end, or before the beginning, is damage."""
    source = Source(io.BytesIO(b"12345"))
    assert b"345" == source.read(2, 3)
    for offset, length in ((2, 4), (6, 0), (-1, 1), (2**63, 1)):
        with pytest.raises(EvidenceProblem, match=f"{length} bytes at {offset} are asked of an archive of 5"):
            source.read(offset, length)


def test_the_number_of_members_and_the_length_of_the_directory_are_bounded(monkeypatch):
    """By what the end declares, before the directory is read."""
    monkeypatch.setattr(archive_directory, "MAX_MEMBERS", 1)
    assert [("a", 4, 2, 0)] == entries(forge(ONE))
    assert ("evidence-too-large", False) == refusal(forge(ONE, Entry(name="b")))
    monkeypatch.setattr(archive_directory, "MAX_DIRECTORY_BYTES", 47)
    assert [("a", 4, 2, 0)] == entries(forge(ONE))
    monkeypatch.setattr(archive_directory, "MAX_DIRECTORY_BYTES", 46)
    assert ("evidence-too-large", False) == refusal(forge(ONE))


def test_a_file_that_shrinks_while_it_is_read_is_refused():
    """What was there when it was opened is asked for whole."""
    file = io.BytesIO(forge(ONE))
    source = Source(file)
    file.truncate(20)
    with pytest.raises(EvidenceProblem, match="archive-broken"):
        read_directory(source)
