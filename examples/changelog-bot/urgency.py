# SPDX-License-Identifier: Apache-2.0
"""Says in one word how urgent an upgrade is: now, soon or whenever.

Unlike bot.py it makes its client once, when the module is imported, as many programs do. truegreen samples both
kinds: it counts a call for the sample whose process made it.
"""

import os

import openai

WORDS = ("now", "soon", "whenever")
CHAT = openai.OpenAI(max_retries=0).chat.completions


def urgency(changelog):
    """One of the three words, or whatever the model said instead."""
    answer = CHAT.create(
        model=os.environ.get("MODEL_NAME", "gpt-5-mini"),
        messages=[
            {
                "role": "system",
                "content": f"How urgent is this upgrade? Answer with one word: {', '.join(WORDS)}.",
            },
            {"role": "user", "content": changelog},
        ],
    )
    return (answer.choices[0].message.content or "").strip().lower().rstrip(".")
