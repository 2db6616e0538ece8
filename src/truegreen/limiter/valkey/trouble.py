# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between us and a Redis or Valkey server, named so that a person knows what to mend.

What it decides: which error a failure of the client or an error line of the server becomes. What it leaves: whether a
limit is divided meanwhile, to ``divided``.

Each of them means "no leave": nothing is called because the server could not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from truegreen.core.errors import ReachProblem
from truegreen.core.quoted import quoted

AUTH = ("NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid password", "ERR ACL failure", "ACL failure")
BUSY = ("LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY")


@contextmanager
def named(where: str) -> Iterator[None]:
    """Give every failure inside its name; ``where`` is the server's address without its password.

    Raises: ReachProblem ``limiter-unreachable``, ``redis-refused-us``, ``redis-read-only``, ``redis-full``,
    ``redis-script-failed``.
    """
    try:
        yield
    except exceptions.RedisError as err:
        raise problem_of(err, where) from err
    except OSError as err:
        raise problem_of(exceptions.ConnectionError(str(err)), where) from err


def problem_of(err: exceptions.RedisError, where: str) -> ReachProblem:
    """The problem that an error of the client's library means."""
    said = str(err)
    shown = f"{where} said {quoted(said)}"
    if isinstance(
        err, exceptions.AuthenticationError | exceptions.AuthorizationError | exceptions.NoPermissionError
    ) or said.startswith(AUTH):
        return ReachProblem(
            "redis-refused-us",
            f"the server refused us, no leave is given: {shown}",
            hint="truegreen limiter status",
        )
    if isinstance(err, exceptions.ReadOnlyError) or said.startswith("READONLY"):
        return ReachProblem(
            "redis-read-only",
            f"the server is a replica that may not be written, no leave is given: {shown}",
            hint="truegreen limiter status",
        )
    if isinstance(err, exceptions.OutOfMemoryError) or said.startswith(("OOM", "MISCONF")):
        return ReachProblem(
            "redis-full",
            f"the server keeps nothing any more, no leave is given: {shown}",
            hint="truegreen limiter status",
        )
    if isinstance(err, exceptions.ConnectionError | exceptions.TimeoutError) or said.startswith(BUSY):
        return ReachProblem(
            "limiter-unreachable",
            f"the limiter's server cannot be reached, no leave is given: {shown}",
            hint="truegreen limiter status",
        )
    return ReachProblem(
        "redis-script-failed",
        f"the server did not run the limiter's script, no leave is given: {shown}",
        hint="truegreen limiter status",
    )
