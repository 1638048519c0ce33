"""What the reference assembler asks of scratch tiles, gathers, conversions and expansions: texts that pass or break."""

from __future__ import annotations

import pytest

from ptokit.diagnostics import CATALOGUE, Scope

from .test_assembler_compute_rules import CASES as COMPUTE
from .test_assembler_compute_rules import (
    CAST,
    COLARG,
    COLMAX,
    COLUMN_INDEX,
    COMPARE,
    COUNTED,
    CVT,
    DN,
    FILL,
    FOUND,
    GEMV_MX,
    HISTOGRAM,
    LINE,
    MATMUL,
    MERGE,
    MERGED,
    NZ,
    PRODUCT,
    QUANT,
    ROW_INDEX,
    ROW_MX,
    ROWARG,
    ROWS,
    ROWSUM,
    WORDS,
    ZN,
    Case,
    check,
    program,
)

ADD = "pto.trowexpandadd ins(%a, %b : T(a), T(b)) outs(%d : T(d))"
MAX = ADD.replace("add", "max")
MAX_TMP = "pto.trowexpandmax ins(%a, %b, %t : T(a), T(b), T(t)) outs(%d : T(d))"
DIV = ADD.replace("add", "div")
PRECISE = " {precisionType = #pto<div_precision high_precision>}"
EXPANDED = {"a": "vec 16x64xf32", "b": f"vec 16x1xf32{DN}", "d": "vec 16x64xf32"}
COPY = "pto.trowexpand ins(%a : T(a)) outs(%d : T(d))"
COPIED = {"a": f"vec 16x1xf32{DN}", "d": "vec 16x64xf32"}
COLSUM = "pto.tcolsum ins(%a, %t {isBinary = true} : T(a), T(t)) outs(%d : T(d))"
SUMMED = {"a": "vec 16x64xf32", "t": "vec 8x64xf32", "d": "vec 1x64xf32"}
GEMV_MX_ACC = "pto.tgemv.mx.acc ins(%c, %a, %x, %b, %y : T(c), T(a), T(x), T(b), T(y)) outs(%d : T(d))"
ADDED = {**ROW_MX, "d": ROW_MX["c"]}
GEMV_MX_BIAS = "pto.tgemv.mx.bias ins(%a, %x, %b, %y, %s : T(a), T(x), T(b), T(y), T(s)) outs(%c : T(c))"
BIASED = {**ROW_MX, "s": "bias 1x16xf32"}
REM = "pto.trem ins(%a, %b, %t : T(a), T(b), T(t)) outs(%d : T(d))"
REMS = "pto.trems ins(%a, %f, %t : T(a), f32, T(t)) outs(%d : T(d))"
XOR = REM.replace("trem", "txor")
XORS = REMS.replace("trems", "txors").replace("%f", "%w").replace("f32", "i16")
POW = REM.replace("trem", "tpow")
PLAIN_POW = "pto.tpow ins(%a, %b : T(a), T(b)) outs(%d : T(d))"
SELECT = "pto.tsel ins(%m, %a, %b, %t : T(m), T(a), T(b), T(t)) outs(%d : T(d))"
SELECT_SCALAR = "pto.tsels ins(%m, %a, %t, %f : T(m), T(a), T(t), f32) outs(%d : T(d))"
RSQRT = "pto.trsqrt ins(%a : T(a)) outs(%d : T(d))"
FOUR = dict.fromkeys("abtd", "vec 16x64xf32")
WORDS_16 = dict.fromkeys("abtd", "vec 16x64xi16")
CHOSEN = {**FOUR, "m": "vec 16x32xi8", "t": "vec 1x8xf32"}
GATHER = "pto.tgather ins(%s, %x, %t : T(s), T(x), T(t)) outs(%d : T(d))"
GATHER_A5 = "pto.tgather ins(%s, %x : T(s), T(x)) outs(%d : T(d))"
TAKEN = {"s": "vec 1x64xf32", "x": "vec 1x32xi32", "t": "vec 1x32xi32", "d": "vec 1x32xf32"}
BY_MASK = 'pto.tgather ins(%s, {maskPattern = #pto.mask_pattern<P0101>} : T(s), "row") outs(%d : T(d))'
MASKED = {"s": "vec 4x64xf16", "d": "vec 4x32xf16"}
SCATTER = "pto.tscatter ins(%s, %x : T(s), T(x)) outs(%d : T(d))"
PLACED = {"s": "vec 4x32xf16", "x": "vec 4x32xi16", "d": "vec 4x32xf16"}
GATHER_BLOCKS = "pto.tgatherb ins(%s, %x : T(s), T(x)) outs(%d : T(d))"
BLOCKS = {"s": "vec 4x32xf16", "x": "vec 4x8xi32", "d": "vec 4x32xf16"}
SORT = "pto.tsort32 ins(%s, %x, %t : T(s), T(x), T(t)) outs(%d : T(d))"
SORTED = {"s": "vec 1x64xf32", "x": "vec 1x64xui32", "t": "vec 1x64xf32", "d": "vec 1x128xf32"}
TRANSPOSE = "pto.ttrans ins(%a, %t : T(a), T(t)) outs(%d : T(d))"
TURNED = dict.fromkeys("atd", "vec 16x16xf32")
COUNT = "%z = arith.constant 0 : i32 pto.tci ins(%z, %t : i32, T(t)) outs(%d : T(d))"
NUMBERED = {"t": "vec 1x192xi32", "d": "vec 1x64xi32"}
WRAP = "{rmode = #pto<round_mode RINT>, satmode = #pto<saturation_mode OFF>}"
CVT_TMP = f"pto.tcvt ins(%a, %t {WRAP} : T(a), T(t)) outs(%d : T(d))"
NARROWED = {"a": "vec 16x64xf32", "t": "vec 1x256xf32", "d": "vec 16x64xi16"}
QUANT_TMP = QUANT.replace("outs(%d : T(d))", "outs(%d, %t : T(d), T(t))")
WITH_TMP = {**WORDS, "t": WORDS["s"]}
PRINT = "pto.tprint ins(%a : T(a))"
ONE_TILE = {"a": "vec 16x16xf32"}
NO_INNER = {
    "a": f"left 16x64xf8E4M3FN, valid=1x0{NZ}",
    "x": "scaling 1x2xf8E4M3FN, valid=1x0, slayout=row_major, fractal=32",
}

