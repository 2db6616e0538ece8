# SPDX-License-Identifier: Apache-2.0
"""The two checks of lint that are ours, on this tree and on trees that break them; the wheel with its lock."""

import hashlib
import re
import subprocess
import sys

import pytest
import tree


def _tool(name, folder):
    ran = subprocess.run(
        [sys.executable, tree.ROOT / "tools" / name, folder], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout


@pytest.fixture
def checkout(tmp_path):
    """An empty repository."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.mark.parametrize("tool", ["words.py", "workflows.py"])
def test_this_tree_passes(tool):
    """What lint asks holds here and now."""
    assert (0, "") == _tool(tool, tree.ROOT)


@pytest.mark.parametrize("tool", ["words.py", "workflows.py"])
def test_a_tree_without_files_is_no_success(tool, checkout, tmp_path_factory):
    """Neither an empty repository nor a folder that is none passes as clean."""
    assert 3 == _tool(tool, checkout)[0]
    assert 3 == _tool(tool, tmp_path_factory.mktemp("no-repository"))[0]


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://py" + "pi.org/simple",
        "url = 'https://files.python" + "hosted.org/packages/x.whl'",
        "registry=https://registry.np" + "mjs.org/",
        "source: /wo" + "rk/main/src",
        "see ../sha" + "red/x.md",
    ],
)
def test_a_host_or_a_machines_path_is_found_with_its_place(checkout, line):
    """The file and the line are named, also for a file that is not added yet."""
    (checkout / "a.txt").write_text(f"one\n{line}\n", encoding="utf-8")
    code, out = _tool("words.py", checkout)
    assert (1, True) == (code, out.startswith("a.txt:2: "))


def test_a_link_is_judged_by_its_target_and_a_file_by_its_name(checkout):
    """A word hides neither in a symbolic link nor in a file name."""
    (checkout / "link").symlink_to("/wo" + "rk/main")
    (checkout / ("py" + "pi.org")).write_bytes(b"\xff\x00")
    code, out = _tool("words.py", checkout)
    assert (1, ["link:1: /wo" + "rk/", "py" + "pi.org:0: py" + "pi.org"]) == (code, out.splitlines())


WORKFLOW = (
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ nonsense.x }}\n"
)


@pytest.mark.parametrize("name", [".github/workflows/a.yml", "examples/x/ci.yaml", "src/templates/gate.yml"])
def test_a_broken_workflow_is_found_wherever_it_lies(checkout, name):
    """Ours, an example's or a template's: actionlint reads them all."""
    (checkout / name).parent.mkdir(parents=True)
    (checkout / name).write_text(WORKFLOW, encoding="utf-8")
    code, out = _tool("workflows.py", checkout)
    assert (1, True) == (code, f"{name}:6:" in out)


def test_what_is_no_workflow_is_left_alone(checkout):
    """YAML without the two top keys, and workflows that are broken on purpose below tests."""
    (checkout / "cases.yml").write_text("- id: a\n  on: 1\n", encoding="utf-8")
    (checkout / "tests").mkdir()
    (checkout / "tests" / "broken.yml").write_text(WORKFLOW, encoding="utf-8")
    assert (0, "") == _tool("workflows.py", checkout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A folder with a wheel of this checkout and its lock."""
    folder = tmp_path_factory.mktemp("wheel") / "truegreen"
    command = [sys.executable, tree.ROOT / "tools" / "wheel.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    return folder


def test_a_wheel_is_locked_by_its_digest(wheel):
    """The first entry of the lock is the wheel beside it, and nothing else fits."""
    (built,) = wheel.glob("*.whl")
    lines = (wheel / "requirements.txt").read_text(encoding="utf-8").splitlines()
    version = built.name.split("-")[1]
    digest = hashlib.sha256(built.read_bytes()).hexdigest()
    assert ["--find-links .", f"truegreen=={version} \\", f"    --hash=sha256:{digest}"] == lines[:3]


def test_the_wheels_lock_is_a_part_of_ours(wheel):
    """Same versions, same digests; what only developers need is left out."""
    ours = (tree.ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    entries = (wheel / "requirements.txt").read_text(encoding="utf-8").split("\n", 3)[3]
    told = re.split(r"\n(?=\S)", entries.rstrip("\n"))
    assert [] == [entry for entry in told if f"{entry}\n" not in ours]
    names = {entry.partition("==")[0] for entry in told}
    assert {"click", "msgspec", "pytest", "ruamel-yaml"} <= names
    assert set() == names & {"mypy", "openai", "ruff", "scipy"}


@pytest.mark.slow
def test_a_wheel_is_installed_from_its_lock_alone(wheel, tmp_path):
    """With hashes for everything, in a fresh environment, far from this checkout."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    command = [
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--require-hashes",
        "--requirement",
        wheel / "requirements.txt",
    ]
    subprocess.run([python, *command], cwd=tmp_path, check=True)
    said = subprocess.run(
        [python, "-I", "-m", "truegreen", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.startswith("truegreen ")
