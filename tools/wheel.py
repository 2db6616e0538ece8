# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel of this checkout and, beside it, a lock with hashes from which both jobs of a workflow install it.

The lock holds what truegreen needs at run time, as requirements/dev.lock has it, and the wheel by its own digest.
``pip install --require-hashes --requirement FOLDER/requirements.txt`` finds the wheel beside the file.

usage: wheel.py [--extra NAME]... FOLDER

An extra, such as ``service``, is locked with what it needs.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "dev.lock"
ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==[^\n]*(?:\n {4}[^\n]*)*", re.MULTILINE)


def main() -> int:
    """Print the two files that were written; exit with what the builder exits with."""
    parser = argparse.ArgumentParser(usage="wheel.py [--extra NAME]... FOLDER")
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("truegreen-*.whl"):
        old.unlink()
    built = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        print(built.stdout + built.stderr, file=sys.stderr)
        return built.returncode
    (wheel,) = folder.glob("truegreen-*.whl")
    (folder / "requirements.txt").write_text(lock_of(wheel, given.extra), encoding="utf-8")
    print(f"{wheel.name}\nrequirements.txt")
    return 0


def lock_of(wheel: Path, extras: Sequence[str] = ()) -> str:
    """The lock's text: the wheel beside it, then every distribution that it needs, sorted."""
    _, version, _ = wheel.name.split("-", 2)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    entries = [
        (canonicalize_name(found["name"]), found[0]) for found in ENTRY.finditer(LOCK.read_text("utf-8"))
    ]
    needed = needs({name for name, _ in entries}, extras)
    head = f"--find-links .\ntruegreen=={version} \\\n    --hash=sha256:{digest}\n"
    return head + "".join(f"{text}\n" for name, text in entries if name in needed)


def needs(locked: AbstractSet[str], extras: Sequence[str] = ()) -> set[str]:
    """What truegreen and these extras need at run time, directly and through others, on any platform of the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: set[str] = set()
    asked = list(project["dependencies"])
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    while asked:
        requirement = Requirement(asked.pop())
        name = canonicalize_name(requirement.name)
        if name in found or name not in locked or "extra" in str(requirement.marker or ""):
            continue
        found.add(name)
        try:
            asked += metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # of another platform: the lock has it, this machine does not
    return found


if __name__ == "__main__":
    sys.exit(main())
