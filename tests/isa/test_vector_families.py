"""Properties of all vector instructions: they run on every type they allow, rules never fail, definitions are short."""

from __future__ import annotations

import ast
import inspect
import itertools
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS
from ptokit.isa.check import broken_rules
from ptokit.isa.numerics.unary import CVT_PAIRS
from ptokit.isa.table import TABLE, Instr, Kind
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec
from tests.each import each

from .fake import FAMILIES, site, spec

EXPANSIONS = [i for i in TABLE.values() if i.name.startswith(("TROWEXPAND", "TCOLEXPAND"))]
ELSEWHERE = ("TADDRELUCONV", "TSUBRELUCONV", "TADDDEQRELU")  # they have one form a type: test_fused_conversions
INSTRS = list(
    {
        i.name: i
        for i in (*EXPANSIONS, *(v for m in FAMILIES for v in vars(m).values() if isinstance(v, Instr)))
        if i.name not in ELSEWHERE
    }.values()
)


def test_all_of_them_are_found() -> None:
    assert len(INSTRS) == 90


def operand_specs(instr: Instr, dtype: str, rows: int, cols: int) -> dict[str, Any]:
    """Operands of the usual shapes for `dtype`, one tile type where the instruction allows it."""
    full, found = spec(dtype, rows, cols), {}
    for op in instr.operands:
        if op.kind is Kind.SCALAR:
            found[op.name] = 3
        elif op.name == "mask" or (op.name == "dst" and instr.name.startswith("TCMP")):
            found[op.name] = spec("u32" if instr.name == "TCMP" else "u8", rows, 32)
        elif op.name == "tmp" or op.name == "dst_val":
            found[op.name] = None
        else:
            found[op.name] = full
    vector = spec(dtype, rows, 1, dn=True)
    row = spec(dtype, 1, cols)
    if instr.name.startswith("TPARTARG"):
        found |= dict.fromkeys(("dsti", "src0i", "src1i"), spec("i32", rows, cols))
    elif "ARG" in instr.name:
        found["dst"] = spec("i32", rows, 1, dn=True) if "ROW" in instr.name else spec("i32", 1, cols)
    elif instr.name.startswith(("TROW", "TCOL")):
        part = vector if instr.name.startswith("TROW") else row
        if "EXPAND" in instr.name:
            found["src1" if "src1" in found else "src"] = part
        else:
            found["dst"] = part
    return found


@each("instr", [i for i in INSTRS if i.types], ids=lambda i: i.name)
def test_runs_on_every_type_it_allows(instr: Instr) -> None:
    rng = np.random.default_rng(0)
    for name in ALL_TARGETS:
        machine = Single(target(name))
        for dtype in sorted(instr.types[name], key=lambda d: d.name):
            operands = operand_specs(instr, dtype.name, 4, 64)
            tiles = {
                n: machine.tile(o, rng.integers(0, 256, o.nbytes, np.uint8)) if isinstance(o, TileSpec) else o
                for n, o in operands.items()
            }
            if instr.name == "TCMP" and (name == "a2a3" or (name == "cpu" and dtype.bits == 64)):
                continue  # masks of other types: replayed from the vectors
            machine.execute(instr, tiles)


@each("name", ALL_TARGETS)
def test_converts_every_pair(name: str) -> None:
    rng = np.random.default_rng(0)
    machine = Single(target(name))
    for s, d in CVT_PAIRS[name]:
        a, b = spec(s.name, 4, 64), spec(d.name, 4, 64)
        source = rng.integers(0, 256, a.nbytes, np.uint8)
        machine.execute(TABLE["TCVT"], {"dst": machine.tile(b), "src": machine.tile(a, source)})


@each("instr", INSTRS, ids=lambda i: i.name)
def test_rules_never_fail(instr: Instr) -> None:
    """Whatever the tiles are, a rule answers."""
    shapes = [(16, 64, 16, 64), (16, 64, -1, -1), (16, 64, 0, 64), (16, 1, 16, 1), (1, 300, 1, 299)]
    odd = [{}, {"dn": True}, {"boxed": True}, {"loc": TileType.Mat}]
    tiles = [
        spec(dtype, *shape, **more)
        for dtype, shape, more in itertools.product(("f32", "u8", "hif8", "e2m1", "int4", "i64"), shapes, odd)
    ]
    assert set(DTYPES) >= {"hif8", "int4"}
    rng = np.random.default_rng(1)
    for _ in range(150):
        operands: dict[str, Any] = {}
        for op in instr.operands:
            if op.kind is Kind.SCALAR:
                operands[op.name] = [("f32", 1.5), ("i64", -1), ("index", 1 << 40)][rng.integers(3)]
            elif not op.optional or rng.integers(2):
                operands[op.name] = tiles[rng.integers(len(tiles))]
        for name in ALL_TARGETS:
            for broken in broken_rules(site(instr.name, name, **operands)):
                assert isinstance(broken.message, str)
                assert broken.message


def definition_lines() -> dict[str, int]:
    """Lines of each instruction's definition: the call in its module, with its share of a loop or table."""
    found: dict[str, int] = {}
    for module in FAMILIES:
        tree = ast.parse(inspect.getsource(module))
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and isinstance(node.targets[0], ast.Name)
            ):
                instr = getattr(module, node.targets[0].id)
                if isinstance(instr, Instr) and instr.name not in ELSEWHERE:
                    found[instr.name] = node.end_lineno - node.lineno + 1
    return found


def test_definitions_are_short() -> None:
    lines = definition_lines()
    assert len(lines) > 60
    assert max(lines.values()) <= 16
    assert sum(lines.values()) / len(lines) <= 12


def test_every_definition_is_complete() -> None:
    for instr in INSTRS:
        assert instr.summary
        assert instr.source
        assert instr.rules
        assert instr.text == instr.name.lower()
        assert instr.types or instr.name == "TCVT"
