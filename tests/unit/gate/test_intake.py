# SPDX-License-Identifier: Apache-2.0
"""Evidence read from folders, archives and files."""

import os
import shutil
from pathlib import Path

import pytest
from forged_zip import Entry, forge
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truegreen.gate.intake import EvidenceFile, IntakeLimits, read_evidence

RECORD = "a.truegreen.json"


def laid(folder: Path, **files: bytes) -> Path:
    """A folder with these files; ``__`` in a name is a folder's ``/``."""
    for name, data in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def found(*paths, **options):
    """Container, path and content of every file, when nothing was refused."""
    evidence = read_evidence(paths, **options)
    assert () == evidence.refusals
    return [(file.container, file.name, file.data) for file in evidence.files]


def refused(*paths, **options):
    """Container, name, code and weight of every refusal."""
    evidence = read_evidence(paths, **options)
    return [(no.container, no.name, no.code, no.contradictory) for no in evidence.refusals]


def test_a_download_of_artifacts_is_read_as_folders_and_as_zips(tmp_path):
    """Both layouts of a forge's download, and files that lie beside the artifacts."""
    laid(
        tmp_path / "evidence",
        **{
            "one__a.truegreen.json": b"1",
            "one__deep__er__b.truegreen.json": b"2",
            "one__log.txt": b"",
            "two.zip": forge(Entry(name="x/c.truegreen.json", content=b"3"), Entry(name="page.html")),
            "d.truegreen.json": b"4",
            "README.md": b"",
        },
    )
    evidence = read_evidence([tmp_path / "evidence"])
    assert ((), 3) == (evidence.refusals, evidence.ignored)
    assert [
        ("evidence", "d.truegreen.json", b"4"),
        ("one", "a.truegreen.json", b"1"),
        ("one", "deep/er/b.truegreen.json", b"2"),
        ("two", "x/c.truegreen.json", b"3"),
    ] == [(file.container, file.name, file.data) for file in evidence.files]


def test_one_zip_or_one_file_can_be_given_by_itself(tmp_path):
    """A zip needs no ending to be one, and a file belongs to its folder."""
    zipped = forge(Entry(name=RECORD, content=b"1"))
    laid(tmp_path / "e", **{"one.zip": zipped, "two": zipped, "c.truegreen.json": b"2"})
    assert [("one", RECORD, b"1")] == found(tmp_path / "e" / "one.zip")
    assert [("two", RECORD, b"1")] == found(tmp_path / "e" / "two")
    assert [("e", "c.truegreen.json", b"2")] == found(tmp_path / "e" / "c.truegreen.json")


def test_flat_names_are_read_only_when_a_lane_lists_them(tmp_path):
    """By base name, in folders and archives."""
    laid(
        tmp_path,
        **{
            "one__run.jsonl": b"1",
            "two.zip": forge(Entry(name="x/run.jsonl", content=b"2")),
            "run.jsonl": b"3",
        },
    )
    assert [] == found(tmp_path)
    names = [(container, name) for container, name, _ in found(tmp_path, flat_names=frozenset({"run.jsonl"}))]
    assert [(tmp_path.name, "run.jsonl"), ("one", "run.jsonl"), ("two", "x/run.jsonl")] == sorted(
        names, key=lambda at: at[0] != tmp_path.name
    )
    assert "run.jsonl" == EvidenceFile(container="two", name="x/run.jsonl", data=b"").base_name


@pytest.mark.parametrize(
    "name", ["A.TRUEGREEN.JSON", "a.truegreen.json.bak", "truegreen.json", "a.truegreen.jsonl", "x.zip"]
)
def test_other_names_inside_of_an_artifact_are_never_opened(tmp_path, name):
    """Not even to see whether they could be opened."""
    laid(tmp_path, **{f"one__{name}": b""})
    (tmp_path / "one" / name).chmod(0)
    evidence = read_evidence([tmp_path])
    assert ((), (), 1) == (evidence.files, evidence.refusals, evidence.ignored)


def test_an_empty_folder_is_no_refusal(tmp_path):
    """Nothing was there; what that means is for the decision."""
    (tmp_path / "one").mkdir()
    assert [] == found(tmp_path)
    assert [] == found()


def test_a_path_that_is_not_there_is_refused_not_raised(tmp_path):
    """Absence is never neutral, and no usage error either."""
    laid(tmp_path, file=b"")
    for path in (tmp_path / "nothing", tmp_path / "file" / "nothing"):
        assert [("nothing", "nothing", "evidence-missing", False)] == refused(path)
    missing = read_evidence([tmp_path / "nothing\x1b"]).refusals[0]
    assert r'"nothing\x1b": nothing of that name' in missing.message


