"""Outside of `targets`, no code compares the name of a target: it asks the target for the fact, or for its lineage."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ptokit.targets import TARGET_NAMES
from tests.each import each

PACKAGE = Path(__file__).parents[2] / "src" / "ptokit"
FILES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.parent.name != "targets"]


def is_name(node: ast.AST) -> bool:
    """True for ``target.name``, ``o.target.name`` and the like."""
    if not (isinstance(node, ast.Attribute) and node.attr == "name"):
        return False
    return ast.unparse(node.value).rpartition(".")[2] in ("target", "on")


def is_literal(node: ast.AST) -> bool:
    """True for a target's name as a string, and for a collection of them."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) and all(map(is_literal, node.elts))
    return isinstance(node, ast.Constant) and node.value in TARGET_NAMES


def converts(node: ast.AST) -> bool:
    """True for a function whose ``target`` is an element type."""
    given = [*node.args.args, *node.args.kwonlyargs] if isinstance(node, ast.FunctionDef) else []
    return any(a.arg == "target" and a.annotation and ast.unparse(a.annotation) == "DType" for a in given)


WORDS = re.compile(rf"(?:target|on)\)*\.name|[\"'](?:{'|'.join(TARGET_NAMES)})[\"']")


def comparisons(text: str) -> list[int]:
    """Lines that compare the name of a target, or use it as a key."""
    if not WORDS.search(text):
        return []
    found = []
    tree = ast.parse(text)
    others = {id(node) for function in ast.walk(tree) if converts(function) for node in ast.walk(function)}
    for node in ast.walk(tree):
        if id(node) in others:
            continue
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(is_name(side) or is_literal(side) for side in sides):
                found.append(node.lineno)
        elif isinstance(node, ast.Subscript) and is_name(node.slice):
            found.append(node.lineno)
        elif isinstance(node, ast.match_case) and any(is_literal(n) for n in ast.walk(node.pattern)):
            found.append(node.pattern.lineno)
    return found


@each("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_name_is_compared(path: Path) -> None:
    assert comparisons(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        'if o.target.name == "a5": pass',
        'if o.target.name in ("a2a3", "a5"): pass',
        'if "cpu" != target.name: pass',
        "if target.name in rule.targets: pass",
        "x = TABLE[machine.target.name]",
        'if on == "a2a3": pass',
        "match name:\n    case 'a5': pass",
    ],
)
def test_what_the_test_finds(text: str) -> None:
    assert comparisons(text)


def test_what_is_left_alone() -> None:
    assert not comparisons("def known(target: DType): return target.name in FLOATS")
    assert comparisons("def known(target: Target): return target.name in FLOATS")
    assert not comparisons('if o.target.is_a(A5) and o.name == "x": pass\nprint(target.name, f"on {o.target.name}")')
