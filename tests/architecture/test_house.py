# SPDX-License-Identifier: Apache-2.0
"""``./dev`` and ``.ci/run``: what they need, what they say when it is not there, and that they fail when they must."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tree

COREUTILS = ("cat", "cksum", "dirname", "rm", "sh", "git")


def _bin(folder, *programs, **scripts):
    """A folder for PATH with these programs of the machine, and these scripts."""
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def _dev(folder, path, *arguments):
    for name in ("dev", "requirements/dev.lock", "requirements/live.lock", "pyproject.toml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(tree.ROOT / name, folder / name)
    ran = subprocess.run(
        [folder / "dev", *arguments], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_without_a_python_one_line_says_what_to_install(tmp_path):
    """A bare machine learns the package names, not the shell's complaints."""
    code, out, err = _dev(tmp_path, _bin(tmp_path / "bin", *COREUTILS), "lint")
    assert (2, "") == (code, out)
    assert (
        "./dev: no python3 of version 3.11 or newer is on the PATH"
        " (Debian and Ubuntu: apt-get install python3 python3-venv)\n" == err
    )


def test_without_git_one_line_says_what_to_install(tmp_path):
    """Git is needed by lint and by half of the tests."""
    path = _bin(tmp_path / "bin", "cat", "cksum", "dirname", "rm", "sh", python3="exit 0")
    assert (2, "", "./dev: git is not on the PATH (Debian and Ubuntu: apt-get install git)\n") == _dev(
        tmp_path, path, "lint"
    )


def test_without_venv_one_line_says_what_to_install(tmp_path):
    """Debian's python3 alone has no ensurepip; no half environment stays behind that looks built."""
    python = 'case "$*" in *ensurepip*) exit 1 ;; *-V*) echo Python 3.11.2 ;; esac'
    code, _, err = _dev(tmp_path, _bin(tmp_path / "bin", *COREUTILS, python3=python), "test")
    assert (2, True) == (
        code,
        err.endswith("./dev: python3 comes without venv (Debian and Ubuntu: apt-get install python3-venv)\n"),
    )
    assert not (tmp_path / ".venv").exists()


UV = """echo "uv $*" >>"$0.log"
case $1 in
venv) mkdir -p .venv/bin; printf '#!/bin/sh\\necho "ran $*"\\n' >.venv/bin/python; chmod +x .venv/bin/python ;;
esac
[ ! -e "$0.fails" ] || exit 1"""


@pytest.fixture
def machine(tmp_path):
    """A PATH whose uv notes what it is asked for, and fails where a file says so."""
    return _bin(
        tmp_path / "bin", *COREUTILS, "mkdir", "chmod", python3='[ "$1" != -V ] || echo Python 3.11.2', uv=UV
    )


def _asked(tmp_path):
    log = tmp_path / "bin" / "uv.log"
    asked = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line.replace(" --quiet", "").replace(" --python .venv/bin/python", "") for line in asked]


PROJECT = "uv pip install --no-deps --no-build-isolation --editable ."
WHOLE = [
    "uv venv --python python3 .venv",
    "uv pip install --require-hashes --requirement requirements/dev.lock",
    PROJECT,
]


def test_the_environment_is_built_once_with_hashes(tmp_path, machine):
    """The first call builds from the lock, the second does nothing before it runs."""
    assert (0, "ran -m pytest -q\n") == _dev(tmp_path, machine, "test", "-q")[:2]
    assert WHOLE == _asked(tmp_path)
    assert (0, "ran -m pytest\n", "") == _dev(tmp_path, machine, "test")
    assert [] == _asked(tmp_path)


@pytest.mark.parametrize(("file", "again"), [("requirements/dev.lock", WHOLE), ("pyproject.toml", [PROJECT])])
def test_the_environment_follows_lock_and_project(tmp_path, machine, file, again):
    """A changed lock builds anew, so that nothing of the old one stays; a changed project is installed again."""
    _dev(tmp_path, machine, "test")
    _asked(tmp_path)
    changed = tmp_path / "changed"
    changed.mkdir()
    (tmp_path / ".venv").rename(changed / ".venv")
    _dev(changed, machine, "test")
    _asked(tmp_path)  # another folder: built anew
    with (changed / file).open("a", encoding="utf-8") as lines:
        lines.write("\n# changed\n")
    subprocess.run([changed / "dev", "test"], env={"PATH": machine}, capture_output=True, check=True)
    assert again == _asked(tmp_path)


def test_the_live_lane_installs_its_model_once_and_only_it_does(tmp_path, machine):
    """A quarter of a gigabyte is for who asks for it by name."""
    _dev(tmp_path, machine, "test")
    _asked(tmp_path)
    assert (0, "ran -m pytest --live -q\n") == _dev(tmp_path, machine, "test", "--live", "-q")[:2]
    assert ["uv pip install --require-hashes --requirement requirements/live.lock"] == _asked(tmp_path)
    _dev(tmp_path, machine, "test", "-q", "--live")
    assert [] == _asked(tmp_path)


