"""TGATHER and TGATHERB: elements of a tile by index, by mask, by comparison (compute-layout-irregular 2.1 to 2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.types.enums import CmpMode, MaskAxis, MaskPattern

from ..element_positions import flat, for_all_blocks, in_range, kind
from ..machine import Machine, TileOperand
from ..meaning.words import Gather, Outside, Python, Word
from ..site import Site, TileInfo
from ..table import Access, Attr, Instr, Operand, Role, TextForm, dst, instruction, scalar, src, tmp
from ..unknown import known
from .gather_text_rules import TGATHER_AS_01, TGATHER_AS_02, TGATHER_AS_03, TGATHERB_AS_01
from .gather_tile_rules import BLOCK_RULES, RULES

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
