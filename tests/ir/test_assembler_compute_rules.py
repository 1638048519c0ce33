"""The reference assembler's rules of compute instructions: operands that pass each, and operands that break it."""

from __future__ import annotations

import re

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Diagnostic
from ptokit.ir.verify import verify
from ptokit.targets import target

NZ = ", blayout=col_major, slayout=row_major"
ZN = ", slayout=col_major"
DN = ", blayout=col_major"
LINE = 2
"""Line of the operation in the texts of `program`."""


def program(statement: str, tiles: dict[str, str]) -> str:
    """Allocate the tiles (``vec 16x16xf32``; a type may be written as it is) and do one operation.

    ``T(x)`` in the statement is the type of %x.
    """
    types = {
        name: body if body.startswith("memref<") else f"!pto.tile_buf<{body.replace(' ', ', ', 1)}>"
        for name, body in tiles.items()
    }
    makers = {"!": "pto.alloc_tile :", "m": "memref.alloc() :"}
    allocs = " ".join(f"%{n} = {makers[t[0]]} {t}" for n, t in types.items())
    line = re.sub(r"T\((\w+)\)", lambda m: types[m[1]], statement)
    return f"func.func @k(%i: i32, %n: index, %h: f16, %w: i16, %f: f32) {{ {allocs}\n  {line}\n  return\n}}\n"


def check(text: str, arch: str, *, assembler: bool = True) -> list[Diagnostic]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return verify(parsed.module, target(arch), assembler=assembler).sorted()


MATMUL = "pto.tmatmul ins(%a, %b : T(a), T(b)) outs(%c : T(c))"
ACC = "pto.tmatmul.acc ins(%c, %a, %b : T(c), T(a), T(b)) outs(%c : T(c))"
BIAS = "pto.tmatmul.bias ins(%a, %b, %s : T(a), T(b), T(s)) outs(%c : T(c))"
GEMV = "pto.tgemv ins(%a, %b : T(a), T(b)) outs(%c : T(c))"
GEMV_MX = "pto.tgemv.mx ins(%a, %x, %b, %y : T(a), T(x), T(b), T(y)) outs(%c : T(c))"
MX_BIAS = "pto.tmatmul.mx.bias ins(%a, %x, %b, %y, %s : T(a), T(x), T(b), T(y), T(s)) outs(%c : T(c))"
SCALE = "pto.tget_scale_addr ins(%a : T(a)) outs(%x : T(x))"
HISTOGRAM = "pto.thistogram ins(%s, %i8 : T(s), T(i8)) outs(%d : T(d)) {isMSB = false}"
PACK = "pto.tpack ins(%s : T(s)) outs(%d : T(d))"
RANDOM = "pto.trandom ins(%i, %i, %i, %i, %i, %i {rounds = 7 : i32} : i32, i32, i32, i32, i32, i32) outs(%d : T(d))"
CONCAT_BY_INDEX = "pto.tconcatidx ins(%a, %b, %ia, %ib : T(a), T(b), T(ia), T(ib)) outs(%d : T(d))"
FILL = "pto.tfillpad ins(%s : T(s)) outs(%d : T(d))"
EXPAND = "pto.tfillpad_expand ins(%s : T(s)) outs(%d : T(d))"
SYM, ASYM = (f"{{quant_type = #pto<quant_type INT8_{kind}>}}" for kind in ("SYM", "ASYM"))
QUANT = "pto.tquant ins(%s, %p : T(s), T(p)) outs(%d : T(d)) " + SYM
QUANT_OFFSET = "pto.tquant ins(%s, %p, %o : T(s), T(p), T(o)) outs(%d : T(d)) " + ASYM
CONCAT = "pto.tconcat ins(%a, %b : T(a), T(b)) outs(%d : T(d))"
BLOCK = "%l = arith.constant 64 : i32 pto.tmrgsort ins(%s, %l : T(s), i32) outs(%d : T(d))"
MERGE = (
    "%e = arith.constant dense<[0, 0, 0, 0]> : vector<4xi16> "
    "pto.tmrgsort ins(%a, %b, %t {exhausted = false} : T(a), T(b), T(t)) outs(%d, %e : T(d), vector<4xi16>)"
)
COMPARE = (
    "pto.tgather ins(%s, %h, %t : T(s), f16, T(t)) outs(%d, %c : T(d), T(c)) {cmpMode = #pto<cmp gt>, offset = 0 : i32}"
)
COMPARE_I16 = COMPARE.replace("%h", "%w").replace("f16", "i16")
ADD = "pto.tadd ins(%a, %b : T(a), T(b)) outs(%d : T(d))"
ROWSUM = "pto.trowsum ins(%a, %t : T(a), T(t)) outs(%d : T(d))"
NEG = "pto.tneg ins(%a : T(a)) outs(%d : T(d))"
COLEXPAND = NEG.replace("tneg", "tcolexpand")
COLUMN_SUM = ADD.replace("tadd", "tcolexpandadd")
ROWARG = ROWSUM.replace("trowsum", "trowargmax")
COLARG = ROWSUM.replace("trowsum", "tcolargmin")
COLMAX = "pto.tcolmax ins(%a : T(a)) outs(%d : T(d))"
CVT = "pto.tcvt ins(%a {rmode = #pto<round_mode RINT>} : T(a)) outs(%d : T(d))"

