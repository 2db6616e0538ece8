# SPDX-License-Identifier: Apache-2.0
"""What the APIs of model endpoints have in common, as values: a request, an answer, an error, a stream.

What it decides: which facts of a request an answer depends on. What it leaves: each API's own words, to
``chat``, ``responses`` and ``messages``; bytes, to ``reply``.

- A request is checked as far as an answer depends on it; settings of sampling are accepted and ignored.
- ``CREATED`` is a constant: an answer is a function of the scenario and the request, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

CREATED: Final = 1_700_000_000
CHARS_PER_TOKEN: Final = 4
"""Rough length of a token, code points; counts only have to be stable."""
REFUSAL: Final = "I can't help with that."


class ApiError(Exception):
    """An error that a client sees, before an API gives it its shape."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str | None = None,
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        """``kind`` is OpenAI's ``type``; the messages API derives its own from the status."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind or "invalid_request_error"
        self.code = code
        self.param = param


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What of a request an answer depends on."""

    model: str
    """The model that was asked."""
    messages: tuple[Any, ...]
    """Everything that the model is given, as it came: what makes two prompts the same."""
    prompt: str
    """All texts of it, joined by line feeds: what rules are matched with."""
    n: int = 1
    """How many choices."""
    is_stream: bool = False
    """Whether events were asked for."""
    wants_usage: bool = False
    """Whether a stream of chat completions ends with a usage event."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One choice of an answer."""

    text: str | None
    """Its text; none for a refusal."""
    refusal: str | None
    """The refusal, if it is one."""
    finish: str
    """``stop`` or ``length``."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer."""

    id: str
    """Id in the body."""
    model: str
    """The model that it names."""
    fingerprint: str | None
    """``system_fingerprint``."""
    choices: tuple[Said, ...]
    """By index."""
    prompt_tokens: int
    """Tokens of the prompt, those that a prefix cache served among them."""
    cached_tokens: int
    """Those of them that a prefix cache served."""

    @property
    def warm_tokens(self) -> int:
        """Cached tokens, of which there are no more than the prompt has."""
        return min(self.cached_tokens, self.prompt_tokens)

    @property
    def said_tokens(self) -> int:
        """Tokens of all choices."""
        return sum(tokens((said.text or "") + (said.refusal or "")) for said in self.choices)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One server-sent event."""

    data: str
    """Its data, one line."""
    name: str = ""
    """Its ``event`` field; chat completions have none."""


class Streamed(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as events."""

    parts: tuple[Event, ...]
    """Everything before its end."""
    end: tuple[Event, ...]
    """Without these the answer is not whole."""


class Api(Protocol):
    """One API: how it is asked and how it answers. A module satisfies it."""

    NAME: str
    """In the oracle's counts."""
    ID_PREFIX: str
    """Start of an answer's id."""
    REQUEST_ID: str
    """Name of the header with the request's id."""

    def read(self, body: bytes) -> Wanted:
        """The request in a body. Raises: ApiError 400."""
        ...

    def document(self, answer: Answer) -> dict[str, Any]:
        """The answer as one document."""
        ...

    def stream(self, answer: Answer, *, piece_chars: int, wants_usage: bool) -> Streamed:
        """The answer as events."""
        ...

    def error(self, problem: ApiError) -> dict[str, Any]:
        """An error as one document."""
        ...

    def error_event(self, problem: ApiError) -> Event:
        """An error in the middle of a stream."""
        ...


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises: ApiError 400."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as err:
        raise ApiError(400, "We could not parse the JSON body of your request.") from err
    if not isinstance(document, dict):
        raise ApiError(400, "The body of the request is not a JSON object.")
    return document


def model_of(document: dict[str, Any]) -> str:
    """The model that is asked. Raises: ApiError 400."""
    model = document.get("model")
    if not isinstance(model, str) or not model:
        raise ApiError(400, "You must provide a model parameter.", param="model")
    return model


def texts(content: Any, kinds: Sequence[str], where: str) -> Iterator[str]:
    """The texts of a content: of itself, or of its parts whose type is one of ``kinds``. Raises: ApiError 400."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str):
                yield part["text"]
    elif content is not None:
        raise ApiError(400, f"'{where}.content' is neither a text nor a list.", param=where)


def cut(text: str, piece_chars: int) -> list[str]:
    """A text in pieces of so many code points."""
    return [text[at : at + piece_chars] for at in range(0, len(text), piece_chars)]


def tokens(text: str) -> int:
    """A stable count for a text; 0 only for an empty one."""
    return -(-len(text) // CHARS_PER_TOKEN)


def as_json(document: Any) -> str:
    """A document in one line, code points as they are."""
    return json.dumps(document, ensure_ascii=False)
