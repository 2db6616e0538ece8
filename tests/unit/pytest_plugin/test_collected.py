# SPDX-License-Identifier: Apache-2.0
"""What is told of a collection, and what is refused."""

import pytest


def test_marked_tests_alone_are_taken_where_any_is_marked(suite, drive):
    """The rest is counted; a class's mark is its tests'."""
    root = suite(
        test_marks="""
        import pytest


        @pytest.mark.model(blast_radius="low", golden=True)
        def test_one():
            pass


        @pytest.mark.model
        class TestTwo:
            def test_in_class(self):
                pass


        def test_three():
            pass
        """
    )
    found, _ = drive(root)
    assert ["test_one", "test_in_class"] == [case.id.rpartition("::")[2] for case in found.cases]
    assert 1 == found.unmarked
    assert ("low", True) == (found.cases[0].blast_radius, found.cases[0].golden)


def test_a_collection_error_is_told_in_one_sentence(suite, drive):
    """With the file and the last line of the trace."""
    found, ends = drive(
        suite(test_broken="import no_such_module\n", test_good="def test_good():\n    pass\n")
    )
    assert [] == ends
    (problem,) = found.problems
    assert "collection-failed" == problem.code
    assert "tests/test_broken.py: ModuleNotFoundError: No module named 'no_such_module'" == problem.message


def test_an_id_that_two_cases_share_is_told(suite, drive):
    """Two files of one name collected twice, or parameters that spell alike."""
    root = suite(test_one="def test_one():\n    pass\n")
    found, _ = drive(root, "tests/test_one.py", "--keep-duplicates")
    assert ["unstable-id"] == [problem.code for problem in found.problems]


def test_ids_made_of_a_place_are_disclosed(suite, drive):
    """An object has no text of its own."""
    root = suite(
        test_placed="""
        import pytest


        @pytest.mark.parametrize("value", [object(), object()])
        @pytest.mark.parametrize("name", ["a", "b"])
        def test_one(value, name):
            pass
        """
    )
    found, _ = drive(root)
    (notice,) = found.notices
    assert notice.startswith(
        "4 ids are made of a parameter's place in its list, the first is tests/test_placed.py"
    )


def test_ids_are_told_from_the_root_whatever_pytest_calls_its_own(suite, drive):
    """A configuration below the root makes another root for pytest."""
    root = suite({"tests/pytest.ini": "[pytest]\n"}, test_one="def test_one():\n    pass\n")
    found, ends = drive(root)
    assert ["tests/test_one.py::test_one"] == [case.id for case in found.cases]
    assert ["passed"] == [end.status for end in ends]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('blast_radius="huge"', "blast_radius is 'huge', not one of low, normal, high"),
        ("owner=7", "owner is 7, asked is a str"),
        ('ownr="@ana"', "ownr is none of blast_radius, owner, feature, golden"),
        ('golden="yes"', "golden is 'yes', asked is a bool"),
    ],
)
def test_a_marker_that_says_something_unknown_is_refused(suite, drive, said, expected):
    """With the test that carries it."""
    found, ends = drive(
        suite(test_one=f"import pytest\n\n\n@pytest.mark.model({said})\ndef test_one():\n    pass\n")
    )
    assert [] == ends
    assert [f"tests/test_one.py::test_one: the marker model: {expected}"] == [
        one.message for one in found.problems
    ]