PRODUCT = {"a": f"left 32x64xf16{NZ}", "b": f"right 64x16xf16{ZN}", "c": f"acc 32x16xf32{NZ}, fractal=1024"}
PRODUCT_A3 = {**PRODUCT, "a": "left 32x64xf16, slayout=row_major"}
WITH_BIAS = {**PRODUCT, "s": "bias 1x16xf32"}
ROW = {
    "a": f"left 16x64xf16, valid=1x64{NZ}",
    "b": f"right 64x16xf16{ZN}",
    "c": f"acc 16x16xf32, valid=1x16{NZ}, fractal=1024",
}
ROW_A3 = {**ROW, "a": "left 16x64xf16, valid=1x64, slayout=row_major"}
ROW_MX = {
    **{name: t.replace("f16", "f8E4M3FN") for name, t in ROW.items()},
    "x": "scaling 1x2xf8E4M3FN, slayout=row_major, fractal=32",
    "y": "scaling 2x16xf8E4M3FN, slayout=row_major, fractal=32",
}
SCALED = {
    **{name: t.replace("f16", "f8E5M2") for name, t in WITH_BIAS.items()},
    "x": "scaling 32x2xi8, slayout=row_major, fractal=32",
    "y": "scaling 2x16xi8, blayout=col_major, slayout=col_major, fractal=32",
}
LEFT = f"left 16x64xf8E5M2{NZ}"
COUNTED = {"s": "vec 32x32xui16", "i8": f"vec 32x1xui8{DN}", "d": "vec 32x256xui32"}
PACKED = {"s": "vec 8x32xi32", "d": "vec 8x32xi16"}
FILLED = {"s": "vec 16x16xf32, valid=8x16", "d": "vec 16x16xf32, pad=1"}
LOWERED = {"s": "memref<16x16xf32, #pto.address_space<vec>>", "d": "memref<16x16xf32, #pto.address_space<vec>>"}
WORDS = {"s": "vec 16x32xf32", "p": "vec 32x1xf32, blayout=col_major, valid=16x1", "d": "vec 16x32xi8"}
OFFSET = {**WORDS, "o": WORDS["p"], "d": "vec 16x32xui8"}
JOINED = {"a": "vec 16x16xf32", "b": "vec 16x16xf32", "d": "vec 16x32xf32"}
BY_INDEX = {**JOINED, "ia": "vec 16x8xi32", "ib": "vec 16x8xi32"}
ONE = {"s": "vec 1x256xf32", "d": "vec 1x256xf32"}
MERGED = {"a": "vec 1x64xf32", "b": "vec 1x64xf32", "t": "vec 1x128xf32", "d": "vec 1x128xf32"}
FOUND = {"s": "vec 1x32xf16", "t": "vec 1x32xi8", "d": "vec 1x32xi32", "c": "vec 1x32xi32"}
SUM = dict.fromkeys("abd", "vec 16x16xf32")
ROWS = {"a": "vec 16x16xf32", "t": "vec 16x16xf32", "d": "vec 16x8xf32, valid=16x1"}
NEGATED = {"a": "vec 16x16xf32", "d": "vec 16x16xf32"}
COLUMNS = {"a": "vec 1x16xf32", "d": "vec 16x16xf32"}
WITH_ROW = {"a": "vec 16x16xf32", "b": "vec 1x16xf32", "d": "vec 16x16xf32"}
ROW_INDEX = {"a": "vec 16x16xf32", "t": "vec 16x16xf32", "d": "vec 16x8xi32, valid=16x1"}
COLUMN_INDEX = {"a": "vec 16x16xf32", "t": "vec 16x16xf32", "d": "vec 1x16xi32"}
COLS = {"a": "vec 16x16xf32", "d": "vec 1x16xf32"}
CAST = {"a": "vec 16x16xf32", "d": "vec 16x16xf16"}

