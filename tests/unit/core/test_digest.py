# SPDX-License-Identifier: Apache-2.0
"""Digests of bytes and of sets of files."""

import base64
import hashlib
import re
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.digest import Sha256, h1, h1_of_files, is_lfs_pointer, parse_digest, parse_h1, sha256_of
from truegreen.core.errors import EvidenceProblem

EMPTY = Sha256("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
ABC = Sha256("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"5" * 64 + b"\nsize 4821\n"


def refusal(*files):
    """The code with which a set of files is refused, and whether it contradicts itself."""
    with pytest.raises(EvidenceProblem) as caught:
        h1((name, EMPTY) for name in files)
    return caught.value.code, caught.value.contradictory


def test_digests_of_published_messages():
    """FIPS 180-4's examples, with the algorithm in front."""
    assert EMPTY == sha256_of(b"")
    assert ABC == sha256_of(b"abc")


def test_a_whole_digest_is_taken_as_it_is():
    """Both forms, unchanged."""
    assert ABC == parse_digest(str(ABC))
    assert "h1:" + "A" * 43 + "=" == parse_h1("h1:" + "A" * 43 + "=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        ABC[:-1],
        ABC + "0",
        ABC[7:],
        ABC[:19],
        ABC.upper(),
        "sha256:" + ABC[7:].upper(),
        "sha512:" + "0" * 128,
        "sha1:" + "0" * 40,
        "SHA256:" + ABC[7:],
        " " + ABC,
        ABC + "\n",
        "sha256:" + "g" * 64,
        "sha256:" + "\u0660" * 64,
    ],
)
def test_any_other_spelling_of_a_digest_is_refused(text):
    """An abbreviation or another case is no identity."""
    with pytest.raises(EvidenceProblem, match="bad-digest"):
        parse_digest(text)


@pytest.mark.parametrize(
    "text", ["h1:", "h1:" + "A" * 44, "h1:" + "A" * 42 + "B=", "h2:" + "A" * 43 + "=", ABC]
)
def test_any_other_spelling_of_an_h1_is_refused(text):
    """Also Base64 whose last character has stray bits, which decodes to the same bytes."""
    with pytest.raises(EvidenceProblem, match="bad-digest"):
        parse_h1(text)


def test_the_published_directory_hash_of_go():
    """The example in the tests of golang.org/x/mod/sumdb/dirhash: xyz holds "data for xyz", abc "data for abc"."""
    line = b"".join(
        b"%s  %s\n" % (hashlib.sha256(b"data for " + name).hexdigest().encode(), name)
        for name in (b"abc", b"xyz")
    )
    assert "h1:" + base64.b64encode(hashlib.sha256(line).digest()).decode() == h1(
        [("xyz", sha256_of(b"data for xyz")), ("abc", sha256_of(b"data for abc"))]
    )


@pytest.mark.parametrize(
    ("module", "published"),
    [
        ("github.com/davecgh/go-spew", "h1:J7Y8YcW2NihsgmVo/mv3lAwl/skON4iLHjSsI+c5H38="),
        ("github.com/pkg/errors", "h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0="),
        ("github.com/pmezard/go-difflib", "h1:iKH77koFhYxTK1pcRnkKkqfTogsbg7gZNVY4sRDYZ/4="),
    ],
)
def test_published_lines_of_go_sum(module, published):
    """What every go.sum says of these modules' go.mod files, which hold one line."""
    assert published == h1([("go.mod", sha256_of(f"module {module}\n".encode()))])


def shell_h1(folder) -> str:
    """The same digest with the tools of any Linux machine."""
    pipe = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- | sha256sum"
    base64_of_hex = "cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64"
    done = subprocess.run(
        ["sh", "-c", f"{pipe} | {base64_of_hex}"], cwd=folder, capture_output=True, check=True, text=True
    )
    assert "" == done.stderr
    return "h1:" + done.stdout.strip()


def test_sha256sum_reproduces_it(tmp_path):
    """Names in byte order, also where case, accents, blanks and folders would sort otherwise in a locale."""
    names = [
        "a",
        "B",
        "a-b/c",
        "aa/b",
        "a b/ c ",
        "é",
        "ż/ẑ",
        "Z",
        "ab",
        "_x",
        "\U0001d49c",
        "\uff21",
        "-n",
        "100%.txt",
        "t\tt",
    ]
    composed = [unicodedata.normalize("NFC", name) for name in names]
    for name in composed:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode() * 3)
    assert shell_h1(tmp_path) == h1((name, sha256_of(name.encode() * 3)) for name in reversed(composed))


def test_an_accent_composed_otherwise_is_the_same_file():
    """A Mac hands out decomposed names."""
    decomposed = unicodedata.normalize("NFD", "fixtures/préavis.json")
    assert h1([(unicodedata.normalize("NFC", decomposed), ABC)]) == h1([(decomposed, ABC)])


def test_content_that_spells_the_next_line_does_not_collide():
    """Every line has a digest of fixed length, so no content can pass for another file."""
    one = [("a.txt", sha256_of(b"x-b.txtFy"))]
    two = [("a.txt", sha256_of(b"x")), ("b.txt", sha256_of(b"y"))]
    assert h1(one) != h1(two)


