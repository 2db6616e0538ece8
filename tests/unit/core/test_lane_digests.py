# SPDX-License-Identifier: Apache-2.0
"""Ruler and subject digests move exactly when a member moves, and say which part moved."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import Tree, baseline, policy

from truegreen.core.errors import EvidenceProblem
from truegreen.core.lane_digests import blobs_to_digest, changed, lane_digests, moved
from truegreen.core.partition import partition

FILES = {
    "README.md": b"readme",
    "pyproject.toml": b"[tool.pytest.ini_options]\naddopts = '-q'\n",
    "conftest.py": b"",
    "truegreen.toml": b"policy",
    "src/app.py": b"app",
    "src/deep/x.py": b"x",
    "run.sh": ("100755", b"#!/bin/sh\n"),
    "link": ("120000", b"src/app.py"),
    "vendor/lib": ("160000", b"1" * 40),
    "data/input.txt": b"input",
    "prompts/reply.md": b"prompt",
    "docs/guide.md": b"guide",
    "judge/rules.txt": b"rules",
    "tests/conftest.py": b"c",
    "tests/pytest.ini": b"[pytest]\n",
    "tests/llm/test_a.py": b"a",
    "tests/llm/cases.yaml": b"cases",
    "tests/unit/test_b.py": b"b",
}
LANE = 'irrelevant = ["docs/**"]\nruler = ["judge/**"]'
AGREED = baseline(inputs=["data/input.txt"], prompts=["prompts/reply.md"])


def _digests(files, lane=LANE, agreed=AGREED, tests="tests/llm", order=None):
    made = policy(lane=lane, tests=tests)
    tree = Tree(files)
    entries = tree.entries if order is None else tuple(order(tree.entries))
    wanted = {oid: tree.digests[oid] for oid in blobs_to_digest(entries)}
    return lane_digests(entries, made, made.lanes[0], agreed, wanted, tree.read)


def _moved(files, **arguments):
    before, after = _digests(FILES), _digests(files, **arguments)
    ruler = moved(before.ruler.components, after.ruler.components)
    subject = moved(before.subject.components, after.subject.components)
    assert bool(ruler) == (before.ruler.digest != after.ruler.digest)
    assert bool(subject) == (before.subject.digest != after.subject.digest)
    return ruler, subject


def test_the_components_are_named_by_what_they_hold():
    """Every part that has members, and no other."""
    found = _digests(FILES)
    assert ["conftest", "declared", "inputs", "lane-table", "pytest-config", "tests"] == list(
        found.ruler.components
    )
    assert ["(root)", "modes", "prompts/", "src/", "tests/"] == list(found.subject.components)


def test_a_component_can_be_computed_with_common_tools():
    """h1 is the SHA-256 of the lines that ``sha256sum`` prints; a digest is that of its components as JSON."""
    found = _digests(FILES)
    lines = "".join(
        f"{hashlib.sha256(FILES[path]).hexdigest()}  {path}\n"
        for path in ("tests/llm/cases.yaml", "tests/llm/test_a.py")
    )
    assert (
        "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()
        == found.ruler.components["tests"]
    )
    shown = ",".join(f'"{name}":"{value}"' for name, value in sorted(found.subject.components.items()))
    assert "sha256:" + hashlib.sha256(("{" + shown + "}").encode()).hexdigest() == found.subject.digest


@pytest.mark.parametrize(
    ("path", "content", "ruler", "subject"),
    [
        ("tests/llm/test_a.py", b"A", ("tests",), ()),
        ("tests/llm/new.py", b"", ("tests",), ()),
        ("tests/llm/cases.yaml", None, ("tests",), ()),
        ("tests/conftest.py", b"C", ("conftest",), ()),
        ("tests/pytest.ini", b"[pytest]\nx=1\n", ("pytest-config",), ()),
        ("pytest.toml", b"", ("pytest-config",), ()),
        ("data/input.txt", b"I", ("inputs",), ()),
        ("judge/rules.txt", None, ("declared",), ()),
        ("src/app.py", b"APP", (), ("src/",)),
        ("src/deep/x.py", None, (), ("src/",)),
        ("README.md", b"R", (), ("(root)",)),
        ("prompts/reply.md", b"P", (), ("prompts/",)),
        ("tests/unit/test_b.py", b"B", (), ("tests/",)),
        ("new/x", b"", (), ("new/",)),
        ("run.sh", ("100644", b"#!/bin/sh\n"), (), ("modes",)),
        ("src/app.py", ("100755", b"app"), (), ("modes",)),
        ("tests/llm/test_a.py", ("100755", b"a"), ("modes",), ()),
        ("link", ("120000", b"src/other.py"), (), ("modes",)),
        ("vendor/lib", ("160000", b"2" * 40), (), ("modes",)),
        ("docs/guide.md", b"G", (), ()),
        ("truegreen.toml", b"T", (), ()),
        ("truegreen.baseline.json", b"{}", (), ()),
        (".github/workflows/x.yml", b"", (), ()),
        (
            "pyproject.toml",
            b"[tool.pytest.ini_options]\naddopts = '-q -x'\n",
            ("pytest-config",),
            ("(root)",),
        ),
        ("pyproject.toml", b"# only a comment\n[tool.pytest.ini_options]\naddopts = '-q'\n", (), ("(root)",)),
        ("tests/setup.cfg", b"[tool:pytest]\naddopts = -q\n", ("pytest-config",), ("tests/",)),
        ("tox.ini", b"[tox]\n", (), ("(root)",)),
        ("src/tox.ini", b"[pytest]\n", (), ("src/",)),
    ],
)
def test_a_change_moves_what_it_belongs_to_and_nothing_else(path, content, ruler, subject):
    """One file changed, added (not in the tree before) or removed (no content)."""
    files = {**FILES, path: content}
    if content is None:
        del files[path]
    assert (ruler, subject) == _moved(files)


@pytest.mark.parametrize(
    ("line", "moves"),
    [
        ('rule = "fixed"', True),
        ("cap = 20", True),
        ('model = "other"', True),
        ('owner = "@ana"', False),
        ("concurrency = 3", False),
        ("max_calls = 5", False),
    ],
)
def test_only_the_judging_keys_of_the_lane_move_the_ruler(line, moves):
    """A rule or a model judges; an owner, a budget or a speed does not."""
    assert ((("lane-table",) if moves else ()), ()) == _moved(FILES, lane=f"{LANE}\n{line}")


def test_a_judging_pattern_moves_the_table_and_its_files():
    """Taking files out of the ruler is a change of the ruler."""
    ruler, subject = _moved(FILES, lane='irrelevant = ["docs/**"]')
    assert (("declared", "lane-table"), ("judge/",)) == (ruler, subject)


@given(
    paths=st.sets(st.sampled_from([*FILES, "b", "tests/llm/z", "src/z", "docs/z"]), min_size=1),
    edit=st.sampled_from([*FILES, "b", "tests/llm/z", "src/z", "docs/z"]),
    salt=st.integers(0, 2),
    shuffled=st.randoms(use_true_random=False),
)
def test_a_digest_moves_exactly_when_a_member_moves(paths, edit, salt, shuffled):
    """For every tree and every edit of one file; the order of the entries does not matter."""
    paths |= {"tests/llm/test_a.py"}
    before = {path: FILES.get(path, b"new") for path in paths}
    after = {**before}
    if salt == 0 and edit in after and edit != "tests/llm/test_a.py":
        del after[edit]
    elif salt == 1 and edit not in ("link", "vendor/lib", "run.sh", "pyproject.toml"):
        after[edit] = b"edited"
    one, two = _digests(before), _digests(after, order=lambda rows: shuffled.sample(rows, len(rows)))
    made = policy(lane=LANE)
    members = [partition(Tree(files).entries, made, made.lanes[0], AGREED) for files in (before, after)]
    for name in ("ruler", "subject"):
        held = [
            {path: files[path] for path in getattr(classes, name)}
            for classes, files in zip(members, (before, after), strict=True)
        ]
        if name == "ruler":
            for classes, files in zip(held, (before, after), strict=True):
                classes["section"] = files.get("pyproject.toml")
        assert (held[0] == held[1]) == (getattr(one, name).digest == getattr(two, name).digest)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12\n"


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        ("tests/llm/big.bin", LFS, "lfs-pointer"),
        ("data/input.txt", LFS, "lfs-pointer"),
        ("tests/llm/link.py", ("120000", b"../x.py"), "not-a-plain-file"),
        ("conftest.py", ("120000", b"elsewhere.py"), "not-a-plain-file"),
        ("tests/llm/sub", ("160000", b"1" * 40), "not-a-plain-file"),
        ("tests/LLM/x.py", b"", "name-collision"),
        ("SRC/app.py", b"", "name-collision"),
        ("src/new\nline", b"", "unsafe-name"),
    ],
)
def test_a_ruler_that_a_tree_does_not_hold_itself_is_refused(path, content, code):
    """Pointers, links and names that mean two things: the problem says which file."""
    with pytest.raises(EvidenceProblem) as caught:
        _digests({**FILES, path: content})
    assert code == caught.value.code


def test_a_pointer_may_be_judged():
    """In the subject the pointer's own text names the content."""
    assert ((), ("models/",)) == _moved({**FILES, "models/big.bin": LFS})


