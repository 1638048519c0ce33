"""TGATHER, TGATHERB, TSCATTER and THISTOGRAM: elements of a tile by index, by mask, by comparison, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.types.enums import CmpMode, MaskAxis, MaskPattern

from ..checks.tiles import A5_ONLY
from ..machine import Machine, TileOperand
from ..meaning.positions import flat, for_all_blocks, in_range, kind
from ..meaning.words import Gather, Outside, Python, Scatter, Word
from ..site import Site, TileInfo, known
from ..table import Access, Attr, Instr, Operand, Role, TextForm, dst, instruction, scalar, src, tmp
from .gather_text_rules import HIST_AS_01, TGATHER_AS_01, TGATHER_AS_02, TGATHER_AS_03, TGATHERB_AS_01, TSCATTER_AS_01
from .gather_tile_rules import BLOCK_RULES, RULES
from .scatter_rules import BINS, HISTOGRAM_RULES, SCATTER_RULES, byte_of

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
    *,
    mask: MaskPattern | None,
    axis: MaskAxis,
    cmp: CmpMode,
    offset: int,
) -> None:
    if not (dst.vr and dst.vc):
        return
    if count is not None:
        level = threshold if idx is None else idx.read(src.vr, 1)
        _compare(dst, src, level, count, cmp, offset)
    elif mask is not None:
        if axis is MaskAxis.Col:
            rows = mask.first + mask.period * np.arange(dst.vr)
            dst.write(src.read(int(rows[-1]) + 1, src.vc)[:, rows].view(kind(dst)), dst.vr, src.vc)
        else:
            chosen = src.read()[:, :, mask.first :: mask.period]
            chosen = chosen.reshape(len(chosen), -1).copy().view(kind(dst))
            if chosen.shape[1] < dst.vr * dst.vc:  # the rest stays as it is
                old, chosen = for_all_blocks(dst.read().reshape(-1, dst.vr * dst.vc), chosen)
                chosen = np.concatenate((chosen, old[:, chosen.shape[1] :]), axis=1)
            dst.write(chosen.reshape(len(chosen), dst.vr, dst.vc), dst.vr, dst.vc)


def _meaning(o: Site) -> Word:
    """By index it is a gather; a mask or a comparison is left to Python."""
    if not o.has("idx") or o.has("count"):
        return Python(_gather)
    return Gather(Outside.REFUSED if o.target.is_device else Outside.LEFT_OUT, "TGATH-COM-02")


def _compare(dst: TileOperand, src: TileOperand, level: Any, count: TileOperand, cmp: CmpMode, offset: int) -> None:
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
    for name in ("dst", "count", "tmp"):
        info = o.operands[name]
        if isinstance(info, TileInfo):
            kept = name == "dst" and _keeps(o)
            yield Access(name, True, info.vr, info.vc, kept=kept)  # type: ignore[arg-type]


def _keeps(o: Site) -> bool:
    """True if elements of dst may stay as they are: nothing is found for them, or their index lies outside of src."""
    if o.has("count") or o.has("idx"):
        return o.has("count") or not o.target.is_device
    if o.axis is MaskAxis.Col:
        return bool(o.src.vc < o.dst.vc)
    chosen = len(range(o.mask.first, o.src.vc, o.mask.period)) if known(o.src.vc) else 0
    return not o.src.vr * chosen >= o.dst.vr * o.dst.vc


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
        ),
        (MASK, AXIS, Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"), Attr("offset", int, 0, "offset")),
        form=TextForm(
            "dps-comma",
            choices=(
                "dst src idx tmp",
                "dst src idx",
                "dst src",
                "dst src threshold count tmp",
                "dst src threshold count",
                "dst src idx count tmp",
                "dst src idx count",
            ),
        ),
        rules=(*RULES, TGATHER_AS_01, TGATHER_AS_02, TGATHER_AS_03),
        meaning=_meaning,
        footprint=_footprint,
        source="compute-layout-irregular 2.2",
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
    )
)
