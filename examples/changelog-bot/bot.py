# SPDX-License-Identifier: Apache-2.0
"""Sorts a changelog into what breaks, what is new and what is gone, by asking a model.

    python bot.py CHANGELOG.txt          prints {"breaking": [...], "added": [...], "removed": [...]}

The endpoint is the one of OPENAI_BASE_URL, the model the one of MODEL_NAME.
"""

import json
import os
import sys
from pathlib import Path

import openai

KEYS = ("breaking", "added", "removed")
PROMPT = Path(__file__).parent / "prompts" / "summarize.md"


class NotASummaryError(ValueError):
    """The model answered something that is no summary."""


def ask(changelog, *, prompt=None):
    """What the model says of a changelog, as it came.

    The client is made for each call, so it always asks the address that the environment names at that moment.
    """
    client = openai.OpenAI(max_retries=0)
    answer = client.chat.completions.create(
        model=os.environ.get("MODEL_NAME", "gpt-5-mini"),
        messages=[
            {"role": "system", "content": prompt or PROMPT.read_text(encoding="utf-8")},
            {"role": "user", "content": changelog},
        ],
    )
    return answer.choices[0].message.content or ""


def parse(answer):
    """The summary in an answer: exactly the three keys, each with a list of texts."""
    try:
        summary = json.loads(answer)
    except json.JSONDecodeError as err:
        raise NotASummaryError(f"no JSON: {err}") from err
    if not isinstance(summary, dict) or set(summary) != set(KEYS):
        raise NotASummaryError(f"asked are the keys {', '.join(KEYS)}")
    for key in KEYS:
        items = summary[key]
        if not isinstance(items, list) or not all(isinstance(item, str) and item.strip() for item in items):
            raise NotASummaryError(f"{key} is no list of texts")
    return {key: [item.strip() for item in summary[key]] for key in KEYS}


def summarize(changelog):
    """The summary of a changelog."""
    return parse(ask(changelog))


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    changelog = Path(arguments[0]).read_text(encoding="utf-8")
    try:
        print(json.dumps(summarize(changelog), indent=2))
    except NotASummaryError as err:
        print(f"bot: {err}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
