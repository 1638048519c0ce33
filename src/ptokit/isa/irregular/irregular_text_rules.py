"""What the reference assembler refuses of padding, quantisation, concatenation, sorting and others (assembly 13.9)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import CmpMode, TileType
from ptokit.types.tile import DYNAMIC

from ..assembler import assembler_rule
from ..site import Site, TileInfo
from ..typesets import types_of
from ..unknown import Size, known

Message = str | None

_CONCAT = frozenset(DTYPES[n] for n in ("i8", "i16", "i32", "f16", "bf16", "f32"))
_BLOCK = 64
_SORTED = ("f16", "f32")
_SOURCES = ("src0", "src1", "src2", "src3")


_rule = partial(assembler_rule, source="assembly 13.9")


def _padded(o: Site, *, grows: bool = False) -> Message:
    """``grows``: dst may be larger."""
    s, d = o.src, o.dst
    if s.dtype.bits != d.dtype.bits or d.dtype.bits not in (8, 16, 32):
        return f"elements have {s.dtype.bits} bits in src, {d.dtype.bits} in dst; both have 8, 16 or 32"
    if isinstance(d, TileInfo) and d.spec.pad == 0:
        return "dst has pad null, which says nothing to fill with"
    smaller = d.rows < s.rows or d.cols < s.cols
    other = isinstance(d, TileInfo) and d.loc is TileType.Mat and (d.rows, d.cols) != (s.rows, s.cols) and not grows
    return f"src is {s.rows}x{s.cols}, dst is {d.rows}x{d.cols}" if smaller or other else None


@_rule(
    "CC-1",
    "16x16 and 16x16 into 16x32",
    "16x16 and 16x32 into 16x32",
    covered_by=("CONC-COM-01", "CONC-COM-02", "CONC-COM-03", "CONC-A23-01", "CONC-A5-01"),
)
def CC_1(o: Site) -> Message:
    """tconcat: vec tiles of one element type and as many valid rows, columns that fit, row_major on a5."""
    for name in ("dst", "src0", "src1"):
        t = o.operands[name]
        assert isinstance(t, TileInfo)
        if t.loc is not TileType.Vec:
            return f"{name} lies in {t.loc.text}, not vec"
        if t.dtype is not o.dst.dtype:
            return f"{name} has element type {t.dtype}, dst {o.dst.dtype}"
        if o.target.is_a(A5) and not t.row_major:
            return f"{name} has blayout=col_major"
        rows = t.spec.valid_row
        if DYNAMIC not in (rows, o.dst.spec.valid_row) and rows != o.dst.spec.valid_row:
            return f"{name} has {rows} valid rows, dst {o.dst.spec.valid_row}"
    if o.dst.dtype not in _CONCAT:
        return f"element type {o.dst.dtype}; it takes i8, i16, i32, f16, bf16, f32"
    cols = [o.src0.spec.valid_col, o.src1.spec.valid_col]
    if DYNAMIC not in cols and sum(cols) > o.dst.cols:
        return f"{' and '.join(map(str, cols))} valid columns do not fit into {o.dst.cols}"
    return None


@_rule(
    "MS-1",
    "block length 64",
    "block length 96",
    covered_by=("MRG-COM-01", "MRG-COM-02"),
    decision="That two to four sources are merged, and the record is vector<4xi16>, the form of the text says.",
)
def MS_1(o: Site) -> Message:
    """tmrgsort: one row of f16 or f32 in blocks of a multiple of 64, or tiles of one type and a tmp like dst."""
    return _merged(o) if o.has("tmp") else _block(o)


def _block(o: Site) -> Message:
    s, d = o.src0, o.dst
    if s.dtype is not d.dtype or s.dtype.name not in _SORTED:
        return f"src has element type {s.dtype}, dst {d.dtype}; both are f16, or f32"
    if (s.rows, d.rows) != (1, 1) or s.cols != d.cols:
        return f"src is {s.rows}x{s.cols}, dst {d.rows}x{d.cols}; both are one row of equal length"
    length: Size = o.block_len.value if o.has("block_len") else 0
    if known(length) and (length <= 0 or length % _BLOCK):
        return f"the block length is {length}, not a positive multiple of {_BLOCK}"
    return None


def _merged(o: Site) -> Message:
    for name in (*_SOURCES, "tmp"):
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and t.dtype is not o.dst.dtype:
            return f"{name} has element type {t.dtype}, dst {o.dst.dtype}"
    if (o.tmp.rows, o.tmp.cols) != (o.dst.rows, o.dst.cols):
        return f"tmp is {o.tmp.rows}x{o.tmp.cols}, dst {o.dst.rows}x{o.dst.cols}"
    return None


_CONCAT_DATA, _CONCAT_INDEX = types_of("i8 i16 i32 f16 f32 bf16"), types_of("i8 i16 i32")


@_rule(
    "CC-2",
    "i32 indices of one column, for f16",
    "i32 and i16 indices",
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
            return f"{name} lies in {t.loc.text}, not vec"
        if t.dtype is not like.dtype or t.dtype not in (_CONCAT_INDEX if index else _CONCAT_DATA):
            return f"{name} has element type {t.dtype}"
        if o.target.is_a(A5) and not t.row_major:
            return f"{name} has blayout=col_major"
        if DYNAMIC not in rows and rows[0] != rows[1]:
            return f"{name} has {rows[0]} valid rows, dst {rows[1]}"
        if index and t.spec.valid_col == 0:
            return f"{name} has no valid column"
    return None


@_rule(
    "RN-1",
    "rounds = 7",
    "rounds = 8",
    covered_by=("RAND-01", "RAND-02", "RAND-03"),
    targets=("a5",),
    why="On a2a3 there is none: A5-1.",
)
def RN_1(o: Site) -> Message:
    """trandom: 7 or 10 rounds into a row_major tile of 32-bit integers."""
    if o.rounds not in (7, 10):
        return f"{o.rounds} rounds, not 7 or 10"
    if not o.dst.dtype.is_integer or o.dst.dtype.bits != 32:
        return f"dst has element type {o.dst.dtype}, not a 32-bit integer"
    return None if o.dst.row_major else "dst has blayout=col_major"


@_rule("TGATHER-AS-01", "f16 and gt", "i16 on a2a3", source="assembly 15 (tgather compare)")
def TGATHER_AS_01(o: Site) -> Message:
    """The comparing tgather: eq or gt; f16, f32, i32 (a2a3: for eq), on a5 also i16."""
    if not o.has("threshold"):
        return None
    if o.cmp not in (CmpMode.EQ, CmpMode.GT):
        return f"cmpMode is {o.cmp.text}, not eq or gt"
    element, equal = o.src.dtype.name, o.cmp is CmpMode.EQ
    if o.target.is_a(A5):
        return None if element in ("i16", "i32", "f16", "f32") else f"src has element type {o.src.dtype}"
    if element in ("f16", "f32") or (element == "i32" and equal):
        return None
    return f"src has element type {o.src.dtype}; it takes f16 and f32, i32 for eq"


FP_1 = _rule(
    "FP-1",
    "dst with pad=1",
    "dst with pad=0",
    what=(
        "Padding keeps the element size (1, 2, 4 bytes) and the shape (tfillpad_expand: or more); dst has a pad value."
    ),
    covered_by=("FILL-COM-01", "FILL-COM-02", "FILL-COM-03", "FILL-COM-03-X"),
    always=True,
)(_padded)
FP_1_EXPAND = replace(FP_1, check=partial(_padded, grows=True))
