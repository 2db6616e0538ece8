# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself: model, end, refusal, error, tokens.

What it decides: which fields of which vendor's answer mean what. What it leaves: bytes, to ``sse`` and
``body``; the consequence, to ``core.wire``.

- Chat completions and completions (OpenAI and what imitates it), responses (OpenAI), messages (Anthropic).
- A value of another type than documented is as good as absent: nothing is guessed from it.
- A stream's end mark is ``[DONE]``, a finish reason for every choice seen, ``message_stop``, or a
  ``response.completed``, ``.incomplete`` or ``.failed`` event.

Sources: platform.openai.com/docs/api-reference (chat, responses, streaming events),
docs.anthropic.com/en/api/messages-streaming.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from truegreen.core.exchange import Usage
from truegreen.proxy.sse import Event

LENGTH: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
FILTERED: Final = frozenset({"content_filter", "refusal", "safety"})
PLAIN: Final = frozenset({"stop", "end_turn", "completed"})
STREAM_ENDS: Final = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)
DONE: Final = "[DONE]"
REFUSAL_EVENTS: Final = frozenset({"response.refusal.delta", "response.refusal.done"})
BESIDE_INPUT: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Parts of the prompt that messages count beside ``input_tokens``, not in it."""
MAX_TEXT: Final = 200
MAX_CHOICES: Final = 1024


class Facts:
    """Fields of one answer, gathered from its body or event by event."""

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.system_fingerprint: str | None = None
        self.error_type: str | None = None
        self.error_text: str | None = None
        self.refused = False
        self.usage = Usage()
        self.ended = False
        self.not_json = False
        self._open: set[object] = set()
        self._reasons: dict[object, str] = {}

    @property
    def end_mark(self) -> bool:
        """Whether a stream said that it is at its end."""
        return self.ended or (bool(self._reasons) and not self._open)

    @property
    def finish_reason(self) -> str | None:
        """The worst reason: a length stop, then a filter, then any other word, then a plain end."""
        order = (LENGTH, FILTERED, frozenset(self._reasons.values()) - PLAIN, PLAIN)
        for words in order:
            for reason in sorted(self._reasons.values()):
                if reason in words:
                    return reason
        return None

    @property
    def is_length_stop(self) -> bool:
        """Whether a choice ended at a token limit."""
        return not LENGTH.isdisjoint(self._reasons.values())

    @property
    def is_refusal(self) -> bool:
        """Whether a choice refuses, or a filter stopped it."""
        return self.refused or not FILTERED.isdisjoint(self._reasons.values())

    def read_event(self, event: Event) -> None:
        """One event of a stream."""
        if event.data.strip() == DONE:
            self.ended = True
            return
        try:
            document = json.loads(event.data)
        except (ValueError, RecursionError):
            self.not_json = True
            return
        if isinstance(document, dict):
            kind = document.get("type")
            if event.name == "error" or kind == "error":
                self._read_error(document.get("error", document))
            self.read_document(document)
            self.ended = self.ended or kind in STREAM_ENDS
            self.refused = self.refused or kind in REFUSAL_EVENTS

    def read_document(self, document: Mapping[str, object]) -> None:
        """A whole JSON answer, or the JSON of one event."""
        self._read_answer(document)
        for inner in ("response", "message"):  # events of responses and messages wrap the answer
            wrapped = document.get(inner)
            if isinstance(wrapped, dict):
                self._read_answer(wrapped)

    def _read_answer(self, document: Mapping[str, object]) -> None:
        self._read_head(document)
        self._read_choices(document.get("choices"))
        self._read_message_end(document)
        self._read_response_end(document)
        if document.get("error") is not None:
            self._read_error(document["error"])

    def _read_head(self, document: Mapping[str, object]) -> None:
        self.response_id = _text(document.get("id")) or self.response_id
        self.model = _text(document.get("model")) or self.model
        self.system_fingerprint = _text(document.get("system_fingerprint")) or self.system_fingerprint
        usage = document.get("usage")
        if isinstance(usage, dict):
            self.usage = merged(self.usage, read_usage(usage))

    def _read_choices(self, choices: object) -> None:
        if not isinstance(choices, list):
            return
        for position, choice in enumerate(choices):
            if not isinstance(choice, dict):
                continue
            index = choice.get("index", position)
            key = index if isinstance(index, int) else position
            for part in ("message", "delta"):
                said = choice.get(part)
                if isinstance(said, dict) and _text(said.get("refusal")):
                    self.refused = True
            self._finish(key, choice.get("finish_reason"))

    def _finish(self, key: object, reason: object) -> None:
        word = _text(reason)
        if len(self._open) + len(self._reasons) > MAX_CHOICES:
            self._open.add("too many choices")  # never at its end, whatever comes
        elif word:
            self._reasons[key] = word
            self._open.discard(key)
        elif key not in self._reasons:
            self._open.add(key)

    def _read_message_end(self, document: Mapping[str, object]) -> None:
        delta = document.get("delta")
        for holder in (document, delta if isinstance(delta, dict) else {}):
            word = _text(holder.get("stop_reason"))
            if word:
                self._reasons["message"] = word

    def _read_response_end(self, document: Mapping[str, object]) -> None:
        if document.get("object") != "response":
            return
        status = _text(document.get("status"))
        details = document.get("incomplete_details")
        if status == "incomplete" and isinstance(details, dict):
            status = _text(details.get("reason")) or status
        if status and status not in ("in_progress", "queued"):
            self._reasons["response"] = status
        output = document.get("output")
        for item in output if isinstance(output, list) else []:
            self._read_refusal_part(item)

    def _read_refusal_part(self, item: object) -> None:
        content = item.get("content") if isinstance(item, dict) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "refusal":
                self.refused = True

    def _read_error(self, error: object) -> None:
        if isinstance(error, dict):
            words = (_text(error.get("type")), _text(error.get("code")))
            self.error_type = next((word for word in words if word and word != "error"), "error")
            self.error_text = _text(error.get("message"))
        else:
            self.error_type = self.error_text = _text(error) or "error"


def read_usage(usage: Mapping[str, object]) -> Usage:
    """Tokens out of a ``usage`` object, by OpenAI's or Anthropic's names."""
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    held = {**usage, **(details if isinstance(details, dict) else {})}
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    if prompt is not None:
        prompt += sum(_count(usage, name) or 0 for name in BESIDE_INPUT)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_count(usage, "completion_tokens", "output_tokens"),
        total_tokens=_count(usage, "total_tokens"),
        cached_tokens=_count(held, "cached_tokens", "cache_read_input_tokens"),
    )


def merged(old: Usage, new: Usage) -> Usage:
    """Later figures of a stream replace earlier ones; what they leave out stays."""
    return Usage(
        prompt_tokens=old.prompt_tokens if new.prompt_tokens is None else new.prompt_tokens,
        completion_tokens=old.completion_tokens if new.completion_tokens is None else new.completion_tokens,
        total_tokens=old.total_tokens if new.total_tokens is None else new.total_tokens,
        cached_tokens=old.cached_tokens if new.cached_tokens is None else new.cached_tokens,
    )


def _count(usage: Mapping[str, object], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _text(value: object) -> str | None:
    """A non-empty text, at most 200 characters of it; anything else is absent."""
    return value[:MAX_TEXT] if isinstance(value, str) and value else None
