"""What instructions access beyond the valid regions of their operands."""

from __future__ import annotations

from dataclasses import replace

from ptokit.ir.facts import Facts, instr_of
from ptokit.isa.meaning.footprint import footprint
from ptokit.isa.meaning.words import Lane
from ptokit.isa.table import TABLE
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec
from tests.each import each

from .fake import site, spec
from .rule_cases import F, I
from .vector.lines import program
from .vector.programs import read
from .vector.test_text import LINES


@each("name, sources", [("TREM", ("src0", "src1")), ("TREMS", ("src",))])
def test_the_i32_remainder_of_a2a3_converts_its_sources_in_place(name: str, sources: tuple[str, ...]) -> None:
    """compute-elementwise 6."""

    def written(on: str, tile: object) -> set[str]:
        s = site(name, on, **dict.fromkeys(("dst", *sources), tile))
        return {access.operand for access in TABLE[name].footprint(s) if access.write}

    assert written("a2a3", I) == {"dst", *sources}
    assert written("a2a3", F) == written("a5", I) == {"dst"}


@each("name", ["TMATMUL", "TMATMUL_ACC", "TMATMUL_BIAS"])
def test_a_product_has_the_sizes_of_its_operands(name: str) -> None:
    """Whatever of the accumulator is valid; whole fractals are written (compute-reduce-matrix 9)."""
    left = TileSpec(TileType.Left, DTYPES["f16"], 32, 64, 16, 48, BLayout.ColMajor, SLayout.RowMajor)
    right = TileSpec(TileType.Right, DTYPES["f16"], 64, 32, 64, 4, slayout=SLayout.ColMajor)
    acc = TileSpec(TileType.Acc, DTYPES["f32"], 32, 32, 32, 32, BLayout.ColMajor, SLayout.RowMajor, 1024)
    bias = TileSpec(TileType.Bias, DTYPES["f32"], 1, 32, 1, 32)
    tiles = {"dst": acc, "acc": acc, "lhs": left, "rhs": right, "bias": bias}
    given = {o.name: tiles[o.name] for o in TABLE[name].operands}
    accesses = list(TABLE[name].footprint(site(name, "a5", **given)))
    found = {(a.operand, a.write): (a.rows, a.cols) for a in accesses}
    start = {"TMATMUL": {}, "TMATMUL_ACC": {("acc", False): (16, 4)}, "TMATMUL_BIAS": {("bias", False): (1, 4)}}[name]
    assert found == {("lhs", False): (16, 48), ("rhs", False): (48, 4), ("dst", True): (16, 16), **start}
    assert [a.results for a in accesses if a.write] == [(16, 4)]  # the rest of the fractal becomes padding


@each("line", [line for line in LINES if " = " in line])
def test_registers_have_no_footprint_whether_results_are_known_or_not(line: str) -> None:
    """Lanes may be those of a result, which a site need not know."""
    (function,) = read(program(line)).functions
    assert function.body is not None
    facts, checked = Facts(function), 0
    for op in function.body.walk():
        instr = instr_of(op)
        at = None if instr is None else facts.site(op, target("a5"))
        if instr is None or at is None or not isinstance(word := instr.meaning_at(at), Lane):
            continue
        results = {o.name for o in instr.produces}
        unknown = replace(at, operands={name: info for name, info in at.operands.items() if name not in results})
        for known in (at, unknown):
            assert list(footprint(word, known) or ()) == []
            checked += 1
    assert checked


@each("on", ["cpu", "a2a3", "a5"])
@each("name", ["TCMP", "TCMPS"])
def test_comparisons_write_the_rows_of_their_source(name: str, on: str) -> None:
    """Of a mask that has more rows the others stay (TCmp.hpp, TCmps.hpp)."""
    given = dict.fromkeys(("src0", "src1") if name == "TCMP" else ("src",), spec("f32", 16, 64, 2, 64))
    accesses = TABLE[name].footprint(site(name, on, dst=spec("u8", 4, 32), **given))
    assert [(a.rows, a.cols, a.kept) for a in accesses if a.write] == [(2, 32, False)]