def test_an_environment_that_failed_to_build_is_built_again(tmp_path, machine):
    """No stamp is left by a failure: the next call does not run in half an environment."""
    failing = tmp_path / "bin" / "uv.fails"
    failing.touch()
    assert 0 != _dev(tmp_path, machine, "test")[0]
    failing.unlink()
    _asked(tmp_path)
    assert 0 == _dev(tmp_path, machine, "test")[0]
    assert WHOLE == _asked(tmp_path)


def test_a_wrong_verb_is_a_usage_error(tmp_path):
    """The list of verbs and one line, exit 2; nothing is built."""
    code, out, err = _dev(tmp_path, _bin(tmp_path / "bin", *COREUTILS), "tset")
    assert (2, "", True) == (code, out, err.endswith("./dev: no verb 'tset'\n"))


DEV = """echo "dev $*"
read -r line && echo "standard input: $line"
case $1 in lint) exit {lint} ;; test) exit {test} ;; esac"""


@pytest.mark.parametrize(
    ("lint", "test", "code", "last"),
    [
        (0, 0, 0, ".ci/run: lint and tests passed"),
        (1, 0, 1, ".ci/run: failed: lint"),
        (0, 1, 1, ".ci/run: failed: test"),
        (0, 5, 1, ".ci/run: failed: test"),
        (2, 5, 1, ".ci/run: failed: lint test"),
    ],
)
def test_ci_fails_when_lint_or_tests_do(tmp_path, lint, test, code, last):
    """Both are run, whatever the first says, with the README's command and without standard input."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(tree.ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "dev").write_text("#!/bin/sh\n" + DEV.format(lint=lint, test=test), encoding="utf-8")
    (tmp_path / "dev").chmod(0o755)
    ran = subprocess.run(
        ["bash", tmp_path / ".ci" / "run"],
        cwd="/",
        input="asked\n",
        capture_output=True,
        text=True,
        check=False,
    )
    lines = ran.stdout.splitlines()
    assert (code, last) == (ran.returncode, lines[-1])
    assert ["dev lint", "dev test"] == [line for line in lines if line.startswith("dev")]
    assert (test == 5, False) == (".ci/run: no test ran" in lines, "standard input" in ran.stdout)


def test_ci_installs_what_a_bare_machine_lacks(tmp_path):
    """Without python3 or git it asks Debian's packages for them before it begins."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(tree.ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "dev").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "dev").chmod(0o755)
    path = _bin(tmp_path / "bin", "bash", "dirname", "sh", **{"apt-get": 'echo "apt-get $*"'})
    ran = subprocess.run(
        ["bash", tmp_path / ".ci" / "run"], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (
        0,
        ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends python3 python3-venv git"],
    ) == (
        ran.returncode,
        ran.stdout.splitlines()[:2],
    )


def test_the_readme_names_the_commands_that_run():
    """What CI runs is what a reader runs; the demo is named as soon as it is there, and not before."""
    readme = (tree.ROOT / "README.md").read_text(encoding="utf-8")
    has_demo = (tree.ROOT / "examples" / "changelog-bot" / "demo.py").exists()
    assert (has_demo, True) == ("./dev demo" in readme, "./dev test" in readme)


@pytest.mark.parametrize("name", ["dev", "live"])
def test_every_requirement_is_locked_with_hashes(name):
    """The lock holds each direct requirement, and each line of it at least one digest."""
    lock = (tree.ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    pinned = re.findall(
        r"^([a-z0-9._-]+)(?:\[[\w,]+\])?==[^\n]*((?:\n    --hash=sha256:[0-9a-f]{64}[^\n]*)*)",
        lock,
        re.MULTILINE,
    )
    assert [] == [package for package, digests in pinned if not digests]
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [
        *(project["dependencies"] if name == "dev" else ()),
        *(tree.ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines(),
    ]
    asked = {
        re.match(r"[\w.-]+", line)[0].lower().replace(".", "-") for line in direct if not line.startswith("#")
    }
    assert set() == asked - {package.replace(".", "-") for package, _ in pinned}


@pytest.mark.slow
def test_a_fresh_clone_is_set_up_without_uv(tmp_path):
    """The real thing: this interpreter, its pip and the lock; then one real verb."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", tree.ROOT, clone], check=True)
    python = Path(sys.base_prefix) / "bin" / "python3"
    path = _bin(tmp_path / "bin", *COREUTILS, "env", python3=f'exec "{python}" "$@"')
    environment = {**os.environ, "PATH": path}
    ran = subprocess.run(
        [clone / "dev", "test", "-q", "tests/unit/cli/test_verbs.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, True) == (ran.returncode, "passed" in ran.stdout), ran.stderr
    assert Path(clone / ".venv" / "dev-environment").read_text(encoding="utf-8").startswith("pip ")
