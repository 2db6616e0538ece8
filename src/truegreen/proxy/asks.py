# SPDX-License-Identifier: Apache-2.0
"""What a request asks of the limiter.

What it decides: which requests count tokens (those that ask a model), and what else the limiter hears of one. What
it leaves: the estimate of tokens, to ``core.token_estimate``; what they cost, to the limiter.
"""

from __future__ import annotations

from truegreen.core.admission import Ask
from truegreen.core.token_estimate import tokens_of
from truegreen.proxy.modes import Options
from truegreen.proxy.whole import Whole


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
