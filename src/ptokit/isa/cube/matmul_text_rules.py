"""What the reference assembler refuses of matrix products (assembly 13.9)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ptokit.diagnostics import Rule, Severity
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..assembler import A5_ONLY, assembler_rule
from ..site import Site, TileInfo

_LIMIT = 4095
_LOCS = {"lhs": TileType.Left, "rhs": TileType.Right, "dst": TileType.Acc, "acc": TileType.Acc}
_FLOATS = frozenset(DTYPES[n] for n in ("f16", "bf16", "f32"))
_BYTE_FLOATS = frozenset(DTYPES[n] for n in ("e4m3", "e5m2", "hif8"))
_LAYOUTS = {"lhs": "Nz", "rhs": "Zn", "dst": "Nz"}

Message = str | None


_rule = partial(assembler_rule, source="assembly 13.9")


def _places(o: Site) -> Message:
    for name, loc in _LOCS.items():
        tile = o.operands.get(name)
        if isinstance(tile, TileInfo) and tile.loc is not loc:
            return f"{name} lies in {tile.loc.text}, not {loc.text}"
    return None


def _product(o: Site) -> Message:
    if wrong := _places(o):
        return wrong
    a, b, c = o.lhs, o.rhs, o.dst
    if (a.rows, a.cols, b.cols) != (c.rows, b.rows, c.cols):
        return f"lhs is {a.rows}x{a.cols}, rhs {b.rows}x{b.cols}, dst {c.rows}x{c.cols}"
    for name, size in (("m", a.spec.valid_row), ("k", a.spec.valid_col), ("n", b.spec.valid_col)):
        if size != DYNAMIC and not 1 <= size <= _LIMIT:
            return f"{name} is {size}, not 1..{_LIMIT}"
    return None


def _row_product(o: Site) -> Message:
    """MM-1 of a product with one row, of which the assembler compares shapes on a5 only."""
    return _product(o) if o.target.is_a(A5) else _places(o)


@_rule("MM-2", "a right tile in Zn", "a right tile in ND", targets=("a5",), covered_by=("MAT-COM-06",))
def MM_2(o: Site) -> Message:
    """lhs and dst are Nz (col_major, row_major), rhs Zn (row_major, col_major)."""
    for name, wanted in _LAYOUTS.items():
        if o.operands[name].layout_name != wanted:  # type: ignore[union-attr]
            return f"{name} has layout {o.operands[name].layout_name}, not {wanted}"  # type: ignore[union-attr]
    return None


@_rule(
    "MM-3",
    "f32 = f16 x f16",
    "f16 = f16 x f16",
    covered_by=("MAT-COM-02",),
    severity=Severity.WARNING,
    decision="A warning: a5 multiplies two kinds of 8-bit floats, which the assembler refuses; text that does is run.",
)
def MM_3(o: Site) -> Message:
    """dst = lhs x rhs is i32 of 8-bit integers, or f32 of one float type: f16, bf16, f32, on a5 also of 8 bits."""
    a, b, c = o.lhs.dtype, o.rhs.dtype, o.dst.dtype
    integers = c.is_integer and c.bits == 32 and all(t.is_integer and t.bits == 8 for t in (a, b))
    floats = _FLOATS | _BYTE_FLOATS if o.target.is_a(A5) else _FLOATS
    if integers or (c.name == "f32" and a is b and a in floats):
        return None
    return f"{c} = {a} x {b}"


def _scaled_triple(o: Site) -> Message:
    a, b, c = o.lhs.dtype, o.rhs.dtype, o.dst.dtype
    small = all(t.is_float and t.bits <= 8 for t in (a, b))
    return None if c.name == "f32" and small else f"{c} = {a} x {b}; a scaled product is f32 of 8-bit floats"


def _bias(o: Site) -> Message:
    bias: TileInfo = o.bias
    if bias.loc is not TileType.Bias:
        return f"bias lies in {bias.loc.text}"
    if bias.rows != 1:
        return f"bias has {bias.rows} rows, not 1"
    if bias.dtype is not o.dst.dtype:
        return f"bias has element type {bias.dtype}, dst {o.dst.dtype}"
    return "bias has blayout=col_major" if o.target.is_a(A5) and not bias.row_major else None


def _scaled_bias(o: Site) -> Message:
    return _bias(o) or (f"bias has element type {o.bias.dtype}, not f32" if o.bias.dtype.name != "f32" else None)


@_rule(
    "GV-1",
    "lhs valid=1x64, rhs valid=64x16, dst valid=1x16",
    "lhs valid=16x64",
    covered_by=("GEMV-COM-01", "GEMV-COM-02"),
)
def GV_1(o: Site) -> Message:
    """lhs and dst of a row product have one valid row; inner and outer valid sizes agree."""
    a, b, c = ((t.spec.valid_row, t.spec.valid_col) for t in (o.lhs, o.rhs, o.dst))
    for name, rows in (("lhs", a[0]), ("dst", c[0])):
        if rows not in (1, DYNAMIC):
            return f"{name} has {rows} valid rows, not 1"
    for left, right, what in (
        (a[1], b[0], "lhs has valid columns, rhs rows"),
        (b[1], c[1], "rhs and dst have columns"),
    ):
        if DYNAMIC not in (left, right) and left != right:
            return f"{what}: {left} and {right}"
    return None


@_rule(
    "MX-SCALE",
    "a scaling tile of 16x64 for a left tile of 16x64",
    "a left tile for a left tile",
    targets=("a5",),
    source="assembly 15 (tget_scale_addr)",
)
def MX_SCALE(o: Site) -> Message:
    """A tile of scales lies in scaling, and has the shape and valid region of its operand."""
    pairs = (("dst", "src"),) if o.has_operand("src") else (("lhs_scale", "lhs"), ("rhs_scale", "rhs"))
    for name, of in pairs:
        scale, tile = o.operands[name], o.operands[of]
        assert isinstance(scale, TileInfo)
        assert isinstance(tile, TileInfo)
        if scale.loc is not TileType.Scaling:
            return f"{name} lies in {scale.loc.text}, not scaling"
        for what in ("rows", "cols", "valid_row", "valid_col"):
            x, y = getattr(scale.spec, what), getattr(tile.spec, what)
            if x != y and DYNAMIC not in (x, y):
                return f"{name} has {what} = {x}, {of} {y}"
    return None


MM_1 = _rule(
    "MM-1",
    "32x64 times 64x16 into 32x16",
    "32x64 times 32x16",
    what="A product goes from left (MxK) and right (KxN) to acc (MxN); m, k and n are 1..4095.",
    covered_by=("MAT-COM-01", "MAT-COM-03", "MAT-COM-04"),
)(_product)
MM_4 = _rule(
    "MM-4",
    "f32 bias of an f32 product",
    "f16 bias of an f32 product",
    what="bias lies in bias, in one row, with dst's element type (f32 in scaled products), row_major on a5.",
    covered_by=("MAT-COM-08",),
)(_bias)
MX_3 = replace(MM_3, check=_scaled_triple, targets=("a5",))
MX_4 = replace(MM_4, check=_scaled_bias)

MM_1_ROW = replace(MM_1, check=_row_product)

PRODUCT = (MM_1, MM_2, MM_3)
ACCUMULATE = (MM_1, MM_2)
BIAS = (*PRODUCT, MM_4)
ROW = (GV_1, MM_1_ROW, MM_2, MM_3)
ROW_ACCUMULATE = (GV_1, MM_1_ROW, MM_2)
ROW_BIAS = (*ROW, MM_4)


def scaled(name: str) -> tuple[Rule, ...]:
    """The rules of a block-scaled product. Of matrix products without a bias the assembler looks at types only."""
    if name.startswith("TGEMV"):
        return (A5_ONLY, MX_SCALE, GV_1, MM_1_ROW, MM_2, MX_3, *((MX_4,) if name.endswith("_BIAS") else ()))
    return (MM_1, MM_2, MX_3, MX_4) if name.endswith("_BIAS") else (MX_3,)
