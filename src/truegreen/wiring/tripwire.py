# SPDX-License-Identifier: Apache-2.0
"""Stops the gate when code of the change under test was loaded into it.

The defence is to run isolated, outside the change's tree (``python -I``, no checkout of the head). This is the
tripwire: a module that was loaded from a file that the repository tracks means that the change could have
written the decision.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from truegreen.core.errors import EvidenceProblem
from truegreen.forges.git import GitRepository
from truegreen.wiring.checkout import checkout_of


def refuse_code_of_the_change(folders: Iterable[Path], environment: Mapping[str, str]) -> None:
    """Look at every loaded module, for the working copies that hold these folders.

    Raises: EvidenceProblem ``code-of-the-change-loaded`` (contradictory) naming module and file; ReachProblem
    ``git-failed`` if git cannot say what it tracks.
    """
    for top in dict.fromkeys(filter(None, map(checkout_of, folders))):
        _refuse_tracked(top, _loaded_below(top), environment)


def _refuse_tracked(top: Path, inside: Mapping[str, str], environment: Mapping[str, str]) -> None:
    if not inside:
        return
    with GitRepository(top, environment) as git:
        listed = git.process.ask_clone("ls-files", "-z", "--", *sorted(inside)).split("\0")
    for path in sorted(inside):
        if path in listed:
            raise EvidenceProblem(
                "code-of-the-change-loaded",
                f"module {inside[path]} was loaded from {path}, a file of the repository under test",
                hint="run the gate outside the checkout, with python -I -m truegreen",
                contradictory=True,
            )


def _loaded_below(top: Path) -> dict[str, str]:
    """Path from ``top`` to the module that was loaded from it; links on the way are followed."""
    folders: dict[str, str] = {}
    below: dict[str, str] = {}
    inside = f"{top}{os.sep}"
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file:
            continue
        folder, base = os.path.split(file)
        if folder not in folders:  # a process loads hundreds of modules from few folders
            folders[folder] = os.path.realpath(folder)
        real = os.path.realpath(file) if Path(file).is_symlink() else f"{folders[folder]}{os.sep}{base}"
        if real.startswith(inside):
            below[real.removeprefix(inside).replace(os.sep, "/")] = name
    return below
