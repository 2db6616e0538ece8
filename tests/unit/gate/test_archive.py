# SPDX-License-Identifier: Apache-2.0
"""Members of an archive: where they stand, what they hold, what is refused."""

import io
import random
import struct
import zipfile
import zlib

import pytest
from forged_zip import Entry, deflated, extra, forge, zip64
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.gate.archive import MAX_RATIO, read_archive

RECORD = "a.truegreen.json"
MIB = 1024 * 1024
FOLLOW = 0x0008
CRC = zlib.crc32(b"{}")


def read(data: bytes, *, max_file=2 * MIB, max_total=4 * MIB):
    """Contents and the number of other members, as the intake asks for them."""
    return read_archive(
        io.BytesIO(data),
        is_wanted=lambda name: name.endswith(".truegreen.json"),
        max_file_bytes=max_file,
        max_total_bytes=max_total,
    )


def refusal(data: bytes, **limits) -> tuple[str, bool]:
    """The code with which an archive is refused, and whether it contradicts itself."""
    with pytest.raises(EvidenceProblem) as caught:
        read(data, **limits)
    return caught.value.code, caught.value.contradictory


AMBIGUOUS = ("archive-ambiguous", True)
BROKEN = ("archive-broken", False)


def test_wanted_members_are_read_and_others_counted():
    """In the order of their names, whatever their order in the archive."""
    data = forge(
        Entry(name="z.truegreen.json", content=b"1"),
        Entry(name="big.html", content=b"x" * 5 * MIB),
        Entry(name="dir/", mode=0o040755, method=0),
        Entry(name="dir/b.truegreen.json", content=b"2", method=0),
        Entry(name="dir/é.truegreen.json", content=b""),
    )
    expected = (("dir/b.truegreen.json", b"2"), ("dir/é.truegreen.json", b""), ("z.truegreen.json", b"1"))
    assert (expected, 1) == read(data)


def test_an_archive_without_members_holds_nothing():
    """22 bytes, and no error: absence is for the decision to judge."""
    assert ((), 0) == read(forge())


def test_archives_of_other_writers_are_read():
    """Seekable and streamed, as Python writes them."""

    class Pipe(io.RawIOBase):
        """A file that cannot go back, so lengths follow the content."""

        def __init__(self) -> None:
            self.written = b""

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.written += bytes(data)
            return len(data)

    for target in (io.BytesIO(), Pipe()):
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("é/" + RECORD, b"{}")
            archive.writestr("b.html", b"x" * 1000)
            with archive.open(RECORD, "w", force_zip64=True) as member:
                member.write(b"[]")
        data = target.getvalue() if isinstance(target, io.BytesIO) else target.written
        assert (((RECORD, b"[]"), ("é/" + RECORD, b"{}")), 1) == read(data)


@pytest.mark.parametrize(
    "after",
    [
        struct.pack("<3I", CRC, 4, 2),
        struct.pack("<4s3I", b"PK\x07\x08", CRC, 4, 2),
        struct.pack("<I2Q", CRC, 4, 2),
        struct.pack("<4sI2Q", b"PK\x07\x08", CRC, 4, 2),
    ],
)
@pytest.mark.parametrize("said", [{"crc": 0, "size": 0, "packed_size": 0}, {"crc": 0, "packed_size": 0}, {}])
def test_lengths_may_follow_the_content(after, said):
    """In each of the four forms; before the content stands nothing or the truth."""
    assert len(deflated(b"{}")) == 4
    entry = Entry(name=RECORD, content=b"{}", flags=FOLLOW, local=said, after=after)
    assert (((RECORD, b"{}"),), 0) == read(forge(entry))


