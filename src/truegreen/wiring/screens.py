# SPDX-License-Identifier: Apache-2.0
"""A decision in the form that was asked for, and what a forge is told besides.

With ``--format github`` annotations go to the log, outputs and the summary to the files that the runner names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truegreen.core.decision import Decision
from truegreen.core.errors import ReachProblem

FORMATS = ("text", "json", "markdown", "github")


# Each form is imported when it is asked for: the gate's line should come soon.
def screen(decision: Decision, record: bytes, form: str, environment: Mapping[str, str]) -> str:
    """What is printed, in one of ``FORMATS``, with a newline at its end.

    Raises: ReachProblem ``file-unwritable`` if a file that the runner names cannot be written.
    """
    match form:
        case "json":
            from truegreen.report.as_json import json_of  # noqa: PLC0415 - see above

            return json_of(record)
        case "markdown":
            from truegreen.report.markdown import markdown_of  # noqa: PLC0415 - see above

            return markdown_of(decision)
        case "github":
            import secrets  # noqa: PLC0415 - see above

            from truegreen.report.github import log_of, outputs_of  # noqa: PLC0415 - see above
            from truegreen.report.markdown import markdown_of  # noqa: PLC0415 - see above

            _append(
                environment.get("GITHUB_OUTPUT"), outputs_of(decision, f"truegreen_{secrets.token_hex(16)}")
            )
            _append(environment.get("GITHUB_STEP_SUMMARY"), markdown_of(decision))
            return log_of(decision)
        case _:
            from truegreen.report.text import text_of  # noqa: PLC0415 - see above

            return text_of(decision)


def _append(path: str | None, text: str) -> None:
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as err:
        raise ReachProblem("file-unwritable", f"{path} cannot be written: {err.strerror}") from err
