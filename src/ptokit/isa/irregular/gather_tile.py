"""TGATHER, TGATHERB, TSCATTER and THISTOGRAM, and what the reference assembler refuses of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import RuleDecorator
from ptokit.targets import A2A3, A5
from ptokit.types.enums import CmpMode, MaskAxis, MaskPattern, TileType

from ..checks.compiling import Message, is_nd
from ..checks.tiles import A5_ONLY, assembler_rule, differ, not_of, valid_differs, vec_rows
from ..machine import Machine, TileOperand
from ..meaning.moves import flat, for_all_blocks, in_range, kind, store_at
from ..meaning.words import Gather, Outside, Python, Scatter, Word
from ..operands import BF16, I6, INT16_32, F, types_of
from ..site import Site, TileInfo, known
from ..table import Access, Attr, Instr, Operand, Role, TextForm, dst, instruction, scalar, src, tmp
from .gather_rules import BINS, BLOCK_RULES, HISTOGRAM_RULES, RULES, SCATTER_RULES, by_index, by_mask, byte_of, rows_of

# What the reference assembler refuses of tgather, tgatherb, tscatter and thistogram.


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
    "pto.tgather ins(%s, {maskPattern = #pto.mask_pattern<P0101>} : !pto.tile_buf<vec, 4x64xf16>, "
    '"row") outs(%d : !pto.tile_buf<vec, 4x32xf16{|, valid=4x16}>)',
    covered_by=("TGATH-COM-03", "TGATH-COM-05", "TGATH-A23-03", "TGATH-A5-02"),
    on="a2a3",
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


# TGATHER and TGATHERB: elements of a tile by index, by mask, by comparison (compute-layout-irregular 2.1 to 2.3).


MASK = Attr("mask", MaskPattern, None, "maskPattern", "mask_pattern", dotted=True)
AXIS = Attr("axis", MaskAxis, MaskAxis.Row, "axis", "mask_axis", beside=True)


def _gather(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    idx: TileOperand | None,
    threshold: Any,
    count: TileOperand | None,
    tmp: Any,
    start: Any,
    *,
    mask: MaskPattern | None,
    axis: MaskAxis,
    cmp: CmpMode,
    offset: int,
) -> None:
    if count is None and mask is not None and axis is MaskAxis.Row:
        width, apart = rows_of(dst, src, mask, m.target)
        chosen = src.read()[:, :, mask.first :: mask.period][:, :, :width]
        rows, cols = np.ogrid[: src.vr, :width]
        store_at(dst, rows * apart + cols, np.ascontiguousarray(chosen).view(dst.spec.dtype.storage))
    elif not (dst.vr and dst.vc):
        return
    elif count is not None:
        level = threshold if idx is None else idx.read(src.vr, 1)
        _compare(dst, src, level, count, cmp, offset if start is None else start)
    elif mask is not None:
        which = mask.first + mask.period * np.arange(dst.vr)
        dst.write(src.read(int(which[-1]) + 1, src.vc)[:, which].view(kind(dst)), dst.vr, src.vc)


def _meaning(o: Site) -> Word:
    """By index it is a gather; a mask or a comparison is left to Python."""
    if not o.has("idx") or o.has("count"):
        return Python(_gather)
    return Gather(Outside.REFUSED if o.target.is_device else Outside.LEFT_OUT, "TGATH-COM-02")


def _compare(dst: TileOperand, src: TileOperand, level: Any, count: TileOperand, cmp: CmpMode, offset: Any) -> None:
    """Positions of the elements that match, row by row from column 0, and how many there are, densely."""
    x = src.read().astype(np.float64)
    k = level.astype(np.float64) if isinstance(level, np.ndarray) else float(level)
    hits = x > k if cmp is CmpMode.GT else x == k
    offset = (offset + (1 << 31)) % (1 << 32) - (1 << 31)
    places = np.arange(src.vr).reshape(-1, 1) * src.spec.cols + np.arange(src.vc) + offset
    order = np.argsort(~hits, axis=2, kind="stable")
    listed = np.take_along_axis(np.broadcast_to(places, hits.shape), order, axis=2)
    found = hits.sum(axis=2, keepdims=True)
    width = min(src.vc, dst.spec.cols)
    old = dst.read(src.vr, width)
    listed = np.where(np.arange(width) < found, listed[:, :, :width], old)
    dst.write(listed.astype(kind(dst)), src.vr, width)
    counts = flat(count).repeat(len(found) if len(found) > 1 else 1, axis=0)[: max(len(found), 1)].copy()
    counts[:, : src.vr] = found[:, :, 0]
    count.write(counts.reshape(len(counts), count.spec.rows, count.spec.cols), count.spec.rows, count.spec.cols)


def _footprint(o: Site) -> Iterator[Access]:
    """By index the whole source may be read."""
    whole = o.has("idx") and not o.has("count")
    s = o.src
    yield Access("src", False, s.rows if whole else s.vr, s.cols if whole else s.vc)
    if o.has("idx"):
        yield Access("idx", False, *((s.vr, 1) if o.has("count") else (o.dst.vr, o.dst.vc)))
    for name in ("dst", "count", "tmp") if not o.target.is_a(A5) else ("dst", "count"):
        info = o.operands[name]
        if isinstance(info, TileInfo):
            if name == "dst" and by_mask(o) and o.axis is MaskAxis.Row:
                yield from _one_after_the_other(o)
            else:
                yield Access(name, True, info.vr, info.vc, kept=name == "dst" and _keeps(o))  # type: ignore[arg-type]


def _one_after_the_other(o: Site) -> Iterator[Access]:
    """What a mask of columns writes: elements from the start of dst on, whole rows and the beginning of one."""
    d, s = o.dst, o.src
    width, apart = rows_of(d, s, o.mask, o.target) if known(s.vr, s.vc) else (0, -1)
    if width != apart:
        return (yield Access("dst", True, d.rows, d.cols, kept=True))
    rows, rest = divmod(s.vr * width, d.cols)
    if rows:
        yield Access("dst", True, rows, d.cols)
    if rest:
        yield Access("dst", True, 1, rest, row=rows)


def _keeps(o: Site) -> bool:
    """True if elements of dst may stay as they are: nothing is found for them, or their index lies outside of src."""
    if o.has("count") or o.has("idx"):
        return o.has("count") or not o.target.is_device
    return bool(o.src.vc < o.dst.vc)


TGATHER = instruction(
    Instr(
        "TGATHER",
        "tgather",
        "dst = elements of src that an index tile names, a mask selects, or a comparison finds.",
        (
            dst(),
            src(),
            src("idx", optional=True),
            scalar("threshold", optional=True),
            Operand("count", Role.OUT, optional=True),
            tmp(optional=True),
            scalar("start", optional=True, type="i32"),
        ),
        (
            MASK,
            AXIS,
            Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"),
            Attr("offset", int, 0, "offset", register="start"),
        ),
        form=TextForm(
            "dps-comma",
            choices=(
                "dst src idx tmp",
                "dst src idx",
                "dst src",
                "dst src threshold count tmp",
                "dst src threshold count",
                "dst src idx count tmp start",
                "dst src idx count tmp",
                "dst src idx count",
            ),
        ),
        rules=(*RULES, TGATHER_AS_01, TGATHER_AS_02, TGATHER_AS_03),
        meaning=_meaning,
        footprint=_footprint,
        source="compute-layout-irregular 2.2",
        cpp="TGATHER<^dst, ^src, mask, axis:GatherAxis?>(dst, src) | TGATHER(dst, src, idx, tmp)",
    )
)


def _gather_blocks(m: Machine, dst: TileOperand, src: TileOperand, offset: TileOperand) -> None:
    spec = dst.spec
    blocks = -(-dst.vc // spec.c0)
    start = offset.read(dst.vr, blocks).astype(np.int64)
    data = src.raw()
    good = in_range(m, "GATHB-03", start, data.shape[1] - 31, "byte offset")
    old = dst.read(dst.vr, spec.cols)
    wanted = np.where(good, start, 0)[..., None] + np.arange(32)
    data, places = for_all_blocks(data, wanted.reshape(len(start), -1))
    taken = np.take_along_axis(data, places, axis=1).reshape(len(data), dst.vr, blocks * 32).view(old.dtype)
    kept = np.repeat(good, spec.c0, axis=2)
    width = min(blocks * spec.c0, dst.vc)
    dst.write(np.where(kept, taken, old[:, :, : blocks * spec.c0])[:, :, :width], dst.vr, width)


def _block_footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.rows, o.src.cols)
    yield Access("offset", False, o.dst.vr, -(-o.dst.vc // o.dst.spec.c0))
    yield Access("dst", True, o.dst.vr, o.dst.vc, kept=True)  # where an offset leaves src


TGATHERB = instruction(
    Instr(
        "TGATHERB",
        "tgatherb",
        "Blocks of 32 bytes of src, at byte offsets.",
        (dst(), src(), src("offset")),
        rules=(*BLOCK_RULES, TGATHERB_AS_01),
        run=_gather_blocks,
        footprint=_block_footprint,
        source="compute-layout-irregular 2.3",
    )
)


# TSCATTER: elements to places in a tile, by index or by mask (compute-layout-irregular 2.4).


def _scatter(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    idx: TileOperand | None = None,
    *,
    mask: MaskPattern | None,
    axis: MaskAxis,
) -> None:
    rows, cols = (dst.spec.rows, dst.spec.cols) if m.target.is_device else (dst.vr, dst.vc)
    assert mask is not None
    x = src.read()
    out = np.zeros((len(x), rows, cols), x.dtype)
    if axis is MaskAxis.Col:
        out[:, mask.first : mask.first + mask.period * src.vr : mask.period, : src.vc] = x
    else:
        out[:, : src.vr, mask.first : mask.first + mask.period * src.vc : mask.period] = x
    dst.write(out, rows, cols)


def _scatter_meaning(o: Site) -> Word:
    """By index it is a scatter; a mask is left to Python."""
    if not o.has("idx"):
        return Python(_scatter)
    return Scatter(Outside.REFUSED if o.target.is_device else Outside.LEFT_OUT, "TSCAT-COM-04")


def _scatter_footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    if o.has("idx"):
        yield Access("idx", False, o.idx.vr, o.idx.vc)
    yield Access("dst", True, o.dst.rows, o.dst.cols)


TSCATTER = instruction(
    Instr(
        "TSCATTER",
        "tscatter",
        "dst = 0, then the elements of src at the places that an index tile names or a mask selects.",
        (dst(), src(), src("idx", optional=True)),
        (MASK, AXIS),
        form=TextForm("dps-comma"),
        rules=(*SCATTER_RULES, TSCATTER_AS_01),
        meaning=_scatter_meaning,
        footprint=_scatter_footprint,
        source="compute-layout-irregular 2.4",
        cpp="TSCATTER<mask, axis:ScatterAxis?>(dst, src) | TSCATTER(dst, src, idx)",
    )
)


# THISTOGRAM: cumulative counts of the values of one byte (compute-layout-irregular 2.9).


def _histogram(
    m: Machine, dst: TileOperand, src: TileOperand, idx: TileOperand, *, is_msb: bool, byte: int | None
) -> None:
    which = byte_of(is_msb, byte)
    x = src.read().view(src.spec.dtype.storage).astype(np.uint32)
    counted = np.ones(x.shape, bool)
    highest = src.spec.dtype.size - 1
    for step, above in enumerate(range(highest, which, -1)):  # only elements whose higher bytes are those of idx
        wanted = idx.read(src.vr, 1) if highest == 1 else idx.read(step + 1, 1)[:, step:, :]
        x, wanted = for_all_blocks(x, wanted)
        counted = counted & ((x >> 8 * above & 0xFF) == wanted)
    row = np.arange(len(counted) * src.vr).reshape(len(counted), src.vr, 1) * BINS
    bins = (np.broadcast_to(x, counted.shape) >> 8 * which & 0xFF) + row
    counts = np.bincount(bins[counted], minlength=len(counted) * src.vr * BINS)
    total = counts.reshape(len(counted), src.vr, BINS).cumsum(axis=2)
    dst.write(total.astype(np.uint32), src.vr, BINS)


def _histogram_footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    steps = o.src.dtype.size - 1 - byte_of(o.is_msb, o.byte)
    if steps:
        yield Access("idx", False, o.src.vr if o.src.dtype.size == 2 else steps, 1)
    yield Access("dst", True, o.src.vr, BINS)


THISTOGRAM = instruction(
    Instr(
        "THISTOGRAM",
        "thistogram",
        "dst[r,v] = how many elements of row r have a byte of at most v",
        (dst(), src(), src("idx")),
        (Attr("is_msb", bool, True, "isMSB"), Attr("byte", int, None, "byte")),
        rules=(*HISTOGRAM_RULES, A5_ONLY, HIST_AS_01),
        run=_histogram,
        footprint=_histogram_footprint,
        source="compute-layout-irregular 2.9",
        cpp="THISTOGRAM<!byte:HistByte>(dst, src, idx)",
    )
)
