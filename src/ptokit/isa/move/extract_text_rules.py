"""What the reference assembler refuses of textract and tinsert (assembly 13.9)."""

from __future__ import annotations

from functools import partial

from ptokit.types.enums import BLayout, SLayout

from ..checks.assembler import assembler_rule
from ..site import ScalarInfo, Site
from .extract_footprint import position
from .move_checks import Message, outside, types_differ
from .move_facts import (
    MX_SCALES,
    Acc,
    Left,
    Mat,
    Right,
    Scaling,
    Vec,
    arrow,
    optional,
    pair,
    relu,
    types,
)

_A3_TYPES = types("i8 u8 f16 bf16 f32")
_A3_CAST = {"f32": types("f16 bf16")}
_A3_QUANTISED = {"f32": types("i8 u8"), "i32": types("i8 u8 f16 i16 u16")}
_INTO_SCALING = {(Mat, area) for area in (Scaling, *MX_SCALES)}  # the assembler has one space for all
_A5_EXTRACTS = {(Mat, Left), (Mat, Right), *_INTO_SCALING, (Vec, Mat), (Vec, Vec), (Acc, Mat), (Acc, Vec)}
_A5_INSERTS = {
    (Acc, Mat): (("Nz",), ("Nz",)),
    (Vec, Mat): (("ND", "Nz"), ("Nz",)),
    (Vec, Vec): (("ND", "Nz"), ("ND", "Nz")),
    (Acc, Vec): (("Nz",), ("ND", "Nz")),
}
"""Layouts of src and dst."""
_A5_QUANTISED = {"f32": types("i8 u8 f16 bf16 f32 e4m3 e5m2 hif8"), "i32": types("i8 u8 f16 bf16")}
_A5_ACC_TYPES = {"f32": types("f16 bf16 f32"), "i32": types("i32")}
_A5_VEC_TYPES = types("i8 u8 i32 u32 f16 bf16 f32 e4m3 e5m2 e8m0 hif8 e2m1x2 e1m2x2 e2m1 e1m2")


_rule = partial(assembler_rule, source="assembly 13.9")


def _indices(o: Site) -> Message:
    for name in ("row", "col"):
        info = o.operands[name]
        if not isinstance(info, ScalarInfo):
            continue
        if info.type not in ("index", ""):
            return f"{o:{name}} has type {info.type}, not index"
        if isinstance(info.value, int) and info.value < 0:
            return f"{o:{name}} is {info.value}"
    return None


@_rule(
    "EX-1",
    "%n = arith.constant {0|60} : index\n"
    "pto.textract ins(%a, %n, %n : !pto.tile_buf<vec, 16x64xf32>, index, index) "
    "outs(%b : !pto.tile_buf<vec, 16x64xf32>)",
    on="a2a3",
)
def EX_1(o: Site) -> Message:
    """textract: indices of type index, dst inside src, equal element types unless src is an accumulator."""
    s, d = o.src, o.dst
    misplaced = _indices(o) or outside(position(o), (d.rows, d.cols), (s.rows, s.cols))
    return misplaced or (types_differ(o) if s.loc is not Acc else None)


def _a2a3_from_acc(o: Site) -> Message:
    """acc to mat, both Nz, dst fractal 512, and types that a cast or a word converts."""
    for name, t in (("src", o.src), ("dst", o.dst)):
        if t.layout_name != "Nz":
            return f"{o:{name}} is blayout={t.blayout.text}, slayout={t.slayout.text}; not col_major, row_major"
    if o.dst.fractal != 512:
        return f"{o:dst} has fractal={o.dst.fractal}, not 512"
    quantised = optional(o, "fp") is not None or optional(o, "quant") is not None
    allowed = (_A3_QUANTISED if quantised else _A3_CAST).get(o.src.dtype.name, frozenset())
    if o.dst.dtype in allowed:
        return None
    wanted = "i32 to i8, f16, i16, f32 to i8" if quantised else "f32 to f16, bf16"
    return f"{o.src.dtype} to {o.dst.dtype} is not {wanted}"


def _plain(o: Site) -> Message:
    if optional(o, "quant") is None and not relu(o):
        return None
    return f"{arrow(o)} with a quantisation word or reluPreMode; they go with acc"


@_rule(
    "EX-2",
    "pto.textract ins(%a, %c0, %c0 : !pto.tile_buf<vec, 11x64xf16>, index, index) "
    "outs(%b : !pto.tile_buf<vec, 6x32xf16>){| {reluPreMode = #pto<relu_pre_mode normal_relu>}}",
    targets=("a2a3",),
)
def EX_2(o: Site) -> Message:
    """textract on a2a3: i8, f16, bf16, f32 from mat to left (Zz) or right (Zn), from acc to mat, from vec to vec."""
    s, d = o.src, o.dst
    if pair(o) == (Acc, Mat):
        return _a2a3_from_acc(o)
    if d.dtype not in _A3_TYPES:
        return f"element type {d.dtype} is not i8, f16, bf16 or f32"
    if pair(o) == (Vec, Vec):
        return _plain(o)
    if pair(o) not in ((Mat, Left), (Mat, Right)):
        return f"{arrow(o)} is not mat to left or right, acc to mat or vec to vec"
    if s.blayout is not BLayout.RowMajor and s.slayout is not SLayout.RowMajor:
        return f"{o:src} is blayout={s.blayout.text}, slayout={s.slayout.text}; one of them must be row_major"
    wanted = "Zz" if d.loc is Left else "Zn"
    return f"{o:dst} has layout {d.layout_name}, a {d.loc.text} tile is {wanted}" if d.layout_name != wanted else None


