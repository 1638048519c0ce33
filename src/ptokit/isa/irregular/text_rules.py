"""What the reference assembler refuses of padding, concatenation, sorting, transposing and their scratch tiles."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import RuleDecorator
from ptokit.targets import A2A3, A5
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import Message
from ..checks.tiles import assembler_rule, differ, not_of, small, vec_rows
from ..operands import BF16, I6, INT16_32, F, types_of
from ..scratch import a2a3_transposes_blocks
from ..site import Site, Size, TileInfo, known

# What the reference assembler refuses of padding, quantisation, concatenation, sorting and others (assembly 13.9).


Refusal = str | None

_CONCAT = frozenset(DTYPES[n] for n in ("i8", "i16", "i32", "f16", "bf16", "f32"))


_rule = partial(assembler_rule, source="assembly 13.9")


def _padded(o: Site) -> Refusal:
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
def CC_1(o: Site) -> Refusal:
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
def CC_2(o: Site) -> Refusal:
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


# What the reference assembler asks of sorting, transposing and counting, and of their scratch tiles.


_BLOCK = 64
_SOURCES = ("src0", "src1", "src2", "src3")
_32 = types_of("i32 u32")
_TCI_BYTES = {32: 768, 16: 1792}


def _of(function: str) -> partial[RuleDecorator]:
    return partial(assembler_rule, source=f"PTOAS 2026-08 PTO.cpp {function}")


MS_1 = _of("TMrgSortOp")(
    "MS-1",
    "%{c64_i32|c96_i32} = arith.constant {64|96} : i32\n"
    "pto.tmrgsort ins(%a, %{c64_i32|c96_i32} : !pto.tile_buf<vec, 1x256xf32>, i32) "
    "outs(%b : !pto.tile_buf<vec, 1x256xf32>)",
    covered_by=("MRG-COM-01", "MRG-COM-02"),
)(
    """tmrgsort: one row of f16 or f32 in blocks of a multiple of 64; or rows of one type into another, with a tmp, if
    any, that holds dst, and all of them one after the other.

    Decision: That two to four sources are merged, and the record is vector<4xi16>, the form of the text says.
    """,
    lambda o: _merged(o) if o.has("src1") else _block(o),
)


def _block(o: Site) -> Message:
    s, d = o.src0, o.dst
    if s.dtype is not d.dtype or s.dtype not in F:
        return f"{o:src0} has element type {s.dtype}, {o:dst} {d.dtype}; both are f16, or f32"
    if (s.rows, d.rows) != (1, 1) or s.cols != d.cols:
        return f"{o:src0} is {s.rows}x{s.cols}, {o:dst} {d.rows}x{d.cols}; both are one row of equal length"
    length: Size = o.block_len.value if o.has("block_len") else 0
    if known(length) and (length <= 0 or length % _BLOCK):
        return f"the block length is {length}, not a positive multiple of {_BLOCK}"
    return None


def _merged(o: Site) -> Message:
    tiles = {name: t for name in (*_SOURCES, "tmp") if isinstance(t := o.operands.get(name), TileInfo)}
    for name, t in (("dst", o.dst), *tiles.items()):
        if t.dtype is not o.dst.dtype:
            return f"{o:{name}} has element type {t.dtype}, {o:dst} {o.dst.dtype}"
        if t.rows != 1:
            return f"{o:{name}} has {t.rows} rows, not 1"
    need = max(o.dst.cols, sum(t.cols for name, t in tiles.items() if name != "tmp"))
    if o.has("tmp") and o.tmp.cols < need:
        return f"{o:tmp} has {o.tmp.cols} columns, not {need}"
    return None


@_of("TSort32Op")(
    "SORT-AS-01",
    "pto.tsort32 ins(%a, %b, %c : !pto.tile_buf<vec, {1x8xf32|1x64xf32}>, !pto.tile_buf<vec, 1x64xui32>, "
    "!pto.tile_buf<vec, 1x32xf32>) outs(%d : !pto.tile_buf<vec, 1x128xf32>)",
    covered_by=("SORT-COM-01",),
    on="a2a3",
)
def SORT_AS_01(o: Site) -> Message:
    """tsort32: row-major vec tiles, f16 or f32, and indices of 32 bits; on a2a3 a tmp has src's size."""
    wrong = vec_rows(o, "src", "dst", "idx", "tmp") or differ(o, "src", "dst") or not_of(o, F, "src")
    if wrong or (wrong := not_of(o, _32, "idx")):
        return wrong
    return small(o, "tmp", o.src.spec.nbytes) if o.target.is_a(A2A3) else None


@_of("TTransOp")(
    "TRANS-AS-01",
    "%a = pto.alloc_tile : !pto.tile_buf<vec, {16x16xf32|8x16xf32}>\n"
    "pto.ttrans ins(%b, %a : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, {16x16xf32|8x16xf32}>) "
    "outs(%c : !pto.tile_buf<vec, 16x16xf32>)",
    covered_by=("TRANS-COM-01", "TRANS-COM-03"),
    on="a2a3",
)
def TRANS_AS_01(o: Site) -> Message:
    """ttrans: one element type, 8- to 32-bit integers, f16, bf16 or f32; src in rows on a2a3, whole blocks of 32 bytes
    on a5. tmp has the type, too, and 32 bytes, or src's size where a2a3 uses it.
    """
    s, d = o.src, o.dst
    if not isinstance(s, TileInfo) or not isinstance(d, TileInfo):
        return None
    if wrong := differ(o, "src", "dst", "tmp") or not_of(o, I6 | F | BF16, "src"):
        return wrong
    if o.target.is_a(A2A3):
        uses = a2a3_transposes_blocks(s, d)
        wrong = None if s.row_major else f"{o:src} has blayout=col_major"
        return wrong or small(o, "tmp", s.spec.nbytes if uses else 32)
    for name, t in (("src", s), ("dst", d)):
        line = t.cols if t.row_major else t.rows
        if line * t.dtype.size % 32:
            return f"{o:{name}} is {t.rows}x{t.cols}; {line} elements are no whole blocks of 32 bytes"
    return small(o, "tmp", 32)


@_of("TCIOp")(
    "CI-AS-01",
    "pto.tci ins(%x : f32) outs(%a : !pto.tile_buf<vec, {1x64xi16|1x64xf32}>)",
    covered_by=("CI-01", "CI-02"),
    on="a2a3",
)
def CI_AS_01(o: Site) -> Message:
    """tci: 16- and 32-bit integers, more than one column. On a2a3 a tmp is a plain row-major vec tile of i32 or f32
    with 768 bytes, for 16-bit elements 1792.
    """
    if o.dst.cols == 1:
        return f"{o:dst} has one column"
    if wrong := not_of(o, INT16_32, "dst"):
        return wrong
    t = o.tmp
    if t is None or not o.target.is_a(A2A3):
        return None
    if t.boxed or t.spec.fractal != 512 or (wrong := vec_rows(o, "tmp")):
        return wrong or f"{o:tmp} has layout {t.layout_name}, fractal={t.spec.fractal}"
    return not_of(o, types_of("i32 u32 f32"), "tmp") or small(o, "tmp", _TCI_BYTES[o.dst.dtype.bits])
