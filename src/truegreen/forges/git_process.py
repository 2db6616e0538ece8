# SPDX-License-Identifier: Apache-2.0
"""How git is run here: no code of a repository, no network, no configuration but our own.

What it decides: the environment, the private git directory and the meaning of a failure. What it leaves: the
questions, to ``git``; long conversations about objects, to ``git_objects``.

- Questions about objects go to a **private git directory**: our own configuration, no references, no hooks, no
  replacements, grafts or attributes, and the clone's objects as alternates. Whatever the clone's configuration
  says (fsmonitor, hooks, external diff, filters, merge drivers, aliases, promisor remotes), nothing reads it.
  Objects that a merge makes go there too: nothing in the clone is written. (Of an object that the clone already
  has, git renews the time.)
- Only names of references, the object format and a handful of text values are asked of the clone's own directory,
  by commands that neither read objects nor start programs.
- The environment is made new: no inherited ``GIT_*``, no user or system configuration, no protocol allowed, no
  replace references, no lazy fetch, locale C. ``git`` is found on the absolute folders of ``PATH`` and run in the
  private directory, outside the checkout.
- Every run has a time limit.
"""

from __future__ import annotations

import os
import select
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.core.quoted import quoted
from truegreen.forges.private_folder import make_folder, nameless_file, remove_folder

TIME_LIMIT_S = 120.0
"""Seconds that one git process may take, or may be silent in a long conversation."""

FULL_HISTORY = "git fetch --unshallow, or a clone with fetch-depth: 0 and without --filter"
_PLAIN = frozenset(range(32, 127)) - frozenset(b'"\\')
_LONGEST_CONFIG = 1 << 20  # bytes; a longer one is left to git
_TOO_OLD_EXIT = 129  # git's exit code for an option that it does not know
_ABSENT = (
    "missing",
    "bad object",
    "could not read",
    "unable to read",
    "could not parse",
    "not a valid object",
)
_CLEAN = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ADVICE": "0",
    "LC_ALL": "C",
}
_CONFIG = """\
[core]
\tbare = true
\trepositoryformatversion = {version}
\tcommitGraph = false
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[extensions]
\tobjectFormat = {object_format}
"""


