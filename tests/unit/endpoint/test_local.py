# SPDX-License-Identifier: Apache-2.0
"""How a real model is started, up to the library; beyond it, tests/live starts a real one."""

import socket
import sys
import types

import pytest

from truegreen.core.errors import ReachProblem, TruegreenProblem, UsageProblem
from truegreen.endpoint.local import LocalModel, LocalSettings


class Library(types.ModuleType):
    """What the library is asked for; a server that starts, or says no."""

    def __init__(self, refusal=None):
        super().__init__("xllamacpp")
        self.refusal, self.given = refusal, None

    def CommonParams(self):  # noqa: N802 - the library's name
        """Settings to fill."""
        return types.SimpleNamespace(model=types.SimpleNamespace(path=""))

    def Server(self, given):  # noqa: N802 - the library's name
        """The server."""
        self.given = given
        if self.refusal:
            raise self.refusal
        return types.SimpleNamespace(listening_address="http://127.0.0.1:4711")


@pytest.fixture
def model(tmp_path):
    """A file that begins as a model does."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0")
    return path


def test_it_listens_on_loopback_with_one_slot(model, monkeypatch):
    """And each slot has the whole context."""
    library = Library()
    monkeypatch.setitem(sys.modules, "xllamacpp", library)
    with LocalModel(LocalSettings(model=model)) as started:
        assert ("http://127.0.0.1:4711/v1", 4711) == (started.url, started.port)
    given = library.given
    assert (["127.0.0.1"], 0, 1, 2048, str(model), {"tiny"}) == (
        given.hostnames,
        given.port,
        given.n_parallel,
        given.n_ctx,
        given.model.path,
        given.model_alias,
    )
    LocalModel(LocalSettings(model=model, slots=4, context_tokens=100)).start().stop()
    assert (4, 400) == (library.given.n_parallel, library.given.n_ctx)


def test_a_model_that_the_library_refuses_is_said(model, monkeypatch):
    """With the library's words."""
    monkeypatch.setitem(sys.modules, "xllamacpp", Library(RuntimeError("no tensors")))
    with pytest.raises(ReachProblem, match="no tensors") as caught:
        LocalModel(LocalSettings(model=model)).start()
    assert "endpoint-failed" == caught.value.code


def test_without_the_extra_the_command_that_installs_it_is_said(model, monkeypatch):
    """Before anything is loaded."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageProblem) as caught:
        LocalModel(LocalSettings(model=model)).start()
    assert ("extra-missing", "pip install 'truegreen[local]'") == (caught.value.code, caught.value.hint)


@pytest.mark.parametrize(
    ("content", "code"), [(b"", "bad-model"), (b"PK\x03\x04", "bad-model"), (None, "unreadable-model")]
)
def test_a_file_that_is_no_model_is_refused_before_the_library_is_loaded(
    tmp_path, monkeypatch, content, code
):
    """Empty, another format, not there."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TruegreenProblem) as caught:
        LocalModel(LocalSettings(model=path)).start()
    assert code == caught.value.code


def test_a_port_that_is_taken_is_said(model, monkeypatch):
    """With the way out."""
    monkeypatch.setitem(sys.modules, "xllamacpp", Library())
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(ReachProblem) as caught:
        LocalModel(LocalSettings(model=model, port=other.getsockname()[1])).start()
    assert "port-taken" == caught.value.code
