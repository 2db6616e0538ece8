# SPDX-License-Identifier: Apache-2.0
"""Annotations and outputs, read back by the runner's own rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import decisions as made
from factories.hostile import hostile_decisions
from simulators.github_runner import commands_in, outputs_in
from truegreen.core.errors import UsageProblem
from truegreen.core.outcome import Outcome, Word
from truegreen.report.github import (
    MESSAGE_UNITS,
    MOST,
    Annotation,
    annotations_of,
    command_of,
    log_of,
    output_lines,
    outputs_of,
)
from truegreen.report.line import line_of

DELIMITER = "ghadelimiter_0123456789abcdef"


def _read(annotations):
    return [(one.type, one.title, one.file, one.message) for one in annotations]


def _obeyed(log):
    return [
        (c.name, c.properties.get("title", ""), c.properties.get("file", ""), c.data)
        for c in commands_in(log)
    ]


def test_a_broken_case_is_an_error_at_its_file():
    """The reviewer sees case, counts, answer, owner and action at the line of the test file."""
    [error, notice] = annotations_of(made.broken_case())
    assert ("error", "truegreen: Never passed", "tests/llm/test_notes.py") == (
        error.type,
        error.title,
        error.file,
    )
    assert [
        "tests/llm/test_notes.py::test_tone never passed here: 0 of 5",
        'expected key "tone"; got {"mood": "fine"}',
        "owner @ana",
        "fix it, or: truegreen why (case-broken)",
    ] == error.message.split("\n")
    assert "notice" == notice.type


@pytest.mark.parametrize(
    ("decision", "type_"),
    [(made.broken_case, "error"), (made.observed_block, "warning"), (made.flaky_case, "warning")],
)
def test_only_an_enforced_block_is_an_error(decision, type_):
    """A hold, and a block that is only observed, is a warning."""
    assert type_ == annotations_of(decision())[0].type


def test_nobody_is_named_in_an_outage():
    """The lane's owner is not asked about an endpoint."""
    assert "owner" not in annotations_of(made.outage())[0].message


def test_an_admit_has_notices_only():
    """Nothing speaks against it; what is disclosed is disclosed."""
    assert {"notice"} == {one.type for one in annotations_of(made.flaky_and_excused())}


def test_more_than_ten_of_a_type_end_in_a_count():
    """The tenth says how many more there are; the runner would drop them in silence."""
    rows = tuple(made.broken(f"test_{n}", detail="") for n in range(14))
    lanes = (made.lane(rows, Outcome.FAILS, "case-broken"),)
    decision = made.decision(Word.BLOCK, tuple(made.of_case(row, Word.BLOCK) for row in rows), lanes)
    errors = [one for one in annotations_of(decision) if one.type == "error"]
    assert (MOST, "And more") == (len(errors), errors[-1].title)
    assert errors[-1].message.startswith("5 more stand in")


@pytest.mark.parametrize("count", [MOST, MOST + 1])
def test_exactly_ten_are_all_shown(count):
    """The count takes a place only when something is left out."""
    rows = tuple(made.broken(f"test_{n}") for n in range(count))
    decision = made.decision(
        Word.BLOCK,
        tuple(made.of_case(row, Word.BLOCK) for row in rows),
        (made.lane(rows, Outcome.FAILS, "x"),),
        notes=(),
    )
    told = annotations_of(decision)
    assert MOST == len(told)
    assert (count > MOST) == (told[-1].title == "And more")