@pytest.mark.parametrize(
    "entry",
    [
        {"flags": FOLLOW},
        {"flags": FOLLOW, "after": struct.pack("<3I", CRC, 4, 3)},
        {"flags": FOLLOW, "after": struct.pack("<3I", CRC + 1, 4, 2)},
        {"flags": FOLLOW, "after": struct.pack("<4s3I", b"PK\x07\x07", CRC, 4, 2)},
        {"flags": FOLLOW, "after": struct.pack("<3I", CRC, 4, 2) + b"\0"},
        {"after": struct.pack("<3I", CRC, 4, 2)},
        {"after": b"\0"},
        {"before": b"\0"},
        {"flags": FOLLOW, "after": struct.pack("<3I", CRC, 4, 2), "local": {"size": 3}},
        {
            "flags": FOLLOW,
            "after": struct.pack("<3I", CRC, 4, 2),
            "local": {"crc": 1, "size": 0, "packed_size": 0},
        },
        {"local": {"name": b"b.truegreen.json"}},
        {"local": {"name": b"a.truegreen.json\0"}},
        {"local": {"method": 0}},
        {"local": {"flags": 0x800}},
        {"local": {"crc": 1}},
        {"local": {"size": 3}},
        {"local": {"packed_size": 3}},
        {"local": {"crc": 0, "size": 0, "packed_size": 0}},
        {"local": {"mark": b"PK\x01\x02"}},
        {"local": {"extra": extra(0x7075, b"\1\0\0\0\0b.truegreen.json")}},
        {"local": {"size": 0xFFFFFFFF, "packed_size": 0xFFFFFFFF, "extra": zip64(2, 5)}},
        {"local": {"size": 0xFFFFFFFF, "packed_size": 0xFFFFFFFF}},
        {"local": {"extra": zip64(2, 5)}},
        {"offset": 1},
        {"packed_size": 3, "local": {"packed_size": 3}},
        {"packed_size": 5, "local": {"packed_size": 5}},
    ],
)
def test_what_stands_around_a_member_may_not_differ_from_the_directory(entry):
    """Another reader would see another member."""
    assert AMBIGUOUS == refusal(forge(Entry(name=RECORD, content=b"{}", **entry), Entry(name="b")))


def test_lengths_before_the_content_may_be_wide():
    """As a writer that did not know them leaves them, or as a writer that did."""
    wide = {"size": 0xFFFFFFFF, "packed_size": 0xFFFFFFFF, "extra": zip64(2, 4)}
    assert (((RECORD, b"{}"),), 0) == read(forge(Entry(name=RECORD, content=b"{}", local=wide)))
    unknown = wide | {"crc": 0, "extra": zip64(0, 0)}
    after = struct.pack("<I2Q", CRC, 4, 2)
    assert (((RECORD, b"{}"),), 0) == read(
        forge(Entry(name=RECORD, content=b"{}", flags=FOLLOW, local=unknown, after=after))
    )


def test_two_entries_for_one_place_are_refused():
    """The way a small archive unpacks to a large one."""
    one = Entry(name=RECORD, content=b"{}")
    other = Entry(name="b.truegreen.json", content=b"{}", offset=0)
    assert AMBIGUOUS == refusal(forge(one, other))


def test_an_entry_that_lies_inside_of_another_is_refused():
    """A stored member whose content is a member."""
    inner = forge(Entry(name="b.truegreen.json", content=b"{}"))[: 30 + 16 + 4]
    outer = Entry(name=RECORD, content=inner, method=0)
    hidden = Entry(name="b.truegreen.json", content=b"{}", offset=30 + len(RECORD))
    data = forge(outer, hidden)
    assert AMBIGUOUS == refusal(data)
    assert b"{}" == zipfile.ZipFile(io.BytesIO(data)).read("b.truegreen.json")


@pytest.mark.parametrize("place", ["prefix", "gap"])
def test_bytes_that_belong_to_no_member_are_refused(place):
    """In front of the first or behind the last, where another archive could hide."""
    for entries in ((Entry(name=RECORD, content=b"{}"),), ()):
        assert AMBIGUOUS == refusal(forge(*entries, **{place: forge(Entry(name="x"))}))


