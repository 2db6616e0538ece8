# SPDX-License-Identifier: Apache-2.0
"""The runner of documented commands: what it runs, and what it does not let pass."""

import pytest
import runner

PAGE = """# Page

<!-- sandbox: other, exits: 3 -->

```console
$ printf 'a\\nb 12 c\\n' \\
> | cat
a
b … c
$ false
$ echo $?
1
$ sh -c 'echo to-err >&2; exit 3'
to-err
```

Some text takes the comment's effect away.

````text
```console
$ not a session
```
````

<!-- no-run: needs a forge, a token -->
```console no-run
$ echo never
```
"""


def _session(text, **said):
    return runner.Block(
        page="p.md", line=1, language="console", flags=(), said=said, text=tuple(text.splitlines())
    )


def _failures(folder, text, **said):
    block = _session(text, **said)
    return runner.failures(block, runner.steps(block), runner.run(runner.steps(block), folder, {}))


def test_a_page_is_read_into_blocks(tmp_path):
    """Language, flags, the comment right before, the place; a fence inside a longer fence is text."""
    (tmp_path / "p.md").write_text(PAGE, encoding="utf-8")
    found = list(runner.blocks(tmp_path / "p.md", "p.md"))
    assert [
        ("p.md:5", "console", {"sandbox": "other", "exits": "3"}, True),
        ("p.md:19", "text", {}, False),
        ("p.md:26", "console", {"no-run": "needs a forge, a token"}, False),
    ] == [(block.place, block.language, block.said, block.is_run) for block in found]


def test_a_true_session_passes(tmp_path):
    """Continued lines, wildcards, ``$?`` over two commands, both streams and the announced exit code."""
    (tmp_path / "p.md").write_text(PAGE, encoding="utf-8")
    block = next(runner.blocks(tmp_path / "p.md", "p.md"))
    assert [] == runner.failures(block, runner.steps(block), runner.run(runner.steps(block), tmp_path, {}))


@pytest.mark.parametrize(
    "text",
    [
        "$ echo a\nb",
        "$ echo a",
        "$ true\na",
        "$ printf 'a\\nb\\n'\na",
        "$ echo 12\n13",
        "$ echo ab\na…c",
        "$ printf 'a\\nb\\n'\na…b",
        "$ false",
        "$ false\n$ echo a\na",
        "$ echo a >&2",
    ],
)
def test_an_untrue_session_is_found(tmp_path, text):
    """Other output, missing output, more output, an unseen failure: each is told."""
    assert _failures(tmp_path, text)


def test_an_announced_exit_code_must_happen(tmp_path):
    """A page that says 3 where the command says 0 is as wrong as the other way round."""
    assert _failures(tmp_path, "$ true", exits="3")
    assert not _failures(tmp_path, "$ (exit 3)", exits="3")


def test_a_line_of_dots_stands_for_any_lines(tmp_path):
    """None, one or many, and only there."""
    assert not _failures(tmp_path, "$ seq 5\n1\n...\n5")
    assert not _failures(tmp_path, "$ seq 2\n1\n...\n2")
    assert _failures(tmp_path, "$ seq 5\n1\n...\n4")


def test_a_command_that_ends_the_shell_is_found(tmp_path):
    """``exit`` in a session would leave the rest unseen."""
    with pytest.raises(AssertionError, match="ended after 0 of 2"):
        _failures(tmp_path, "$ exit 0\n$ echo a\nb")


@pytest.mark.parametrize("text", ["a\n$ b", ""])
def test_a_session_begins_with_a_command(text):
    """Output without a command, or nothing at all, is an error of the page."""
    with pytest.raises(AssertionError, match=r"p\.md:1"):
        runner.steps(_session(text))


def test_a_command_of_several_lines_is_one_command(tmp_path):
    """As a terminal shows it, with an empty line too; what stands below is its output."""
    assert [] == _failures(tmp_path, "$ cat << 'END'\n> a\n>\n> b\n> END\na\n\nb\n$ echo c\nc")


def test_a_block_goes_on_in_the_folder_that_the_one_before_left(tmp_path):
    """Blocks that are not run stand between without effect; another page's block is none to go on from."""
    run, shown = "```console\n$ true\n```\n", "```console no-run\n$ false\n```\n"
    (tmp_path / "p.md").write_text(f"{run}{shown}<!-- goes-on: yes -->\n{run}\n{run}", encoding="utf-8")
    blocks = list(runner.blocks(tmp_path / "p.md", "p.md"))
    assert [[1, 8], [12]] == [[block.line for block in session] for session in runner.sessions(blocks)]
    with pytest.raises(AssertionError, match=r"p\.md:8: goes on from no block"):
        list(runner.sessions(blocks[1:]))


def test_a_fence_that_never_ends_is_an_error(tmp_path):
    """Else the rest of the page would be its text."""
    (tmp_path / "p.md").write_text("```console\n$ true\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="without an end"):
        list(runner.blocks(tmp_path / "p.md", "p.md"))