@pytest.mark.parametrize(
    ("data", "code", "contradictory"),
    [
        (b"", "archive-broken", False),
        (forge(Entry(name=RECORD))[:-1], "archive-broken", False),
        (forge(Entry(name=RECORD), Entry(name="../x")), "unsafe-name", False),
        (forge(Entry(name=RECORD), Entry(name=RECORD)), "name-collision", True),
        (forge(Entry(name=RECORD), prefix=b"#!/bin/sh\n"), "archive-ambiguous", True),
        (forge(Entry(name=RECORD, mode=0o120777, content=b"x")), "evidence-not-plain", False),
        (forge(Entry(name=RECORD, flags=1)), "archive-unsupported", False),
        (forge(Entry(name=RECORD, content=b"\0" * 3_000_000)), "evidence-too-large", False),
    ],
)
def test_a_refused_archive_is_one_refusal_and_none_of_its_files(tmp_path, data, code, contradictory):
    """And the artifacts beside it are read."""
    laid(tmp_path, **{"bad.zip": data, "good__a.truegreen.json": b"1"})
    evidence = read_evidence([tmp_path])
    assert [("bad", "bad.zip", code, contradictory)] == [
        (no.container, no.name, no.code, no.contradictory) for no in evidence.refusals
    ]
    assert [("good", RECORD)] == [(file.container, file.name) for file in evidence.files]


@pytest.mark.parametrize(
    ("spoil", "code", "contradictory"),
    [
        (lambda folder: (folder / "link.html").symlink_to("/etc/passwd"), "evidence-not-plain", False),
        (lambda folder: (folder / "b.truegreen.json").symlink_to(RECORD), "evidence-not-plain", False),
        (lambda folder: (folder / "sub").symlink_to("/etc"), "evidence-not-plain", False),
        (lambda folder: os.mkfifo(folder / "b.truegreen.json"), "evidence-not-plain", False),
        (lambda folder: (folder / "a\nb").write_bytes(b""), "unsafe-name", False),
        (lambda folder: (folder / "a\\b").write_bytes(b""), "unsafe-name", False),
        (lambda folder: (folder / "C:").mkdir(), "unsafe-name", False),
        (lambda folder: (folder / "A.TRUEGREEN.JSON").write_bytes(b""), "name-collision", True),
        (lambda folder: [(folder / name).mkdir() for name in ("x", "X")], "name-collision", True),
        (
            lambda folder: [(folder / name).write_bytes(b"") for name in ("é", "e\u0301")],
            "name-collision",
            True,
        ),
        (lambda folder: (folder / "big.truegreen.json").write_bytes(b"x" * 11), "evidence-too-large", False),
        (lambda folder: [(folder / str(i)).write_bytes(b"") for i in range(12)], "evidence-too-large", False),
        (
            lambda folder: [(folder / "d" / str(i)).mkdir(parents=True) for i in range(10)],
            "evidence-too-large",
            False,
        ),
        (lambda folder: (folder / "1/2/3").mkdir(parents=True), "evidence-too-large", False),
        (lambda folder: (folder / "b.truegreen.json").mkdir(), "", False),
        (lambda folder: (folder / "1/2").mkdir(parents=True), "", False),
    ],
)
def test_a_spoiled_folder_is_refused_whole(tmp_path, spoil, code, contradictory):
    """Links, special files, hostile names, twins and too much of anything."""
    laid(tmp_path, **{"bad__a.truegreen.json": b"1", "good__a.truegreen.json": b"1"})
    spoil(tmp_path / "bad")
    limits = IntakeLimits(max_file_bytes=10, max_entries=10, max_depth=3)
    evidence = read_evidence([tmp_path], limits)
    assert ([("bad", "bad", code, contradictory)] if code else []) == [
        (no.container, no.name, no.code, no.contradictory) for no in evidence.refusals
    ]
    assert ([] if code else [("bad", RECORD)]) + [("good", RECORD)] == [
        (f.container, f.name) for f in evidence.files
    ]


def test_what_is_refused_beside_the_artifacts_does_not_hide_them(tmp_path):
    """A link or an unreadable file in the evidence folder itself is one refusal among the rest."""
    laid(
        tmp_path / "e",
        **{"z__a.truegreen.json": b"1", "b.truegreen.json": b"2", "c.truegreen.json": b"x" * 11},
    )
    (tmp_path / "e" / "link").symlink_to("z")
    (tmp_path / "e" / "a.truegreen.json").symlink_to("b.truegreen.json")
    evidence = read_evidence([tmp_path / "e"], IntakeLimits(max_file_bytes=10))
    assert [
        ("a.truegreen.json", "a.truegreen.json", "evidence-not-plain"),
        ("e", "c.truegreen.json", "evidence-too-large"),
        ("link", "link", "evidence-not-plain"),
    ] == [(no.container, no.name, no.code) for no in evidence.refusals]
    assert ["b.truegreen.json", "a.truegreen.json"] == [file.name for file in evidence.files]


