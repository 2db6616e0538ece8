# SPDX-License-Identifier: Apache-2.0
"""The parts of a screen."""

from truegreen.report.screen import WIDEST_CELL, Span, labelled, line, paragraph, plain_screen, table


def test_a_plain_screen_has_no_colours_and_no_spaces_at_its_ends():
    """What plays which part is not content."""
    assert "a b\n\nc\n" == plain_screen((line("a ", Span("b", "block")), (), line(Span("c  ", "dim"))))


def test_a_paragraph_breaks_at_spaces_only():
    """A path stays whole, so that it can be copied."""
    path = "x/" * 80
    assert f"one\n{path}\ntwo\n" == plain_screen(paragraph(f"one {path} two"))


def test_columns_are_as_wide_as_their_widest_cell():
    """Wide characters count as a terminal shows them; the last column has no padding."""
    assert "  a     b\n  日本  x\n  c     yy\n" == plain_screen(
        table(("a", "b"), [("日本", "x"), ("c", "yy")])
    )


def test_a_long_cell_is_cut_in_its_middle():
    """Both ends stay."""
    shown = plain_screen(table(("a",), [("s" * 99 + "end",)])).split("\n")[1]
    assert WIDEST_CELL + 2 == len(shown)
    assert shown.endswith("end")


def test_a_label_stands_once():
    """Further lines stand below the first."""
    assert "  next     a\n           b\n" == plain_screen(labelled("next", ["a", "b"]))