@pytest.mark.parametrize(
    ("case", "file"),
    [
        ("tests/llm/a b.py::t", "tests/llm/a b.py"),
        ("tests/größe.py::t", "tests/größe.py"),
        ("/etc/passwd::t", ""),
        ("../up.py::t", ""),
        ("a/../../up.py::t", ""),
        ("a/..", ""),
        ("a..b/c.py::t", "a..b/c.py"),
        ("a,b.py::t", ""),
        ("a\nb.py::t", ""),
        ("", ""),
    ],
)
def test_only_a_plain_path_of_the_repository_becomes_a_file(case, file):
    """Anything else would point somewhere that nobody meant."""
    row = made.broken(id=case)
    decision = made.decision(
        Word.BLOCK, (made.of_case(row, Word.BLOCK),), (made.lane((row,), Outcome.FAILS, "x"),)
    )
    assert file == annotations_of(decision)[0].file


@given(hostile_decisions())
@settings(max_examples=40)
def test_the_runner_reads_our_annotations_and_nothing_else(decision):
    """Whatever a test, a model or a file name says: no other command in the log, in neither syntax."""
    assert _read(annotations_of(decision)) == _obeyed(log_of(decision))


@given(hostile_decisions(text=st.text(max_size=3000)))
@settings(max_examples=40)
def test_messages_fit(decision):
    """At most 4,096 UTF-16 units, counted after the escapes are undone."""
    for one in annotations_of(decision):
        assert len(one.message.encode("utf-16-le")) <= 2 * MESSAGE_UNITS


def test_a_message_of_wide_characters_is_cut_by_units():
    """Characters beyond the first plane count twice, as the runner counts them."""
    row = made.broken(detail="\n".join(["👍" * 990] * 5))
    decision = made.decision(
        Word.BLOCK, (made.of_case(row, Word.BLOCK),), (made.lane((row,), Outcome.FAILS, "x"),)
    )
    units = len(annotations_of(decision)[0].message.encode("utf-16-le")) // 2
    assert MESSAGE_UNITS - 600 < units <= MESSAGE_UNITS


TRIMMED = st.text(max_size=40).map(str.strip)  # the runner trims the list of properties


@given(TRIMMED, TRIMMED, st.text(min_size=1, max_size=40))
def test_escaping_loses_nothing(title, file, message):
    """Any text in any place comes back as it was; only line ends inside of a line would end it, and are escaped."""
    text = command_of(Annotation(type="error", title=title, message=message, file=file))
    assert "\n" not in text
    assert "\r" not in text
    [command] = commands_in(text)
    expected = {name: value for name, value in (("title", title), ("file", file)) if value}
    assert ("error", expected, message) == (command.name, command.properties, command.data)


@given(hostile_decisions())
@settings(max_examples=40)
def test_outputs_are_exactly_four(decision):
    """No value mints a further output."""
    read = outputs_in(outputs_of(decision, DELIMITER))
    assert ["decision", "code", "line", "mode"] == list(read)
    assert (decision.word.value, line_of(decision)) == (read["decision"], read["line"])


@given(st.dictionaries(st.from_regex(r"\A[a-z_][a-z0-9_-]{0,5}\Z"), st.text(max_size=60), max_size=4))
def test_a_value_comes_back_as_it_was_or_is_refused(values):
    """Line feeds stay inside; a carriage return or the delimiter is refused."""
    try:
        content = output_lines(values, DELIMITER)
    except UsageProblem:
        assert any("\r" in value for value in values.values())
    else:
        assert values == outputs_in(content)


@pytest.mark.parametrize(
    ("values", "delimiter"),
    [
        ({"a": f"x\n{DELIMITER}\nevil=1"}, DELIMITER),
        ({"a": "x"}, "EOF"),
        ({"a": "x"}, "a" * 16 + "\n"),
        ({"a b": "x"}, DELIMITER),
        ({"": "x"}, DELIMITER),
        ({"a<<b": "x"}, DELIMITER),
        ({"a": "x\ry"}, DELIMITER),
    ],
)
def test_what_could_be_read_otherwise_is_refused(values, delimiter):
    """A short delimiter can be guessed; a name with signs in it is read as something else."""
    with pytest.raises(UsageProblem) as caught:
        output_lines(values, delimiter)
    assert "bad-output" == caught.value.code
