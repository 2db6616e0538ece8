# SPDX-License-Identifier: Apache-2.0
"""Fails if a file of this repository names a package registry's host or a folder of somebody's machine.

A checkout must install from whatever index the machine is set up with, and read the same everywhere. Names the
file and line of each finding; exit 1 if there is one, 3 if git cannot list the files.

usage: words.py [FOLDER]
"""

import re
import subprocess
import sys
from pathlib import Path

# One letter of each word stands in brackets, so that this file does not find itself.
FORBIDDEN = re.compile(
    rb"pyp[i]\.org|pythonhoste[d]\.org|np[m]js\.(?:org|com)|yarnpk[g]\.com|crate[s]\.io|rubygem[s]\.org"
    rb"|proxy\.golan[g]\.org|deb\.debia[n]\.org|archive\.ubunt[u]\.com|conda\.anacond[a]\.org"
    rb"|(?<![\w.-])/wor[k]/|\.\./share[d]\b|(?<![\w.-])/roo[t]/|(?<![\w.-])/Users/[a-z]",
    re.IGNORECASE,
)


def main() -> int:
    """Print every finding as ``file:line: word``."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(  # noqa: S603 - fixed words
        ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git of the PATH
        capture_output=True,
        check=False,
    )
    if listed.returncode or not listed.stdout:
        print(f"words: git lists no file in {folder}: {listed.stderr.decode(errors='replace').strip()}")
        return 3
    names = [name for name in listed.stdout.decode(errors="surrogateescape").split("\0") if name]
    findings = [line for name in names for line in found(folder, name)]
    print("".join(findings), end="")
    return 1 if findings else 0


def found(folder: Path, name: str) -> list[str]:
    """The findings in one file, and in its name; a link is judged by its target."""
    path = folder / name
    if path.is_symlink():
        content = str(path.readlink()).encode(errors="surrogateescape")
    elif path.is_file():
        content = path.read_bytes()
    else:
        return []  # deleted in the work tree, still in the index
    lines = [name.encode(errors="surrogateescape"), *content.split(b"\n")]
    return [
        f"{name}:{number}: {match[0].decode(errors='replace')}\n"
        for number, line in enumerate(lines)
        for match in FORBIDDEN.finditer(line)
    ]


if __name__ == "__main__":
    sys.exit(main())
