# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that the documentation shows, and compares what they print with what it says.

A fenced block ``console`` is a session: lines that begin with ``$ `` are commands (a trailing backslash goes on in
the next line, as does a line that begins with ``> ``), what stands below each is its output, both streams as a
terminal shows them. One block is one
shell, so ``cd``, variables and ``$?`` carry on inside it.

- ``…`` inside a line stands for any text within that line; a line ``...`` stands for any lines, none too.
  Nothing else is left open: what varies is marked where the reader sees it.
- A command that fails must show it: the next command is ``echo $?``, or the comment before the block says
  ``exits``.
- The comment ``<!-- sandbox: NAME, exits: 3 -->`` before a block names the folder it runs in (see
  ``sandboxes.py``) and the exit code of its last command.
- ``<!-- goes-on: yes -->`` runs a block in the folder that the block before it on the page has left.
- ``console no-run`` is shown only; ``<!-- no-run: REASON -->`` before it must say why.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
COMMENT = re.compile(r"^<!--\s*(?P<said>(?:sandbox|exits|goes-on|no-run):.*?)\s*-->$")
MARK = "\x1e"
"""Record separator: stands between two outputs, and in no documentation."""
LIMIT_S = 120
"""Seconds for one block, far above what any needs."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command with what the page says it prints."""

    command: str
    output: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    flags: tuple[str, ...]
    said: dict[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """``page:line``, as an editor opens it."""
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether the block is a session to be run."""
        return self.language == "console" and "no-run" not in self.flags


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one command really did."""

    output: tuple[str, ...]
    code: int


def blocks(page: Path, name: str) -> Iterator[Block]:
    """Every fenced block of a page, with what the comment right before it says."""
    lines = page.read_text(encoding="utf-8").splitlines()
    said: dict[str, str] = {}
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number].strip())
        if fence is None:
            comment = COMMENT.match(lines[number].strip())
            if comment:
                said = _keys(comment["said"])
            elif lines[number].strip():
                said = {}
            number += 1
            continue
        end = _closing(lines, number, fence["ticks"], f"{name}:{number + 1}")
        language, *flags = fence["info"].split() or [""]
        yield Block(
            page=name,
            line=number + 1,
            language=language,
            flags=tuple(flags),
            said=said,
            text=tuple(lines[number + 1 : end]),
        )
        said = {}
        number = end + 1


def sessions(found: Iterable[Block]) -> Iterator[tuple[Block, ...]]:
    """Blocks that are run, each with those that go on from it."""
    session: list[Block] = []
    for block in found:
        if not block.is_run:
            continue
        if "goes-on" in block.said:
            before = session[0].page if session else None
            assert before == block.page, f"{block.place}: goes on from no block"
        elif session:
            yield tuple(session)
            session = []
        session.append(block)
    if session:
        yield tuple(session)


def steps(block: Block) -> tuple[Step, ...]:
    """The commands of a session in order; text before the first command is an error of the page."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text:
        if found and not found[-1][1] and (line[:2] in (">", "> ") or found[-1][0][-1].endswith("\\")):
            found[-1][0].append(line.removeprefix(">").removeprefix(" "))
        elif line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found:
            found[-1][1].append(line.rstrip())
        else:
            raise AssertionError(f"{block.place}: output without a command: {line!r}")
    assert found, f"{block.place}: a session without a command"
    return tuple(Step(command="\n".join(command), output=tuple(output)) for command, output in found)


def run(session: tuple[Step, ...], folder: Path, environment: dict[str, str]) -> tuple[Ran, ...]:
    """Run the commands of one session in one shell, as in a fresh terminal without colours."""
    script = "".join(
        f"{step.command}\n__code=$?; printf '{MARK}%s{MARK}' $__code; (exit $__code)\n" for step in session
    )
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    *pieces, _ = ran.stdout.decode("utf-8", errors="backslashreplace").split(MARK)
    assert len(pieces) == 2 * len(session), (
        f"the shell ended after {len(pieces) // 2} of {len(session)} commands: {pieces}"
    )
    return tuple(
        Ran(output=tuple(line.rstrip() for line in output.splitlines()), code=int(code))
        for output, code in zip(pieces[::2], pieces[1::2], strict=True)
    )


def agrees(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Whether the output on the page, with its wildcards, is the output of the command."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else _line_pattern(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def failures(block: Block, session: tuple[Step, ...], ran: tuple[Ran, ...]) -> list[str]:
    """What differs between page and truth, told so that the page can be mended from it."""
    told = []
    for number, (step, did) in enumerate(zip(session, ran, strict=True)):
        if not agrees(step.output, did.output):
            told.append(
                f"{block.place}: $ {step.command}\n--- the page says\n{_text(step.output)}--- it prints\n{_text(did.output)}"
            )
        following = session[number + 1].command if number + 1 < len(session) else ""
        expected = int(block.said.get("exits", "0")) if not following else 0
        if did.code != expected and not following.startswith("echo $?"):
            told.append(
                f"{block.place}: $ {step.command}\nexits {did.code}, and the page lets expect {expected}"
            )
    return told


def _line_pattern(line: str) -> str:
    return "[^\n]*".join(re.escape(piece) for piece in line.split("…"))


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _keys(said: str) -> dict[str, str]:
    if said.startswith("no-run:"):  # a reason may hold commas
        return {"no-run": said.removeprefix("no-run:").strip()}
    pairs = (part.partition(":") for part in said.split(","))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _closing(lines: list[str], start: int, ticks: str, place: str) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number].strip().startswith(ticks) and not lines[number].strip().strip(ticks[0]):
            return number
    raise AssertionError(f"{place}: a fenced block without an end")
