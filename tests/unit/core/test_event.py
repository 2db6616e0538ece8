# SPDX-License-Identifier: Apache-2.0
"""Which events bring no key."""

import pytest

from truegreen.core.event import DEPENDABOT, EventFacts


def facts(**changes):
    """A pull request from the repository itself."""
    said = {
        "event": "pull_request",
        "repo": "o/n",
        "head_repo": "o/n",
        "pull_request": 1,
        "head_sha": "1" * 40,
        "base_ref": "main",
        "base_sha": "2" * 40,
        "group_base": None,
        "default_branch": "main",
        "run_id": 1,
        "run_attempt": 1,
        "workflow": "w.yml",
    }
    return EventFacts(**(said | changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"head_repo": "O/N"}, False),
        ({"head_repo": "fork/n"}, True),
        ({"actor": DEPENDABOT}, True),
        ({"actor": "dependabot"}, False),
        ({"event": "push", "actor": DEPENDABOT}, False),
        ({"event": "merge_group", "head_repo": "fork/n"}, False),
        ({"event": "local", "head_repo": "x"}, False),
    ],
)
def test_only_a_pull_request_of_a_fork_or_of_dependabot_has_no_key(changes, expected):
    """Names of repositories are compared without case; a name that only looks like it is another."""
    assert expected is facts(**changes).is_keyless