Case = tuple[str, str, str, dict[str, str], dict[str, str]]
"""Rule, target, operation, operands that pass, what is different in those that break it (``stmt``: the operation)."""

CASES: list[Case] = [
    ("MM-1", "a5", MATMUL, PRODUCT, {"c": f"acc 16x16xf32{NZ}, fractal=1024"}),
    ("MM-1", "a5", MATMUL, PRODUCT, {"b": f"right 32x16xf16{ZN}"}),
    ("MM-1", "a2a3", MATMUL, PRODUCT_A3, {"a": "left 32x64xf16, valid=8x64, slayout=row_major"}),
    ("MM-1", "a2a3", ACC, PRODUCT_A3, {"a": "mat 32x64xf16, slayout=row_major"}),
    ("MM-1", "a2a3", GEMV, ROW_A3, {"b": f"mat 64x16xf16{ZN}"}),
    ("MM-1", "a5", GEMV, ROW, {"a": f"left 16x64xf16, valid=?x64{NZ}"}),
    ("MM-2", "a5", MATMUL, PRODUCT, {"b": "right 64x16xf16"}),
    ("MM-2", "a5", ACC, PRODUCT, {"c": "acc 32x16xf32, fractal=1024"}),
    ("MM-3", "a5", MATMUL, PRODUCT, {"c": f"acc 32x16xf16{NZ}, fractal=1024"}),
    ("MM-3", "a2a3", MATMUL, PRODUCT_A3, {"b": f"right 64x16xbf16{ZN}"}),
    ("MM-3", "a5", MX_BIAS, SCALED, {"a": f"left 32x64xf16{NZ}"}),
    ("MM-4", "a5", BIAS, WITH_BIAS, {"s": "bias 2x16xf32"}),
    ("MM-4", "a2a3", BIAS, {**PRODUCT_A3, "s": "bias 1x16xf32"}, {"s": "bias 1x16xf16"}),
    ("MM-4", "a2a3", BIAS, {**PRODUCT_A3, "s": "bias 1x16xf32"}, {"s": "vec 1x16xf32"}),
    ("MM-4", "a5", BIAS, WITH_BIAS, {"s": f"bias 1x16xf32{DN}"}),
    ("GV-1", "a5", GEMV, ROW, {"a": f"left 16x64xf16{NZ}"}),
    ("GV-1", "a2a3", GEMV, ROW_A3, {"c": f"acc 16x16xf32{NZ}, fractal=1024"}),
    ("GV-1", "a5", GEMV, ROW, {"b": f"right 64x16xf16, valid=32x16{ZN}"}),
    ("GV-1", "a5", GEMV, ROW, {"c": f"acc 16x16xf32, valid=1x8{NZ}, fractal=1024"}),
    ("MX-SCALE", "a5", GEMV_MX, ROW_MX, {"x": "scaling 16x64xf8E4M3FN, valid=1x64"}),
    (
        "MX-SCALE",
        "a5",
        SCALE,
        {"a": LEFT, "x": "scaling 16x2xf8E5M2, slayout=row_major, fractal=32"},
        {"x": LEFT},
    ),
    ("MX-SCALE", "a5", MX_BIAS, SCALED, {"x": "scaling 32x2xi8"}),
    (
        "MX-K",
        "a5",
        MX_BIAS,
        SCALED,
        {"a": f"left 32x32xf8E5M2{NZ}", "x": "scaling 32x1xi8, slayout=row_major, fractal=32"},
    ),
    ("CC-2", "a5", CONCAT_BY_INDEX, BY_INDEX, {"ia": "vec 16x8xf32"}),
    ("CC-2", "a2a3", CONCAT_BY_INDEX, BY_INDEX, {"ib": "vec 16x16xi16"}),
    ("CC-2", "a5", CONCAT_BY_INDEX, BY_INDEX, {"b": "vec 8x16xf32"}),
    ("FP-1", "a5", FILL, FILLED, {"d": "vec 16x16xf32"}),
    ("FP-1", "a2a3", FILL, FILLED, {"d": "vec 8x16xf32, pad=1"}),
    ("FP-1", "a5", FILL, FILLED, {"s": "vec 16x16xf16, valid=8x16"}),
    ("FP-1", "a5", EXPAND, {**FILLED, "d": "vec 32x16xf32, pad=2"}, {"d": "vec 8x16xf32, pad=2"}),
    ("FP-1", "a5", FILL, LOWERED, {"d": "memref<8x16xf32, #pto.address_space<vec>>"}),
    ("TQ-1", "a5", QUANT, WORDS, {"d": "vec 16x32xi16"}),
    ("TQ-1", "a2a3", QUANT, WORDS, {"stmt": QUANT.replace("SYM", "ASYM")}),
    ("TQ-1", "a5", QUANT_OFFSET, OFFSET, {"stmt": QUANT_OFFSET.replace("ASYM", "SYM")}),
    ("TQ-1", "a5", QUANT_OFFSET, OFFSET, {"d": "vec 16x32xi32"}),
    ("TQ-1", "a5", QUANT, WORDS, {"d": "memref<16x32xi16, #pto.address_space<vec>>"}),
    ("CC-1", "a2a3", CONCAT, JOINED, {"b": "vec 16x32xf32"}),
    ("CC-1", "a5", CONCAT, JOINED, {"b": "vec 16x16xf32, valid=8x16"}),
    ("CC-1", "a5", CONCAT, JOINED, {"b": "vec 16x16xi32"}),
    ("CC-1", "a5", CONCAT, JOINED, {"a": f"vec 16x16xf32{DN}"}),
    ("CC-1", "a2a3", CONCAT, JOINED, {"a": "mat 16x16xf32"}),
    ("CC-1", "a5", CONCAT, JOINED, dict.fromkeys("ab", "vec 16x16xi64") | {"d": "vec 16x32xi64"}),
    ("MS-1", "a5", BLOCK, ONE, {"stmt": BLOCK.replace("64", "96")}),
    ("MS-1", "a5", BLOCK, ONE, {"s": "vec 1x128xf32"}),
    ("MS-1", "a2a3", BLOCK, ONE, {"s": "vec 2x256xf32", "d": "vec 2x256xf32"}),
    ("MS-1", "a5", BLOCK, ONE, {"s": "vec 1x256xi32", "d": "vec 1x256xi32"}),
    ("MS-1", "a5", MERGE, MERGED, {"b": "vec 1x64xf16"}),
    ("MS-1", "a5", MERGE, MERGED, {"t": "vec 1x64xf32"}),
    ("RN-1", "a5", RANDOM, {"d": "vec 16x16xui32"}, {"stmt": RANDOM.replace("7", "8")}),
    ("RN-1", "a5", RANDOM, {"d": "vec 16x16xi32"}, {"d": "vec 16x16xf32"}),
    ("RN-1", "a5", RANDOM, {"d": "vec 16x16xi32"}, {"d": f"vec 16x16xi32{DN}"}),
    (
        "TGATHER-AS-01",
        "a2a3",
        COMPARE,
        FOUND,
        {"s": "vec 1x32xi16", "stmt": COMPARE_I16},
    ),
    ("TGATHER-AS-01", "a5", COMPARE, FOUND, {"stmt": COMPARE.replace("cmp gt", "cmp lt")}),
    ("EW-1", "a5", ADD, SUM, {"a": "mat 16x16xf32"}),
    ("EW-1", "a2a3", ADD, SUM, {"b": f"vec 16x16xf32{DN}"}),
    ("EW-1", "a5", ADD, SUM, {"d": "vec 16x16xf16"}),
    ("EW-1", "a5", ADD, SUM, dict.fromkeys("abd", "vec 16x16xi64")),
    ("EW-1", "a5", ADD, SUM, {"a": "vec 16x16xf32, valid=8x16"}),
    ("EW-1", "a2a3", ADD, SUM, {"d": "vec 16x16xf32, valid=16x8"}),
    ("EW-1", "a2a3", NEG, NEGATED, {"a": "vec 16x16xf32, valid=8x16"}),
    ("EW-1", "a5", NEG, NEGATED, {"a": "vec 16x16xf32, valid=16x8"}),
    ("EW-1", "a5", COLEXPAND, COLUMNS, {"a": "vec 1x16xf16"}),
    ("EW-1", "a2a3", COLEXPAND, COLUMNS, {"d": "vec 16x16xf32, valid=16x8"}),
    ("EW-1", "a5", COLUMN_SUM, WITH_ROW, {"b": f"vec 1x16xf32{DN}"}),
    ("RR-1", "a5", ROWSUM, ROWS, {"a": f"vec 16x16xf32{DN}"}),
    ("RR-1", "a2a3", ROWSUM, ROWS, {"d": "vec 8x8xf32, valid=8x1"}),
    ("RR-1", "a5", ROWSUM, ROWS, {"d": "vec 16x8xf32, valid=16x2"}),
    ("RR-1", "a5", ROWSUM, ROWS, {"d": "vec 16x16xf16, valid=16x1"}),
    ("RR-1", "a2a3", ROWARG, ROW_INDEX, {"a": f"vec 16x16xf32{DN}", "t": f"vec 16x16xf32{DN}"}),
    ("RR-1", "a5", ROWARG, ROW_INDEX, {"d": "vec 16x8xi32, valid=16x2"}),
    ("RR-1", "a5", ROWARG, ROW_INDEX, {"d": "vec 16x16xi16, valid=16x1"}),
    ("CR-1", "a5", COLARG, COLUMN_INDEX, {"d": "vec 2x16xi32"}),
    ("CR-1", "a2a3", COLARG, COLUMN_INDEX, {"d": "vec 1x16xi32, valid=1x8"}),
    ("CR-1", "a5", COLARG, COLUMN_INDEX, {"d": "vec 1x16xi16"}),
    ("CR-1", "a5", COLMAX, COLS, {"a": f"vec 16x16xf32{NZ}"}),
    ("CR-1", "a2a3", COLMAX, COLS, {"d": "vec 1x16xf32, valid=1x8"}),
    ("CV-1", "a5", CVT, CAST, {"d": "vec 16x32xf16"}),
    ("CV-1", "a2a3", CVT, CAST, {"d": "vec 16x16xf16, valid=8x16"}),
]


