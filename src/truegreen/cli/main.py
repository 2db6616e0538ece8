# SPDX-License-Identifier: Apache-2.0
"""The command ``truegreen``: reads the command line, calls one verb, answers with its exit code.

What it decides: that whatever happens becomes one line and one of the five exit codes. What it leaves:
the answer itself, to the verb.

- No traceback reaches a person: an unexpected error is written to a log and exits 3.
- A verb that gives no exit code, or that a library ended with ``sys.exit``, has not answered: exit 3.
- What a verb printed must have arrived: a full disk behind standard output exits 3.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from truegreen import version
from truegreen.cli import problems
from truegreen.cli.group import VerbGroup
from truegreen.cli.verbs import is_built
from truegreen.core.errors import ReachProblem, TruegreenProblem
from truegreen.core.outcome import Exit

PROGRAM = "truegreen"
DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def _print_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click's call
    if asked:
        click.echo(f"{PROGRAM} {version()}")
        ctx.exit()


@click.group(
    name=PROGRAM,
    cls=VerbGroup,
    no_args_is_help=True,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def truegreen() -> None:
    """A green you can defend: small records of what ran, and a gate that reads them.

    Exit codes: 0 admit or done, 1 block or fails, 2 usage or configuration, 3 hold or could not tell,
    130 interrupted.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Answer one command line with its exit code; ``sys.argv`` is read when none is given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a narrow locale shows an escape and does not crash
    code = _answered(given)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as err:
        return _output_lost(err, code)
    return code


def _answered(arguments: list[str]) -> int:
    try:
        return _verb_answer(arguments)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except TruegreenProblem as problem:
        return _said(problem)
    except click.exceptions.NoArgsIsHelpError as err:
        _print_error(f"{err.format_message()}\n")
        return Exit.USAGE
    except click.ClickException as err:
        return _said(problems.from_click(err, _command_read(err, arguments)))
    except (KeyboardInterrupt, click.Abort):
        _print_error(f"{PROGRAM}: interrupted\n")
        return Exit.INTERRUPTED
    except OSError as err:
        if _reader_is_gone() or err.errno in DISK_IS_FULL:
            return _output_lost(err, Exit.DONE) or Exit.HOLD
        return _crashed(err, arguments)
    except (Exception, SystemExit) as err:  # noqa: BLE001 - this is the door
        return _crashed(err, arguments)


def _verb_answer(arguments: list[str]) -> Exit:
    with truegreen.make_context(PROGRAM, arguments) as context:
        code = truegreen.invoke(context)
    if not isinstance(code, int) or isinstance(code, bool):
        raise TypeError(f"a verb returned {code!r} where an exit code is asked")
    return Exit(code)


def _command_read(err: click.ClickException, arguments: list[str]) -> str:
    """The command that was read; click does not always say, and then the verb stands first."""
    context = getattr(err, "ctx", None)
    if isinstance(context, click.Context):
        return context.command_path
    return f"{PROGRAM} {arguments[0]}" if arguments and is_built(arguments[0]) else PROGRAM


def _said(problem: TruegreenProblem) -> Exit:
    _print_error(problems.shown(problem))
    return problems.exit_code(problem)


def _crashed(err: BaseException, arguments: list[str]) -> Exit:
    from truegreen.wiring import crash  # noqa: PLC0415 - what only a crash needs would slow every start

    log = crash.write_log(err, arguments)
    where = f"the log {log} can be pasted into an issue" if log else "no log could be written"
    return _said(ReachProblem("unexpected-error", f"unexpected {type(err).__name__}; {where}"))


def _output_lost(err: OSError, code: int) -> int:
    """A reader that left early (``| head``) keeps the verb's answer; any other loss is never green."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter tries again
    if err.errno == errno.EPIPE:
        return code
    lost = ReachProblem("output-lost", f"the output could not be written to its end: {err.strerror}")
    return code or _said(lost)


def _reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poller.poll(0))
    except (AttributeError, OSError, ValueError):
        return False


def _print_error(text: str) -> None:
    if sys.stderr is None:  # ``2>&-``: print would fall back to standard output
        return
    with suppress(OSError):
        print(text, end="", file=sys.stderr, flush=True)