@pytest.mark.parametrize(
    "files", [{}, {"conftest.py": b""}, {"tests/llm": b"a file in the folder's place", "x": b""}]
)
def test_a_lane_without_tests_has_no_ruler(files):
    """An empty set has no digest; configuration alone judges nothing."""
    with pytest.raises(EvidenceProblem) as caught:
        _digests(files, tests="tests/llm/deep")
    assert "empty-ruler" == caught.value.code


def test_a_repository_of_tests_alone_has_an_empty_subject():
    """Nothing judged is still a digest, of no components."""
    found = _digests({"tests/llm/test_a.py": b"a"})
    assert ({}, "sha256:" + hashlib.sha256(b"{}").hexdigest()) == (
        found.subject.components,
        found.subject.digest,
    )


def test_a_lane_without_a_baseline_has_digests_too():
    """The first pull request: no inputs are known, everything else is in its place."""
    assert (("inputs",), ("data/",)) == _moved(FILES, agreed=None)


def test_changed_names_every_path_that_differs():
    """Content, mode, added, removed; sorted and once each."""
    one = Tree({"same": b"1", "content": b"1", "mode": b"1", "gone": b"1"}).entries
    two = Tree({"same": b"1", "content": b"2", "mode": ("100755", b"1"), "new": b"1"}).entries
    assert ("content", "gone", "mode", "new") == changed(one, two) == changed(two, one)
    assert () == changed(one, tuple(reversed(one)))
