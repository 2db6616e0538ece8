# SPDX-License-Identifier: Apache-2.0
"""Names that may stand in evidence."""

import pytest

from truegreen.core.errors import EvidenceProblem
from truegreen.gate.entry_names import check_entries


@pytest.mark.parametrize(
    "name", ["a/b.json", "a b", "é", ".hidden", "%FF", "ab:c", "\u202e", "truegreen.lane.all.1"]
)
def test_harmless_names_pass(name):
    """Odd is not hostile."""
    check_entries([name], [f"folder of {name}"])


@pytest.mark.parametrize(
    "name", ["a\tb", "a\x1bb", "a\x7fb", "a\x85b", "C:", "c:/x", "C:x", "a\nb", "../x", "", "a\\b"]
)
def test_hostile_names_are_refused_as_file_and_as_folder(name):
    """Control characters, drive letters, and what no set of files may hold."""
    for files, folders in (([name], []), ([], [name])):
        with pytest.raises(EvidenceProblem, match="unsafe-name"):
            check_entries(files, folders)


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ([], ["a", "a"]),
        (["a"], ["a"]),
        (["a"], ["A"]),
        (["A/b"], ["a"]),
        ([], ["a/b", "A/c"]),
        (["a/b"], ["a/b/c"]),
        (["a", "A"], []),
    ],
)
def test_entries_that_are_one_entry_somewhere_are_refused(files, folders):
    """Files among themselves, folders among themselves, and one with another."""
    with pytest.raises(EvidenceProblem, match="name-collision") as caught:
        check_entries(files, folders)
    assert caught.value.contradictory


def test_a_folder_may_stand_beside_its_files():
    """Archives list folders before, after or not at all."""
    check_entries(["a/b/c", "a/d"], ["a", "a/b", "a/e"])
