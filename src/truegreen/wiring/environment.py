# SPDX-License-Identifier: Apache-2.0
"""The environment of this process, for doors that hand it on, and the pipeline run that it names.

- A run is one attempt of it: a re-run has a retry budget of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """The variables of this process."""
    return os.environ


def pipeline_run(variables: Mapping[str, str]) -> str:
    """The run whose jobs count together, such as ``77.2`` for the second attempt; empty where no CI names one."""
    run, attempt = variables.get("GITHUB_RUN_ID", ""), variables.get("GITHUB_RUN_ATTEMPT", "")
    if run:
        return f"{run}.{attempt}" if attempt else run
    return variables.get("CI_PIPELINE_ID", "")
