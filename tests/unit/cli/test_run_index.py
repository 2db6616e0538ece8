# SPDX-License-Identifier: Apache-2.0
"""The verb as a step of a workflow meets it."""

import pytest

from simulators.forge import SimJob, World
from simulators.forge_server import ForgeServer
from truegreen.cli import main
from truegreen.core.index import read_index

HEAD = "a" * 40


@pytest.fixture
def server(monkeypatch):
    """A forge that the environment names."""
    world = World()
    world.request()
    run = world.run(HEAD)
    run.attempt("2026-11-29T10:00:00Z", [SimJob("evals", conclusion="failure")])
    run.rerun("2026-11-29T11:00:00Z", [SimJob("evals", began="2026-11-29T11:01:00Z")])
    world.run("b" * 40).attempt("2026-11-29T09:00:00Z", [])
    with ForgeServer(world) as made:
        monkeypatch.setenv("GITHUB_API_URL", made.url)
        monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
        yield made


def _fetch(out, *more):
    return main.run(
        [
            "run-index",
            "fetch",
            "--out",
            str(out),
            "--repo",
            "harbour/pilot",
            "--head-sha",
            HEAD,
            "--pull-request",
            "42",
            *more,
        ]
    )


def test_a_complete_index_is_done(server, tmp_path, capsys):
    """One line says what was found and where it lies."""
    out = tmp_path / "index.json"
    assert 0 == _fetch(out)
    assert (
        f"run index of {HEAD[:12]} in harbour/pilot#42: 2 runs, 3 attempts, 1 earlier heads, complete ({out})\n"
        == capsys.readouterr().out
    )
    assert read_index(out.read_bytes()).complete


def test_an_incomplete_index_is_written_and_could_not_tell(server, tmp_path, capsys):
    """Exit 3, and the file says so to the gate."""
    server.fault("/actions/runs", "count+1")
    assert 3 == _fetch(tmp_path / "index.json")
    assert "INCOMPLETE" in capsys.readouterr().out
    assert not read_index((tmp_path / "index.json").read_bytes()).complete


def test_a_refusal_leaves_no_file_and_no_token_on_the_screen(server, tmp_path, capsys):
    """Exit 3 and one line with what is missing."""
    server.fault("/actions/runs", "status", value=403)
    assert 3 == _fetch(tmp_path / "index.json")
    said = capsys.readouterr()
    assert "[forge-refused]" in said.err
    assert "actions: read" in said.err
    assert "t0ken" not in said.out + said.err
    assert not (tmp_path / "index.json").exists()


def test_workflows_can_be_named(server, tmp_path):
    """Other runs are left out."""
    assert 0 == _fetch(tmp_path / "index.json", "--workflow", ".github/workflows/none.yml")
    assert () == read_index((tmp_path / "index.json").read_bytes()).runs


@pytest.mark.parametrize(
    "words", [[], ["--out", "x", "--pull-request", "0"], ["--out", "x", "--repo", "a/b"]]
)
def test_a_command_line_that_says_too_little_is_usage(words, capsys):
    """No file, no number, half a subject: exit 2."""
    assert 2 == main.run(["run-index", "fetch", *words])
    assert capsys.readouterr().err.startswith("truegreen: ")
