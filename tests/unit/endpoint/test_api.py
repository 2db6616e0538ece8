# SPDX-License-Identifier: Apache-2.0
"""What all APIs share: bodies, texts, counts."""

import pytest

from truegreen.endpoint.api import Answer, ApiError, Said, cut, model_of, read_object, texts, tokens


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"3", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body):
    """Status 400, never a crash."""
    with pytest.raises(ApiError) as caught:
        read_object(body)
    assert 400 == caught.value.status


@pytest.mark.parametrize("model", [None, "", 3])
def test_a_model_is_a_text(model):
    """And not an empty one."""
    with pytest.raises(ApiError) as caught:
        model_of({"model": model})
    assert ("model", 400) == (caught.value.param, caught.value.status)


def test_texts_are_those_of_the_kinds_asked():
    """Other parts and what is none say nothing; nothing at all says nothing."""
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image"},
        {"type": "text", "text": 3},
        7,
        {"type": "b", "text": "c"},
    ]
    assert ["a"] == list(texts(parts, ("text",), "here"))
    assert ["x"] == list(texts("x", ("text",), "here"))
    assert [] == list(texts(None, ("text",), "here"))
    with pytest.raises(ApiError, match=r"'here.content' is neither"):
        list(texts(3, ("text",), "here"))


def test_pieces_join_to_the_text():
    """The last may be shorter; an empty text has none."""
    assert ["añ", "b"] == cut("añb", 2)
    assert [] == cut("", 2)


def test_counts_contradict_each_other_nowhere():
    """No more is cached than asked; all choices count."""
    said = (Said(text="12345", refusal=None, finish="stop"), Said(text=None, refusal="1", finish="stop"))
    answer = Answer(id="", model="m", fingerprint=None, choices=said, prompt_tokens=3, cached_tokens=64)
    assert (3, 3) == (answer.warm_tokens, answer.said_tokens)
    assert [0, 1, 1, 2] == [tokens("x" * n) for n in (0, 1, 4, 5)]
