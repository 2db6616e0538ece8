# SPDX-License-Identifier: Apache-2.0
"""The error codes that the source can raise, read from its syntax trees.

A code is the first argument of a class named ``…Problem`` (or of another class that the caller names), or of a
function that hands one of its parameters on as a code. It must be a literal, a choice between literals, or a
constant of the module: a code that is put together at run time has no paragraph that a reader could look up.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass

import tree


@dataclass(frozen=True, kw_only=True)
class Codes:
    """What was found."""

    raised: dict[str, str]
    """Code to one place that raises it."""
    unreadable: list[str]
    """Places whose code is no literal."""


@dataclass(frozen=True, kw_only=True)
class _Call:
    module: str
    node: ast.Call
    inside: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]

    @property
    def place(self) -> str:
        return f"{self.module}:{self.node.lineno}"


def is_problem(name: str) -> bool:
    """Whether a class of that name is an error of ours."""
    return name.endswith("Problem")


def found(modules: dict[str, ast.Module], takes_code: Callable[[str], bool] = is_problem) -> Codes:
    """All codes of all calls of classes whose name ``takes_code`` knows."""
    calls = [call for module, syntax in modules.items() for call in _calls(module, syntax, ())]
    carriers: dict[tuple[str, str], tuple[int, str]] = {}
    while True:
        more = {
            carrier: place
            for call in calls
            if (argument := _code_argument(call, carriers, takes_code)) is not None
            for carrier, place in _carried(call, argument)
            if carrier not in carriers
        }
        if not more:
            break
        carriers |= more
    raised: dict[str, str] = {}
    unreadable = []
    for call in calls:
        argument = _code_argument(call, carriers, takes_code)
        if argument is None or _carried(call, argument):
            continue
        codes = _literals(argument, modules[call.module])
        if codes is None:
            unreadable.append(call.place)
        else:
            raised |= dict.fromkeys(codes, call.place)
    return Codes(raised=raised, unreadable=unreadable)


def _calls(module, node, inside):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = (*inside, node)
    if isinstance(node, ast.Call):
        yield _Call(module=module, node=node, inside=inside)
    for child in ast.iter_child_nodes(node):
        yield from _calls(module, child, inside)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _code_argument(call: _Call, carriers, takes_code) -> ast.expr | None:
    name = _name(call.node.func)
    scope = call.module if name.startswith("_") else ""
    if takes_code(name):
        position, keyword = 0, "code"
    elif (scope, name) in carriers:
        position, keyword = carriers[scope, name]
    else:
        return None
    for given in call.node.keywords:
        if given.arg == keyword:
            return given.value
    return call.node.args[position] if len(call.node.args) > position else None


def _carried(call: _Call, argument: ast.expr) -> list[tuple[tuple[str, str], tuple[int, str]]]:
    """The enclosing function, if the code is one of its parameters."""
    for function in reversed(call.inside):
        names = [given.arg for given in (*function.args.posonlyargs, *function.args.args)]
        every = [*names, *(given.arg for given in function.args.kwonlyargs)]
        if isinstance(argument, ast.Name) and argument.id in every:
            methods = 1 if names[:1] in (["self"], ["cls"]) else 0
            position = names.index(argument.id) - methods if argument.id in names else len(names) + 99
            scope = call.module if function.name.startswith("_") else ""
            return [((scope, function.name), (position, argument.id))]
    return []


def _literals(argument: ast.expr, module: ast.Module) -> set[str] | None:
    match argument:
        case ast.Constant(value=str(code)):
            return {code}
        case ast.IfExp(body=body, orelse=orelse):
            one, other = _literals(body, module), _literals(orelse, module)
            return None if one is None or other is None else one | other
        case ast.Name(id=name):
            values = [
                statement.value
                for statement in module.body
                if isinstance(statement, ast.Assign | ast.AnnAssign) and _assigns(statement, name)
            ]
            return _literals(values[0], module) if len(values) == 1 and values[0] is not None else None
    return None


def _assigns(statement: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def documented() -> list[str]:
    """Headings of ``docs/errors.md``, in order."""
    text = (tree.ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return [line[3:].strip() for line in text.splitlines() if line.startswith("## ")]
