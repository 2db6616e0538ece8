# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files of this folder, and the page of reason codes: ``./dev golden`` runs it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from factories.decisions import DEFECTS  # noqa: E402 - after the path to the factories
from truegreen.report.codes_page import page_of  # noqa: E402 - as above
from truegreen.report.explained import explain_decision  # noqa: E402 - as above
from truegreen.report.explanation_text import explanation_screen  # noqa: E402 - as above
from truegreen.report.github import annotations_of, command_of  # noqa: E402 - as above
from truegreen.report.line import line_of  # noqa: E402 - as above
from truegreen.report.markdown import markdown_of  # noqa: E402 - as above
from truegreen.report.reasons import catalogue  # noqa: E402 - as above
from truegreen.report.screen import plain_screen  # noqa: E402 - as above
from truegreen.report.story import Story  # noqa: E402 - as above
from truegreen.report.text import text_of  # noqa: E402 - as above


def wanted() -> dict[Path, str]:
    """Every generated file with the content that it should have."""
    files = {ROOT / "docs" / "reason-codes.md": page_of(catalogue())}
    for defect, build in DEFECTS.items():
        decision = build()
        screens = {
            "txt": text_of(decision),
            "md": markdown_of(decision),
            "why.txt": plain_screen(explanation_screen(explain_decision(Story(decision)), line_of(decision))),
            "log": "".join(f"{command_of(one)}\n" for one in annotations_of(decision)),
        }
        files |= {HERE / "screens" / f"{defect}.{ending}": text for ending, text in screens.items()}
    return files


def main() -> None:
    """Write what differs; take away what nothing generates any more."""
    files = wanted()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for path in HERE.glob("screens/*"):
        if path not in files:
            path.unlink()


if __name__ == "__main__":
    main()