@pytest.mark.parametrize(
    "names",
    [
        ("../a.truegreen.json",),
        ("/a.truegreen.json",),
        ("x/../../a.truegreen.json",),
        ("./a.truegreen.json",),
        ("x//a.truegreen.json",),
        ("C:a.truegreen.json",),
        ("c:/a.truegreen.json",),
        ("..\\a.truegreen.json",),
        ("a\n::error::.truegreen.json",),
        ("\x1b[2J.html",),
        ("a\0.truegreen.json",),
        ("a\u009b.html",),
        ("",),
        ("/",),
        (".github/../../x.js", RECORD),
    ],
)
def test_one_unsafe_name_refuses_the_archive(names):
    """Wanted or not: who writes such a name is not trusted with the others."""
    assert ("unsafe-name", False) == refusal(forge(*(Entry(name=name) for name in names)))


@pytest.mark.parametrize("name", [b"caf\xe9", "caf\u00e9".encode()])
def test_a_name_in_an_undeclared_encoding_is_refused(name):
    """Readers guess its encoding differently."""
    assert ("unsafe-name", False) == refusal(forge(Entry(name=name, flags=0)))
    assert ("unsafe-name", False) == refusal(forge(Entry(name=b"caf\xe9", flags=0x800)))


@pytest.mark.parametrize(
    "names",
    [
        (RECORD, RECORD),
        ("x.html", "x.html"),
        ("A.html", "a.html"),
        ("é.html", "e\u0301.html"),
        ("a", "a/b.truegreen.json"),
        ("a/b.truegreen.json", "A/c.truegreen.json"),
        ("a/", "a/"),
        ("a/", "A/b"),
        ("a/", "a"),
        ("a/b/", "A"),
    ],
)
def test_names_that_are_one_name_somewhere_refuse_the_archive(names):
    """The last would win in one reader, the first in another, and folders would merge in a third."""
    assert ("name-collision", True) == refusal(forge(*(Entry(name=name, method=0) for name in names)))


@pytest.mark.parametrize("mode", [0o120777, 0o010644, 0o020644, 0o060644, 0o140644, 0o040755])
def test_links_and_special_files_are_refused(mode):
    """A link, a pipe, devices, a socket, and a folder that is called a file."""
    assert ("evidence-not-plain", False) == refusal(
        forge(Entry(name=RECORD, content=b"/etc/passwd", mode=mode))
    )


def test_a_folder_may_be_marked_by_its_name_alone():
    """Writers without modes do so."""
    assert (((RECORD, b""),), 0) == read(
        forge(Entry(name="d/", mode=0, method=0), Entry(name=RECORD, mode=0))
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"flags": 0x0001},
        {"flags": 0x0041},
        {"flags": 0x2000},
        {"flags": 0x0020},
        {"method": 9},
        {"method": 12},
        {"method": 14},
        {"method": 93},
        {"method": 99},
    ],
)
def test_encryption_and_other_methods_are_refused(entry):
    """Also for a member that nobody wants, since the archive is one thing."""
    for name in (RECORD, "x.html"):
        assert ("archive-unsupported", False) == refusal(
            forge(Entry(name=name, content=b"{}", packed=b"{}", **entry))
        )


@pytest.mark.parametrize(
    "entry",
    [
        {"method": 0, "size": 3},
        {"method": 0, "packed": b"{}}", "packed_size": 3},
        {"size": 3},
        {"size": 1},
        {"size": 0},
        {"crc": 7},
        {"method": 0, "crc": 7},
        {"packed": deflated(b"{}") + b"x"},
        {"packed": deflated(b"{}")[:-1]},
        {"packed": b""},
        {"packed": b"\xff\xff\xff"},
        {"packed": zlib.compress(b"{}")},
    ],
)
def test_content_must_be_what_was_declared(entry):
    """Length, checksum and a stream that ends where it should."""
    assert BROKEN == refusal(forge(Entry(name=RECORD, content=b"{}", **entry)))


def test_a_folder_with_content_is_refused():
    """Nobody would see it."""
    assert BROKEN == refusal(forge(Entry(name="d/", content=b"{}", method=0)))


