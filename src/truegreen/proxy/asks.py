# SPDX-License-Identifier: Apache-2.0
"""How much a request asks of the limiter, read from its body.

What it decides: the estimate of the prompt and the largest output. What it leaves: what they cost, to the
limiter; the true figures, to the answer's usage, with which the reservation is settled.

- Prompt: one token for four bytes of the body, rounded up; nothing of it counts more exactly without the
  model's own tokenizer.
- Output: the largest of the caps that the request names, times the number of answers that it asks for. A
  request without a cap reserves none: a made-up one would refuse small ledgers for nothing.
- Only requests that ask a model count tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from truegreen.core.admission import Ask
from truegreen.proxy.modes import Options
from truegreen.proxy.whole import Whole

CAPS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
BYTES_A_TOKEN: Final = 4


def ask_of(whole: Whole, options: Options, *, call: str, spent_s: float) -> Ask:
    """Leave for one attempt of this request.

    ``call`` tells calls apart; ``spent_s`` are the seconds since this one first asked for leave.
    """
    prompt, output = tokens_of(whole.reader.body) if whole.head.asks_a_model else (0, 0)
    return Ask(
        tenant=options.tenant,
        resource=options.resource,
        holder=options.holder,
        prompt_tokens=prompt,
        output_tokens=output,
        call=call,
        spent_s=spent_s,
        request=whole.reader.sha256,
        layer=layer_of(whole, options),
    )


def layer_of(whole: Whole, options: Options) -> str:
    """The other retry layer that a request shows; empty for none."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in whole.head.headers}
    return options.layer_of(headers)


def tokens_of(body: bytes) -> tuple[int, int]:
    """Estimate of the prompt's tokens, and the largest number of tokens of the answers."""
    prompt = -(-len(body) // BYTES_A_TOKEN)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return prompt, 0
    if not isinstance(document, dict):
        return prompt, 0
    cap = max((_count(document, name) for name in CAPS), default=0)
    return prompt, cap * max(1, _count(document, "n"))


def _count(document: Mapping[str, object], name: str) -> int:
    value = document.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
