# SPDX-License-Identifier: Apache-2.0
"""Every error has its paragraph, and every paragraph its error."""

import ast
import re

import error_codes
import tree


def test_every_code_that_can_be_raised_has_a_paragraph():
    """Nobody meets a code that the documentation does not explain."""
    codes = error_codes.found(tree.modules())
    assert {} == {code: place for code, place in codes.raised.items() if code not in error_codes.documented()}


def test_every_paragraph_belongs_to_a_code():
    """The documentation explains nothing that cannot happen."""
    raised = error_codes.found(tree.modules()).raised
    assert [] == [code for code in error_codes.documented() if code not in raised]


def test_every_code_can_be_read_in_the_source():
    """A code stands as a literal where the problem is raised, so that a search finds it."""
    assert [] == error_codes.found(tree.modules()).unreadable


def test_codes_are_kebab_case_and_documented_once():
    """A code is an anchor: lower-case words joined by hyphens."""
    documented = error_codes.documented()
    assert sorted(set(documented)) == sorted(documented)
    assert [] == [code for code in documented if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)]


EXAMPLE = """
CODE = "by-constant"
def _refused(number, code, *, hint=""):
    raise EvidenceProblem(code, f"{number}")
def outer(reason):
    return _refused(1, reason)
class A:
    def stop(self, code):
        raise errors.ReachProblem(code=code, message="x")
def f(x):
    outer("by-carrier-of-carrier")
    A().stop("by-method")
    UsageProblem("a" if x else "b", "x")
    UsageProblem(CODE, "x")
    UsageProblem("put-" + "together", "x")
    _refused(2, code=f"{x}")
"""


def test_the_reader_finds_codes_however_they_are_handed_on():
    """Literals, choices, constants and functions that pass a code on are followed; the rest is reported."""
    codes = error_codes.found({"m.py": ast.parse(EXAMPLE)})
    assert {"by-carrier-of-carrier", "by-method", "a", "b", "by-constant"} == set(codes.raised)
    assert ["m.py:15", "m.py:16"] == codes.unreadable
