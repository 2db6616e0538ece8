# SPDX-License-Identifier: Apache-2.0
"""Failures of a server by their names."""

import pytest
from redis import exceptions

from truegreen.core.errors import ReachProblem
from truegreen.limiter.valkey.trouble import named, problem_of


@pytest.mark.parametrize(
    ("err", "code"),
    [
        (exceptions.AuthenticationError("invalid username-password pair"), "redis-refused-us"),
        (exceptions.NoPermissionError("this user has no permissions"), "redis-refused-us"),
        (exceptions.ResponseError("NOAUTH Authentication required."), "redis-refused-us"),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), "redis-read-only"),
        (exceptions.ResponseError("READONLY You can't write"), "redis-read-only"),
        (exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "redis-full"),
        (exceptions.ResponseError("MISCONF Redis is configured to save"), "redis-full"),
        (exceptions.ConnectionError("refused"), "limiter-unreachable"),
        (exceptions.TimeoutError("Timeout reading"), "limiter-unreachable"),
        (exceptions.BusyLoadingError("loading the dataset"), "limiter-unreachable"),
        (exceptions.ResponseError("MASTERDOWN Link with MASTER is down"), "limiter-unreachable"),
        (exceptions.ResponseError("CLUSTERDOWN The cluster is down"), "limiter-unreachable"),
        (exceptions.ResponseError("NOREPLICAS Not enough good replicas"), "limiter-unreachable"),
        (exceptions.ResponseError("WRONGTYPE Operation against a key"), "redis-script-failed"),
        (exceptions.ResponseError("MOVED 3999 127.0.0.1:6381"), "redis-script-failed"),
    ],
)
def test_every_failure_is_no_leave_and_says_what_to_mend(err, code):
    """With the server's address and its own words."""
    problem = problem_of(err, "redis://127.0.0.1:6379")
    assert (code, 3, True) == (problem.code, problem.exit_code, str(err) in problem.message.replace("\\", ""))
    assert "no leave is given" in problem.message
    assert "redis://127.0.0.1:6379" in problem.message


def test_an_error_of_the_socket_is_a_server_that_cannot_be_reached():
    """The library hands some of them on as they are."""
    with pytest.raises(ReachProblem) as caught, named("here"):
        raise OSError(111, "Connection refused")
    assert "limiter-unreachable" == caught.value.code
