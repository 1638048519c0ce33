"""What the reference assembler refuses of tmov, tmov.fp, textract and tinsert (assembly 13.6, 13.9)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics.rules import need
from ptokit.targets import A5
from ptokit.types.enums import BLayout, SLayout

from ..checks.compiling import sharing
from ..checks.tiles import assembler_rule
from ..site import ScalarInfo, Site, TileInfo
from .checks import (
    MX_SCALES,
    Acc,
    Bias,
    Left,
    Mat,
    Message,
    Right,
    Scaling,
    Vec,
    arrow,
    dual,  # noqa: F401
    optional,
    outside,
    pair,
    relu,
    types,
    types_differ,
)
from .footprint import position

# What the reference assembler refuses of tmov and tmov.fp (assembly 13.6).


_INTO_SCALING = {(Mat, area) for area in (Scaling, *MX_SCALES)}  # the assembler has one space for all
_PAIRS = {(Mat, Left), (Mat, Right), (Mat, Bias), *_INTO_SCALING, (Vec, Vec), (Acc, Mat), (Acc, Vec)}


_rule = partial(assembler_rule, source="assembly 13.6")


MO_2 = _rule(
    "MO-2",
    "pto.tmov ins(%a, %f{|, %q} : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, "
    "slayout=row_major, fractal=1024>, !pto.tile_buf<scaling, 1x16xui64>{|, i64}) outs(%d : "
    "!pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>)",
)(
    "tmov has fp or a scalar, not both.",
    "fp is None or quant is None",
    "{fp} and a scalar are both given",
)


MO_5 = _rule(
    "MO-5",
    "pto.tmov ins(%a : !pto.tile_buf<{acc|vec}, 8x8xf32>) "
    "outs(%b : !pto.tile_buf<vec, 8x8xf32>) {accToVecMode = #pto<acc_to_vec_mode single_mode_vec1>}",
)(
    "accToVecMode goes with acc to vec.",
    "pair(o) == (Acc, Vec) if mode is not None",
    "accToVecMode with a move {arrow(o)}",
)


@_rule(
    "MO-7",
    "%a = pto.alloc_tile : !pto.tile_buf<scaling, 1x32xui64>\n"
    "pto.tmov ins(%b : !pto.tile_buf<{acc|vec}, 32x32xf32, blayout=col_major, slayout=row_major>, %a : "
    "!pto.tile_buf<scaling, 1x32xui64>) outs(%c : !pto.tile_buf<mat, 32x32xf32, blayout=col_major, "
    "slayout=row_major>)",
)
def MO_7(o: Site) -> Message:
    """fp is a scaling tile, for an acc source of 32-bit elements."""
    fp: TileInfo | None = o.fp
    if fp is None or to_zz(o):
        return None
    if fp.loc is not Scaling:
        return f"{o:fp} is a {fp.loc.text} tile, not scaling"
    if o.src.dtype.name not in ("f32", "i32", "u32"):
        return f"{o:src} has element type {o.src.dtype}, not f32 or a 32-bit integer"
    return f"{o:fp} with a {o.src.loc.text} source" if o.src.loc is not Acc else None


def to_zz(o: Site) -> bool:
    """True for the form that re-orders exponents: its third tile is not in scaling."""
    return o.target.is_a(A5) and o.fp is not None and o.fp.loc is not Scaling


@_rule(
    "MO-12",
    "pto.tmov ins(%s, %t : !pto.tile_buf<vec, 16x32xui8, valid=16x32>, !pto.tile_buf<vec, "
    "{1x96xui8|1x64xui8}>) outs(%d : !pto.tile_buf<vec, 16x32xui8, valid=16x32, slayout=row_major>)",
    source="PTOAS 2026-08 PTO.cpp TMovOp",
)
def MO_12(o: Site) -> Message:
    """grpAxis goes with a third tile that is not in scaling: three vec tiles of ui8, hif8 or f8E8M0, ND to Zz, of
    sizes that the library re-orders.
    """
    third: TileInfo | None = o.fp if to_zz(o) else optional(o, "tmp")
    if third is None:
        return "grpAxis is for exponents that are put into Zz order" if o.attrs.get("grp_axis") is not None else None
    s, d = o.src, o.dst
    if {s.loc, d.loc, third.loc} != {Vec} or not s.dtype is d.dtype is third.dtype:
        return f"{s.loc.text} {s.dtype}, {third.loc.text} {third.dtype} to {d.loc.text} {d.dtype}; one type, all in vec"
    if s.dtype.name not in ("u8", "hif8", "e8m0"):
        return f"the tiles hold {s.dtype}, not ui8, hif8 or f8E8M0"
    if (s.layout_name, d.layout_name) != ("ND", "Zz"):
        return f"{s.layout_name} to {d.layout_name}, not ND to Zz"
    if o.quant is not None or o.mode is not None or relu(o):
        return "exponents take no scalar, accToVecMode or reluPreMode"
    if any(a is b for a, b in ((s, d), (s, third), (d, third))):
        return "two of the three tiles are one"
    if s.spec.dynamic or d.spec.dynamic:
        return f"the type of {o:src} or {o:dst} leaves valid sizes open"
    return _by_columns(o, s, d) if o.grp_axis == 0 else _by_rows(o, s, d, third)


def _region(t: TileInfo) -> tuple[int, int]:
    return t.spec.valid_row, t.spec.valid_col


def _by_rows(o: Site, s: TileInfo, d: TileInfo, third: TileInfo) -> Message:
    """Exponents of groups along rows: rows are filled up to 16, in src, too."""
    (srows, scols), (rows, cols) = _region(s), _region(d)
    if srows * scols != rows * cols:
        return f"{o:src} has {srows * scols} exponents, {o:dst} {rows * cols}"
    if cols % 2:
        return f"{o:dst} has {cols} valid columns, an odd number"
    if srows != 1 and s.cols != scols:
        return f"{o:src} has {s.cols} columns, {scols} of them valid: its exponents do not lie one after the other"
    blocks = -(-rows // 16)
    for name, t, needed in (
        ("src", s, 16 * blocks * cols),
        ("dst", d, 16 * blocks * cols),
        ("tmp", third, 64 + blocks * cols),
    ):
        if t.spec.nbytes < needed:
            return f"{o:{name}} has {t.spec.nbytes} bytes, not {needed}"
    return None


def _by_columns(o: Site, s: TileInfo, d: TileInfo) -> Message:
    """Exponents of groups along columns."""
    (rows, cols), (drows, dcols) = _region(s), _region(d)
    if rows * cols != drows * dcols:
        return f"{o:src} has {rows * cols} exponents, {o:dst} {drows * dcols}"
    if rows < 2 or rows % 2:
        return f"{o:src} has {rows} valid rows, not an even number from 2"
    if cols % 16 or s.cols != cols:
        return f"{o:src} has {s.cols} columns, {cols} of them valid, which are not all of them and whole blocks of 16"
    if min(s.spec.nbytes, d.spec.nbytes) < rows * cols:
        return f"{o:src} has {s.spec.nbytes} bytes and {o:dst} {d.spec.nbytes}, not {rows * cols}"
    return None


def _fractal(o: Site) -> Message:
    """acc to mat on a2a3: dst has fractal 512."""
    if pair(o) == (Acc, Mat) and o.dst.fractal != 512:
        return f"{o:dst} has fractal={o.dst.fractal}, not 512"
    return None


ASSEMBLER_RULES = (
    MO_2,
    _rule(
        "MO-3",
        "pto.tmov ins(%a : !pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>) "
        "outs(%d : !pto.tile_buf<left, {32|16}x32xf16, blayout=col_major, slayout=row_major>)",
    )(
        "tmov from mat, on a2a3 from anywhere, keeps the shape.",
        "(src.rows, src.cols) == (dst.rows, dst.cols) if src.loc is Mat or target.is_a(A2A3)",
        "{src} is {src.rows}x{src.cols}, {dst} is {dst.rows}x{dst.cols}",
    ),
    _rule(
        "MO-4",
        "pto.tmov ins(%a : !pto.tile_buf<{vec|left}, 8x16xf16>) outs(%b : !pto.tile_buf<vec, 8x16xf16>)",
        on="a2a3",
    )(
        "tmov goes mat to left, right, bias, scaling; vec to vec; acc to mat, vec; on a5 also vec to mat.",
        "target.is_a(A5) and pair(o) == (Vec, Mat) if pair(o) not in _PAIRS",
        "the assembler does not move {arrow(o)}",
    ),
    MO_5,
    _rule(
        "MO-6",
        """
            %c0_i64 = arith.constant 0 : i64
            pto.tmov ins(%a : !pto.tile_buf<{acc|vec}, 8x32xi8>, %c0_i64 : i64) outs(%b : !pto.tile_buf<vec, 8x32xi8>)
        """,
        on="a2a3",
    )(
        "reluPreMode and a scalar go with an acc source.",
        "not relu(o) and quant is None if src.loc is not Acc",
        "{'reluPreMode' if relu(o) else 'a scalar'} with a {src.loc.text} source",
    ),
    MO_7,
    _rule(
        "MO-8",
        "%a = pto.alloc_tile : !pto.tile_buf<scaling, 1x32xui64>\n"
        "pto.tmov ins(%b : !pto.tile_buf<acc, 32x32xi32, blayout=col_major, slayout=row_major, fractal=1024>, %a "
        ": !pto.tile_buf<scaling, 1x32xui64>) outs(%c : !pto.tile_buf<vec, 32x32xi8>) {accToVecMode = "
        "#pto<acc_to_vec_mode {single_mode_vec0|dual_mode_split_m}>}",
        on="a2a3",
    )(
        "fp and a scalar go with single modes.",
        "fp is None and quant is None if dual(o)",
        "{mode.text} together with {f'{o:fp}' if fp is not None else 'a scalar'}",
    ),
    _rule(
        "MO-9",
        "pto.tmov ins(%a : !pto.tile_buf<acc, 32x32xf32, slayout=row_major, fractal=1024>) "
        "outs(%b : !pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>){| {reluPreMode = "
        "#pto<relu_pre_mode normal_relu>}}",
        on="a2a3",
    )(
        "An acc source with fp or ReLU is col_major, row_major.",
        "src.layout_name == 'Nz' if src.loc is Acc and (optional(o, 'fp') is not None or relu(o))",
        "{src} is blayout={src.blayout.text}, slayout={src.slayout.text}; not col_major, row_major",
    ),
    MO_12,
    _rule(
        "MO-13",
        """
            !s = !pto.tile_buf<vec, 16x32xui8>
            !t = !pto.tile_buf<vec, 1x96xui8>
            !d = !pto.tile_buf<vec, 16x32xui8, slayout=row_major>
            %a = arith.constant 0 : i64
            %b = arith.constant {512|480} : i64
            %c = arith.constant 1024 : i64
            %s = pto.alloc_tile addr = %a : !s
            %t = pto.alloc_tile addr = %b : !t
            %d = pto.alloc_tile addr = %c : !d
            pto.tmov ins(%s, %t : !s, !t) outs(%d : !d)
        """,
        targets=("a5",),
        source="PTOAS 2026-08 Utils.cpp verifySemanticNoAliasRanges",
    )(
        "The three tiles of a move of exponents lie apart.",
        lambda o: sharing(o, "src", "dst", "fp", "tmp") if to_zz(o) else None,
    ),
    _rule(
        "MO-10",
        "pto.tmov ins(%a : !pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>) "
        "outs(%b : !pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major, fractal={512|1024}>)",
        targets=("a2a3",),
    )(_fractal),
)
ASSEMBLER_FP_RULES = (
    _rule(
        "MF-1",
        "pto.tmov.fp ins(%a, %b : !pto.tile_buf<mat, {32x32xf32|32x32xi8}, blayout=col_major, "
        "slayout=row_major>, !pto.tile_buf<scaling, 1x32xui64>) "
        "outs(%c : !pto.tile_buf<left, 32x32xi8, blayout=col_major, slayout=row_major>)",
    )(
        "tmov.fp: src of 32-bit elements and Nz, fp a scaling tile.",
        "src.dtype.name in ('f32', 'i32', 'u32')",
        "{src} has element type {src.dtype}, not f32 or a 32-bit integer",
        need("fp.loc is Scaling"),
        "src.layout_name == 'Nz'",
        "{src} is blayout={src.blayout.text}, slayout={src.slayout.text}; not col_major, row_major",
    ),
    _rule(
        "MF-2",
        "pto.tmov.fp ins(%a, %b : !pto.tile_buf<acc, 32x32xi32, blayout=col_major, slayout=row_major, "
        "fractal=1024>, !pto.tile_buf<scaling, 1x32xui64>) "
        "outs(%c : !pto.tile_buf<{mat|vec}, 32x32xi8, blayout=col_major, slayout=row_major>)",
        targets=("a2a3",),
    )(
        "tmov.fp on a2a3: acc to mat, dst Nz with fractal 512.",
        "pair(o) == (Acc, Mat)",
        "{arrow(o)} is not acc to mat",
        "dst.layout_name == 'Nz'",
        "{dst} is blayout={dst.blayout.text}, slayout={dst.slayout.text}; not col_major, row_major",
        _fractal,
    ),
)


# What the reference assembler refuses of textract and tinsert (assembly 13.9).


_A3_TYPES = types("i8 u8 f16 bf16 f32")
_A3_CAST = {"f32": types("f16 bf16")}
_A3_QUANTISED = {"f32": types("i8 u8"), "i32": types("i8 u8 f16 i16 u16")}
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


IN_2 = _rule(
    "IN-2",
    "pto.tinsert ins(%a, %c0, %c0 : !pto.tile_buf<vec, 4x32xf16>, index, index) "
    "outs(%b : !pto.tile_buf<vec, {6x64xf16|8x64xf32}>)",
    targets=("a2a3",),
)(
    "tinsert on a2a3: acc to mat, both Nz, dst fractal 512, types that are converted; vec to vec of one type.",
    "pair(o) in ((Vec, Vec), (Acc, Mat))",
    "{arrow(o)} is not acc to mat or vec to vec",
    "if pair(o) == (Vec, Vec)",
    "src.dtype in _A3_TYPES",
    "element type {src.dtype} is not i8, f16, bf16 or f32",
    types_differ,
    _plain,
    "if pair(o) == (Acc, Mat)",
    _a2a3_from_acc,
)


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
