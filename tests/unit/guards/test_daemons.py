# SPDX-License-Identifier: Apache-2.0
"""Sockets of daemons: those of the table that are there, and those that variables name."""

import socket

import pytest

from truegreen.guards import daemons


@pytest.fixture
def listening(tmp_path):
    """Make sockets at paths below the folder."""
    opened = []

    def make(name):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(path))
        opened.append(sock)
        return str(path)

    yield make
    for sock in opened:
        sock.close()


def test_sockets_below_the_runtime_folder_are_found(listening, tmp_path):
    """What is no socket, and what is not there, is left out."""
    path = listening("podman/podman.sock")
    (tmp_path / "bus").write_text("no socket", encoding="utf-8")
    found = daemons.paths({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert [path] == [each for each in found if each.startswith(str(tmp_path))]


@pytest.mark.parametrize("form", ["unix://{}", "{}", "unix:path={}", "unix:path={},guid=1", "unix:{}"])
def test_a_variable_may_name_one(listening, tmp_path, form):
    """In the forms that Docker, ssh and D-Bus write."""
    path = listening("elsewhere.sock")
    assert path in daemons.paths({"DOCKER_HOST": form.format(path)})


def test_links_are_followed(listening, tmp_path):
    """The real path is what is covered, once."""
    path = listening("real.sock")
    (tmp_path / "link.sock").symlink_to(path)
    found = daemons.paths({"DOCKER_HOST": f"unix://{tmp_path}/link.sock", "SSH_AUTH_SOCK": path})
    assert 1 == found.count(path)


@pytest.mark.parametrize("value", ["tcp://127.0.0.1:2375", "", "unix:", "relative/path.sock", "\0"])
def test_what_names_no_socket_is_passed_over(value):
    """A host over TCP is refused as any other address."""
    assert daemons.paths({}) == daemons.paths({"DOCKER_HOST": value})
