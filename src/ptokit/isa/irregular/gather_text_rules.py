"""What the reference assembler refuses of tgather, tgatherb, tscatter and thistogram."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import RuleDecorator
from ptokit.targets import A2A3, A5
from ptokit.types.enums import CmpMode, MaskAxis, TileType

from ..checks.compiling import Message, is_nd
from ..checks.tiles import assembler_rule, differ, not_of, valid_differs, vec_rows
from ..operands import BF16, I6, INT16_32, F, types_of
from ..site import Site, TileInfo
from .gather_tile_rules import by_index, by_mask
from .scatter_rules import BINS

_FLOAT8 = types_of("e4m3 e5m2")
_GATHERED = {"a2a3": INT16_32 | F, "a5": I6 | F | _FLOAT8}
_MASKED = I6 | F | BF16 | _FLOAT8 | types_of("hif8")
_COMPARED = INT16_32 | F
_SCATTERED = I6 | F | BF16
_32, _8 = types_of("i32 u32"), types_of("i8 u8")


def _of(function: str) -> partial[RuleDecorator]:
    return partial(assembler_rule, source=f"PTOAS 2026-08 PTO.cpp {function}")


def _along(o: Site, small: str, large: str) -> Message:
    """Valid regions of the mask forms: along its axis the mask spreads the elements of one over the other."""
    a, b, times = o.operands[small], o.operands[large], o.mask.period
    assert isinstance(a, TileInfo)
    assert isinstance(b, TileInfo)
    rows, cols = (times * a.vr, a.vc) if o.axis is MaskAxis.Col else (a.vr, times * a.vc)
    if b.vr != rows or b.vc != cols:
        return f"{small} is valid in {a.vr}x{a.vc}, {large} in {b.vr}x{b.vc}, not {rows}x{cols}"
    return None


@_of("TGatherOp")(
    "TGATHER-AS-02",
    "%a = pto.alloc_tile : !pto.tile_buf<vec, 1x32xi32{|, valid=1x16}>\n"
    "pto.tgather ins(%b, %c, %a : !pto.tile_buf<vec, 1x64xf32>, !pto.tile_buf<vec, 1x32xi32>, "
    "!pto.tile_buf<vec, 1x32xi32{|, valid=1x16}>) outs(%d : !pto.tile_buf<vec, 1x32xf32>)",
    covered_by=("TGATH-COM-01", "TGATH-A23-01", "TGATH-A5-01"),
    on="a2a3",
)
def TGATHER_AS_02(o: Site) -> Message:
    """tgather by index: one element type that the target gathers; indices of 32 bits, on a5 also of 16; dst and indices
    are valid in all columns. On a2a3 there is a tmp of the indices' type and valid region.
    """
    if not by_index(o):
        return None
    widths = (32,) if o.target.is_a(A2A3) else (16, 32)
    if wrong := differ(o, "src", "dst") or not_of(o, o.target.entry(_GATHERED), "src"):
        return wrong
    if not o.idx.dtype.is_integer or o.idx.dtype.bits not in widths:
        return f"{o:idx} has element type {o.idx.dtype}"
    for name, t in (("dst", o.dst), ("idx", o.idx)):
        if t.vc != t.cols:
            return f"{o:{name}} has {t.cols} columns, {t.vc} of them valid"
    if not o.target.is_a(A2A3):
        return None
    return differ(o, "idx", "tmp") or valid_differs(o, "idx", "tmp") if o.has("tmp") else f"indices without {o:tmp}"


@_of("TGatherOp")(
    "TGATHER-AS-03",
    "{P0101 and axis = row|P0101 without axis}",
    covered_by=("TGATH-COM-03", "TGATH-COM-05", "TGATH-A23-03", "TGATH-A5-02"),
    unrun="in words so far",
)
def TGATHER_AS_03(o: Site) -> Message:
    """tgather by mask: src and dst alone, with axis; row-major vec tiles of one element size; dst is valid in all
    columns, and the mask spreads its elements over src's valid region.
    """
    if o.mask is None:
        return "axis without maskPattern" if "axis" in o.attrs else None
    if not by_mask(o) or o.has("tmp") or "axis" not in o.attrs:
        return f"a mask pattern goes with {o:src}, {o:dst} and axis, and nothing else"
    s, d = o.src, o.dst
    if wrong := vec_rows(o, "src", "dst"):
        return wrong
    if s.dtype.size != d.dtype.size or d.vc != d.cols:
        return f"{o:src} holds {s.dtype}, {o:dst} {d.dtype}; {o:dst} has {d.cols} columns, {d.vc} of them valid"
    if o.target.is_a(A5):
        return _along(o, "dst", "src") or not_of(o, _MASKED, "src", "dst")
    return _along(o, "dst", "src") or (None if s.dtype.size in (2, 4) else f"elements of {s.dtype.size} bytes")


@_of("TGatherOp")(
    "TGATHER-AS-01",
    "pto.tgather ins(%a, %n, %b : !pto.tile_buf<vec, {1x32xf16|1x32xi16}>, {f16|i16}, !pto.tile_buf<vec, "
    "1x32xi8>) outs(%c, %d : !pto.tile_buf<vec, 1x32xi32>, !pto.tile_buf<vec, 1x32xi32>) {cmpMode = #pto<cmp "
    "gt>}",
    on="a2a3",
)
def TGATHER_AS_01(o: Site) -> Message:
    """The comparing tgather: eq or gt; f16, f32, i32 (a2a3: for eq), on a5 also i16; row-major vec tiles, a tmp."""
    if not o.has("threshold"):
        return None
    if o.cmp not in (CmpMode.EQ, CmpMode.GT):
        return f"cmpMode is {o.cmp.text}, not eq or gt"
    if not o.has("tmp"):
        return f"a comparison without {o:tmp}"
    if wrong := not_of(o, _32, "dst") or differ(o, "dst", "count") or vec_rows(o, "src", "dst", "count", "tmp"):
        return wrong
    element, equal = o.src.dtype, o.cmp is CmpMode.EQ
    allowed = element in (_COMPARED if o.target.is_a(A5) else F | (_32 if equal else F))
    return None if allowed else f"{o:src} has element type {element}; it takes f16 and f32, i32 for eq, on a5 i16"


TGATHERB_AS_01 = _of("TGatherBOp")(
    "TGATHERB-AS-01",
    "pto.tgatherb ins(%a, %b : !pto.tile_buf<vec, {4x32xf16|4x32xi64}>, !pto.tile_buf<vec, 4x8xi32>) outs(%c "
    ": !pto.tile_buf<vec, {4x32xf16|4x32xi64}>)",
    covered_by=("GATHB-01",),
)(
    "tgatherb: dst has elements of 1, 2 or 4 bytes, and on a2a3 lies in rows.",
    "dst.dtype.size in (1, 2, 4)",
    "{dst} has element type {dst.dtype}",
    "dst.row_major if target.is_a(A2A3)",
    "{dst} has blayout=col_major",
)


@_of("TScatterOp")(
    "TSCATTER-AS-01",
    "%a = pto.alloc_tile : !pto.tile_buf<vec, 4x32xi16{|, valid=2x32}>\n"
    "pto.tscatter ins(%b, %a : !pto.tile_buf<vec, 4x32xf16>, !pto.tile_buf<vec, 4x32xi16{|, valid=2x32}>) "
    "outs(%c : !pto.tile_buf<vec, 4x32xf16>)",
    covered_by=("TSCAT-COM-01", "TSCAT-COM-02", "TSCAT-COM-03"),
)
def TSCATTER_AS_01(o: Site) -> Message:
    """tscatter: indices, or a mask pattern with axis; row-major vec tiles of one element type, 8- to 32-bit integers,
    f16, bf16 or f32. Indices have 4 bytes for 4-byte elements, else 2, and src's valid region, which fits into dst's;
    a mask spreads src's elements over dst's valid region.
    """
    if o.has("idx") == (o.mask is not None):
        return "indices and a mask pattern" if o.has("idx") else "neither indices nor a mask pattern"
    if o.has("idx") == ("axis" in o.attrs):
        return "indices with axis" if o.has("idx") else "a mask pattern without axis"
    wrong = vec_rows(o, "src", "dst", "idx") or differ(o, "src", "dst") or not_of(o, _SCATTERED, "src")
    if wrong or not o.has("idx"):
        return wrong or _along(o, "src", "dst")
    wanted = max(2, o.src.dtype.size)
    if o.idx.dtype not in INT16_32 or o.idx.dtype.size != wanted:
        return f"{o:idx} has element type {o.idx.dtype}; {o.src.dtype} takes integers of {wanted} bytes"
    if o.dst.vr < o.src.vr or o.dst.vc < o.src.vc:
        return f"{o:dst} is valid in {o.dst.vr}x{o.dst.vc}, {o:src} in {o.src.vr}x{o.src.vc}"
    return valid_differs(o, "src", "idx")


@_of("THistogramOp")(
    "HIST-AS-01",
    "pto.thistogram ins(%a, %b : !pto.tile_buf<vec, 32x32xui16>, !pto.tile_buf<vec, 32x1xui8, "
    "blayout=col_major>) outs(%c : !pto.tile_buf<vec, 32x256xui32>) {isMSB = false, byte = {0|1} : i32}",
    targets=("a5",),
    covered_by=("HIST-01", "HIST-02", "HIST-03", "HIST-04"),
)
def HIST_AS_01(o: Site) -> Message:
    """thistogram: byte, or isMSB for 0 and 1, is one of the source's bytes; vec tiles, src and dst in rows; src of 16
    or 32 bits, idx of 8, dst of 32 with 256 columns and src's rows; idx has a value for each row of a 16-bit source,
    and a row for each byte above the one that is counted of a 32-bit source.
    """
    legacy = int(o.is_msb) if "is_msb" in o.attrs else None
    byte = o.byte if o.byte is not None else 1 if legacy is None else legacy
    if legacy is not None and byte != legacy:
        return f"byte is {byte}, isMSB says {legacy}"
    if not 0 <= byte < o.src.dtype.size:
        return f"byte is {byte} of elements of {o.src.dtype.size} bytes"
    return _counted(o) or (_index_of_halves(o) if o.src.dtype.size == 2 else _index_of_words(o, byte))


def _counted(o: Site) -> Message:
    s, d, idx = o.src, o.dst, o.idx
    for name, t, types in (("src", s, INT16_32), ("idx", idx, _8), ("dst", d, _32)):
        if t.loc is not TileType.Vec or (name != "idx" and not is_nd(t)):
            return f"{o:{name}} is {t.layout_name} in {t.loc.text}"
        if t.dtype not in types:
            return f"{o:{name}} has element type {t.dtype}"
    if s.rows != d.rows or s.vr != d.vr:
        return f"{o:src} has {s.rows} rows, {s.vr} of them valid, {o:dst} {d.rows} and {d.vr}"
    if d.cols < BINS or (d.vc < BINS and d.vc != 0):
        return f"{o:dst} has {d.cols} columns, {d.vc} of them valid; there are {BINS} values"
    return None


def _index_of_halves(o: Site) -> Message:
    s, idx = o.src, o.idx
    if idx.row_major or idx.boxed or idx.cols != 1 or idx.vc > 1:
        return f"{o:idx} is {idx.layout_name} {idx.rows}x{idx.cols}, not one column"
    if idx.rows != s.rows or idx.vr != s.vr:
        return f"{o:idx} has {idx.rows} rows, {idx.vr} of them valid, {o:src} {s.rows} and {s.vr}"
    return None


def _index_of_words(o: Site, byte: int) -> Message:
    s, idx, above = o.src, o.idx, 3 - byte
    if not above:
        return None
    if not is_nd(idx) or idx.cols != s.cols or idx.vc != s.vc:
        return (
            f"{o:idx} is {idx.layout_name} with {idx.cols} columns, {idx.vc} of them valid, {o:src} has {s.cols} "
            f"and {s.vc}"
        )
    if idx.rows != above or (idx.vr != above and idx.vr != 0):
        return f"{o:idx} has {idx.rows} rows, {idx.vr} of them valid, not {above}"
    return None
