# SPDX-License-Identifier: Apache-2.0
"""The plain request, and what of an answer is text."""

import json

import pytest

from truegreen.pytest_plugin.answer import NoAnswerError, answer_of, request_of
from truegreen.pytest_plugin.question import Answer, ModelCase


def _case(**more):
    fields = {
        "id": "a::b", "feature": None, "prompt": "p", "prompt_path": "p.txt", "input": "i", "input_path": "i.txt",
        "model": "m", "base_url": "http://127.0.0.1:1/v1/", "sample": 1, **more,
    }  # fmt: skip
    return ModelCase(**fields)


def test_prompt_is_the_system_s_and_input_the_user_s(monkeypatch):
    """Settings go along as they are; the model is the one that was asked for."""
    monkeypatch.delenv("MODEL_API_KEY", raising=False)
    url, headers, body = request_of(_case(settings={"temperature": 0, "model": "other"}))
    assert ("http://127.0.0.1:1/v1/chat/completions", {}) == (url, headers)
    assert {
        "temperature": 0,
        "model": "m",
        "messages": [{"role": "system", "content": "p"}, {"role": "user", "content": "i"}],
    } == body
    assert [{"role": "user", "content": "i"}] == request_of(_case(prompt=None))[2]["messages"]
    monkeypatch.setenv("MODEL_API_KEY", "k")
    assert {"authorization": "Bearer k"} == request_of(_case())[1]


@pytest.mark.parametrize(("missing", "named"), [("base_url", "MODEL_BASE_URL"), ("model", "MODEL_NAME")])
def test_what_is_not_configured_is_named(missing, named):
    """In the sample's own failure."""
    with pytest.raises(NoAnswerError, match=named):
        request_of(_case(**{missing: None}))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "yes"}, Answer(text="yes", finish_reason="stop")),
        ({"content": None, "refusal": "no"}, Answer(text="", finish_reason="stop")),
        ({}, Answer(text="", finish_reason="stop")),
    ],
)
def test_the_first_choice_is_the_answer(message, expected):
    """A refusal is an answer without text."""
    body = {"choices": [{"message": message, "finish_reason": "stop"}, {"message": {"content": "other"}}]}
    assert expected == answer_of(200, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (503, b"{}"),
        (200, b""),
        (200, b"not json"),
        (200, b'{"choices": []}'),
        (200, b'{"choices": [{"message": {"content": 1}}]}'),
        (200, b'{"error": "x"}'),
    ],
)
def test_everything_else_is_no_answer(status, body):
    """Never an empty text that a test could pass."""
    with pytest.raises(NoAnswerError):
        answer_of(status, body)
