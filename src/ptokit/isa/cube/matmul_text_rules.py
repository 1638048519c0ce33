"""What the reference assembler refuses of matrix products (assembly 13.9)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ptokit.diagnostics import Rule
from ptokit.diagnostics.rules import first
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, HALVES
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.tiles import A5_ONLY, assembler_rule, differ, valid_differs
from ..site import Site, TileInfo

_LIMIT = 4095
_LOCS = {"lhs": TileType.Left, "rhs": TileType.Right, "dst": TileType.Acc, "acc": TileType.Acc}
_FLOATS = frozenset(DTYPES[n] for n in ("f16", "bf16", "f32"))
_BYTE_FLOATS = frozenset(DTYPES[n] for n in ("e4m3", "e5m2", "hif8"))
_FP8, _FP4 = (
    frozenset(DTYPES[n] for n in ("e4m3", "e5m2")),
    frozenset(HALVES.values()),
)
_LAYOUTS = {"lhs": "Nz", "rhs": "Zn", "dst": "Nz"}

Message = str | None


_rule = partial(assembler_rule, source="assembly 13.9")


def _places(o: Site) -> Message:
    for name, loc in _LOCS.items():
        tile = o.operands.get(name)
        if isinstance(tile, TileInfo) and tile.loc is not loc:
            return f"{o:{name}} lies in {tile.loc.text}, not {loc.text}"
    return None


def _logical(t: TileInfo) -> tuple[int, int]:
    """The size a product counts with: the valid region where its type states it, else the tile's."""
    rows, cols = t.spec.valid_row, t.spec.valid_col
    return t.rows if rows == DYNAMIC else rows, t.cols if cols == DYNAMIC else cols


def _product(o: Site, *, least: int = 0) -> Message:
    """``least``: the smallest m, k and n."""
    if wrong := _places(o):
        return wrong
    (m, k), (inner, n), result = map(_logical, (o.lhs, o.rhs, o.dst))
    if (m, k, n) != (result[0], inner, result[1]):
        return f"{o:lhs} is {m}x{k}, {o:rhs} {inner}x{n}, {o:dst} {result[0]}x{result[1]}"
    a, b = o.lhs.spec, o.rhs.spec
    for name, size in (("m", a.valid_row), ("k", a.valid_col), ("n", b.valid_col)):
        if size != DYNAMIC and not least <= size <= _LIMIT:
            return f"{name} is {size}, not {least}..{_LIMIT}"
    return None


def _row_product(o: Site) -> Message:
    """MM-1 of a product with one row, whose shapes the assembler compares on a5 only."""
    return _product(o) if o.target.is_a(A5) else _places(o)


MM_2 = _rule(
    "MM-2",
    """
        !a = !pto.tile_buf<left, 32x64xf16, blayout=col_major, slayout=row_major>
        !b = !pto.tile_buf<right, 64x16xf16{, slayout=col_major|}>
        !c = !pto.tile_buf<acc, 32x16xf32, blayout=col_major, slayout=row_major, fractal=1024>
        pto.tmatmul ins(%a, %b : !a, !b) outs(%c : !c)
    """,
    targets=("a5",),
    covered_by=("MAT-COM-06",),
)(
    "lhs and dst are Nz (col_major, row_major), rhs Zn (row_major, col_major).",
    "t.layout_name == _LAYOUTS[name] for t in (lhs, rhs, dst)",
    "{t} has layout {t.layout_name}, not {_LAYOUTS[name]}",
)


@_rule(
    "MM-3",
    "pto.tmatmul ins(%a, %b : !pto.tile_buf<left, 32x64xf16, slayout=row_major>, !pto.tile_buf<right, "
    "{64x16xf16|64x16xbf16}, slayout=col_major>) "
    "outs(%c : !pto.tile_buf<acc, 32x16xf32, blayout=col_major, slayout=row_major, fractal=1024>)",
    covered_by=("MAT-COM-02",),
    on="a2a3",
)
def MM_3(o: Site) -> Message:
    """dst = lhs x rhs is i32 of 8-bit integers, or f32 of one float type: f16, bf16, f32, on a5 also 8 bits.

    Decision: A warning, and on a5 two kinds of 8-bit floats may meet, since the assembler of August 2026.
    """
    a, b, c = o.lhs.dtype, o.rhs.dtype, o.dst.dtype
    integers = c.is_integer and c.bits == 32 and all(t.is_integer and t.bits == 8 for t in (a, b))
    floats = (a is b and a in _FLOATS) or (o.target.is_a(A5) and ((a is b and a in _BYTE_FLOATS) or {a, b} <= _FP8))
    if integers or (c.name == "f32" and floats):
        return None
    return f"{c} = {a} x {b}"