def _a5_from_acc(o: Site) -> Message:
    quantised = optional(o, "fp") is not None or optional(o, "quant") is not None
    if o.dst.dtype in (_A5_QUANTISED if quantised else _A5_ACC_TYPES).get(o.src.dtype.name, ()):
        return None
    wanted = "f32 to 8 bits, f16, bf16, f32, i32 to i8, f16, bf16" if quantised else "f32 to f16, bf16, f32, i32 to i32"
    return f"{o.src.dtype} to {o.dst.dtype} is not {wanted}"


@_rule(
    "EX-3",
    "pto.textract ins(%a, %c0, %c0 : !pto.tile_buf<vec, 11x64xf16>, index, index) "
    "outs(%b : !pto.tile_buf<vec, 6x32xf16>){| {reluPreMode = #pto<relu_pre_mode normal_relu>}}",
    targets=("a5",),
)
def EX_3(o: Site) -> Message:
    """textract on a5: mat to left (Nz), right (Zn), scaling; vec to mat; vec ND to vec ND; acc to mat Nz, vec ND."""
    s, d = o.src, o.dst
    if pair(o) not in _A5_EXTRACTS:
        return f"{arrow(o)} is not mat to left, right or scaling, nor vec or acc to mat or vec"
    wanted = {Left: "Nz", Right: "Zn"}.get(d.loc)
    if wanted and d.layout_name != wanted:
        return f"{o:dst} has layout {d.layout_name}, a {d.loc.text} tile is {wanted}"
    if pair(o) == (Vec, Vec) and (s.layout_name, d.layout_name) != ("ND", "ND"):
        return f"{s.layout_name} to {d.layout_name} between vec tiles; both must be row_major, none_box"
    if s.loc is Acc:
        into = "Nz" if d.loc is Mat else "ND"
        if (s.layout_name, d.layout_name) != ("Nz", into):
            return f"{s.layout_name} to {d.layout_name}, not Nz to {into}"
        return _a5_from_acc(o)
    return _plain(o)


@_rule(
    "IN-2",
    "pto.tinsert ins(%a, %c0, %c0 : !pto.tile_buf<vec, 4x32xf16>, index, index) "
    "outs(%b : !pto.tile_buf<vec, {6x64xf16|8x64xf32}>)",
    targets=("a2a3",),
)
def IN_2(o: Site) -> Message:
    """tinsert on a2a3: acc to mat, both Nz, dst fractal 512, types that are converted; vec to vec of one type."""
    if pair(o) == (Vec, Vec):
        if o.src.dtype not in _A3_TYPES:
            return f"element type {o.src.dtype} is not i8, f16, bf16 or f32"
        return types_differ(o) or _plain(o)
    return _a2a3_from_acc(o) if pair(o) == (Acc, Mat) else f"{arrow(o)} is not acc to mat or vec to vec"


@_rule(
    "IN-3",
    "pto.tinsert ins(%a, %c0, %c0 : !pto.tile_buf<vec, 4x32xf16>, index, index) "
    "outs(%b : !pto.tile_buf<vec, {6x64xf16|8x64xf32}>)",
    targets=("a5",),
)
def IN_3(o: Site) -> Message:
    """tinsert on a5: acc Nz to mat Nz or vec, vec ND or Nz to mat Nz, vec to vec of one layout; types it converts."""
    layouts = _A5_INSERTS.get(pair(o))
    if layouts is None:
        return f"{arrow(o)} is not acc or vec to mat or vec"
    s, d = o.src, o.dst
    for name, tile, allowed in (("src", s, layouts[0]), ("dst", d, layouts[1])):
        if tile.layout_name not in allowed:
            return f"{o:{name}} has layout {tile.layout_name}; {arrow(o)} takes {' or '.join(allowed)}"
    if s.loc is Acc:
        return _a5_from_acc(o)
    if pair(o) == (Vec, Vec) and s.layout_name != d.layout_name:
        return f"{s.layout_name} to {d.layout_name} between vec tiles"
    if s.dtype not in _A5_VEC_TYPES:
        return f"element type {s.dtype} is not i8, i32, f16, bf16, f32 or an 8-bit float"
    return types_differ(o) or _plain(o)


EXTRACT_TEXT_RULES = (
    EX_1,
    EX_2,
    EX_3,
)
INSERT_TEXT_RULES = (
    _rule(
        "IN-1",
        "%x = arith.constant {0|-16} : index\n"
        "pto.tinsert ins(%a, %c0, %x : !pto.tile_buf<vec, 4x32xf16>, index, index) "
        "outs(%b : !pto.tile_buf<vec, 6x64xf16>)",
        on="a2a3",
    )(
        "tinsert: indices of type index, src's valid region inside dst.",
        _indices,
        lambda o: outside(position(o), (o.src.vr, o.src.vc), (o.dst.rows, o.dst.cols)),
    ),
    IN_2,
    IN_3,
)
