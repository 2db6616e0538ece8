# SPDX-License-Identifier: Apache-2.0
"""The source tree as the architecture tests read it: files, syntax trees and names."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its path below ``src/truegreen``, parsed."""
    package = SRC / "truegreen"
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, nested ones and methods too."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