def test_the_empty_set_has_no_digest():
    """It would be equal for everything that was forgotten."""
    assert ("empty-set", False) == refusal()


def test_a_set_with_an_abbreviated_digest_has_none():
    """The digests inside are checked like any other."""
    with pytest.raises(EvidenceProblem, match="bad-digest"):
        h1([("a", Sha256("sha256:12345678"))])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "./a",
        "a/.",
        "a/../b",
        "../a",
        "a\nb",
        "a\rb",
        "a\\b",
        "C:\\a",
        "a\0b",
        "a\udcff",
    ],
)
def test_unsafe_names_are_refused(name):
    """They mean different files on different systems, or one outside the folder."""
    assert ("unsafe-name", False) == refusal("fine", name)


@pytest.mark.parametrize(
    "name", ["...", "a..b", "..a", "a/...", ".git", "a b", "%FF", "C:", "-", "~", "\u202e"]
)
def test_odd_names_that_mean_one_file_are_taken(name):
    """Only what changes meaning is refused."""
    assert re.fullmatch("h1:.{44}", h1([("fine", ABC), (name, ABC)]))


@pytest.mark.parametrize(
    "names",
    [
        ("a", "a"),
        ("README", "readme"),
        ("Data", "data/eu/a.json"),
        ("data/eu/a.json", "Data"),
        ("Data/a", "data/b"),
        ("x/Data/a/1", "x/data/b/2"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("a/b/c", "a/b"),
        ("é", "e\u0301"),
        ("é/a", "e\u0301/b"),
        ("É", "e\u0301"),
        ("straße", "STRASSE"),
        ("\u212a", "k"),
        ("\u01c5", "\u01c6"),
    ],
)
def test_names_that_are_one_name_somewhere_are_refused(names):
    """At every level of the path, by case, by accent and by kind of entry."""
    assert ("name-collision", True) == refusal("other/file", *names)


def test_many_files_in_shared_folders_do_not_collide():
    """A folder met again in the same spelling is the same folder."""
    assert re.fullmatch("h1:.{44}", h1((f"Data/{i % 7}/x{i}", ABC) for i in range(100)))


NAMES = st.lists(st.text("abAB/é.e\u0301", min_size=1, max_size=6), min_size=1, max_size=5)


@given(NAMES)
def test_a_set_is_refused_exactly_when_some_prefixes_are_one_name(names):
    """Against all pairs of prefixes, compared one by one."""
    if any(part in {"", ".", ".."} for name in names for part in name.split("/")):
        assert "unsafe-name" == refusal_or_digest(names)
    else:
        assert ("name-collision" if collide(names) else "h1") == refusal_or_digest(names)


def refusal_or_digest(names):
    """The code, or ``h1``; the names come in the order that finds unsafe ones first."""
    try:
        for name in names:
            h1([(name, ABC)])
        return h1((name, ABC) for name in names)[:2]
    except EvidenceProblem as problem:
        return problem.code


def collide(names) -> bool:
    """Whether two entries of the tree, files or folders, would be one on a system that folds names."""
    entries = [name.split("/") for name in names]
    prefixes = [
        (tuple(parts[:n]), n == len(parts), which)
        for which, parts in enumerate(entries)
        for n in range(1, len(parts) + 1)
    ]

    def fold(parts):
        return unicodedata.normalize("NFC", unicodedata.normalize("NFD", "/".join(parts)).casefold())

    return any(
        fold(parts) == fold(others) and (parts != others or is_file or is_other_file)
        for parts, is_file, which in prefixes
        for others, is_other_file, other_which in prefixes
        if which < other_which
    )


@given(st.dictionaries(st.text("xyz", min_size=1), st.binary(max_size=4), min_size=1), st.randoms())
def test_order_of_the_files_does_not_matter(files, chance):
    """A set has no order."""
    listed = [(name, sha256_of(data)) for name, data in files.items()]
    shuffled = listed.copy()
    chance.shuffle(shuffled)
    assert h1(listed) == h1(shuffled)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (POINTER, True),
        (POINTER.replace(b"\n", b"\r\n"), True),
        (POINTER.replace(b"git-lfs", b"hawser"), True),
        (POINTER.replace(b"oid", b"ext-0-foo sha256:" + b"1" * 64 + b"\noid"), True),
        (POINTER[:-10], True),
        (b"", False),
        (b"# " + POINTER, False),
        (POINTER.split(b"\n")[0], False),
        (POINTER.ljust(1023), True),
        (POINTER.ljust(1024), False),
        (b"version 1\noid sha256:" + b"5" * 64, False),
    ],
)
def test_lfs_pointers_are_told_from_files(data, expected):
    """The three lines that stand where the content should be, also after a checkout that changed line ends."""
    assert expected == is_lfs_pointer(data)


def test_a_folder_counts_by_its_plain_files():
    """What is no regular file is left out, and a folder of nothing else has no digest."""
    assert h1([("a.txt", EMPTY)]) == h1_of_files({"a.txt": b"", "link": None})
    assert [None, None] == [h1_of_files({"link": None}), h1_of_files({})]
