# SPDX-License-Identifier: Apache-2.0
"""The nearest recording, and where it differs."""

from truegreen.cassettes.nearest import first_difference, nearest_of, outline_of, told_apart
from truegreen.core.canonical import Spelled


def doc(body, template=None):
    """A document."""
    return {"method": "POST", "template": {"id": template} if template else None, "body": body}


def test_the_same_template_comes_first_then_the_fewest_differences():
    """Then the name, so that two runs say the same."""
    asked = doc({"a": "1", "b": "2", "c": "3"}, "t")
    near, far, equal = doc({"a": "1", "b": "2"}), doc({}, "t"), doc({"a": "1"}, "t")
    outlines = [outline_of("1", near), outline_of("2", far), outline_of("4", equal), outline_of("3", equal)]
    assert ["1", "3"] == [nearest_of(asked, outlines[:1]).name, nearest_of(asked, outlines).name]
    assert nearest_of(asked, []) is None


def test_the_first_difference_is_the_first_in_the_asked_order():
    """A value, a type, something more, something less."""
    stored = doc({"x": [Spelled("0"), "a"], "y": {}})
    assert "body.x[0]" == first_difference(doc({"x": [Spelled("0.0"), "b"], "y": {}}), stored)
    assert "body.x[0]" == first_difference(doc({"x": [False, "a"], "y": {}}), stored)
    assert "body.z" == first_difference(doc({"x": [Spelled("0"), "a"], "z": 1, "y": {}}), stored)
    assert "body.y" == first_difference(doc({"x": [Spelled("0"), "a"]}), stored)
    assert "body.y.a" == first_difference(
        doc({"x": [Spelled("0"), "a"], "y": {}}), doc({"x": [Spelled("0"), "a"], "y": {"a": 1}})
    )
    assert "body.y" == first_difference(doc({"y": {}}), doc({"y": []}))
    assert first_difference(stored, stored) is None


def test_a_redacted_stretch_stands_for_anything_at_its_path_only():
    """What stands around it still counts."""
    stored = doc({"a": "key [redacted: provider-key] end", "b": "[redacted: x]"})
    paths = frozenset({"body.a"})
    same = {"a": "key sk-1\n2 end", "b": "[redacted: x]"}
    assert first_difference(doc(same), stored, paths) is None
    assert "body.a" == first_difference(doc({**same, "a": "Key sk end"}), stored, paths)
    assert "body.a" == first_difference(doc({**same, "a": 1}), stored, paths)
    assert "body.b" == first_difference(doc({**same, "b": "other"}), stored, paths)


def test_what_parts_two_requests_is_shown_from_shortly_before_the_place():
    """Short values whole, long ones from where they part, nothing where there is none, and never a secret."""
    long = "The same beginning of a long prompt, "
    key = "sk-" + "made0up1" * 4
    asked = doc({"a": 0, "b": long + "then this", "c": 1, "d": key, "e": None})
    stored = doc({"a": False, "b": long + "then that", "d": "x"})
    assert ("0", "false") == told_apart(asked, stored, "body.a")
    assert ('…mpt, then this"', '…mpt, then that"') == told_apart(asked, stored, "body.b")
    assert ("1", "nothing") == told_apart(asked, stored, "body.c")
    assert ("a text that holds a secret", '"x"') == told_apart(asked, stored, "body.d")
    assert ("null", "nothing") == told_apart(asked, stored, "body.e")