def _scaled_triple(o: Site) -> Message:
    a, b, c = o.lhs.dtype, o.rhs.dtype, o.dst.dtype
    small = {a, b} <= _FP8 or {a, b} <= _FP4
    return None if c.name == "f32" and small else f"{c} = {a} x {b}; a scaled product is f32 of 8-bit floats"


def _bias(o: Site) -> Message:
    """bias lies in bias, in one row, with dst's element type (f32 in scaled products), row_major on a5."""
    bias: TileInfo = o.bias
    if bias.loc is not TileType.Bias:
        return f"{o:bias} lies in {bias.loc.text}"
    if bias.rows != 1:
        return f"{o:bias} has {bias.rows} rows, not 1"
    if bias.dtype is not o.dst.dtype:
        return f"{o:bias} has element type {bias.dtype}, {o:dst} {o.dst.dtype}"
    return f"{o:bias} has blayout=col_major" if o.target.is_a(A5) and not bias.row_major else None


_scaled_bias = first(_bias, "bias.dtype.name == 'f32'", "{bias} has element type {bias.dtype}, not f32")


@_rule(
    "GV-1",
    "pto.tgemv ins(%a, %b : !pto.tile_buf<left, 16x64xf16, valid=1x64, slayout=row_major>, "
    "!pto.tile_buf<right, 64x16xf16, slayout=col_major>) "
    "outs(%c : !pto.tile_buf<acc, {1x16xf32|16x16xf32}, blayout=col_major, slayout=row_major, fractal=1024>)",
    covered_by=("GEMV-COM-01", "GEMV-COM-02"),
    on="a2a3",
)
def GV_1(o: Site) -> Message:
    """lhs and dst of a row product have one valid row; inner and outer valid sizes agree."""
    a, b, c = ((t.spec.valid_row, t.spec.valid_col) for t in (o.lhs, o.rhs, o.dst))
    for name, rows in (("lhs", a[0]), ("dst", c[0])):
        if rows not in (1, DYNAMIC):
            return f"{o:{name}} has {rows} valid rows, not 1"
    if DYNAMIC not in (a[1], b[0]) and a[1] != b[0]:
        return f"{o:lhs} has valid columns, {o:rhs} rows: {a[1]} and {b[0]}"
    if DYNAMIC not in (b[1], c[1]) and b[1] != c[1]:
        return f"{o:rhs} and {o:dst} have columns: {b[1]} and {c[1]}"
    return None


GROUP = 32
"""Elements that share a scale."""


