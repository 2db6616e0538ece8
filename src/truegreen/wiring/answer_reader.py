# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself, for those who limit and repeat calls: the proxy's reader behind their port.

- An answer whose coding cannot be read is taken to be at its end: what nobody can read, nobody calls cut.
"""

from __future__ import annotations

from collections.abc import Mapping

from truegreen.core.ports import AnswerReaderPort
from truegreen.proxy.body import BodyReader


class AnswerReader:
    """Reads one answer."""

    def __init__(self, *, content_type: str, content_encoding: str) -> None:
        self._reader = BodyReader(
            content_type=content_type, content_encoding=content_encoding, is_answer=False
        )

    def feed(self, piece: bytes) -> None:
        """The next piece."""
        self._reader.feed(piece)

    def close(self, *, is_whole: bool) -> None:
        """No more comes."""
        self._reader.close(is_whole=is_whole)

    @property
    def error(self) -> tuple[str, str] | None:
        """Type and message of an error object."""
        facts = self._reader.facts
        return None if facts.error_type is None else (facts.error_type, facts.error_text or "")

    @property
    def is_at_end(self) -> bool:
        """Whether it said that it is at its end, or cannot be read for it."""
        return self._reader.facts.end_mark or self._reader.unread is not None

    @property
    def used_tokens(self) -> int | None:
        """Tokens of prompt and answer."""
        usage = self._reader.facts.usage
        if usage.total_tokens is not None or usage.prompt_tokens is None:
            return usage.total_tokens
        return usage.prompt_tokens + (usage.completion_tokens or 0)


def reader_of(headers: Mapping[str, str]) -> AnswerReaderPort:
    """The reader for an answer with these headers, found in any letter case."""
    return AnswerReader(
        content_type=headers.get("content-type", ""), content_encoding=headers.get("content-encoding", "")
    )