def test_a_bomb_is_refused_by_what_it_declares():
    """Before anything is unpacked: one large file, many files, or a small one that grows too much."""
    large = random.Random(4).randbytes(2 * MIB)
    assert (((RECORD, large),), 0) == read(forge(Entry(name=RECORD, content=large)))
    assert ("evidence-too-large", False) == refusal(forge(Entry(name=RECORD, content=large + b"x")))
    half = random.Random(5).randbytes(MIB)
    three = [Entry(name=f"{i}.truegreen.json", content=half) for i in range(5)]
    assert ("evidence-too-large", False) == refusal(forge(*three))
    assert 4 == len(read(forge(*three[:4]))[0])
    grows = b"\0" * (MIB + 1)
    assert len(grows) > MAX_RATIO * len(deflated(grows))
    assert ("evidence-too-large", False) == refusal(forge(Entry(name=RECORD, content=grows)))
    assert (((RECORD, grows[1:]),), 0) == read(forge(Entry(name=RECORD, content=grows[1:])))
    at_the_ratio = deflated(grows).ljust((len(grows) + MAX_RATIO - 1) // MAX_RATIO, b"x")
    exact = Entry(name=RECORD, content=grows, packed=at_the_ratio, size=MAX_RATIO * len(at_the_ratio))
    assert BROKEN == refusal(forge(exact))


def test_a_bomb_that_lies_about_its_length_is_not_unpacked_beyond_it():
    """Declared are two bytes, packed are fifty million."""
    zeros = b"\0" * 50_000_000
    packed = deflated(zeros)
    bomb = forge(Entry(name=RECORD, content=zeros, packed=packed, size=2))
    assert BROKEN == refusal(bomb)
    dense = forge(Entry(name=RECORD, content=zeros, packed=packed, size=40 * len(packed)))
    assert BROKEN == refusal(dense)


def test_an_unwanted_member_is_never_unpacked():
    """However large it says it is, and whatever it holds."""
    damaged = Entry(name="trace.html", content=b"x", packed=b"\xff\xff", size=0xFFFFFFF0)
    assert (((RECORD, b"{}"),), 1) == read(forge(damaged, Entry(name=RECORD, content=b"{}")))


HONEST = forge(
    Entry(name="b.html", content=b"x" * 50),
    Entry(name=RECORD, content=b'{"a": 1}'),
    Entry(name="d/", method=0),
)


@pytest.mark.parametrize("length", range(len(HONEST)))
def test_an_archive_cut_anywhere_is_refused(length):
    """At every byte."""
    assert BROKEN == refusal(HONEST[:length])


@given(st.integers(0, len(HONEST) - 1), st.integers(1, 255))
def test_no_changed_byte_changes_what_is_read(place, change):
    """Either it is refused, or the byte meant nothing (a time, a version)."""
    changed = bytearray(HONEST)
    changed[place] ^= change
    assert outcome(bytes(changed)) in {"refused", "same"}


def outcome(data: bytes) -> str:
    """Whether the honest content came out, another, or a refusal."""
    try:
        files, ignored = read(data)
    except EvidenceProblem:
        return "refused"
    return "same" if (files, ignored) == (((RECORD, b'{"a": 1}'),), 1) else "other"


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: HONEST[:80] + tail))
def test_hostile_bytes_are_refused(data):
    """By our own error and nothing else, whatever the bytes."""
    assert "refused" == outcome(data)


NAMES = st.text("ab/.é", min_size=1, max_size=5).map(lambda stem: stem + ".truegreen.json")


@given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=4))
def test_python_reads_the_same_from_what_is_not_refused(files):
    """Against the standard library's reader, on archives of the standard library's writer."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    safe = all(part not in {"", ".", ".."} for name in files for part in name.split("/"))
    if safe and all(name.rpartition("/")[0] not in files for name in files):
        assert tuple(sorted(files.items())) == read(buffer.getvalue())[0]
    else:
        assert refusal(buffer.getvalue())[0] in {"unsafe-name", "name-collision"}
