"""What the reference assembler refuses of padding, quantisation, concatenation, sorting and others (assembly 13.9)."""

from __future__ import annotations

from functools import partial

from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.assembler import assembler_rule
from ..site import Site, TileInfo
from ..typesets import types_of

Message = str | None

_CONCAT = frozenset(DTYPES[n] for n in ("i8", "i16", "i32", "f16", "bf16", "f32"))


_rule = partial(assembler_rule, source="assembly 13.9")


def _padded(o: Site) -> Message:
    """Padding keeps the element size (1, 2, 4 bytes), and the shape, which only vec tiles may enlarge; dst has a
    pad value. In mat both tiles are of one type.
    """
    s, d = o.src, o.dst
    if "mode" in o.attrs:
        return "mode is given; the assembler infers it"
    if s.dtype.bits != d.dtype.bits or d.dtype.bits not in (8, 16, 32):
        return f"elements have {s.dtype.bits} bits in {o:src}, {d.dtype.bits} in {o:dst}; both have 8, 16 or 32"
    if d.rows < s.rows or d.cols < s.cols:
        return f"{o:src} is {s.rows}x{s.cols}, {o:dst} is {d.rows}x{d.cols}"
    grows = (d.rows, d.cols) != (s.rows, s.cols)
    if grows and not (s.loc is TileType.Vec and d.loc is TileType.Vec):
        return f"{o:src} is {s.rows}x{s.cols}, {o:dst} is {d.rows}x{d.cols}, in {d.loc.text}; only vec tiles grow"
    if not isinstance(d, TileInfo) or not isinstance(s, TileInfo):
        return None
    if s.loc is TileType.Mat and d.loc is TileType.Mat and s.spec != d.spec:
        return f"{o:src} is {s.spec}, {o:dst} {d.spec}; in mat both are of one type"
    return f"{o:dst} has pad null, which says nothing to fill with" if d.spec.pad == 0 else None


@_rule(
    "CC-1",
    "pto.tconcat ins(%a, %b : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, {16x8xf32|16x32xf32}>) "
    "outs(%c : !pto.tile_buf<vec, 16x32xf32>)",
    covered_by=("CONC-COM-01", "CONC-COM-02", "CONC-COM-03", "CONC-A23-01", "CONC-A5-01"),
    on="a2a3",
)
def CC_1(o: Site) -> Message:
    """tconcat: vec tiles of one element type and as many valid rows, columns that fit, row_major on a5."""
    for name in ("dst", "src0", "src1"):
        t = o.operands[name]
        assert isinstance(t, TileInfo)
        if t.loc is not TileType.Vec:
            return f"{o:{name}} lies in {t.loc.text}, not vec"
        if t.dtype is not o.dst.dtype:
            return f"{o:{name}} has element type {t.dtype}, {o:dst} {o.dst.dtype}"
        if o.target.is_a(A5) and not t.row_major:
            return f"{o:{name}} has blayout=col_major"
        rows = t.spec.valid_row
        if DYNAMIC not in (rows, o.dst.spec.valid_row) and rows != o.dst.spec.valid_row:
            return f"{o:{name}} has {rows} valid rows, {o:dst} {o.dst.spec.valid_row}"
    if o.dst.dtype not in _CONCAT:
        return f"element type {o.dst.dtype}; it takes i8, i16, i32, f16, bf16, f32"
    cols = [o.src0.spec.valid_col, o.src1.spec.valid_col]
    if DYNAMIC not in cols and sum(cols) > o.dst.cols:
        return f"{' and '.join(map(str, cols))} valid columns do not fit into {o.dst.cols}"
    return None


_CONCAT_DATA, _CONCAT_INDEX = types_of("i8 i16 i32 f16 f32 bf16"), types_of("i8 i16 i32")


@_rule(
    "CC-2",
    "pto.tconcatidx ins(%a, %b, %c, %d : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf32>, "
    "!pto.tile_buf<vec, {16x8xi32|16x8xf32}>, !pto.tile_buf<vec, 16x8xi32>) "
    "outs(%e : !pto.tile_buf<vec, 16x32xf32>)",
    covered_by=("CONC-COM-01", "CONC-COM-02", "CONC-COM-03", "CONC-A23-01", "CONC-A5-01"),
    source="PTOAS 2026-08 PTO.cpp TConcatidxOp",
)
def CC_2(o: Site) -> Message:
    """tconcatidx: vec tiles of as many valid rows; data of one type, indices of another; row_major on a5."""
    for name in ("dst", "src0", "src1", "idx0", "idx1"):
        t = o.operands[name]
        assert isinstance(t, TileInfo)
        index = name.startswith("idx")
        like = o.idx0 if index else o.dst
        rows = t.spec.valid_row, o.dst.spec.valid_row
        if t.loc is not TileType.Vec:
            return f"{o:{name}} lies in {t.loc.text}, not vec"
        if t.dtype is not like.dtype or t.dtype not in (_CONCAT_INDEX if index else _CONCAT_DATA):
            return f"{o:{name}} has element type {t.dtype}"
        if o.target.is_a(A5) and not t.row_major:
            return f"{o:{name}} has blayout=col_major"
        if DYNAMIC not in rows and rows[0] != rows[1]:
            return f"{o:{name}} has {rows[0]} valid rows, {o:dst} {rows[1]}"
        if index and t.spec.valid_col == 0:
            return f"{o:{name}} has no valid column"
    return None


RN_1 = _rule(
    "RN-1",
    "pto.trandom ins(%i, %i, %i, %i, %i, %i {rounds = 7 : i32} : i32, i32, i32, i32, i32, i32) "
    "outs(%d : !pto.tile_buf<vec, {16x16xi32|16x16xf32}>)",
    covered_by=("RAND-01", "RAND-02", "RAND-03"),
    targets=("a5",),
)(
    """trandom: 7 or 10 rounds into a row_major tile of 32-bit integers.

    On a2a3 there is none: A5-1.
    """,
    "rounds in (7, 10)",
    "{rounds} rounds, not 7 or 10",
    "dst.dtype.is_integer and dst.dtype.bits == 32",
    "{dst} has element type {dst.dtype}, not a 32-bit integer",
    "dst.row_major",
    "{dst} has blayout=col_major",
)

FP_1 = _rule(
    "FP-1",
    "pto.tfillpad ins(%a : !pto.tile_buf<vec, 16x16xf32, valid=8x16>) "
    "outs(%b : !pto.tile_buf<vec, 16x16xf32{, pad=1|}>)",
    covered_by=("FILL-COM-01", "FILL-COM-02", "FILL-COM-03", "FILL-COM-03-X"),
    always=True,
)(_padded)
