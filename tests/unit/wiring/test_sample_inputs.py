# SPDX-License-Identifier: Apache-2.0
"""Inputs that no digest covers are disclosed."""

from sample_kit import POLICY, run

READS = """
    import subprocess
    import sys
    from pathlib import Path

    import app

    AT_IMPORT = Path("ignored-at-import.txt").read_text()


    def test_reads(tmp_path):
        Path("tests/llm/data.txt").read_text()
        Path("ignored.txt").read_bytes()
        Path("docs/page.md").open().close()
        (tmp_path / "own.txt").write_text("x")
        (tmp_path / "own.txt").read_text()
        Path("artifacts").mkdir(exist_ok=True)
        Path("artifacts/made.txt").write_text("x")
        Path("artifacts/made.txt").read_text()
        assert list(Path("docs").iterdir())
        assert "yes" == app.ask("good")
"""


def test_what_is_read_and_not_covered_is_named(repository, environment):
    """Ignored files and files that the lane calls irrelevant; not what the run made, nor what lies elsewhere."""
    policy = POLICY.rstrip() + '\n    irrelevant = ["docs/**"]\n'
    root = repository(
        {
            "tests/llm/test_reads.py": READS,
            "tests/llm/data.txt": "d",
            "docs/page.md": "p",
            ".gitignore": "ignored*\nartifacts/\n",
        },
        policy=policy,
    )
    (root / "ignored.txt").write_text("secret")
    (root / "ignored-at-import.txt").write_text("secret")
    for engine in ("fork", "serial"):
        body = run(root, environment, runs=2, engine=engine).body
        assert ("docs/page.md", "ignored-at-import.txt", "ignored.txt") == body.undeclared_inputs


def test_a_suite_that_reads_what_is_committed_is_clean(repository, environment):
    """Case files, their inputs and prompts, in the async engine."""
    root = repository(
        {
            "tests/llm/cases.yaml": "id: a\ninput: good.txt\nprompt: prompts/p.txt\nexpect: {format: text, enum: ['yes']}\n",
            "tests/llm/good.txt": "good",
            "prompts/p.txt": "p",
        }
    )
    assert () == run(root, environment, runs=2).body.undeclared_inputs
