# SPDX-License-Identifier: Apache-2.0
"""``limiter measure``: logs read, their numbers, and the file that keeps them.

- A window is a number of days or hours back from its end, ``7d`` or ``36h``.
- ``--write`` replaces the file whole; its form follows its name: ``.toml`` or ``.json``.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from truegreen.core.call_log import entries_of, microseconds
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.instants import instant, instant_text
from truegreen.core.quoted import quoted
from truegreen.limiter.measure import numbers_of, verdict
from truegreen.limiter.measure_page import Page, document, toml_text
from truegreen.wiring.atomic import write_atomic
from truegreen.wiring.clock import SystemClock
from truegreen.wiring.reading import bytes_of

MAX_BYTES: Final = 256 * 1024 * 1024
"""Length of one log that is read."""
_WINDOW: Final = re.compile(r"([0-9]{1,4})([dh])")


def measured(logs: Iterable[Path], *, window: str, until: str | None) -> Page:
    """The numbers of these logs; ``until`` is the end of the window, now if it is not given.

    Raises: UsageProblem ``bad-window`` or ``log-too-large``; ReachProblem ``file-unreadable``.
    """
    end = _end_of(until)
    since_us = microseconds(end - window_of(window))
    texts = {str(path): _text(path) for path in logs}
    numbers = numbers_of(
        {name: entries_of(text) for name, text in texts.items()},
        since_us=since_us,
        until_us=microseconds(end + dt.timedelta(seconds=1)) - 1,
    )
    row = verdict(numbers, since_us=since_us)
    return Page(numbers=numbers, row=row, window=window, measured_at=instant_text(end))


def _end_of(until: str | None) -> dt.datetime:
    if until is None:
        return instant(SystemClock().now())
    try:
        return instant(until)
    except EvidenceProblem as err:  # it stands on the command line, and is no evidence
        raise UsageProblem("bad-window", err.message, hint="truegreen limiter measure --help") from err


def window_of(text: str) -> dt.timedelta:
    """How long a window is. Raises: UsageProblem ``bad-window``."""
    found = _WINDOW.fullmatch(text)
    if found is None or not int(found[1]):
        raise UsageProblem(
            "bad-window", f"the window is {quoted(text)}, asked are days or hours such as 7d or 36h"
        )
    return dt.timedelta(**{"days" if found[2] == "d" else "hours": int(found[1])})


def keep(page: Page, path: Path) -> None:
    """Write the numbers into a file of the repository.

    Raises: UsageProblem ``bad-numbers-file`` for a name that is neither TOML nor JSON; ReachProblem as
    ``write_atomic``.
    """
    if path.suffix == ".toml":
        text = toml_text(page)
    elif path.suffix == ".json":
        text = json.dumps(document(page), indent=2) + "\n"
    else:
        raise UsageProblem(
            "bad-numbers-file", f"the file is {quoted(str(path))}, asked is a name in .toml or .json"
        )
    write_atomic(path, text.encode("ascii"))


def _text(path: Path) -> str:
    data = bytes_of(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageProblem(
            "log-too-large", f"{quoted(str(path))} has more than the {MAX_BYTES} bytes that are read"
        )
    return data.decode("utf-8", "replace")