CASES: list[Case] = [
    ("REXP-AS-01", "a5", ADD, EXPANDED, {"a": EXPANDED["b"], "b": EXPANDED["a"]}),
    ("REXP-AS-01", "a2a3", ADD, EXPANDED, {"b": "vec 16x64xf32"}),
    ("REXP-AS-02", "a5", MAX, EXPANDED, {"b": f"vec 8x1xf32{DN}"}),
    ("REXP-AS-02", "a5", MAX, EXPANDED, {"d": "vec 16x64xf32, valid=0x64"}),
    ("REXP-AS-02", "a5", MAX, {**EXPANDED, "d": "vec 16x64xf32, valid=0x0"}, {"d": "vec 16x64xf32, valid=8x8"}),
    ("REXP-AS-03", "a2a3", MAX_TMP, {**EXPANDED, "t": "vec 1x128xf32"}, {"t": "vec 1x64xf32"}),
    ("REXP-AS-03", "a2a3", MAX_TMP, {**EXPANDED, "t": "vec 1x128xf32"}, {"b": "vec 16x8xf32"}),
    ("REXP-AS-03", "a2a3", MAX_TMP, {**EXPANDED, "t": "vec 1x128xf32"}, {"t": "mat 1x128xf32"}),
    ("REXP-AS-04", "a5", DIV, EXPANDED, {"stmt": DIV + PRECISE}),
    ("EW-1", "a5", COPY, {"a": f"{COPIED['a']}, valid=0x0", "d": "vec 16x64xf32, valid=0x0"}, {"d": COPIED["d"]}),
    ("RRED-AS-01", "a2a3", ROWSUM, {**ROWS, "t": "vec 1x8xf32"}, {"t": "vec 1x16xf16"}),
    ("RRED-AS-01", "a2a3", ROWSUM, {**ROWS, "t": "vec 1x8xf32"}, {"t": "mat 1x8xf32"}),
    ("CRED-COM-03", "a5", COLSUM, SUMMED, {"t": "vec 8x32xf32"}),
    ("CRED-COM-03", "a2a3", COLSUM, SUMMED, {"t": "vec 4x64xf32"}),
    ("CRED-COM-03", "a2a3", COLSUM, SUMMED, {"a": "vec 16x64xf32, valid=?x64"}),
    ("ARG-COM-04", "a2a3", ROWARG, ROW_INDEX, {"t": "vec 16x16xf16"}),
    ("ARG-COM-04", "a2a3", ROWARG, {**ROW_INDEX, "t": "vec 16x8xf32"}, {"t": "vec 8x8xf32"}),
    ("ARG-COM-04", "a2a3", ROWARG, {**ROW_INDEX, "t": f"vec 32x1xf32{DN}"}, {"t": f"vec 16x1xf32{DN}"}),
    ("ARG-COM-04", "a2a3", COLARG, {**COLUMN_INDEX, "t": "vec 1x16xf32"}, {"t": "vec 1x8xf32"}),
    ("ARG-COM-04", "a5", COLARG, {**COLUMN_INDEX, "t": "vec 1x8xf32, valid=1x1"}, {"t": "mat 1x8xf32"}),
    ("MM-1", "a5", MATMUL, {**PRODUCT, "b": f"right 64x64xf16, valid=64x16{ZN}"}, {"b": f"right 64x64xf16{ZN}"}),
    ("MX-ACC", "a5", GEMV_MX_ACC, ADDED, {"c": f"acc 16x16xf32, valid=1x8{NZ}, fractal=1024"}),
    ("MX-BIAS", "a5", GEMV_MX_BIAS, BIASED, {"s": "bias 1x32xf32, valid=1x16"}),
    ("MX-BIAS", "a5", GEMV_MX_BIAS, BIASED, {"s": "bias 1x16xf32, valid=1x8"}),
    ("MM-1", "a5", GEMV_MX, ROW_MX, NO_INNER),
    ("EW-AS-04", "a2a3", REM, {**FOUR, "t": "vec 2x64xf32"}, {"t": "vec 1x64xf32"}),
    ("EW-AS-04", "a5", REM, {**FOUR, "t": "vec 1x8xf32, valid=1x1"}, {"t": f"vec 16x64xf32{DN}"}),
    ("EW-AS-04", "a2a3", REMS, {**FOUR, "t": "vec 1x64xf32"}, {"t": "vec 1x64xi32"}),
    ("EW-AS-05", "a2a3", XOR, WORDS_16, {"t": "vec 16x64xi16, valid=8x64"}),
    ("EW-AS-05", "a2a3", XORS, {**WORDS_16, "t": "vec 16x64xi16, valid=8x64"}, {"t": "vec 8x64xi16"}),
    ("EW-AS-06", "a5", RSQRT, FOUR, {"stmt": RSQRT + PRECISE.replace("div", "rsqrt")}),
    ("EW-AS-11", "a5", POW, FOUR, {"t": "vec 16x64xf32, valid=8x64"}),
    ("EW-AS-11", "a5", POW, FOUR, dict.fromkeys("abtd", "vec 16x64xi32")),
    ("EW-AS-11", "a2a3", PLAIN_POW, FOUR, dict.fromkeys("abd", "vec 16x64xf16")),
    ("EW-AS-11", "a2a3", PLAIN_POW, FOUR, {"stmt": PLAIN_POW + PRECISE.replace("div", "pow")}),
    ("EW-AS-12", "a2a3", SELECT, CHOSEN, {"t": "vec 1x16xf16"}),
    ("EW-AS-12", "a5", SELECT, {**CHOSEN, "t": "vec 1x16xf16"}, {"t": "mat 1x16xf16"}),
    ("EW-AS-13", "a2a3", SELECT_SCALAR, {**CHOSEN, "t": "vec 1x64xf32"}, {"t": "vec 1x32xf32"}),
    ("TGATHER-AS-02", "a2a3", GATHER, TAKEN, {"t": "vec 1x32xi32, valid=1x16"}),
    ("TGATHER-AS-02", "a2a3", GATHER, TAKEN, {"stmt": GATHER_A5}),
    ("TGATHER-AS-02", "a5", GATHER_A5, TAKEN, {"x": "vec 1x32xi8"}),
    ("TGATHER-AS-02", "a5", GATHER_A5, TAKEN, {"s": "vec 1x64xi64", "d": "vec 1x32xi64"}),
    ("TGATHER-AS-03", "a2a3", BY_MASK, MASKED, {"d": "vec 4x32xf16, valid=4x16"}),
    ("TGATHER-AS-03", "a5", BY_MASK, MASKED, {"s": "vec 4x32xf16"}),
    ("TGATHER-AS-03", "a2a3", BY_MASK, MASKED, {"s": "vec 4x64xi8", "d": "vec 4x32xi8"}),
    ("TGATHER-AS-01", "a2a3", COMPARE, FOUND, {"c": "vec 1x32xui32"}),
    ("TGATHERB-AS-01", "a5", GATHER_BLOCKS, BLOCKS, {"s": "vec 4x32xi64", "d": "vec 4x32xi64"}),
    ("TSCATTER-AS-01", "a2a3", SCATTER, PLACED, {"x": "vec 4x32xi32"}),
    ("TSCATTER-AS-01", "a5", SCATTER, PLACED, {"x": "vec 4x32xi16, valid=2x32"}),
    ("HIST-AS-01", "a5", HISTOGRAM, COUNTED, {"stmt": HISTOGRAM.replace("{isMSB", "{byte = 1 : i32, isMSB")}),
    ("HIST-AS-01", "a5", HISTOGRAM, COUNTED, {"stmt": HISTOGRAM.replace("isMSB = false", "byte = 2 : i32")}),
    ("HIST-AS-01", "a5", HISTOGRAM, COUNTED, {"d": "vec 8x128xui32"}),
    ("HIST-AS-01", "a5", HISTOGRAM, COUNTED, {"i8": "vec 8x32xui8"}),
    ("MS-1", "a5", MERGE, {**MERGED, "t": "vec 1x256xf32"}, {"t": "vec 1x256xf16"}),
    ("MS-1", "a5", MERGE, {**MERGED, "d": "vec 1x64xf32"}, {"t": "vec 1x64xf32"}),
    ("SORT-AS-01", "a2a3", SORT, SORTED, {"t": "vec 1x32xf32"}),
    ("SORT-AS-01", "a5", SORT, {**SORTED, "t": "vec 1x32xf32"}, {"x": "vec 1x64xi16"}),
    ("TRANS-AS-01", "a2a3", TRANSPOSE, TURNED, {"t": "vec 8x16xf32"}),
    ("TRANS-AS-01", "a5", TRANSPOSE, TURNED, {"t": "vec 16x16xi32"}),
    ("CI-AS-01", "a2a3", COUNT, NUMBERED, {"t": "vec 1x64xi32"}),
    ("CI-AS-01", "a2a3", COUNT, NUMBERED, {"t": "vec 1x256xi16"}),
    ("CV-2", "a5", CVT, {**CAST, "d": "vec 16x32xf8E4M3FN, valid=16x32", "a": "vec 16x32xf32"}, {"a": "vec 16x32xf16"}),
    ("CV-2", "a2a3", CVT, CAST, {"a": "vec 16x32xf32", "d": "vec 16x32xf8E4M3FN"}),
    ("CV-1", "a5", CVT, {"a": "vec 16x64xbf16", "d": "vec 16x32x!pto.f4E1M2x2"}, {"d": "vec 16x64x!pto.f4E1M2x2"}),
    ("CV-3", "a2a3", CVT_TMP, NARROWED, {"t": "vec 1x8xf32"}),
    ("CV-3", "a5", CVT_TMP, {**NARROWED, "t": "vec 1x8xf32"}, {"t": f"vec 8x1xf32{DN}"}),
    ("TQ-2", "a2a3", QUANT, WORDS, {"p": "vec 16x8xf32, valid=16x1"}),
    ("TQ-2", "a2a3", QUANT_TMP, WITH_TMP, {"t": "vec 8x32xf32"}),
    ("TQ-2", "a5", QUANT, WORDS, {"d": "vec 16x32xi8, valid=8x32"}),
    ("PRINT-AS-01", "a5", PRINT, ONE_TILE, {"a": "mat 16x16xf32"}),
    ("PRINT-AS-01", "a5", PRINT, ONE_TILE, {"a": "vec 16x16xbf16"}),
    ("FP-1", "a5", FILL, dict.fromkeys("sd", "mat 16x16xf32, pad=1"), {"s": "mat 16x16xf32, valid=8x16, pad=1"}),
    ("FP-1", "a2a3", FILL, dict.fromkeys("sd", "mat 16x16xf32, pad=1"), {"d": "mat 32x16xf32, pad=1"}),
    ("FP-1", "a5", FILL, dict.fromkeys("sd", "vec 16x16xf32, pad=1"), {"stmt": FILL + ' {mode = "expand"}'}),
]  # fmt: skip

