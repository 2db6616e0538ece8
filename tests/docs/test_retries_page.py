# SPDX-License-Identifier: Apache-2.0
"""The program of the page about calling again runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

from truegreen.core.call_log import entries_of
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Fault, Rule, Scenario

PAGE = Path(__file__).parents[2] / "docs" / "retries.md"


def test_the_program_of_the_page_answers_through_one_repetition(tmp_path):
    """A 429 first, then the answer; both stand in the call log."""
    program = PAGE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    fault = Fault(kind="status", status=429, first=1, per="prompt", retry_after="0")
    with FakeEndpoint(
        Scenario(seed="s", rules=(Rule(id="all", answer="hello", faults=(fault,)),))
    ) as endpoint:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_API_KEY": "none",
            "SHARED_FOLDER": str(tmp_path),
        }
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
    assert (0, "hello\n", "") == (ran.returncode, ran.stdout, ran.stderr)
    log = (tmp_path / "calls.jsonl").read_text(encoding="utf-8")
    assert [429, 200] == [entry.status for entry in entries_of(log)]
