# SPDX-License-Identifier: Apache-2.0
"""How every module of the house looks."""

import ast
import re

import pytest
import tree

LONG_MODULES: dict[str, str] = {
    "wiring/rehearsal/ways.py": "one table, a row a way to fool the gate: it reads better whole",
}
"""Modules of more than 400 lines, with the reason why they read better whole."""
LONG_FUNCTIONS: dict[str, str] = {}
"""Functions of more than 60 lines as ``module:function``, with the reason."""
ENVIRONMENT_READERS = ("wiring/", "pytest_plugin/", "guards/injected/", "guards/keeper.py")
"""Rooms that may read the environment, and programs that are started with one of their own."""
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "tools", "stuff"}
FIRST_LINE = "# SPDX-License-Identifier: Apache-2.0"


def _text(name):
    return (tree.SRC / "truegreen" / name).read_text(encoding="utf-8")


def test_every_module_begins_with_licence_and_purpose():
    """The SPDX line, then a docstring; where a module decides something, it says what."""
    assert [] == [name for name in tree.modules() if _text(name).split("\n")[0] != FIRST_LINE]
    assert [] == [name for name, syntax in tree.modules().items() if not ast.get_docstring(syntax)]


def test_modules_stay_short():
    """400 lines at most, unless the list says why."""
    long = {name for name in tree.modules() if len(_text(name).splitlines()) > 400}
    assert set(LONG_MODULES) == long


def test_functions_stay_short():
    """60 lines at most, unless the list says why."""
    long = {
        f"{name}:{function.name}"
        for name, syntax in tree.modules().items()
        for function in tree.functions(syntax)
        if function.end_lineno - function.lineno + 1 > 60
    }
    assert set(LONG_FUNCTIONS) == long


def test_names_say_something():
    """No module is named after its lack of a subject."""
    parts = {part for name in tree.modules() for part in name.removesuffix(".py").split("/")}
    assert set() == parts & EMPTY_NAMES


def test_nothing_is_imported_for_type_checkers_only():
    """An import under ``TYPE_CHECKING`` hides a circle from its readers."""
    assert [] == [name for name in tree.modules() if "TYPE_CHECKING" in _text(name)]


def test_only_wiring_and_the_plugin_read_the_environment():
    """``os.environ`` and ``os.getenv`` stand in no other room."""
    readers = [
        name
        for name, syntax in tree.modules().items()
        if not name.startswith(ENVIRONMENT_READERS)
        for node in ast.walk(syntax)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv", "putenv"}
    ]
    assert [] == readers


def test_core_reads_neither_clock_nor_disk():
    """What import-linter cannot see: a clock behind ``datetime``, a file behind ``open`` or ``Path``."""
    forbidden = {
        "now",
        "today",
        "utcnow",
        "open",
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "Path",
    }
    calls = [
        f"{name}:{node.lineno}"
        for name, syntax in tree.modules().items()
        if name.startswith("core/")
        for node in ast.walk(syntax)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in forbidden
    ]
    assert [] == calls


def test_only_the_packages_floor_stands_in_an_init():
    """An ``__init__`` with imports is where circles begin: it holds a docstring and nothing to import."""
    assert [] == [
        name
        for name, syntax in tree.modules().items()
        if name.endswith("__init__.py")
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in syntax.body)
    ]


@pytest.mark.parametrize("folder", ["src", "tests", "tools", "bench", "examples"])
def test_every_exemption_gives_its_reason(folder):
    """``noqa`` names its rule and says why; so does ``type: ignore``."""
    bare = re.compile(
        r"#\s*noqa(?!: [A-Z]+\d+(?:, ?[A-Z]+\d+)* - \w)|#\s*type:\s*ignore(?!\[[\w, -]+\] +(?:-|#) *\w)"
    )
    assert [] == [
        f"{path.relative_to(tree.ROOT)}:{number}"
        for path in sorted((tree.ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line) and path.name != "test_modules.py"
    ]
