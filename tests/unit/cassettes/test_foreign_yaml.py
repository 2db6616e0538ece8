# SPDX-License-Identifier: Apache-2.0
"""YAML where a cassette is asked."""

import pytest

from truegreen.cassettes.foreign_yaml import refuse_tags, tag_in
from truegreen.core.errors import EvidenceProblem


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.mkdir [made]",
        "!!python/name:os.system a",
        "- x\n- {a: !ruby/object:Gem {}}",
        "a: !custom 1",
        "a: !!str 1",
        "? !!python/tuple [1]\n: 2",
    ],
)
def test_any_tag_is_refused_and_nothing_runs(text, tmp_path, monkeypatch):
    """Even a harmless one: nobody has to tell them apart."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvidenceProblem) as caught:
        refuse_tags(text.encode(), "x.yaml")
    assert ("yaml-tag", True, []) == (caught.value.code, caught.value.contradictory, list(tmp_path.iterdir()))


@pytest.mark.parametrize("text", ["a: 1", "a: 'wow!'", "a: [", "{", "", "a: !", "\ufeff!", "x: 'a!"])
def test_other_text_has_no_tag(text):
    """An exclamation mark is none, and broken YAML neither; a lone mark only says that a value is a text."""
    assert tag_in(text.encode()) in (None, "!")
