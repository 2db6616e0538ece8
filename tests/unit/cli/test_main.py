# SPDX-License-Identifier: Apache-2.0
"""The command as a person meets it: whole screens, exit codes, and no traceback whatever happens."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from truegreen import version
from truegreen.cli import main, verbs
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.outcome import Exit


@pytest.fixture(autouse=True)
def _logs_stay_here(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def _answer(monkeypatch, verb):
    """Register ``verb`` as ``probe`` and give the exit code of ``truegreen probe``."""
    monkeypatch.setattr(verbs, "NAMES", (*verbs.NAMES, "probe"))
    monkeypatch.setitem(verbs.MODULE_OF_VERB, "probe", "probe_module:probe")
    monkeypatch.setitem(
        sys.modules, "probe_module", type("Module", (), {"probe": click.command("probe")(verb)})
    )
    return main.run(["probe"])


def _raising(problem):
    def verb():
        raise problem

    return verb


@pytest.mark.parametrize("code", list(Exit))
def test_the_exit_code_of_a_verb_is_the_exit_code_of_the_command(monkeypatch, code):
    """Whatever of the five codes a verb returns comes out unchanged."""
    assert code == _answer(monkeypatch, lambda: code)


@pytest.mark.parametrize("answer", [None, True, False, "0", 4, -1])
def test_a_verb_that_gives_no_exit_code_has_not_answered(monkeypatch, capsys, answer):
    """Neither nothing nor a number outside the five codes is ever read as done."""
    assert Exit.HOLD == _answer(monkeypatch, lambda: answer)
    assert "[unexpected-error]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "code", "screen"),
    [
        (
            UsageProblem("policy-key", "no such key 'x'", hint="truegreen policy show"),
            2,
            "truegreen: no such key 'x' [policy-key]\n  hint: truegreen policy show\n",
        ),
        (
            EvidenceProblem("cut", "the record ends at byte 9"),
            3,
            "truegreen: the record ends at byte 9 [cut]\n",
        ),
        (EvidenceProblem("twice", "said twice", contradictory=True), 1, "truegreen: said twice [twice]\n"),
        (ReachProblem("git", "git is not there"), 3, "truegreen: git is not there [git]\n"),
    ],
)
def test_a_problem_is_one_line_with_its_code_and_its_hint(monkeypatch, capsys, problem, code, screen):
    """The family gives the exit code; the screen holds the sentence, the code and the next command."""
    assert code == _answer(monkeypatch, _raising(problem))
    assert ("", screen) == tuple(capsys.readouterr())


def test_a_hostile_name_in_a_message_stays_on_its_line(monkeypatch, capsys):
    """Line ends, cursor movements, direction marks and workflow commands in a message are shown, not obeyed."""
    hostile = "file 'a\n::error::x\x1b[2J\u202e##[add-path]/tmp' is refused"
    _answer(monkeypatch, _raising(EvidenceProblem("refused", hostile)))
    assert (
        "truegreen: file 'a\\n::error::x\\x1b[2J\\u202e##\\[add-path]/tmp' is refused [refused]\n"
        == capsys.readouterr().err
    )


def test_an_unexpected_error_is_a_line_and_a_log_without_secrets(monkeypatch, capsys, tmp_path):
    """Exit 3, no traceback on the screen; the log has it, with the value of the key replaced by its name."""
    monkeypatch.setenv("OPENAI_API_KEY", "very-hidden-value")
    assert Exit.HOLD == _answer(monkeypatch, _raising(RuntimeError("called with very-hidden-value")))
    [log] = tmp_path.iterdir()
    assert (
        f"truegreen: unexpected RuntimeError; the log {log} can be pasted into an issue [unexpected-error]\n"
        == capsys.readouterr().err
    )
    told = log.read_text(encoding="utf-8")
    assert "called with [OPENAI_API_KEY]" in told
    assert "very-hidden-value" not in told


def test_without_a_place_for_the_log_the_line_still_comes(monkeypatch, capsys, tmp_path):
    """A temporary folder that is not there does not turn an unexpected error into another one."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert Exit.HOLD == _answer(monkeypatch, _raising(ValueError("x")))
    assert (
        "truegreen: unexpected ValueError; no log could be written [unexpected-error]\n"
        == capsys.readouterr().err
    )


@pytest.mark.parametrize("status", [0, None, "text"])
def test_a_library_that_ends_the_process_has_not_answered(monkeypatch, capsys, status):
    """``sys.exit(0)`` somewhere below a verb is no green."""
    assert Exit.HOLD == _answer(monkeypatch, _raising(SystemExit(status)))
    assert "unexpected SystemExit" in capsys.readouterr().err


def test_an_interrupt_is_130(monkeypatch, capsys):
    """Ctrl-C inside a verb ends in its own code and one line."""
    assert Exit.INTERRUPTED == _answer(monkeypatch, _raising(KeyboardInterrupt()))
    assert "truegreen: interrupted\n" == capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(verbs.missing()))
def test_a_verb_that_is_not_built_says_so(capsys, name):
    """Whatever its options, ``--help`` too, a verb without a module is exit 2."""
    for arguments in ([name], [name, "--help"], [name, "--json", "x"]):
        assert Exit.USAGE == main.run(arguments)
        assert (
            f"truegreen: the verb {name} is not in this version of truegreen [not-in-this-version]\n"
            "  hint: truegreen --help\n" == capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gat"], "no such command 'gat'"),
        ([""], "no such command ''"),
        (["--no-such"], "no such option '--no-such'"),
    ],
)
def test_a_wrong_command_line_is_one_line_too(capsys, arguments, message):
    """What click has to say comes in the same shape as our own problems."""
    assert Exit.USAGE == main.run(arguments)
    out, err = capsys.readouterr()
    assert "" == out
    assert err.startswith(f"truegreen: {message}")
    assert err.endswith(" [bad-command-line]\n  hint: truegreen --help\n")
    assert 2 == err.count("\n")


