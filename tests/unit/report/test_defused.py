# SPDX-License-Identifier: Apache-2.0
"""Untrusted text made harmless, and cut where a reader would cut it."""

import shlex
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truegreen.report.defused import cells, cut, cut_middle, lines_of, padded, plain, shell_word

HOSTILE = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("::##[]\n\r\t \x1b\x9b\u202e\u2028\u200b%,;e\u0301🇩🇪👍🏽")
    ),
    max_size=60,
) | st.lists(
    st.sampled_from([":", "::", "##", "[", "error", "::error", "##[set-env", " ", "\n", "a", "\u200b"]),
    max_size=8,
).map("".join)


def _obeyed_by_a_runner(line):
    """Written from the runner's rules: the second syntax at the start after trimming, the first anywhere."""
    return line.lstrip().startswith("::") or "##[" in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("zero\u200bwidth\u2028x", r"zero\u200bwidth\u2028x"),
        ("no\u00a0break\u3000space", "no break space"),
        ("byte \udcff", r"byte \xff"),
        ("half \ud800", r"half \ud800"),
        ("\U000e0041tag", r"\U000e0041tag"),
        ("##[add-path]/tmp", r"##\[add-path]/tmp"),
        ("::error::x", r":\:error::x"),
        ("a ::notice::", r"a :\:notice::"),
        ("test_x[::Error file=a::b]", r"test_x[:\:Error file=a::b]"),
        (":::error::x", r":\:\:error::x"),
        ("a.py::TestX::test_y[é-日本]", "a.py::TestX::test_y[é-日本]"),
        ("a.py::errors::test_debugger", "a.py::errors::test_debugger"),
    ],
)
def test_what_a_terminal_or_a_runner_obeys_is_shown_instead(text, shown):
    """Ids keep their colons; commands, escapes, marks and line ends become visible."""
    assert shown == plain(text)


@given(HOSTILE)
@example(":" * 7 + "error")
def test_nothing_that_is_obeyed_survives(text):
    """One printable line, no workflow command in it, and defusing twice changes nothing."""
    shown = plain(text)
    assert shown.isprintable()
    assert not _obeyed_by_a_runner(shown)
    assert shown == plain(shown)


@given(HOSTILE)
def test_lines_are_kept_apart_and_each_is_harmless(text):
    """Only the three line ends split; a separator that is none is shown."""
    shown = lines_of(text)
    assert len(shown) == text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert [] == [line for line in shown if _obeyed_by_a_runner(line) or not line.isprintable()]


@given(HOSTILE)
def test_a_shell_reads_one_word(text):
    """Whatever the id: one word, which is the text as it is shown."""
    assert [plain(text).removeprefix("./")] == [
        word.removeprefix("./") for word in shlex.split(shell_word(text))
    ]


def test_a_word_is_never_an_option():
    """A file may be called like an option."""
    assert ["./--engine=x", "'./-a b'", "a-b"] == [shell_word(text) for text in ("--engine=x", "-a b", "a-b")]


def _parts(text):
    """Whether any character is torn from what it modifies, at the start of a text."""
    return bool(text) and unicodedata.category(text[0]).startswith("M")


@given(HOSTILE, st.integers(0, 40))
def test_a_cut_is_short_and_says_so(text, limit):
    """Never longer than asked; cut text is a beginning with an ellipsis, whole text is unchanged."""
    shown = cut(text, limit)
    assert len(shown) <= limit
    assert shown == text if len(text) <= limit else shown.endswith("…") == (limit > 0)
    assert text.startswith(shown.removesuffix("…"))
    rest = text[len(shown) - 1 :] if len(text) > limit > 1 and shown[-2:-1].strip() else ""
    assert not _parts(rest)


@given(HOSTILE, st.integers(0, 40))
def test_a_cut_in_the_middle_keeps_both_ends(text, limit):
    """Never longer than asked, beginning and end as they were."""
    shown = cut_middle(text, limit)
    assert len(shown) <= limit
    if len(text) > limit > 0:
        front = next(n for n in range(len(shown)) if shown[n] == "…" and text.endswith(shown[n + 1 :]))
        assert text.startswith(shown[:front])
        assert not _parts(shown[front + 1 :])
        assert not _parts(text[front:])


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("one two three four", 15, "one two three…"),
        ("one two three four", 14, "one two three…"),
        ("onetwothreefour", 8, "onetwot…"),
        ("cafe\u0301s", 5, "caf…"),
        ("ab👍🏽c", 4, "ab…"),
        ("a🇩🇪🇫🇷", 3, "a…"),
        ("a🇩🇪🇫🇷", 4, "a🇩🇪…"),
        ("ab\u1112\u1161\u11ab", 4, "ab…"),
        ("\u0301\u0301\u0301", 2, "…"),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ],
)
def test_a_cut_prefers_words_and_keeps_characters_whole(text, limit, shown):
    """Accents, skin tones, flags and Hangul syllables stay with what they belong to."""
    assert shown == cut(text, limit)


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("test_summary[de]", 11, "test_…y[de]"),
        ("abc", 0, ""),
        ("abc", 1, "…"),
        ("abcde\u0301f", 4, "ab…f"),
        ("abcde\u0301fg", 7, "abc…fg"),
    ],
)
def test_the_end_of_an_id_survives_a_cut(text, limit, shown):
    """The parameter at its end tells an id from its neighbours."""
    assert shown == cut_middle(text, limit)


def test_columns_are_those_of_a_terminal():
    """Wide characters take two, marks none; padding counts columns."""
    assert (3, 4, 1) == (cells("abc"), cells("日本"), cells("e\u0301"))
    assert ["日本  ", "abc   ", "longer"] == [padded(text, 6) for text in ("日本", "abc", "longer")]
