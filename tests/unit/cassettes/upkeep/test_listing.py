# SPDX-License-Identifier: Apache-2.0
"""Recordings as rows and as sums."""

import json

from factories.cassettes import SECRET, answered, asked, folder, recorder
from truegreen.cassettes.upkeep.listing import rows, seen, sums


def _files(path):
    opened = folder(path)
    return {name: opened.read(name) for name in opened.names()}


def _recorded(path):
    store = recorder(path, keeps_errors=True)
    template = (("x-truegreen-template", "labels"), ("x-truegreen-template-version", "4"))
    store.keep(asked(headers=template), answered("a"))
    store.keep(asked(headers=template), answered("b"))
    store.keep(asked({"model": "n", "input": "x"}), answered("c", status=429))
    return _files(path)


def test_each_recording_is_a_row(tmp_path):
    """With what a person looks for, by template."""
    plain, labels = rows(seen(_recorded(tmp_path)))
    assert ("(none)", None, "n", (429,), 1) == (
        plain.template, plain.version, plain.model_asked, plain.statuses, plain.answers,
    )  # fmt: skip
    assert ("labels", "4", "m", "m-1", 2, (200, 200), 14) == (
        labels.template, labels.version, labels.model_asked, labels.model_served, labels.answers, labels.statuses,
        labels.tokens,
    )  # fmt: skip
    assert "2026-11-29T21:00:00Z" == labels.recorded_at


def test_a_file_that_cannot_be_read_is_a_row_too(tmp_path):
    """With the code of what is wrong; cut off, empty, changed, no file."""
    files = _recorded(tmp_path)
    name, data = next(iter(files.items()))
    broken = {
        "a.json": b"",
        "b.json": data[:50],
        "c.json": b"{}",
        "d.json": None,
        "e.json": data.replace(b"200", b"201"),
    }
    found = {row.file: row.problem for row in rows(seen(broken))}
    assert {
        "a.json": "cassette-truncated",
        "b.json": "cassette-truncated",
        "c.json": "cassette-shape",
        "d.json": "not-a-file",
    }.items() <= found.items()
    assert found["e.json"]
    assert name not in found


def test_sums_count_everything_once(tmp_path):
    """Answers, tokens, secrets taken out, the span of dates; what cannot be read beside them."""
    store = recorder(tmp_path)
    store.keep(asked({"model": "m", "input": f"my key is {SECRET}"}), answered("a"))
    files = _recorded(tmp_path) | {"x.json": b"{"}
    found = sums(seen(files), sum(len(data) for data in files.values()))
    assert (3, 1, 4, 28, 1) == (
        found.recordings, found.unreadable, found.answers, found.tokens, found.redactions,
    )  # fmt: skip
    assert (("(none)", 2), ("labels", 1)) == found.templates
    assert (("m", 2), ("n", 1)) == found.models
    assert found.oldest == found.newest == "2026-11-29T21:00:00Z"


def test_an_empty_folder_has_sums():
    """Nothing of anything, and no dates."""
    found = sums(seen({}), 0)
    assert (0, 0, None, ()) == (found.recordings, found.answers, found.oldest, found.templates)


def test_tokens_are_summed_of_what_was_reported(tmp_path):
    """Prompt and completion where no total is; none where nothing is."""
    store = recorder(tmp_path)
    for number, usage in enumerate(
        ({"input_tokens": 3, "output_tokens": 4}, {"prompt_tokens": 5}, {"cached": 1}, None)
    ):
        body = {"model": "m", "content": [], **({} if usage is None else {"usage": usage})}
        store.keep(asked({"model": "m", "n": number}), answered(body=json.dumps(body).encode()))
    assert [5, 7, None, None] == sorted(
        (row.tokens for row in rows(seen(_files(tmp_path)))), key=lambda count: (count is None, count)
    )
