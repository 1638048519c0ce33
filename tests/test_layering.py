"""The architecture, enforced: imports go downwards only, files stay small."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ptokit.ir.control import CONTROL
from tests.each import each

PACKAGE = Path(__file__).parents[1] / "src" / "ptokit"
MAX_LINES = 500

# From the bottom to the top. Layers on one level do not import each other.
LEVELS = [
    *({"records"}, {"diagnostics"}, {"types", "workers"}, {"targets"}, {"draw"}, {"isa"}, {"ir"}, {"plan"}),
    *(
        {"machine"},
        {"run"},
        {"backends"},
        {"sanitize", "timing", "watch", "prove"},
        {"synchronise"},
        {"lang", "asm", "arguments"},
    ),
    *({"cpp"}, {"launches"}),
    *({"api"}, {"conformance", "lsp"}, {"campaign", "site"}, {"cli"}),
]
LEVEL = {layer: level for level, layers in enumerate(LEVELS) for layer in layers}

FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    """The folder below the package, or "" for the modules at its top (which no layer may import)."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


@cache
def importing(text: str) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a module: statements, so that expressions, a million nodes, need no look."""
    found, todo = [], [*ast.parse(text).body]
    for node in todo:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, part, [])
            todo += inside if isinstance(inside, list) else []
    return found


@cache
def imports(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """(line, parts of the name) of all that is imported from this package, absolute or relative, also in functions."""
    package = ["ptokit", *path.relative_to(PACKAGE).parts[:-1]]
    found = []
    for node in importing(text):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names = [[*base, alias.name] for alias in node.names]
        found += [(node.lineno, name) for name in names if name[0] == "ptokit" and len(name) > 1]
    return found


def violations(path: Path, text: str) -> list[str]:
    own = layer_of(path)
    out = []
    for line, (_, layer, *_) in imports(path, text):
        if layer == own or layer not in LEVEL:
            continue
        if own and LEVEL[layer] >= LEVEL[own]:
            out.append(f"{path.relative_to(PACKAGE)}:{line}: {own} imports {layer}")
    return out


def relative_across(path: Path, text: str) -> list[int]:
    """Lines that import from another layer with dots, where the name of the package says which layer it is."""
    inside = len(path.relative_to(PACKAGE).parts) - 1
    nodes = [node for node in importing(text) if isinstance(node, ast.ImportFrom)]
    return [node.lineno for node in nodes if layer_of(path) and node.level > inside]


def test_every_folder_is_a_known_layer() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert folders <= set(LEVEL)


@each("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downwards(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert violations(path, text) == []
    assert relative_across(path, text) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from ..ir import pipes", []),
        ("from ...ir import pipes", [1]),
        ("def f():\n    from ...diagnostics import source", [2]),
        ("from ptokit.ir import pipes", []),
    ],
)
def test_the_check_sees_dots_across_layers(text: str, lines: list[int]) -> None:
    assert relative_across(PACKAGE / "cpp" / "lift" / "kernel.py", text) == lines


# Packages inside of a layer, from the bottom to the top; modules beside them may import all.
INSIDE = {"asm": [{"text"}, {"types"}, {"forms"}, {"reading", "printing"}]}


@pytest.mark.parametrize("layer", INSIDE)
def test_packages_inside_a_layer_import_downwards(layer: str) -> None:
    level = {package: n for n, packages in enumerate(INSIDE[layer]) for package in packages}
    for path in sorted((PACKAGE / layer).rglob("*.py")):
        own = path.relative_to(PACKAGE / layer).parts[0]
        for line, parts in imports(path, path.read_text(encoding="utf-8")):
            if own in level and parts[1] == layer and parts[2] != own:
                assert level.get(parts[2], len(level)) < level[own], f"{path}:{line} imports {'.'.join(parts)}"


OPERATION = re.compile(r"(arith|scf|cf|func|pto|builtin)\.[a-z_.]+")
"""The name of an operation of the IR."""


def readings(text: str) -> list[str]:
    """Where a module reads the IR: all that it imports from it but `Value`, and names of operations."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptokit.ir"):
            found += [f"{node.lineno}: {alias.name}" for alias in node.names if alias.name != "Value"]
        elif isinstance(node, ast.Import):
            found += [f"{node.lineno}: {alias.name}" for alias in node.names if alias.name.startswith("ptokit.ir")]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and OPERATION.fullmatch(node.value):
            found.append(f"{node.lineno}: {node.value}")
        elif isinstance(node, ast.Attribute) and node.attr == "owner":
            found.append(f"{node.lineno}: the owner of a value")
    return found


@pytest.mark.parametrize("path", sorted((PACKAGE / "backends" / "native").rglob("*.py")), ids=lambda p: p.name)
def test_native_code_reads_the_plan(path: Path) -> None:
    """What operations are is decided by the planner alone. Of the IR, native code knows values."""
    assert readings(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "from ptokit.ir.core import Op, Value",
        "from ptokit.ir.facts import instr_of",
        "from ptokit.ir import core",
        "import ptokit.ir.core",
        "x = step.op.name == 'scf.for'",
        "x = value.owner",
    ],
)
def test_the_check_sees_who_reads_the_ir(text: str) -> None:
    assert len(readings(text)) == 1