NAMES = [f"{case[0]}-{i}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize(("rule", "arch", "statement", "good", "bad"), CASES, ids=NAMES)
def test_rule(rule: str, arch: str, statement: str, good: dict[str, str], bad: dict[str, str]) -> None:
    assert [str(d) for d in check(program(statement, good), arch)] == []
    tiles = {**good, **bad}
    found = check(program(tiles.pop("stmt", statement), tiles), arch)
    assert (rule, LINE) in {(d.rule, d.location.line) for d in found}, [str(d) for d in found]
    every = {d.rule for d in check(program({**bad}.get("stmt", statement), tiles), arch, assembler=False)}
    assert rule in every or every & set(CATALOGUE[rule].covered_by)


A5_ONLY = {
    "thistogram": (HISTOGRAM, COUNTED),
    "tpack": (PACK, PACKED),
    "tget_scale_addr": (SCALE, {"a": LEFT, "x": "scaling 16x2xf8E5M2, slayout=row_major, fractal=32"}),
    "trandom": (RANDOM, {"d": "vec 16x16xi32"}),
    "tgemv.mx": (GEMV_MX, ROW_MX),
}


@pytest.mark.parametrize("name", A5_ONLY)
def test_operations_of_a5(name: str) -> None:
    text = program(*A5_ONLY[name])
    assert [str(d) for d in check(text, "a5")] == []
    found = check(text, "a2a3")
    assert ("A5-1", LINE) in {(d.rule, d.location.line) for d in found}
    assert name in next(d for d in found if d.rule == "A5-1").message


def test_products_of_lowered_tiles_are_left_alone() -> None:
    memref = "memref<32x16xf32, #pto.address_space<acc>>"
    assert check(program(MATMUL, {**PRODUCT, "b": "mat 16x16xf16", "c": memref}), "a5") == []


def test_the_assembler_compares_only_columns_of_some_regions_on_a5() -> None:
    rows = {**NEGATED, "a": "vec 16x16xf32, valid=8x16"}
    assert [str(d) for d in check(program(NEG, rows), "a5")] == []
    assert {d.rule for d in check(program(NEG, rows), "a5", assembler=False)} == {"EW-05"}


def test_every_rule_of_compute_instructions_has_a_case() -> None:
    families = re.compile(r"(MM|GV|FP|TQ|CC|MS|RN|CV|RR|CR)-\d$|EW-1$|MX-SCALE|MX-K|TGATHER-AS")
    known = {i for i in CATALOGUE if families.match(i)}
    newer = {i for i in known if CATALOGUE[i].source.startswith("PTOAS")}  # test_assembler_scratch_rules has the others
    assert known - newer <= {case[0] for case in CASES} <= known