def _groups(size: int) -> int:
    return DYNAMIC if size == DYNAMIC else -(-size // GROUP)


def _scale_sizes(o: Site, name: str, of: str, left: bool) -> Message:
    """The scales of a tile: a row for each of its rows and a column for each group of its columns; turned, if right."""
    scale, tile = o.operands[name], o.operands[of]
    assert isinstance(scale, TileInfo)
    assert isinstance(tile, TileInfo)
    if scale.loc not in (TileType.Scaling, TileType.ScaleLeft, TileType.ScaleRight):
        return f"{o:{name}} lies in {scale.loc.text}, not scaling"
    whole, valid, s = (tile.spec.rows, tile.spec.cols), (tile.spec.valid_row, tile.spec.valid_col), scale.spec
    product, row = o.has_operand("lhs"), o.instr.name.startswith("TGEMV")
    inner = whole if product and not row else valid  # what the groups are counted in
    if left:
        wanted = (valid[0] if row else whole[0], _groups(inner[1]), valid[0], _groups(valid[1]))
    else:
        wanted = (_groups(inner[0]), whole[1], _groups(valid[0]), valid[1])
    for x, y, what in zip((s.rows, s.cols, s.valid_row, s.valid_col), wanted, ("rows", "columns") * 2):
        if DYNAMIC not in (x, y) and x != y:
            return f"{o:{name}} has {x} {what}, not {y} as {o:{of}} asks for"
    if product and not row:
        side = ("row_major", "col_major")[not left]
        if (s.blayout.text, s.slayout.text, s.fractal) != (side, side, 32):
            return f"{o:{name}} has blayout={s.blayout.text}, slayout={s.slayout.text}, fractal={s.fractal}"
    return None


@_rule(
    "MX-SCALE",
    """
        !a = !pto.tile_buf<left, 16x64xf8E4M3FN, valid=1x64, blayout=col_major, slayout=row_major>
        !b = !pto.tile_buf<right, 64x16xf8E4M3FN, slayout=col_major>
        !c = !pto.tile_buf<acc, 16x16xf32, valid=1x16, blayout=col_major, slayout=row_major, fractal=1024>
        !x = !pto.tile_buf<scaling, {1x2xf8E4M3FN, slayout=row_major, fractal=32|16x64xf8E4M3FN, valid=1x64}>
        !y = !pto.tile_buf<scaling, 2x16xf8E4M3FN, slayout=row_major, fractal=32>
        pto.tgemv.mx ins(%a, %x, %b, %y : !a, !x, !b, !y) outs(%c : !c)
    """,
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp TGetScaleAddrOp, verifyA5MxMatScaleTile, verifyA5MxGemvScaleTile",
)
def MX_SCALE(o: Site) -> Message:
    """Scales lie in scaling: one for each row and 32 columns of a left tile, for 32 rows and each column of a right."""
    if o.has_operand("src"):
        if o.src.loc not in (TileType.Left, TileType.Right):
            return f"{o:src} lies in {o.src.loc.text}, not left or right"
        return _scale_sizes(o, "dst", "src", o.src.loc is TileType.Left)
    return _scale_sizes(o, "lhs_scale", "lhs", True) or _scale_sizes(o, "rhs_scale", "rhs", False)


MX_K = _rule(
    "MX-K",
    """
        !a = !pto.tile_buf<left, 32x{64|32}xf8E5M2, blayout=col_major, slayout=row_major>
        !b = !pto.tile_buf<right, {64|32}x16xf8E5M2, slayout=col_major>
        !c = !pto.tile_buf<acc, 32x16xf32, blayout=col_major, slayout=row_major, fractal=1024>
        !x = !pto.tile_buf<scaling, 32x{2|1}xi8, slayout=row_major, fractal=32>
        !y = !pto.tile_buf<scaling, {2|1}x16xi8, blayout=col_major, slayout=col_major, fractal=32>
        pto.tmatmul.mx ins(%a, %x, %b, %y : !a, !x, !b, !y) outs(%c : !c)
    """,
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp verifyA5MxMatTileOperands",
)(
    "The inner dimension of the tiles of a scaled product of matrices is a multiple of 64.",
    "lhs.cols % 64 == 0",
    "{lhs} has {lhs.cols} elements along the inner dimension",
    "rhs.rows % 64 == 0",
    "{rhs} has {rhs.rows} elements along the inner dimension",
)


MX_ACC = _rule(
    "MX-ACC",
    """
        !a = !pto.tile_buf<left, 16x64xf8E4M3FN, valid=1x64, blayout=col_major, slayout=row_major>
        !b = !pto.tile_buf<right, 64x16xf8E4M3FN, slayout=col_major>
        !c = !pto.tile_buf<acc, 16x16xf32, valid=1x16, blayout=col_major, slayout=row_major, fractal=1024>
        !x = !pto.tile_buf<scaling, 1x2xf8E4M3FN, slayout=row_major, fractal=32>
        !y = !pto.tile_buf<scaling, 2x16xf8E4M3FN, slayout=row_major, fractal=32>
        !d = !pto.tile_buf<acc, 16x16xf32, valid=1x{16|8}, blayout=col_major, slayout=row_major, fractal=1024>
        pto.tgemv.mx.acc ins(%d, %a, %x, %b, %y : !d, !a, !x, !b, !y) outs(%c : !c)
    """,
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp TMatmulMxAccOp, TGemvMxAccOp",
)(
    "The accumulator that a scaled product adds to has the element type and valid region of dst.",
    lambda o: differ(o, "dst", "acc"),
    lambda o: valid_differs(o, "dst", "acc"),
)

MX_BIAS = _rule(
    "MX-BIAS",
    """
        !a = !pto.tile_buf<left, 16x64xf8E4M3FN, valid=1x64, blayout=col_major, slayout=row_major>
        !b = !pto.tile_buf<right, 64x16xf8E4M3FN, slayout=col_major>
        !c = !pto.tile_buf<acc, 16x16xf32, valid=1x16, blayout=col_major, slayout=row_major, fractal=1024>
        !x = !pto.tile_buf<scaling, 1x2xf8E4M3FN, slayout=row_major, fractal=32>
        !y = !pto.tile_buf<scaling, 2x16xf8E4M3FN, slayout=row_major, fractal=32>
        !s = !pto.tile_buf<bias, 1x{16|32}xf32, valid=1x16>
        pto.tgemv.mx.bias ins(%a, %x, %b, %y, %s : !a, !x, !b, !y, !s) outs(%c : !c)
    """,
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp TGemvMxBiasOp",
)(
    "The bias of a scaled row product has the columns and the valid region of dst.",
    "bias.cols == dst.cols",
    "{bias} has {bias.cols} columns, {dst} {dst.cols}",
    lambda o: valid_differs(o, "dst", "bias"),
)

MM_1 = _rule(
    "MM-1",
    "pto.tmatmul ins(%a, %b : !pto.tile_buf<left, 32x48xf16, blayout=col_major, slayout=row_major>, "
    "!pto.tile_buf<right, 48x64xf16, slayout=col_major>) "
    "outs(%c : !pto.tile_buf<acc, 32x64xf32, valid={32x64|16x64}, blayout=col_major, slayout=row_major, "
    "fractal=1024>)",
    what=(
        "A product goes from left (MxK) and right (KxN) to acc (MxN), by valid regions where types state them; m, k "
        "and n are at most 4095, and in scaled products at least 1."
    ),
    covered_by=("MAT-COM-01", "MAT-COM-03", "MAT-COM-04"),
)(_product)
MM_4 = _rule(
    "MM-4",
    "pto.tmatmul.bias ins(%a, %b, %c : !pto.tile_buf<left, 32x64xf16, slayout=row_major>, "
    "!pto.tile_buf<right, 64x16xf16, slayout=col_major>, !pto.tile_buf<{bias|vec}, 1x16xf32>) "
    "outs(%d : !pto.tile_buf<acc, 32x16xf32, blayout=col_major, slayout=row_major, fractal=1024>)",
    covered_by=("MAT-COM-08",),
    on="a2a3",
)(_bias)
MX_3 = replace(MM_3, check=_scaled_triple, targets=("a5",))
MX_4 = replace(MM_4, check=_scaled_bias)

MM_1_ROW = replace(MM_1, check=_row_product)
MM_1_SCALED = replace(MM_1, check=partial(_product, least=1))

PRODUCT = (MM_1, MM_2, MM_3)
ACCUMULATE = (MM_1, MM_2, replace(MM_3, targets=("a5",)))
BIAS = (*PRODUCT, MM_4)
GEMV = (GV_1, MM_1_ROW, MM_2, MM_3)
ROW_ACCUMULATE = (GV_1, MM_1_ROW, MM_2)
ROW_BIAS = (*GEMV, MM_4)


def scaled(name: str) -> tuple[Rule, ...]:
    """The rules of a block-scaled product."""
    row, bias = name.startswith("TGEMV"), name.endswith("_BIAS")
    only = (A5_ONLY, GV_1) if row else (MX_K,)
    more = (MX_4, MX_BIAS) if row and bias else (MX_4,) if bias else (MX_ACC,) if name.endswith("_ACC") else ()
    return (*only, MX_SCALE, MM_1_SCALED, MM_2, MX_3, *more)