def test_a_verb_that_was_read_is_named_in_the_hint(capsys):
    """Also where the parser does not say which one it was."""
    assert Exit.USAGE == main.run(["gate", "--lane"])
    assert capsys.readouterr().err.endswith(
        "requires an argument [bad-command-line]\n  hint: truegreen gate --help\n"
    )


def test_the_first_screen_names_six_verbs_first(capsys):
    """scan, try, init, gate, why, report stand first, with a line each, whether built or marked."""
    assert Exit.DONE == main.run(["--help"])
    screen = capsys.readouterr().out
    listed = screen.split("Start with:\n")[1].split("\n\n")[0]
    assert ["scan", "try", "init", "gate", "why", "report"] == [
        line.split()[0] for line in listed.splitlines() if not line.startswith("   ")
    ]
    assert [] == [name for name in verbs.NAMES if name not in screen]


def test_nothing_asked_is_no_success(capsys):
    """The bare command shows the first screen, on the error stream, and exits 2."""
    assert Exit.USAGE == main.run([])
    out, err = capsys.readouterr()
    assert ("", True) == (out, err.startswith("Usage: truegreen"))


def test_the_version_is_the_installed_one(capsys):
    """``--version`` is answered from the metadata."""
    assert Exit.DONE == main.run(["--version"])
    assert f"truegreen {version()}\n" == capsys.readouterr().out


# From here on real processes: the interpreter's own behaviour at start and end is part of the answer.

PROBE = """
import sys, click
from truegreen.cli import main, verbs
@click.command()
def probe():
    {body}
verbs.NAMES = (*verbs.NAMES, "probe")
verbs.MODULE_OF_VERB["probe"] = "__main__:probe"
sys.exit(main.run(["probe"]))
"""


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def _process(body, env=BUFFERED, **options):
    return subprocess.Popen(
        [sys.executable, "-c", PROBE.format(body=body)], stderr=subprocess.PIPE, env=env, **options
    )


def test_the_module_is_the_command():
    """``python -m truegreen`` answers as ``truegreen`` does, in its name."""
    ran = subprocess.run([sys.executable, "-m", "truegreen", "scan"], capture_output=True, check=False)
    assert (2, b"") == (ran.returncode, ran.stdout)
    assert ran.stderr.startswith(b"truegreen: the verb scan")


@pytest.mark.parametrize("code", [0, 1])
def test_a_reader_that_leaves_early_keeps_the_answer(code):
    """What ``head`` does to a short output changes neither the code nor the error stream."""
    with _process(f"print('x'); return {code}", stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert (b"", code) == (process.stderr.read(), process.wait())


def test_a_reader_that_leaves_before_the_answer_is_no_success():
    """A verb that could not finish because nobody reads says nothing, and has not answered."""
    with _process("[print('x' * 10000) for _ in range(1000)]; return 0", stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert (b"", 3) == (process.stderr.read(), process.wait())


@pytest.mark.parametrize(("code", "expected", "line"), [(0, 3, b"[output-lost]\n"), (1, 1, b""), (3, 3, b"")])
def test_an_answer_that_does_not_fit_on_the_disk_is_not_green(code, expected, line):
    """Standard output on a full disk turns done into could-not-tell, and leaves a block a block."""
    with Path("/dev/full").open("wb") as full, _process(f"print('x'); return {code}", stdout=full) as process:
        assert (True, expected) == (process.stderr.read().endswith(line), process.wait())


@pytest.mark.parametrize("code", [0, 1])
def test_without_a_buffer_a_full_disk_is_the_same_line(code):
    """Where each write goes out at once the verb is cut short: could not tell, and the line says why."""
    env = {**BUFFERED, "PYTHONUNBUFFERED": "1"}
    with (
        Path("/dev/full").open("wb") as full,
        _process(f"print('x'); return {code}", env, stdout=full) as process,
    ):
        assert (
            b"truegreen: the output could not be written to its end: No space left on device [output-lost]\n",
            3,
        ) == (process.stderr.read(), process.wait())


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_stream_changes_nothing(stream):
    """``>&-`` and ``2>&-`` neither crash the command nor move errors to the other stream."""
    redirect = {"stdout": ">&-", "stderr": "2>&-"}[stream]
    command = f'"{sys.executable}" -m truegreen scan {redirect}'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert (2, b"") == (ran.returncode, ran.stdout)


def test_an_error_stream_on_a_full_disk_keeps_the_exit_code():
    """A line that cannot be written does not turn exit 2 into a traceback's exit 1."""
    ran = subprocess.run(["sh", "-c", f'"{sys.executable}" -m truegreen scan 2>/dev/full'], check=False)
    assert 2 == ran.returncode


def test_a_narrow_encoding_shows_escapes():
    """An output encoding without the characters of an answer does not crash the answer."""
    narrow = {**BUFFERED, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with _process("print('Größe · 3'); return 0", stdout=subprocess.PIPE, env=narrow) as process:
        assert (b"Gr\\xf6\\xdfe \\xb7 3\n", b"") == process.communicate()
    assert 0 == process.returncode


def test_a_real_interrupt_ends_in_130():
    """SIGINT at a running verb: one line, no traceback."""
    body = "import time; print('ready', flush=True); time.sleep(60)"
    with _process(body, stdout=subprocess.PIPE) as process:
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert (b"truegreen: interrupted\n", 130) == (process.stderr.read(), process.wait())
