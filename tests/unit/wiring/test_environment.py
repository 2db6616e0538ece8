# SPDX-License-Identifier: Apache-2.0
"""The environment, and the run that it names."""

import os

import pytest

from truegreen.wiring.environment import environment, pipeline_run


def test_the_environment_is_this_processs(monkeypatch):
    """As it stands when it is asked for."""
    monkeypatch.setenv("SOMETHING", "x")
    assert ("x", os.environ) == (environment()["SOMETHING"], environment())


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "2", "CI_PIPELINE_ID": "5"}, "77.2"),
        ({"GITHUB_RUN_ID": "77"}, "77"),
        ({"GITHUB_RUN_ID": "", "GITHUB_RUN_ATTEMPT": "2", "CI_PIPELINE_ID": "5"}, "5"),
        ({}, ""),
    ],
)
def test_a_run_is_one_attempt_of_it(variables, expected):
    """GitHub's id before GitLab's; none elsewhere."""
    assert expected == pipeline_run(variables)