NAMES = [f"{case[0]}-{i}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize(("rule", "arch", "statement", "good", "bad"), CASES, ids=NAMES)
def test_rule(rule: str, arch: str, statement: str, good: dict[str, str], bad: dict[str, str]) -> None:
    assert [str(d) for d in check(program(statement, good), arch)] == []
    tiles = {**good, **bad}
    found = check(program(tiles.pop("stmt", statement), tiles), arch)
    assert (rule, LINE) in {(d.rule, d.location.line) for d in found}, [str(d) for d in found]
    assert CATALOGUE[rule].scope is Scope.ASSEMBLER


def test_a_reduction_into_an_empty_tile_is_nothing_to_do() -> None:
    empty = {"a": "vec 16x16xf32, valid=0x0", "t": "vec 16x16xf32", "d": "vec 16x8xf32, valid=0x0"}
    assert [str(d) for d in check(program(ROWSUM, empty), "a5")] == []
    assert [str(d) for d in check(program(COLMAX, {**empty, "d": "vec 1x16xf32, valid=0x0"}), "a5")] == []
    half = {**empty, "d": "vec 16x8xf32, valid=0x1"}
    assert {d.rule for d in check(program(ROWSUM, half), "a5")} == {"RR-1"}


def test_every_rule_with_its_function_has_a_case() -> None:
    here = "REXP-AS RRED-AS CRED-COM-03 ARG-COM-04 MX- EW-AS-04 EW-AS-05 EW-AS-06 EW-AS-1 TGATHER- TGATHERB- TSCATTER- "
    families = tuple((here + "HIST-AS SORT-AS TRANS-AS CI-AS CV- TQ- PRINT-AS").split())
    known = {i for i, r in CATALOGUE.items() if i.startswith(families) and r.source.startswith("PTOAS 2026-08 PTO.cpp")}
    assert known <= {case[0] for case in (*CASES, *COMPUTE)}
