"""TCVT, and sums and differences that are converted on their way (compute-elementwise 3.3, 4.7, 8)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import need
from ptokit.targets import A2A3, A5
from ptokit.types.dtypes import DTYPES, HALVES, PACKED, DType, f16, f32, i32, int4  # noqa: F401
from ptokit.types.enums import RoundMode, SaturationMode
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import Message, overlap
from ..checks.tiles import assembler_rule, small, vec_rows
from ..meaning.expressions import OWN, Axis, Code, Const, Convert, Expr, Index, Reinterpret, Scalar, apply
from ..meaning.primitives import INTEGRAL
from ..meaning.words import Lane, Write, lane
from ..numerics.unary import CVT_PAIRS, Conversion, Pair, Rounding, conversion, whole
from ..operands import NONE, F, types, types_of
from ..scratch import EW_10_APART_A3, EW_11_SUMS, of_wraps
from ..site import Site, known
from ..table import LEVEL2, Attr, Instr, TextForm, Together, dst, scalar, src, tmp
from .vector_unit import COMMON, EW_06, EW_07, SRC, SRC0, SRC1, computed, relu, vector

# What the reference assembler refuses of tcvt.


_text_rule = partial(assembler_rule, source="PTOAS 2026-08 PTO.cpp TCvtOp")
_PAIRS_OF_4 = frozenset(HALVES.values())
_BYTES = frozenset(DTYPES[n] for n in ("e4m3", "e5m2", "hif8"))
_SMALL = _PAIRS_OF_4 | _BYTES | {DTYPES["e8m0"], PACKED["hif8x2"], PACKED["bf16x2"]}
_FROM = {"f32": _BYTES, "f16": frozenset([DTYPES["hif8"]]), "bf16": _PAIRS_OF_4}
"""Small floats that a5 makes of each wider type; it goes back to f32 and bf16."""


@_text_rule(
    "CV-1",
    "pto.tcvt ins(%a : !pto.tile_buf<vec, {16x64xf32|16x128xf32}, valid=16x64>) "
    "outs(%b : !pto.tile_buf<vec, 16x64xf16>)",
)
def CV_1(o: Site) -> Message:
    """tcvt: equal shapes, and valid regions where the types fix them; a pair of 4-bit floats counts as two numbers."""
    for what in ("rows", "cols", "valid_row", "valid_col"):
        x, y = getattr(o.src.spec, what), getattr(o.dst.spec, what)
        if x != y and DYNAMIC not in (x, y):
            return f"{o:src} has {what} = {x}, {o:dst} {y}"
    return None


CV_2 = _text_rule(
    "CV-2",
    "%a = pto.alloc_tile : !pto.tile_buf<vec, {16x32xf32|16x32xf16}>\n"
    "pto.tcvt ins(%a {rmode = #pto<round_mode RINT>} : !pto.tile_buf<vec, {16x32xf32|16x32xf16}>) "
    "outs(%b : !pto.tile_buf<vec, 16x32xf8E4M3FN>)",
    covered_by=("TCVT-01",),
)(
    "tcvt of 4- and 8-bit floats exists on a5: f32 to and from those of 8 bits, f16 to hif8, bf16 to and from "
    "pairs of 4 bits.",
    "not target.is_a(A2A3) and _known_pair(src.dtype, dst.dtype) if src.dtype in _SMALL or dst.dtype in _SMALL",
    "{src.dtype} to {dst.dtype}",
)


def _known_pair(s: DType, d: DType) -> bool:
    if s in _SMALL:
        return d.name == ("f32" if s in _BYTES else "bf16" if s in _PAIRS_OF_4 else "")
    return d in _FROM.get(s.name, ())


@_text_rule(
    "CV-3",
    "pto.tcvt ins(%a, %b {rmode = #pto<round_mode RINT>} : !pto.tile_buf<vec, 16x32xf32, valid=13x21, "
    "blayout=col_major>, !pto.tile_buf<vec, 16x32xf32, valid=13x21, blayout={row_major|col_major}>) "
    "outs(%c : !pto.tile_buf<vec, 16x32xf32, valid=13x21>)",
    covered_by=("TCVT-A3-01",),
)
def CV_3(o: Site) -> Message:
    """tcvt: tmp is a row-major vec tile. On a2a3 it has room for what conversions of floats to narrower integers
    without saturation keep there.
    """
    wrong = vec_rows(o, "tmp")
    narrows = (o.src.dtype.name, o.dst.dtype.bits) in (("f32", 16), ("f16", 16), ("f16", 8)) and o.dst.dtype.is_integer
    if wrong or o.tmp is None or not o.target.is_a(A2A3) or not narrows or o.sat_mode is SaturationMode.ON:
        return wrong
    rows, cols = o.dst.vr, o.dst.vc
    if not known(rows, cols):
        return f"{o:dst} has an open valid region; with {o:tmp} the assembler wants it stated"
    if o.src.dtype.name == "f32":
        head, rest = 256 * min(cols // 64, 255), cols % 64
        tail = 32 * ((min(rows, 255) - 1) * (o.src.cols // 8) + -(-rest // 8)) if rest else 0
        return small(o, "tmp", max(head, tail) if rows and cols else 0)
    width = min(cols, 64)
    halves = 32 * -(-width // 8)
    bytes_ = max(halves, 128 + 32 * -(-width // 16))
    return small(o, "tmp", (bytes_ if o.dst.dtype.bits == 8 else halves) if cols else 0)


# TCVT: conversion between element types (compute-elementwise 8; values in `numerics.unary`).


SOURCE = "compute-elementwise 8.9"


_rule = family(SOURCE)


def _pair(o: Site) -> Pair | None:
    return o.target.entry(CVT_PAIRS).get((whole(o.src.dtype), whole(o.dst.dtype)))


@_rule("TCVT-01", "TCVT(Tile(Vec, bf16, 16, 64), Tile(Vec, {f32|f16}, 16, 64))", evidence="device", on="a2a3")
def TCVT_01(o: Site) -> Message:
    """The target converts between the two types."""
    if _pair(o) is not None:
        return None
    found = [d.name for s, d in o.target.entry(CVT_PAIRS) if s is whole(o.src.dtype)]
    to = f"{o.src.dtype} converts to {' '.join(found)}" if found else f"{o.src.dtype} converts to nothing"
    return f"TCVT has no {o.src.dtype} to {o.dst.dtype} form on {o.target.name}; {to}"


TCVT_02 = _rule("TCVT-02", "TCVT(Tile(Vec, f16, {16|24}, 64), Tile(Vec, f32, 16, 64))", evidence="device document")(
    "src and dst have equal valid regions.",
    "dst.vr <= src.rows and dst.vc <= src.cols",
    "{src} has {src.rows}x{src.cols} elements, {dst} has valid region {dst.vr}x{dst.vc}",
    need(
        "src.vr == dst.vr and src.vc == dst.vc",
        "{src} has valid region {src.vr}x{src.vc}, {dst} has {dst.vr}x{dst.vc}",
        doubt="True",
    ),
)


TCVT_03 = _rule(
    "TCVT-03",
    "TCVT(Tile(Vec, f16, 16, 64), Tile(Vec, f32, 16, 64{|, ColMajor, slayout=SLayout.RowMajor}))",
    evidence="device",
)(
    "src and dst are Vec, row-major (devices) and without boxes.",
    "t.loc is Vec and not t.boxed for t in data",
    "{t} is a {t.layout_name} {t.loc.text} tile; TCVT works on vec tiles without boxes",
    "t.row_major for t in data if target.is_device",
    "{t} has blayout={o.word(BLayout.ColMajor)}; TCVT needs {o.word(BLayout.RowMajor)} on {target.name}",
)


TCVT_04 = _rule(
    "TCVT-04", "TCVT(Tile(Vec, {f16|i32}, 16, 64), Tile(Vec, f32, 16, 64), rmode=RoundMode.ODD)", evidence="legal"
)(
    "CAST_ODD is used for f32 to f16 only.",
    "pair = _pair(o)",
    "pair.odd if rmode is RoundMode.ODD and pair is not None",
    "CAST_ODD exists for f32 to f16 only; {src.dtype} to {dst.dtype} takes its default rounding",
)


TCVT_05 = _rule(
    "TCVT-05",
    "TCVT(Tile(Vec, {i16|i32}, 16, 64), Tile(Vec, {f32|bf16}, 16, 64), sat_mode=SaturationMode.OFF)",
    evidence="document",
    on="a2a3",
)(
    "An explicit saturation mode belongs to a pair that honours it.",
    "pair = _pair(o)",
    "pair.honours_sat or tmp is not None and target.is_a(A2A3) if sat_mode is not None and pair is not None",
    "{src.dtype} to {dst.dtype} on {target.name} ignores the saturation mode {sat_mode.name}",
)


@_rule(
    "TCVT-06", "TCVT(Tile(Vec, {e4m3|hif8}, 16, 64), Tile(Vec, f32, 16, 64), rmode=RoundMode.RINT)", evidence="legal"
)
def TCVT_06(o: Site) -> Message:
    """FP8 and HiF8 destinations have a fixed rounding."""
    pair = _pair(o)
    if pair is None or pair.rounding not in (Rounding.EVEN, Rounding.AWAY) or o.dst.dtype.size != 1:
        return None
    fixed = RoundMode.ROUND if pair.rounding is Rounding.AWAY else RoundMode.RINT
    if o.rmode in (fixed, RoundMode.CAST_RINT, RoundMode.NONE):  # the last two are what is said by default
        return None
    return f"{o.src.dtype} to {o.dst.dtype} always rounds as {fixed.name}; {o.rmode.name} is ignored"


def _tmp_bytes(o: Site) -> int | None:
    """Least size of tmp in bytes (8.8); None where the pair does not use it."""
    k, rows, pitch = o.dst.vc, o.dst.vr, o.src.cols
    head = 32 * -(-min(k, 64) // 8)
    match (o.src.dtype.name, o.dst.dtype.name):
        case ("f32", "i16"):
            tail = 32 * ((min(rows, 255) - 1) * (pitch // 8) + -(-(k % 64) // 8)) if k % 64 else 0
            return max(256 * min(k // 64, 255), tail)
        case ("f16", "i16"):
            return head
        case ("f16", "i8"):
            return max(head, 128 + 32 * -(-min(k, 64) // 16))
    return None


@_rule(
    "TCVT-A3-01", "TCVT(Tile(Vec, i16, 16, 64), Tile(Vec, f16, 16, 64), Tile(Vec, u8, 1, {256|224}))", evidence="device"
)
def TCVT_A3_01(o: Site) -> Message:
    """tmp has the size the conversion uses and overlaps neither tile."""
    if not o.has("tmp"):
        return None
    for name, t in o.data_tiles:
        if overlap(o.tmp, t, whole=True):
            return f"{o:tmp} overlaps {o:{name}}"
    if o.sat_mode is SaturationMode.ON or not known(o.dst.vr, o.dst.vc):
        return None
    need = _tmp_bytes(o)
    if need is not None and o.tmp.spec.nbytes < need:
        return f"{o:tmp} has {o.tmp.spec.nbytes} bytes; {o.src.dtype} to {o.dst.dtype} needs {need}"
    return None


TCVT_A3_02 = _rule(
    "TCVT-A3-02", "TCVT(Tile(Vec, int4, 4, {256|192}), Tile(Vec, f16, 4, {256|192}))", evidence="device"
)(
    "int4 conversions have at most 128 columns or a multiple of 128.",
    "dst.vc <= 128 or dst.vc % 128 == 0 if int4 in (whole(src.dtype), whole(dst.dtype))",
    "{dst} has {dst.vc} valid columns; int4 conversions need at most 128 or a multiple of 128",
)


TCVT_A5_01 = _rule(
    "TCVT-A5-01",
    "TCVT(Tile(Vec, e2m1, 16, 64), Tile(Vec, bf16, 16, {64|63, ColMajor}), RoundMode.RINT)",
    evidence="device",
)(
    "FP4 tiles have even columns.",
    "t.cols % 2 == 0 for t in data if src.dtype.packed or dst.dtype.packed",
    "{t} has {t.cols} columns; FP4 conversions need an even count",
)


TCVT_A5_02 = _rule(
    "TCVT-A5-02",
    "TCVT(Tile(Vec, e2m1, 4, 64, valid_col={62|61}), Tile(Vec, bf16, 4, 64, valid_col={62|61}))",
    evidence="legal",
)(
    "FP4 destinations have even valid columns.",
    "dst.vc % 2 == 0 if dst.dtype.packed",
    "{dst} has {dst.vc} valid columns; the last element of each row is lost",
)


@_rule("TCVT-INP-01", "TCVT(Tile(Vec, f32, 16, 64, addr={4096|0}), Tile(Vec, f16, 16, 64, addr=0))", evidence="device")
def TCVT_INP_01(o: Site) -> Message:
    """What TCVT writes over its own source it has read: elements do not get wider, and dst and its rows not ahead."""
    a, b = o.src, o.dst
    if not overlap(a, b):
        return None
    if b.dtype.bits > a.dtype.bits:
        return (
            f"{o:src} and {o:dst} overlap, and {b.dtype} is wider than {a.dtype}: what is still to be read is "
            "overwritten"
        )
    if b.addr > a.addr or b.cols * b.dtype.bits > a.cols * a.dtype.bits:
        return f"{o:src} and {o:dst} overlap, and {o:dst} is ahead of {o:src}: what is still to be read is overwritten"
    return None


TCVT_CPU_01 = _rule(
    "TCVT-CPU-01",
    "TCVT(Tile(Vec, f16, 16, 64), Tile(Vec, f32, 16, 64){|, Tile(Vec, f32, 16, 64)})",
    evidence="static_assert",
)(
    "TCVT on cpu has no form with tmp.",
    "tmp is None",
    "TCVT on cpu has no {tmp} operand",
)


RULES = (
    TCVT_01,
    TCVT_02,
    TCVT_03,
    TCVT_04,
    TCVT_05,
    TCVT_06,
    TCVT_A3_01,
    TCVT_A3_02,
    TCVT_A5_01,
    TCVT_A5_02,
    TCVT_CPU_01,
    TCVT_INP_01,
    CV_1,
    CV_2,
    CV_3,
)


def _meaning(o: Site) -> Lane | None:
    if _pair(o) is None:
        return None
    how = conversion(o.src.dtype, o.dst.dtype, mode=o.rmode, sat=o.sat_mode, target=o.target, tmp=o.has("tmp"))
    if o.src.dtype is o.dst.dtype:
        return lane(apply(INTEGRAL[how.rounding], SRC))
    value: Expr = SRC
    if how.through is not None:
        value = Convert(value, how.through, how.rounding, True)
    whole = Write("dst", Convert(value, o.dst.dtype, how.rounding, how.saturate))
    if not o.dst.dtype.packed or not o.target.is_a(A5):
        return Lane((whole,))
    if not known(o.dst.vc):
        return None
    # the kernel stores whole bytes only (8.7)
    last = Write("dst", Code(0, "dst"), Index(OWN.row, Axis(j=1, plus=o.dst.vc - 1)), cols=1)
    return Lane((whole, last)) if o.dst.vc % 2 else Lane((whole,))


_ATTRS = (
    Attr("rmode", RoundMode, RoundMode.CAST_RINT, "rmode", "round_mode"),
    Attr("sat_mode", SaturationMode, None, "sat_mode", "saturation_mode"),
)
TCVT = vector(
    "TCVT",
    "dst = src converted to dst's element type",
    (dst(), src(), tmp(optional=True, needed=of_wraps)),
    {},
    _meaning,
    *RULES,
    common=(),
    attrs=_ATTRS,
    form=TextForm("dps-attrs-in"),
    halves=True,
    together=Together(("src", "dst"), CVT_PAIRS),
    source="compute-elementwise 8",
    cpp="TCVT(dst, src, tmp?, rmode, sat_mode?)",
)


# Sums and differences that are clamped at 0 and converted on their way (compute-elementwise 3.3, 4.7).


_NARROWED = {"f32": "f16", "f16": "i8", "i16": "i8"}


def _narrowed(o: Site) -> Message:
    if not o.target.is_device:
        return f"{o.instr.name} has no form on {o.target.name}"
    s, t, d = o.src0.dtype, o.src1.dtype, o.dst.dtype
    if s is t and _NARROWED.get(s.name) == d.name:
        return None
    return f"there is no {d} = {s}, {t} form; sources are f32, f16 or i16, and give f16, i8 or i8"


_RULES = tuple(rule for rule in COMMON if rule.id != "EW-04")
_NARROWS = replace(EW_06, check=_narrowed)


def _clamped(name: str, value: Expr, sign: str) -> Instr:
    """``value``, but at least 0, as the element type of dst: integers saturate, f16 overflows as TCVT has it."""

    def converted(o: Site) -> Expr | None:
        if _narrowed(o) is not None:
            return None
        whole = o.dst.dtype.is_integer
        return Convert(relu(value), "dst", saturate=whole or _overflow(o).saturate)

    return computed(
        name,
        converted,
        (dst(), src("src0"), src("src1")),
        types(F | types_of("i16"), F | types_of("i16"), cpu=NONE),
        _NARROWS,
        EW_07,
        common=_RULES,
        summary=f"dst = max(src0 {sign} src1, 0) as f16 of f32, or i8 of f16 and i16",
        source="compute-elementwise 4.7",
    )


def _overflow(o: Site) -> Conversion:
    return conversion(f32, f16, mode=RoundMode.RINT, sat=None, target=o.target)


TADDRELUCONV = _clamped("TADDRELUCONV", SRC0 + SRC1, "+")
TSUBRELUCONV = _clamped("TSUBRELUCONV", SRC0 - SRC1, "-")

# TADDDEQRELU ----------------------------------------------------------------------------------------------------------

_LEAST, _GREATEST = 2.0**-17, 2.0**17
_SCALE = Scalar("deq_scale", f32)


def _integers(o: Site) -> Message:
    s, t, d = o.src0.dtype, o.src1.dtype, o.dst.dtype
    if (s.name, t.name, d.name) == ("i32", "i32", "f16"):
        return None
    return f"there is no {d} = {s} + {t} form; sources are i32, and give f16"


def _dequantized(o: Site) -> Lane | None:
    """a2a3 computes in its sources and tmp: they are left with the scaled sum, that sum at least 0, and zeros."""
    if _integers(o) is not None:
        return None
    total = Convert(SRC0 + SRC1, f32)
    if not o.target.is_device:
        return Lane((Write("dst", Convert(relu(total * _SCALE), "dst")),))
    scaled = total * Const(_LEAST, total) * _SCALE * Const(_GREATEST, total)
    result = Write("dst", Convert(relu(scaled), "dst", saturate=_overflow(o).saturate))
    if not o.target.is_a(A2A3):
        return Lane((result,))
    left = Write("src0", Reinterpret(scaled, i32)), Write("src1", Reinterpret(relu(scaled), i32))
    return Lane((result, *left, Write("tmp", Reinterpret(Const(0, total), i32))))


TADDDEQRELU = vector(
    "TADDDEQRELU",
    "dst = max((src0 + src1) * deq_scale, 0) as f16, the sum of i32",
    (dst(), src("src0"), src("src1"), scalar("deq_scale", type="f32"), tmp()),
    types(types_of("i32 f16"), types_of("i32 f16"), bf16=False),
    _dequantized,
    replace(EW_06, check=_integers),
    EW_07,
    EW_10_APART_A3,
    EW_11_SUMS,
    common=_RULES,
    form=TextForm(orders={LEVEL2: "src0 src1 deq_scale tmp -> dst"}),
    decision=(
        "On a2a3 the library computes in src0, src1 and tmp; afterwards they hold the bits of f32: the scaled sum, the "
        "larger of it and 0, and zeros. On a5 and cpu they stay, and tmp is not used."
    ),
    source="compute-elementwise 4.7",
)
