# SPDX-License-Identifier: Apache-2.0
"""A plain chat completion: how a case file is answered where no conftest answers it.

What it decides: the request (``prompt`` as system message, ``input`` as user message) and what of the answer
is the text. What it leaves: what a lost call means, to the observer; judging, to the case.

- One request, no retry: a loss is redrawn by whoever takes samples, and counted.
- A refusal is an answer: its text is empty.
- The case's ``settings`` go into the request as they are; nothing else is set.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

import httpx2
import msgspec

from truegreen.pytest_plugin.question import Answer, KnownError, ModelCase

TIMEOUT = httpx2.Timeout(None, connect=30.0)
"""A sample's own time limit ends a call; connecting to loopback needs no longer."""


class NoAnswerError(KnownError):
    """The endpoint gave no answer that could be judged."""

    reason_code = "no-answer"


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


_COMPLETION = msgspec.json.Decoder(_Completion)


class AsyncAsker:
    """One client for many questions at once; use as an async context manager."""

    def __init__(self, slots: int) -> None:
        """``slots`` calls may be in flight."""
        limits = httpx2.Limits(max_connections=slots + 4, max_keepalive_connections=slots + 4)
        self._client = httpx2.AsyncClient(timeout=TIMEOUT, limits=limits, trust_env=False)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, err, trace)

    async def ask(self, case: ModelCase) -> Answer:
        """The answer.

        Raises: NoAnswerError for a status or body that is no answer; httpx2.TransportError.
        """
        url, headers, body = request_of(case)
        answer = await self._client.post(url, headers=headers, json=body)
        return answer_of(answer.status_code, answer.content)


def ask(case: ModelCase) -> Answer:
    """The same, one question at a time."""
    url, headers, body = request_of(case)
    with httpx2.Client(timeout=TIMEOUT, trust_env=False) as client:
        answer = client.post(url, headers=headers, json=body)
    return answer_of(answer.status_code, answer.content)


def request_of(case: ModelCase) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Address, headers and body of the request.

    Raises: NoAnswerError if the environment names no endpoint or no model.
    """
    if not case.base_url or not case.model:
        missing = "MODEL_BASE_URL" if not case.base_url else "MODEL_NAME"
        raise NoAnswerError(f"{missing} is not set, and no conftest answers the case")
    messages = [
        {"role": role, "content": text}
        for role, text in (("system", case.prompt), ("user", case.input))
        if text is not None
    ]
    key = os.environ.get("MODEL_API_KEY") or os.environ.get("OPENAI_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    body = {**case.settings, "model": case.model, "messages": messages}
    return f"{case.base_url.rstrip('/')}/chat/completions", headers, body


def answer_of(status: int, body: bytes) -> Answer:
    """The first choice.

    Raises: NoAnswerError.
    """
    if status != httpx2.codes.OK:
        raise NoAnswerError(f"the endpoint answered with status {status}")
    try:
        completion = _COMPLETION.decode(body)
    except msgspec.MsgspecError as err:
        raise NoAnswerError(f"the endpoint's answer is no chat completion: {err}") from err
    if not completion.choices:
        raise NoAnswerError("the endpoint's answer holds 0 choices, 1 is asked")
    first = completion.choices[0]
    return Answer(text=first.message.content or "", finish_reason=first.finish_reason)