def test_an_evidence_path_that_is_a_link_is_refused(tmp_path):
    """It could lead to whatever the change under test points it at."""
    laid(tmp_path / "e", **{RECORD: b"1"})
    (tmp_path / "link").symlink_to("e")
    assert [("link", "link", "evidence-not-plain", False)] == refused(tmp_path / "link")


def test_an_artifact_with_a_hostile_name_is_refused(tmp_path):
    """Its name is shown to people."""
    laid(tmp_path, **{"a\x1b[2J__a.truegreen.json": b"1", "b\n.zip": forge(Entry(name=RECORD))})
    evidence = read_evidence([tmp_path])
    assert () == evidence.files
    assert ["unsafe-name", "unsafe-name"] == [no.code for no in evidence.refusals]
    assert all(no.message.isprintable() for no in evidence.refusals)


def test_names_that_are_not_utf8_are_read_and_written_as_escapes(tmp_path):
    """Two raw names never become one."""
    for raw in (b"caf\xe9", b"caf%E9", "café".encode()):
        path = tmp_path / os.fsdecode(raw) / os.fsdecode(raw + b".truegreen.json")
        path.parent.mkdir()
        path.write_bytes(raw)
    assert [
        ("caf%25E9", "caf%25E9.truegreen.json", b"caf%E9"),
        ("caf%E9", "caf%E9.truegreen.json", b"caf\xe9"),
        ("café", "café.truegreen.json", "café".encode()),
    ] == found(tmp_path)


def test_all_evidence_together_is_bounded(tmp_path):
    """Over folders and archives, in the order of the names: what comes too late is refused."""
    two = forge(Entry(name=RECORD, content=b"12"))
    laid(tmp_path, **{"a__a.truegreen.json": b"12", "b.zip": two, "c__a.truegreen.json": b"1", "d.zip": two})
    assert [("d", "d.zip", "evidence-too-large", False)] == refused(
        tmp_path, limits=IntakeLimits(max_total_bytes=6)
    )
    assert [("c", "c", "evidence-too-large", False), ("d", "d.zip", "evidence-too-large", False)] == refused(
        tmp_path, limits=IntakeLimits(max_total_bytes=4)
    )
    assert 4 == len(found(tmp_path, limits=IntakeLimits(max_total_bytes=7)))


def test_the_number_of_artifacts_is_bounded(tmp_path):
    """A folder of a million folders is not walked."""
    laid(tmp_path / "e", **{f"{i}__a.truegreen.json": b"1" for i in range(4)})
    assert [("e", "e", "evidence-too-large", False)] == refused(
        tmp_path / "e", limits=IntakeLimits(max_entries=3)
    )


def test_what_the_system_cannot_read_is_refused(tmp_path):
    """A name that is too long for it, for one."""
    evidence = read_evidence([tmp_path / ("x" * 300)])
    assert ["evidence-unreadable"] == [no.code for no in evidence.refusals]
    assert "File name too long" in evidence.refusals[0].message


def test_order_of_paths_and_of_creation_does_not_matter(tmp_path):
    """Nor does a path that is given twice or spelled otherwise."""
    first = laid(tmp_path / "1", **{"b__a.truegreen.json": b"1", "a__a.truegreen.json": b"2", "c.zip": b""})
    second = laid(tmp_path / "2", **{"a__a.truegreen.json": b"3", "d.zip": b""})
    one = read_evidence([first, second])
    assert one == read_evidence([second, first, tmp_path / "2" / ".." / "1", first])
    assert ["a", "a", "b"] == [file.container for file in one.files]
    assert ["c", "d"] == [no.container for no in one.refusals]


STEMS = st.text("ab.é\n\\A", min_size=1, max_size=3).filter(lambda stem: stem not in {".", ".."})
LAYOUTS = st.dictionaries(
    st.lists(STEMS, min_size=1, max_size=3).map("/".join), st.binary(max_size=3), max_size=5
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(LAYOUTS, st.randoms())
def test_any_folder_is_read_alike_or_refused(tmp_path, layout, chance):
    """Whatever the names and whatever the order in which they were made."""
    readings = []
    for order in range(2):
        folder = tmp_path / "evidence"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        names = list(layout)
        if order:
            chance.shuffle(names)
        else:
            names.sort()
        kept = {}
        for name in sorted(names):
            if not any(
                f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/") for other in kept
            ):
                kept[name] = layout[name]
        for name in (name for name in names if name in kept):
            laid(folder, **{f"{name}.truegreen.json": kept[name]})
        readings.append(read_evidence([folder]))
    assert readings[0] == readings[1]
    assert len(kept) == len(readings[0].files) or readings[0].refusals
