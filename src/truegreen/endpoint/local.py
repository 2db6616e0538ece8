# SPDX-License-Identifier: Apache-2.0
"""A real model on loopback: llama.cpp's server inside of this process.

What it decides: how the model is started. What it leaves: answering, to llama.cpp; when it ends, to ``wiring``.

- It listens on 127.0.0.1 only.
- One slot is the default: at temperature 0 an answer then repeats. With several, calls that run at the same time
  share a batch, whose sums are added up in another order, and answers differ: a real flaky subject.
- The file's first bytes are looked at before the library is, which would only say that something is wrong.

Source: github.com/ggml-org/llama.cpp (server, GGUF); differences by slots as measured with a 270-million model.
"""

from __future__ import annotations

import errno
import importlib
import socket
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.quoted import quoted

HOST: Final = "127.0.0.1"
MAGIC: Final = b"GGUF"
QUIET: Final = -1


class LocalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is started."""

    model: Path
    """A GGUF file."""
    port: int = 0
    """Port on 127.0.0.1; 0 takes a free one."""
    slots: int = 1
    """Calls that are answered at once."""
    context_tokens: int = 2048
    """Longest prompt and answer together, of each slot."""


class LocalModel:
    """Serves one model; use as a context manager. It answers to any model name."""

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._server: Any = None

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"{self._server.listening_address}/v1"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.listening_address.rpartition(":")[2])

    def start(self) -> Self:
        """Load the model and listen, which takes seconds.

        Raises: UsageProblem ``bad-model`` or ``extra-missing``, ReachProblem ``unreadable-model``, ``port-taken`` or
        ``endpoint-failed``.
        """
        asked = self._settings
        _refuse_other(asked.model)
        library = _library()
        _refuse_taken(asked.port)
        parameters = library.CommonParams()
        parameters.model.path = str(asked.model)
        parameters.model_alias = {asked.model.stem}
        parameters.hostnames = [HOST]
        parameters.port = asked.port
        parameters.n_parallel = asked.slots
        parameters.n_ctx = asked.context_tokens * asked.slots
        parameters.ui = False
        parameters.verbosity = QUIET
        try:
            self._server = library.Server(parameters)
        except RuntimeError as err:
            raise ReachProblem(
                "endpoint-failed",
                f"the model {quoted(str(asked.model))} cannot be served: {str(err)[:200]}",
                hint="what llama.cpp said about it stands above this line",
            ) from err
        return self

    def stop(self) -> None:
        """Give up model and port; harmless if called again."""
        self._server = None  # the library stops a server that nothing holds

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _refuse_other(model: Path) -> None:
    try:
        with model.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as err:
        raise ReachProblem(
            "unreadable-model", f"the model {quoted(str(model))} cannot be read: {err.strerror}"
        ) from err
    if start != MAGIC:
        raise UsageProblem(
            "bad-model",
            f"the model {quoted(str(model))} begins with {start!r}, asked a GGUF file, which begins with {MAGIC!r}",
        )


def _library() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as err:
        raise UsageProblem(
            "extra-missing",
            f"a local model needs the package xllamacpp, and it cannot be imported: {str(err)[:200]}",
            hint="pip install 'truegreen[local]'",
        ) from err


def _refuse_taken(port: int) -> None:
    """The library would only say that the server did not start."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as err:
            raise ReachProblem(
                "port-taken" if err.errno == errno.EADDRINUSE else "endpoint-failed",
                f"cannot listen on {HOST}:{port}: {err.strerror}",
                hint="--port 0 takes a free port",
            ) from err
