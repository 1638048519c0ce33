"""Kernels for the run-time tests, as `.pto` text."""

from __future__ import annotations

from ptokit.asm import parse_module
from ptokit.run import Program, compile_program
from ptokit.targets import target

TILE = "!pto.tile_buf<vec, 8x16xf32>"
VIEW = "!pto.tensor_view<?x16xf32>"
PART = "!pto.partition_tensor_view<8x16xf32>"

PRELUDE = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %b64 = pto.get_block_idx
    %b = arith.index_cast %b64 : i64 to index
"""


def compiled(params: str, body: str, *, arch: str = "a5", prelude: str = PRELUDE, more: str = "") -> Program:
    """A kernel ``@k`` with these parameters and this body (without the return)."""
    text = (
        f"module {{\n  func.func @k({params}) attributes {{pto.entry}} {{{prelude}{body}\n    return\n  }}\n{more}}}\n"
    )
    parsed = parse_module(text, "k.pto", target=target(arch))
    parsed.diagnostics.raise_if_errors()
    return compile_program(parsed.module, target(arch))


def view(name: str, pointer: str, rows: str = "%rows") -> str:
    """A tensor view of ROWS x 16 floats."""
    return f"    %{name} = pto.make_tensor_view {pointer}, shape = [{rows}, %c16], strides = [%c16, %c1] : {VIEW}\n"


def part(name: str, source: str, row: str) -> str:
    """An 8 x 16 slice."""
    return (
        f"    %{name} = pto.partition_view {source}, offsets = [{row}, %c0], sizes = [%c8, %c16] : {VIEW} -> {PART}\n"
    )


def alloc(name: str) -> str:
    return f"    %{name} = pto.alloc_tile : {TILE}\n"


def load(tile: str, slice: str) -> str:
    return f"    pto.tload ins({slice} : {PART}) outs({tile} : {TILE})\n"


def store(tile: str, slice: str) -> str:
    return f"    pto.tstore ins({tile} : {TILE}) outs({slice} : {PART})\n"


def add(a: str, b: str, out: str) -> str:
    return f"    pto.tadd ins({a}, {b} : {TILE}, {TILE}) outs({out} : {TILE})\n"


PTRS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index"
"""Parameters of kernels from x to y."""

ROWS = "    %r = arith.muli %b, %c8 : index\n"
VIEWS = view("xv", "%x") + view("yv", "%y") + alloc("t")
PARTS = part("p", "%xv", "%r") + part("q", "%yv", "%r")
COPY = ROWS + VIEWS + PARTS + load("%t", "%p") + store("%t", "%q")
"""Every block copies its 8 rows of x to y."""
