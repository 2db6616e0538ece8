# SPDX-License-Identifier: Apache-2.0
"""Pages make a complete list only if they all tell the same count and give as many rows."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import ReachProblem
from truegreen.forges.github_listing import MOST_PAGES, PER_PAGE, listing


class Row(msgspec.Struct):
    """A row."""

    id: int


class Pages:
    """An API of prepared pages; the last of them is repeated."""

    def __init__(self, *pages):
        self.pages = list(pages)
        self.asked = []

    def get(self, path, query=None):
        """The next page."""
        self.asked.append(query["page"])
        return self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]


def _page(ids, total):
    return {"total_count": total, "rows": [{"id": number} for number in ids]}


def _listed(api, **query):
    found = listing(api, "/rows", "rows", Row, query)
    return [row.id for row in found.rows], found.complete


@given(count=st.integers(0, 3 * PER_PAGE + 1))
def test_as_many_pages_are_asked_as_the_count_needs(count):
    """None beyond the last, and an empty list is one page."""
    ids = range(count)
    api = Pages(*[_page(ids[at : at + PER_PAGE], count) for at in range(0, max(count, 1), PER_PAGE)])
    assert (list(ids), True) == _listed(api)
    assert max(1, -(-count // PER_PAGE)) == len(api.asked)


def test_a_row_that_moved_between_pages_is_read_again():
    """Seen twice on the first reading; both readings count for themselves."""
    one, two = list(range(100)), [99, 100]
    api = Pages(_page(one, 102), _page(two, 102), _page(one, 102), _page([100, 101], 102))
    assert ([*range(102)], True) == _listed(api)
    assert [1, 2, 1, 2] == api.asked


@pytest.mark.parametrize(
    "pages",
    [
        [_page(range(100), 101), _page([], 101)],
        [_page(range(100), 101), _page([100], 102)],
        [_page(range(3), 2)],
        [_page(range(2), 3)],
        [_page([1, 1], 2)],
        [_page([], -1)],
        [_page(range(100), 101), None],
        [None],
    ],
)
def test_a_list_that_does_not_add_up_twice_is_incomplete(pages):
    """Empty page, moving count, too many, too few, one twice, nonsense, gone."""
    assert not _listed(Pages(*pages, *pages))[1]


def test_a_list_without_end_ends():
    """A forge that always has one more page."""
    api = Pages(_page(range(100), 10**9))
    assert ([*range(100)], False) == _listed(api)
    assert 2 * MOST_PAGES == len(api.asked)


def test_a_search_is_limited_where_a_plain_list_is_not():
    """More than a thousand rows of a search are never all."""
    pages = [_page(range(at, at + 100), 1100) for at in range(0, 1100, 100)]
    assert (True, False) == (_listed(Pages(*pages))[1], _listed(Pages(*pages), branch="x")[1])


@pytest.mark.parametrize(
    "answer", [[], {}, {"total_count": 1}, {"rows": [], "total_count": True}, _page(["x"], 1)]
)
def test_an_answer_of_another_shape_is_a_problem(answer):
    """Nothing is guessed from it."""
    with pytest.raises(ReachProblem) as caught:
        _listed(Pages(answer))
    assert "forge-unreachable" == caught.value.code
