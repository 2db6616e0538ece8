# SPDX-License-Identifier: Apache-2.0
"""Decisions whose every text was written by somebody who means harm."""

from hypothesis import strategies as st

from factories import decisions as made
from truegreen.core.decision import Cause, Decision
from truegreen.core.outcome import Outcome, Word
from truegreen.report.reasons import catalogue

MARKER = "q.z"
"""Stands in every hostile text and in no text of ours: where it appears, hostile text appears."""

PIECES = (
    *(
        "::error::x",
        "::set-env name=a::b",
        "##[add-path]/tmp",
        "##",
        "[warning]",
        ":",
        "::",
        "%0A",
        "%",
        ",",
        ";",
    ),
    *("\n", "\r", "\r\n", "\u2028", "\x1b[31m", "\x9b", "\u202e", "\u200b", "\x00", "\ud800", "\u00a0", "\t"),
    *(
        "`",
        "``",
        "```",
        "~~~",
        "|",
        "\\",
        "\\|",
        "*",
        "_",
        "#",
        "<b>",
        "</details>",
        "</summary>",
        "<!--",
        "-->",
    ),
    *(
        "@ana",
        "http://a.example",
        "www.a.example",
        "[x](http://y)",
        "![](z)",
        "&amp;",
        "&#64;",
        "$(id)",
        "'",
        '"',
    ),
    *("\n\n", "\n- ", "\n# ", "| a |\n|---|", " ", "   ", "é", "日本", "👍🏽", "x" * 300, "="),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=8).map(
    lambda parts: MARKER + MARKER.join(parts) + MARKER
)


@st.composite
def hostile_decisions(draw, text=TEXTS) -> Decision:
    """A decision of any word and code; every text that somebody else wrote is hostile."""
    word = draw(st.sampled_from(Word))
    codes = draw(st.lists(st.sampled_from(sorted(catalogue())), min_size=1, max_size=4))
    rows = [_row(draw, text) for _ in codes]
    causes = tuple(_cause(draw, text, word, code, row) for code, row in zip(codes, rows, strict=True))
    lane = made.lane(
        tuple(rows),
        Outcome.FAILS,
        codes[0],
        endpoint=draw(text),
        models_served=(draw(text),),
        owner=draw(text),
        kind=draw(text),
        members=(made.member(part=draw(text), lane=draw(text)),),
    )
    names = ("repo", "head_repo", "base_ref", "base_tip", "head_sha", "workflow")
    return made.decision(
        word,
        () if word is Word.ADMIT else causes,
        (lane,),
        notes=(Cause(code=codes[0], word=None, facts={"problem": draw(text), "file": draw(text)}),),
        files=(made.seen(name=draw(text), container=draw(text), code=draw(text)),),
        about=made.about(**{name: draw(text) for name in names}),
        now=draw(text),
        topology=draw(text),
        only_lane=draw(st.none() | st.just("model-tests")),
        mode=draw(st.sampled_from(["observe", "enforce"])),
    )


def _row(draw, text):
    return made.broken(
        id=draw(text), detail=draw(text), owner=draw(st.none() | text), proves=draw(text), then=draw(text)
    )


def _cause(draw, text, word, code, row):
    facts = {name: draw(text | st.integers(0, 9)) for name in catalogue()[code].facts if draw(st.booleans())}
    case = draw(st.sampled_from([None, row.id]))
    return Cause(code=code, word=word, lane="model-tests", case=case, facts=facts)
