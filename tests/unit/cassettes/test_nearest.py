# SPDX-License-Identifier: Apache-2.0
"""The nearest recording, and where it differs."""

from truegreen.cassettes.nearest import first_difference, nearest_of, outline_of
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
