# SPDX-License-Identifier: Apache-2.0
"""A pull request's payload and the runner's variables, for a stage of the rehearsal."""

from __future__ import annotations

import json
from pathlib import Path

FIXTURE = Path(__file__).parents[1] / "fixtures" / "github" / "pull_request.json"


def github_event(facts, folder, **more):
    """Environment of a step that runs for this event; the payload is written below ``folder``."""
    payload = json.loads(FIXTURE.read_text(encoding="utf-8"))
    request = payload["pull_request"]
    payload["number"] = request["number"] = facts.pull_request
    payload["repository"]["full_name"] = request["base"]["repo"]["full_name"] = facts.repo
    payload["repository"]["default_branch"] = request["base"]["repo"]["default_branch"] = facts.default_branch
    request["head"]["repo"]["full_name"] = facts.head_repo
    request["head"].update(sha=facts.head_sha, ref="change")
    request["base"].update(sha=facts.base_sha, ref=facts.base_ref)
    payload["after"] = facts.head_sha
    path = folder / "event.json"
    path.write_text(json.dumps(payload), encoding="utf-8")
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_EVENT_NAME": facts.event,
        "GITHUB_REPOSITORY": facts.repo,
        "GITHUB_RUN_ID": str(facts.run_id),
        "GITHUB_RUN_ATTEMPT": str(facts.run_attempt),
        "GITHUB_REF": f"refs/pull/{facts.pull_request}/merge",
        "GITHUB_SHA": "5" * 40,
        "GITHUB_BASE_REF": facts.base_ref,
        "GITHUB_HEAD_REF": "change",
        "GITHUB_WORKFLOW_REF": f"{facts.repo}/{facts.workflow}@refs/pull/{facts.pull_request}/merge",
        **more,
    }
