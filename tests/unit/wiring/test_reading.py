# SPDX-License-Identifier: Apache-2.0
"""Files that a verb was pointed at."""

import os

import pytest

from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.wiring.reading import beginning_of, bytes_of, session_at


def test_a_file_is_read_up_to_the_limit(tmp_path):
    """Whole if it is shorter."""
    (tmp_path / "x").write_bytes(b"12345")
    assert (b"123", b"12345") == (beginning_of(tmp_path / "x", 3), beginning_of(tmp_path / "x", 9))


def test_what_is_no_file_is_none(tmp_path):
    """Absent, a folder, a pipe without a writer, a link to nothing."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    assert [None] * 4 == [beginning_of(tmp_path / name, 9) for name in ("absent", ".", "pipe", "link")]


def test_a_file_that_cannot_be_opened_is_said(tmp_path, monkeypatch):
    """With what the system said."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "x"
    path.write_bytes(b"")
    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(ReachProblem, match=r"cannot be read: Permission denied \[file-unreadable\]"):
        beginning_of(path, 9)


@pytest.mark.parametrize(
    ("name", "said"), [("absent", "no file of that name"), (".", "no plain file"), ("pipe", "no plain file")]
)
def test_a_file_that_has_to_be_there_is_named(tmp_path, name, said):
    """What is there instead is said, and never waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x").write_bytes(b"12345")
    assert b"123" == bytes_of(tmp_path / "x", 3)
    with pytest.raises(ReachProblem, match=rf"cannot be read: .*{said} \[file-unreadable\]"):
        bytes_of(tmp_path / name, 9)


def test_a_file_that_is_no_account_of_a_replay_is_named(tmp_path):
    """Several may be given: the sentence says which."""
    path = tmp_path / "one.json"
    path.write_text("import sys")
    with pytest.raises(EvidenceProblem) as caught:
        session_at(path)
    assert ("session-unreadable", True, True) == (
        caught.value.code,
        "one.json" in caught.value.message and "not-json" in caught.value.message,
        "--session FILE" in caught.value.hint,
    )
