# SPDX-License-Identifier: Apache-2.0
"""One name for one case on every machine."""

import os
from pathlib import Path

import pytest

from truegreen.sampling.case_ids import case_id, duplicates

ROOT = Path("/repository")


@pytest.mark.parametrize(
    ("path", "nodeid", "expected"),
    [
        ("tests/test_a.py", "tests/test_a.py::test_b", "tests/test_a.py::test_b"),
        ("tests/test_a.py", "test_a.py::TestC::test_b[x-1]", "tests/test_a.py::TestC::test_b[x-1]"),
        ("tests/test_e\u0301.py", "test.py::test_b", "tests/test_\xe9.py::test_b"),
        ("tests/a.yaml", "a.yaml::one", "tests/a.yaml::one"),
    ],
)
def test_the_path_is_told_from_the_root_and_composed(path, nodeid, expected):
    """Whatever folder pytest calls its own root."""
    assert expected == case_id(ROOT / path, ROOT, nodeid)


def test_bytes_that_are_no_text_are_written_as_escapes():
    """A file name of another age has one spelling."""
    path = Path(os.fsdecode(b"/repository/tests/test_\xff.py"))
    assert "tests/test_%FF.py::test_b" == case_id(path, ROOT, "x::test_b")


def test_ids_that_two_cases_share_are_named_with_how_many():
    """Sorted, and none where all differ."""
    assert [] == duplicates(["a", "b"])
    assert [("a", 2), ("c", 3)] == duplicates(["c", "a", "b", "c", "a", "c"])
