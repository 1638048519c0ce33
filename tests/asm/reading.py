"""Helpers to read snippets and to name what was found."""

from __future__ import annotations

from pathlib import Path

from ptokit.asm import parse_module, print_module
from ptokit.ir import Block, Module, Op
from ptokit.targets import Target

from .same import assert_same

DATA = Path(__file__).parents[1] / "data"
KERNELS = sorted((DATA / "programs" / "kernels").glob("*.pto"))
SYNC_CASES = sorted((DATA / "sync-cases").glob("*.pto"))
CORPUS = KERNELS + SYNC_CASES

PARAMETERS = (
    "%p: !pto.ptr<f32>, %n: index, %c: i1, %x: f32, %i: i32, %l: i64, %t: !pto.tile_buf<vec, 16x16xf32>, "
    "%u: !pto.tile_buf<vec, 16x16xf32>, %v: !pto.partition_tensor_view<16x16xf32>, %tv: !pto.tensor_view<?x16xf32>"
)
"""Parameters of the function `in_function` puts around a snippet."""

HEAD = f"module {{\n  func.func @f({PARAMETERS}) {{\n"
FIRST_LINE = 3
"""Line of the snippet's first line in the text of `in_function`."""


def in_function(body: str) -> str:
    """A module with one function that holds `body` and a return."""
    return f"{HEAD}{body}\nreturn\n  }}\n}}\n"


def read(text: str, target: Target | None = None) -> Module:
    """The module of a text without errors."""
    result = parse_module(text, "t.pto", target=target)
    assert not list(result.diagnostics), "\n".join(map(str, result.diagnostics))
    return result.module


def body(module: Module) -> Block:
    """The body of the module's first function."""
    block = module.functions[0].body
    assert block is not None
    return block


def ops(snippet: str) -> list[Op]:
    """The operations of a snippet, without the return after it."""
    return body(read(in_function(snippet))).ops[:-1]


def errors(text: str) -> list[tuple[str, int, int]]:
    """Rule, line and column of everything found in a text."""
    return [(d.rule, d.location.line, d.location.column) for d in parse_module(text, "t.pto").diagnostics]


def errors_in(snippet: str) -> list[tuple[str, int, int]]:
    """As `errors`, for a snippet in a function; its lines count from 1."""
    return [(r, line - FIRST_LINE + 1, column) for r, line, column in errors(in_function(snippet))]


def round_trip(module: Module) -> str:
    """Print and read until nothing can change; the canonical text."""
    text = print_module(module)
    again = read(text)
    assert_same(module, again)
    assert print_module(again) == text
    return text


def canonical(snippet: str) -> list[str]:
    """The lines `snippet` is printed as, without indentation of the function's body."""
    lines = round_trip(read(in_function(snippet))).splitlines()
    return [line[4:] for line in lines[2:-3]]