@pytest.mark.parametrize("path", sorted((PACKAGE / "plan").rglob("*.py")), ids=lambda p: p.name)
def test_plans_are_data(path: Path) -> None:
    """No plan has arrays or functions: what executes it is above, and has its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    taken += [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [node.name if isinstance(node, ast.alias) else node.module or "" for node in taken]
    assert [name for name in names if name.split(".")[0] in ("numpy", "ml_dtypes", "llvmlite")] == []


CONTROL_NAME = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, CONTROL))})(?![\w(])")
CONTROL_CLASSES = {type(control).__name__ for control in CONTROL.values()}
PROGRAM = frozenset("\n%{")
"""Characters that a text in an example of a rule has, and the name of an operation or a message has not."""


def names_of_control(text: str) -> list[str]:
    """Where a module names operations of control flow or their classes, but in docstrings and definitions of rules."""
    if not CONTROL_NAME.search(text) and not any(name in text for name in CONTROL_CLASSES):
        return []
    nodes = list(ast.walk(ast.parse(text)))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and re.search("rule|define|_text", node.func.id)
        ):
            prose |= {id(inner) for inner in ast.walk(node)}
    found = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found += [] if PROGRAM & set(node.value) else CONTROL_NAME.findall(node.value)
        elif isinstance(node, ast.alias | ast.ClassDef | ast.Name | ast.Attribute):
            name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", "")
            found += [name] if name in CONTROL_CLASSES and "ir.control" in text else []
    return found


def test_an_operation_of_control_flow_is_named_where_it_is_defined_and_where_it_is_lowered() -> None:
    naming = {str(path.relative_to(PACKAGE)) for path in FILES if names_of_control(path.read_text(encoding="utf-8"))}
    assert naming == {"ir/control.py", "plan/planner.py"}


@pytest.mark.parametrize(
    "text",
    [
        "if op.name == 'scf.for': pass",
        "FORMS = {'cf.br': 'J(args) {}'}",
        "p.error(YIELD, f'{name} must end with scf.condition')",
        "_THREADS = frozenset('scf.for'.split())",
        "from ptokit.ir.control import _For",
        "import ptokit.ir.control as c\nisinstance(x, c._While)",
    ],
)
def test_the_check_sees_names_of_control_flow(text: str) -> None:
    assert names_of_control(text) != []


# Imports for type checkers only, of modules that cannot be told apart: an instruction has functions of a site, and a
# site its instruction; what the modules of `native` write goes into a writer, which calls them.
TOGETHER = {("isa.site", "isa.table"), ("isa.meaning.execute", "isa.table")}
WRITER = "backends.native.function"


def module_graph() -> dict[str, set[str]]:
    """The modules that each module of the package imports: at its top, in functions, or for type checkers."""
    modules = {module_name(path): path for path in FILES}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = set()
        for _, parts in imports(path, path.read_text(encoding="utf-8")):
            whole, package = ".".join(parts[1:]), ".".join(parts[1:-1])
            found.add(whole if whole in modules else package)
        graph[name] = {other for other in found & set(modules) - {name, ""} if (name, other) not in TOGETHER}
        if name.startswith("backends.native.") and WRITER in graph[name] and imports_for_types_only(path, "function"):
            graph[name].remove(WRITER)
    return graph


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_for_types_only(path: Path, module: str) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return not any(isinstance(node, ast.ImportFrom) and node.module == module for node in tree.body)


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """The sets of modules that import each other, straight or by way of others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        found: set[str] = set()
        left = [start]
        while left:
            for other in graph[left.pop()] - found:
                found.add(other)
                left.append(other)
        reached[start] = found
    return sorted({tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]})


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(module_graph()) == []


def test_the_check_sees_circles() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str]()}
    assert circles(graph) == [("a", "b", "c")]


def test_packages_of_instructions_stand_side_by_side() -> None:
    """What several of them use stands in `isa` itself, `isa.checks`, `isa.meaning`, or `isa.numerics`."""
    isa = PACKAGE / "isa"
    packages = {p.name for p in isa.iterdir() if p.is_dir()} - {"meaning", "numerics", "checks", "__pycache__"}
    crossing = []
    for path in sorted(isa.rglob("*.py")):
        own = path.relative_to(isa).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and path.name != "all.py":
                first = node.module.removeprefix("ptokit.isa.").split(".")[0]
                depth = len(path.relative_to(isa).parts)
                across = node.level == depth or node.module.startswith("ptokit.isa.")
                if across and first in packages - {own}:
                    crossing.append(f"{path.relative_to(isa)}:{node.lineno}: {first}")
    assert crossing == []


@each("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_are_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("isa/x.py", "from ptokit.ir.core import Op"),
        ("isa/x.py", "import ptokit.run"),
        ("isa/x.py", "from ..ir import core"),
        ("isa/deep/x.py", "from ...run.tile import Tile"),
        ("isa/x.py", "from ptokit import cli"),
        ("isa/x.py", "def f():\n    from ptokit.asm import read_module"),
        ("lang/x.py", "from ptokit.asm import parse_module"),
        ("asm/x.py", "import ptokit.lang.trace"),
    ],
)
def test_the_check_sees_upward_imports(file: str, text: str) -> None:
    assert len(violations(PACKAGE / file, text)) == 1


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("isa/x.py", "from ptokit.types.tile import TileSpec"),
        ("isa/x.py", "from .table import Instr"),
        ("isa/x.py", "from ..targets import Target"),
        ("cli/x.py", "from ptokit.lang import kernel"),
        ("isa/x.py", "import numpy as np"),
    ],
)
def test_the_check_passes_downward_imports(file: str, text: str) -> None:
    assert violations(PACKAGE / file, text) == []
