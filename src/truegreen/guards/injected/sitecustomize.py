# SPDX-License-Identifier: Apache-2.0
"""The layer inside Python: an audit hook that refuses connections past the proxy, in every interpreter of a run.

What it decides: for this interpreter, which address is refused. What it leaves: programs that are not Python, and
Python that ignores its environment (``-I``, ``-E``, ``-S``), to the outer layer.

- It is found through PYTHONPATH as ``sitecustomize`` before anything of the command is imported, and then loads the
  ``sitecustomize`` that it stands before.
- An audit hook cannot be removed. Refused are connections and datagrams to anything but the proxy, the ports that
  were allowed, and loopback as far as nobody outside the run listens there; name lookups that would leave the machine;
  sockets of families that reach past the internet protocols; sockets of daemons that act for others.
- Each refusal is one line that names the address, and one line in the run's file, so that a program that swallows
  the error does not turn the run green. A configuration that cannot be read refuses everything but the machine's
  own sockets.
- It must run in any Python since 3.8 that a project uses, without truegreen: standard library only, little of it.
"""

from __future__ import annotations

import _socket
import errno
import os
import sys
from typing import Any, Callable, Iterator, NoReturn

FOLDER = os.environ.get("TRUEGREEN_GUARD", "")
LISTENING = "0A"
SAFE_FAMILIES = tuple(
    getattr(_socket, name)
    for name in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_ALG")
    if hasattr(_socket, name)
)
LOCAL_NAMES = ("", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
ADDRESS_BYTES = {4: _socket.AF_INET, 16: _socket.AF_INET6}
MAPPED = bytes(10) + b"\xff\xff"
FIRST_OF_LOOPBACK = 127
SHOWN = 200
"""Characters of an address that are written down: one write of a short line is not split."""


class Rules:
    """What the run's file ``guard.conf`` says, a word and its value a line."""

    def __init__(self) -> None:
        self.refuses = True
        self.loopback = "listed"
        self.ports: set[int] = set()
        self.outside: set[int] = set()
        self.daemons: set[str] = set()
        self.keeper = 0
        self.proxy = "the proxy"
        try:
            with open(os.path.join(FOLDER, "guard.conf"), encoding="utf-8") as file:
                for line in file:
                    word, _, value = line.rstrip("\n").partition(" ")
                    self._take(word, value)
        except (OSError, ValueError):
            self.refuses, self.ports = True, set()

    def _take(self, word: str, value: str) -> None:
        if word == "mode":
            self.refuses = value != "watch"
        elif word == "loopback":
            self.loopback = value
        elif word == "port":
            self.ports.add(int(value))
        elif word == "outside":
            self.outside.add(int(value))
        elif word == "daemon":
            self.daemons.add(value)
        elif word == "keeper":
            self.keeper = int(value)
        elif word == "proxy":
            self.proxy = value


class Guard:
    """The hook with its rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._own_name = _socket.gethostname().lower()
        self._handlers: dict[str, Callable[..., None]] = {
            "socket.connect": lambda sock, address: self._check("connect", sock, address),
            "socket.sendto": lambda sock, address: self._check("datagram", sock, address),
            "socket.sendmsg": lambda sock, address: self._check("datagram", sock, address),
            "socket.getaddrinfo": lambda host, *_: self._look_up(host),
            "socket.gethostbyname": self._look_up,
            "socket.gethostbyaddr": self._look_up,
            "socket.__new__": lambda _, family, *__: self._open(family),
        }

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse an event of the interpreter, or let it go on."""
        handler = self._handlers.get(event)
        if handler is not None:
            handler(*arguments)

    def _check(self, what: str, sock: Any, address: Any) -> None:
        if address is None:
            return
        if sock.family == getattr(_socket, "AF_UNIX", None):
            path = text(address)
            if path[:1] != "\0" and os.path.realpath(path) in self._rules.daemons:
                self._refuse(what, path)
        elif sock.family not in (_socket.AF_INET, _socket.AF_INET6):
            if sock.family not in SAFE_FAMILIES:
                self._refuse(what, f"{address} (family {int(sock.family)})")
        elif isinstance(address, tuple) and len(address) > 1:  # what is no address fails by itself
            host, port = text(address[0]), address[1]
            if not (self._is_loopback(host) and self._is_of_this_run(sock, port)):
                self._refuse(what, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")

    def _look_up(self, host: Any) -> None:
        name = text(host)
        if packed(name) is None and not self._is_loopback(name):
            self._refuse("lookup", name, _socket.gaierror)

    def _open(self, family: int) -> None:
        if family not in SAFE_FAMILIES and family != -1:
            self._refuse("socket", f"of family {int(family)}")

    def _is_loopback(self, host: str) -> bool:
        raw = packed(host)
        if raw is None:
            name = host.lower().rstrip(".")
            return name in LOCAL_NAMES or name == self._own_name or name.endswith(".localhost")
        if raw.startswith(MAPPED):
            raw = raw[len(MAPPED) :]
        if ADDRESS_BYTES[len(raw)] == _socket.AF_INET:
            return raw[0] == FIRST_OF_LOOPBACK or raw == bytes(4)
        return raw in (bytes(16), bytes(15) + b"\x01")

    def _is_of_this_run(self, sock: Any, port: int) -> bool:
        """Whether a port of loopback may be asked: where nobody listens, the kernel refuses by itself."""
        rules = self._rules
        if port in rules.ports or rules.loopback == "listed":
            return port in rules.ports
        found = listeners("tcp" if sock.type == _socket.SOCK_STREAM else "udp", port)
        if rules.loopback == "any":
            return bool(found) or port not in rules.outside
        return not found or any(holds(pid, found) for pid in family(rules.keeper))

    def _refuse(self, what: str, address: str, error: type[OSError] = PermissionError) -> None:
        note(what, address)
        if self._rules.refuses:
            self._raise(
                error,
                f"truegreen refused {what} {address}: in this run only {self._rules.proxy} answers (docs/guards.md)",
            )

    @staticmethod
    def _raise(error: type[OSError], message: str) -> NoReturn:
        raise error(errno.EACCES, message)


def text(host: Any) -> str:
    """A host or a path as text, however it was given."""
    if isinstance(host, (bytes, bytearray)):
        return bytes(host).decode("utf-8", "surrogateescape")
    return "" if host is None else str(host)


def packed(host: str) -> bytes | None:
    """The bytes of an address; None for a name."""
    for family in ADDRESS_BYTES.values():
        try:
            return _socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
    return None


def note(what: str, address: str) -> None:
    """Write an attempt down; the refusal stands even if it cannot be written."""
    import json

    program = getattr(sys, "orig_argv", None) or [sys.executable or "python"]
    line = json.dumps(
        {
            "layer": "audit",
            "what": what,
            "address": address.encode("utf-8", "backslashreplace").decode()[:SHOWN],
            "program": os.path.basename(program[0])[:SHOWN],
            "pid": os.getpid(),
        }
    )
    try:
        path = os.path.join(FOLDER, "attempts.jsonl")
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode() + b"\n")
        finally:
            os.close(handle)
    except OSError:
        pass


def listeners(kind: str, port: int) -> set[str]:
    """Who listens at a port (or is bound to it, for datagrams), as descriptors show it."""
    found = set()
    for name in (kind, kind + "6"):
        try:
            with open("/proc/net/" + name, encoding="ascii") as table:
                rows = [line.split() for line in table][1:]
        except OSError:
            continue
        for row in rows:
            if int(row[1].rpartition(":")[2], 16) == port and (kind == "udp" or row[3] == LISTENING):
                found.add(f"socket:[{row[9]}]")
    return found


def holds(pid: int, inodes: set[str]) -> bool:
    """Whether a process has one of these open."""
    folder = f"/proc/{pid}/fd/"
    try:
        return any(target(folder + name) in inodes for name in os.listdir(folder))
    except OSError:
        return False


def target(path: str) -> str:
    """Where a link points; empty if it is gone."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def family(keeper: int) -> Iterator[int]:
    """This process and all that stand below the keeper."""
    yield os.getpid()
    parents = {}
    for name in os.listdir("/proc") if keeper and os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    for pid, parent in parents.items():
        above = parent
        while above not in (0, keeper):
            above = parents.get(above, 0)
        if above == keeper:
            yield pid


def load_the_one_behind() -> None:
    """Import the ``sitecustomize`` that would have been found without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if FOLDER:
    sys.addaudithook(Guard(Rules()).hear)
load_the_one_behind()