class GitProcess:
    """Runs git for one clone; ``close`` takes the private directory away."""

    def __init__(
        self, git_dir: Path, environment: Mapping[str, str], *, time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        """``git_dir`` is the clone's own git directory, or that of one of its worktrees.

        Of ``environment`` only ``PATH`` and ``TMPDIR`` reach git (and what ``ask_clone`` names).

        Raises: ReachProblem ``git-missing`` or ``git-failed``.
        """
        self.git_dir = git_dir
        self.common_dir = _common_dir(git_dir)
        self.time_limit_s = time_limit_s
        self.inherited = environment
        self.program = _program(environment.get("PATH", os.defpath))
        self.private = make_folder(environment)
        self._finalizer = weakref.finalize(self, _remove, self.private, os.getpid())
        self.object_format = self._object_format()
        self._fill_private_directory()

    def close(self) -> None:
        """Remove the private directory and every object that was made there."""
        self._finalizer()

    @property
    def is_shallow(self) -> bool:
        """Whether the clone's history is cut."""
        shallow = self.common_dir / "shallow"
        return shallow.is_file() and shallow.stat().st_size > 0

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a git process in the private directory."""
        kept = {name: self.inherited[name] for name in ("PATH", "TMPDIR") if name in self.inherited}
        private = {
            "HOME": str(self.private),
            "GIT_DIR": str(self.private),
            "GIT_OBJECT_DIRECTORY": str(self.private),  # one directory less to make and to remove
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _c_quoted(os.fsencode(self.common_dir / "objects")),
        }
        return kept | _CLEAN | private | dict(more or {})

    def command(self, *arguments: str) -> list[str]:
        """The command line of a git process."""
        return [self.program, "--no-pager", *arguments]

    def run(
        self,
        *arguments: str,
        accepted: Sequence[int] = (0,),
        feed: bytes | None = None,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Exit code and standard output of one git process in the private directory.

        A word on the error stream is a failure whatever the exit code: git goes on after an object that it
        could not read, and answers wrongly.

        Raises: ReachProblem ``missing-object``, ``git-failed`` or ``git-too-old``.
        """
        done = self._completed(arguments, self.environment(more), feed)
        if done.returncode not in accepted or done.stderr.strip():
            raise failure(arguments[0], done.returncode, done.stderr)
        return done.returncode, done.stdout

    def ask_clone(self, *arguments: str, accepted: Sequence[int] = (0,), user: bool = False) -> str:
        """Output of a git process over the clone's own references and configuration.

        ``user`` lets it read the user's configuration too. Only for commands that start no program.

        Raises: ReachProblem ``git-failed``.
        """
        own = {
            "GIT_DIR": str(self.git_dir),
            "GIT_OBJECT_DIRECTORY": "",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        }
        if user:
            names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
            own |= {"GIT_CONFIG_GLOBAL": ""} | {
                name: self.inherited[name] for name in names if name in self.inherited
            }
        environment = {name: value for name, value in self.environment(own).items() if value}
        done = self._completed(arguments, environment, None)
        if done.returncode not in accepted:
            raise failure(arguments[0], done.returncode, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def _completed(
        self, arguments: Sequence[str], environment: dict[str, str], feed: bytes | None
    ) -> subprocess.CompletedProcess[bytes]:
        with (
            nameless_file(self.private) as fed,
            nameless_file(self.private) as out,
            nameless_file(self.private) as told,
        ):
            fed.write(feed or b"")
            fed.seek(0)
            command = self.command(*arguments)
            try:
                process = subprocess.Popen(  # noqa: S603 - the program is an absolute path, the arguments are ours
                    command, env=environment, cwd=self.private, stdin=fed, stdout=out, stderr=told
                )
            except OSError as err:
                raise not_started(arguments[0], err) from err
            with process:
                if not _ended(process, self.time_limit_s):
                    process.kill()
                    raise timed_out(arguments[0], self.time_limit_s)
            out.seek(0)
            told.seek(0)
            return subprocess.CompletedProcess(command, process.returncode, out.read(), told.read())

    def _object_format(self) -> str:
        """The hash that names objects; git is only asked where the configuration could say another than SHA-1."""
        if _has_no_extensions(self.common_dir / "config"):
            return "sha1"
        return self.ask_clone("rev-parse", "--show-object-format").strip()

    def _fill_private_directory(self) -> None:
        version = int(self.object_format != "sha1")
        config = _CONFIG.format(version=version, object_format=self.object_format)
        if not version:
            config = config[: config.index("[extensions]")]
        (self.private / "refs").mkdir()
        (self.private / "config").write_bytes(config.encode())
        (self.private / "HEAD").write_bytes(b"ref: refs/heads/nothing\n")


def find_git_dir(path: Path) -> tuple[Path, Path | None]:
    """The git directory of a bare or ordinary clone at ``path``, and its working folder if it has one.

    Raises: UsageProblem ``not-a-repository``.
    """
    root = path.resolve()
    dot_git = root / ".git"
    if dot_git.is_dir():
        return dot_git, root
    if dot_git.is_file():
        return _linked(dot_git), root
    if all((root / name).exists() for name in ("HEAD", "objects", "refs")):
        return root, None
    raise UsageProblem(
        "not-a-repository",
        f"{quoted(str(path))} is neither the root of a git clone nor a bare one",
        hint="name the folder that holds .git, with --repo DIR where the verb has it",
    )


def failure(what: str, code: int, stderr: bytes) -> ReachProblem:
    """The problem that a git process ended with."""
    lines = stderr.decode("utf-8", "surrogateescape").strip().splitlines()
    said = quoted(lines[0] if lines else "nothing", 200)
    if code == _TOO_OLD_EXIT:
        return ReachProblem(
            "git-too-old",
            f"this git does not know how to {what}: it said {said}",
            hint="install git 2.38 or newer",
        )
    if any(word in stderr.decode("latin-1").lower() for word in _ABSENT):
        return missing(f"git {what} said {said}")
    return ReachProblem("git-failed", f"git {what} ended with {code} and said {said}")


def missing(what: str) -> ReachProblem:
    """An object that the clone does not hold."""
    return ReachProblem(
        "missing-object", f"the clone lacks an object that was asked for: {what}", hint=FULL_HISTORY
    )


def not_started(what: str, err: OSError) -> ReachProblem:
    """A git process that the system did not start."""
    return ReachProblem("git-failed", f"git {what} could not be started: {err.strerror}")


def timed_out(what: str, limit_s: float) -> ReachProblem:
    """A git process that did not answer in time."""
    return ReachProblem("git-failed", f"git {what} gave no answer within {limit_s:g} s")


def _program(search: str) -> str:
    for folder in search.split(os.pathsep):
        program = f"{folder}/git"
        if folder.startswith("/") and os.access(program, os.X_OK) and Path(program).is_file():
            return program
    raise ReachProblem("git-missing", "no program git is in an absolute folder of PATH", hint="install git")


def _common_dir(git_dir: Path) -> Path:
    """The directory that holds objects and references: another one for a linked worktree."""
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / os.fsdecode(pointer.read_bytes().rstrip(b"\n"))).resolve()


def _has_no_extensions(config: Path) -> bool:
    """Whether a clone's configuration names no extension of the repository format, in any spelling that git reads.

    Extensions stand in this one file: git takes none from what it includes (Documentation/technical/repository-version).
    """
    try:
        if not config.is_file() or config.stat().st_size > _LONGEST_CONFIG:
            return False
        return b"extensions" not in config.read_bytes().lower()
    except OSError:
        return False


def _linked(dot_git: Path) -> Path:
    text = os.fsdecode(dot_git.read_bytes()[:4096])
    if not text.startswith("gitdir: "):
        raise UsageProblem("not-a-repository", f"{quoted(str(dot_git))} names no git directory")
    return (dot_git.parent / text.removeprefix("gitdir: ").rstrip("\n")).resolve()


def _c_quoted(path: bytes) -> str:
    """The path in C style quotes, as git reads an alternate with special characters."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in path) + '"'


def _ended(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Whether the process ended in time; where the system can tell, nobody looks again and again."""
    try:
        watched = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or one that is too old
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        poller = select.poll()
        poller.register(watched, select.POLLIN)
        return bool(poller.poll(limit_s * 1000))
    finally:
        os.close(watched)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves it to its parent
        remove_folder(folder)
