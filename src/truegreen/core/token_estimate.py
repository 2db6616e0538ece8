# SPDX-License-Identifier: Apache-2.0
"""How many tokens a request may cost, read from its body before it is sent.

What it decides: the estimate. What it leaves: reserving and settling, to ``limiter``.

- Prompt: one token for four bytes of the body, rounded up; without the model's own tokenizer nothing counts more
  exactly.
- Output: the largest of the caps that the request names, times the number of answers that it asks for. A request
  without a cap reserves none: a made-up one would refuse small ledgers for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

CAPS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
BYTES_A_TOKEN: Final = 4
MOST: Final = 10**9
"""Largest number that is read out of a request."""


def tokens_of(body: bytes) -> tuple[int, int]:
    """Estimate of the prompt's tokens, and the largest number of tokens of the answers."""
    prompt = -(-len(body) // BYTES_A_TOKEN)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return prompt, 0
    if not isinstance(document, dict):
        return prompt, 0
    cap = max(_count(document, name) for name in CAPS)
    return prompt, cap * max(1, _count(document, "n"))


def _count(document: Mapping[str, object], name: str) -> int:
    value = document.get(name)
    return min(value, MOST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
