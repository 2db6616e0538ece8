# SPDX-License-Identifier: Apache-2.0
"""Path patterns of the policy."""

import re
import subprocess
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truegreen.core import names
from truegreen.core.errors import UsageProblem
from truegreen.core.names import Globs, matches

ROW = re.compile(r"^``(?P<pattern>\S+)``\s{2,}(?P<means>``.+?)\s{2,}(?P<other>``.+)$", re.MULTILINE)
EXAMPLES = [
    (row["pattern"], path, expected)
    for row in ROW.finditer(names.__doc__)
    for column, expected in (("means", True), ("other", False))
    for path in re.findall("``(.+?)``", row[column])
]


@pytest.mark.parametrize(("pattern", "path", "expected"), EXAMPLES)
def test_the_documented_examples_hold(pattern, path, expected):
    """Every cell of the table in the module's docstring."""
    assert expected == matches(pattern, path)


def test_the_documented_table_is_whole():
    """Eight patterns, each with both columns."""
    assert (8, 28) == (len({pattern for pattern, _, _ in EXAMPLES}), len(EXAMPLES))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**", "a/b", True),
        ("**", "a", True),
        ("/**", "a", True),
        ("**/", "a", False),
        ("**/", "a/b", True),
        ("a/**/", "a/b", False),
        ("a/**/", "a/b/c", True),
        ("**/a/**/b/**", "x/a/b/y", True),
        ("**/a/**/b/**", "x/a/y/b", False),
        ("a/**/**/b", "a/b", True),
        ("*", "a/b/c", True),
        ("/*", "a/b/c", True),
        ("*/c", "a/b/c", False),
        ("a*b*c", "abbcbc", True),
        ("a*b*c", "abbcb", False),
        ("A.md", "a.md", False),
        (r"\*.md", "*.md", True),
        (r"\*.md", "a.md", False),
        (r"\!a", "!a", True),
        (r"\#a", "#a", True),
        ("a#!", "a#!", True),
        ("[]a]", "]", True),
        ("[!]a]", "b", True),
        ("[!]a]", "]", False),
        ("[^a-c]", "d", True),
        ("[^a-c]", "b", False),
        ("[a-]", "-", True),
        (r"[\]\-x]", "-", True),
        (r"[\]\-x]", "]", True),
        ("a[+-9]b", "a/b", False),
        ("a[!x]b", "a/b", False),
        ("a?b", "a/b", False),
        ("a.b", "axb", False),
        ("(a|b)+", "a", False),
        ("(a|b)+", "(a|b)+", True),
        ("^a$", "^a$", True),
        ("a b", "a b", True),
        ("a", "a\nb", False),
        ("a*", "a\nb", True),
        ("é?", "é😀", True),
    ],
)
def test_corners_of_the_pattern_language(pattern, path, expected):
    """Stars, classes, escapes, anchors and characters that mean something elsewhere."""
    assert expected == matches(pattern, path)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_pattern_and_path_are_compared_composed(form):
    """However the accents were typed."""
    pattern = unicodedata.normalize("NFD" if form == "NFC" else "NFC", "préavis/[é]*")
    assert matches(pattern, unicodedata.normalize(form, "préavis/été"))


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "/",
        "//",
        "!a",
        "#a",
        " a",
        "a ",
        "a//b",
        "./a",
        "a/./b",
        "../a",
        "a/..",
        "a\\",
        "[",
        "a[b",
        "[]",
        "[!]",
        "[b-a]",
        "[[:alpha:]]",
        "a/[b/c]",
        "***",
        "a**",
        "**b",
        "a/b**/c",
        "a\n",
        "a" * 1001,
    ],
)
def test_patterns_that_could_mislead_are_refused(pattern):
    """What matches nothing, is cut short, or has another meaning to git."""
    with pytest.raises(UsageProblem, match="bad-pattern"):
        matches(pattern, "a")
    with pytest.raises(UsageProblem, match="bad-pattern"):
        Globs(["fine", pattern])


def test_a_pattern_may_be_long_but_not_endless():
    """A thousand characters are read, as the refusals above show the next one."""
    assert matches("a" * 1000, "a" * 1000)


def test_the_first_of_several_patterns_is_named():
    """So that a report can say why a path counts."""
    globs = Globs(["docs/**", "*.md", "docs/a.md"])
    assert ("docs/**", "*.md", None) == (globs.match("docs/a.md"), globs.match("b.md"), globs.match("b.py"))
    assert Globs([]).match("a") is None


def test_a_hostile_pattern_takes_linear_time():
    """A backtracking matcher would need longer than the universe has."""
    long = "a" * 20_000
    assert not matches("*a*a*a*a*a*a*a*a*a*a*b", long)
    assert not matches("**/a/**/a/**/a/**/a/**/a/**/b", "a/" * 20_000 + "c")
    assert not matches("**/*a*a*a/**/*a*a*b", "/".join(["aaaa"] * 5_000))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """An empty repository in which git can be asked."""
    folder = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


PARTS = st.lists(
    st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "[!a]", "[a-b.]", r"\a", r"\*"]), min_size=1, max_size=3
).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "", "/"]),
    st.lists(st.just("**") | PARTS, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "", "/"]),
).map("".join)
PATHS = st.lists(
    st.text("ab.c*", min_size=1, max_size=3).filter(lambda part: part not in {".", ".."}),
    min_size=1,
    max_size=5,
).map("/".join)


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)
@given(PATTERNS, st.lists(PATHS, min_size=20, max_size=60, unique=True))
def test_git_agrees(repository, pattern, paths):
    """Against ``git check-ignore`` on the same pattern and paths."""
    try:
        ours = {path for path in paths if matches(pattern, path)}
    except UsageProblem:
        return
    (repository / ".gitignore").write_text(pattern + "\n")
    asked = [
        "git",
        "-C",
        repository,
        "-c",
        "core.ignorecase=false",
        "check-ignore",
        "--no-index",
        "--stdin",
        "-z",
    ]
    done = subprocess.run(asked, check=False, input="\0".join(paths), capture_output=True, text=True)
    assert done.returncode in (0, 1)
    assert set(filter(None, done.stdout.split("\0"))) == ours
