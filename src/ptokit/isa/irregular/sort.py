"""TSORT32 and TMRGSORT: sorted records of value and index (compute-layout-irregular 2.5 and 2.6).

A record has 8 bytes: the value, zeros up to 4 bytes, a 32-bit index. Here it is one uint64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..element_positions import for_all_blocks, kind
from ..forms import LEVEL2
from ..machine import Machine, TileOperand
from ..scratch import of_lists, of_tails
from ..site import Site, TileInfo
from ..table import (
    Access,
    Attr,
    Instr,
    Kind,
    Operand,
    Role,
    TextForm,
    agreed,
    dst,
    in_text,
    instruction,
    scalar,
    src,
    tmp,
)
from .scratch_text_rules import MS_1, SORT_AS_01
from .sort_rules import MERGE_RULES, SORT_RULES

GROUP = 32
RECORD = 8  # bytes


def _sort(m: Machine, dst: TileOperand, src: TileOperand, idx: TileOperand, tmp: TileOperand | None = None) -> None:
    rows, on_cpu = dst.vr, not m.target.is_device
    columns = src.vc if tmp is not None or on_cpu else src.vc // GROUP * GROUP
    x = src.read(rows, columns)
    number = idx.read(1 if idx.vr == 1 else rows, columns)
    x, number = for_all_blocks(x, np.broadcast_to(number, (len(number), rows, columns)))
    key = _descending(x)
    padding = -columns % GROUP
    last = _largest_of_templates(x) if m.target.templates else _lowest(x)
    padded = np.pad(key, ((0, 0), (0, 0), (0, padding)), constant_values=_descending(last)[0])
    numbers = np.pad(number.astype(np.uint64), ((0, 0), (0, 0), (0, padding)))
    codes = np.pad(_codes(x), ((0, 0), (0, 0), (0, padding)), constant_values=_codes(last)[0])
    groups = padded.shape[2] // GROUP
    grouped = [a.reshape(*a.shape[:2], groups, GROUP) for a in (padded, numbers, codes)]
    end = padded.shape[2] if m.target.templates else columns  # what the library fills with comes last
    behind = np.broadcast_to((np.arange(padded.shape[2]) >= end).reshape(1, 1, groups, GROUP), grouped[0].shape)
    order = np.lexsort((grouped[1], grouped[0], behind), axis=3)
    values, indices = (np.take_along_axis(a, order, axis=3).reshape(padded.shape) for a in (grouped[2], grouped[1]))
    records = values | indices << np.uint64(32)
    if on_cpu:
        records = records[:, :, :columns]
    out = np.ascontiguousarray(records).view(kind(dst))
    dst.write(out, rows, min(out.shape[2], dst.spec.cols))


def _largest_of_templates(x: np.ndarray) -> np.ndarray:
    """What templates fill the last group with: the bits of the lowest number, taken for a number."""
    bits = {"float16": 0xFC00, "bfloat16": 0xFF80}.get(x.dtype.name, 0xFF800000)
    return np.array([bits]).astype(x.dtype)


def _descending(x: np.ndarray) -> np.ndarray:
    return -x.astype(np.float64)


def _codes(x: np.ndarray) -> np.ndarray:
    """The bits of elements of 2 or 4 bytes."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64)


def _lowest(x: np.ndarray) -> np.ndarray:
    return np.array([-np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min]).astype(x.dtype)


def _sort_footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.dst.vr, o.src.vc)
    yield Access("idx", False, o.idx.vr, o.src.vc)
    groups = -(-o.src.vc // GROUP) if o.has("tmp") else o.src.vc // GROUP
    yield Access("dst", True, o.dst.vr, groups * GROUP * RECORD // o.dst.dtype.size)
    if o.has("tmp"):
        yield Access("tmp", True, o.tmp.vr, o.tmp.vc)


TSORT32 = instruction(
    Instr(
        "TSORT32",
        "tsort32",
        "Sort each 32 elements of a row in descending order; dst holds records of value and index.",
        (dst(), src(), src("idx"), tmp(optional=True, needed=of_tails)),
        rules=(*SORT_RULES, SORT_AS_01),
        run=_sort,
        footprint=_sort_footprint,
        source="compute-layout-irregular 2.5",
    )
)


def _records(tile: TileOperand, columns: int) -> np.ndarray:
    """The records in the first columns of a tile of one row: uint64 of shape (blocks or 1, records)."""
    values = np.ascontiguousarray(tile.read(1, columns))[:, 0]
    return values.view(np.uint8).reshape(len(values), -1).view(np.uint64)


def _keys(records: np.ndarray, element: np.dtype) -> np.ndarray:
    """What records are sorted by: their values, negative, as float64."""
    return _descending(records.astype(f"u{element.itemsize}").view(element))


def _merge_lists(m: Machine, lists: Sequence[np.ndarray], element: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Records in descending order, of equal ones those of the first list first; and the list of each."""
    for number, records in enumerate(lists):
        keys = _keys(records, element)
        if (keys[:, 1:] < keys[:, :-1]).any():
            m.refuse("MRG-COM-05", f"list {number} is not sorted in descending order")
    blocks = max(len(r) for r in lists)
    together = np.concatenate([np.broadcast_to(r, (blocks, r.shape[1])) for r in lists], axis=1)
    owner = np.concatenate([np.full(r.shape[1], k) for k, r in enumerate(lists)])
    order = np.argsort(_keys(together, element), axis=1, kind="stable")
    return np.take_along_axis(together, order, axis=1), owner[order]


def _merge(
    m: Machine,
    dst: TileOperand,
    executed: Any,
    tmp: TileOperand | None,
    *operands: Any,
    exhausted: bool,
) -> None:
    *sources, length = operands
    lists = [s for s in sources if s is not None]
    element = kind(dst)
    if length is not None:
        _merge_blocks(m, dst, lists[0], int(length), element)
        return
    assert tmp is not None
    merged, owner = _merge_lists(m, [_records(s, s.vc) for s in lists], element)
    sizes = [s.vc * element.itemsize // RECORD for s in lists]
    used = np.array([[n if k < len(sizes) else 0 for k, n in enumerate((*sizes, 0, 0))][:4]] * len(merged))
    if exhausted:
        used, counts = _until_one_is_empty(owner, sizes)
    else:
        counts = np.full(len(merged), merged.shape[1])
    room = min(-(-dst.vc * element.itemsize // 32) * 32 // element.itemsize, dst.spec.cols)
    out = np.ascontiguousarray(merged).view(element).reshape(len(merged), 1, -1)
    written = (counts * RECORD // element.itemsize).reshape(-1, 1, 1)
    for tile, limit in ((tmp, tmp.spec.cols), (dst, room)):
        width = min(out.shape[2], limit)
        old = tile.read(1, width)
        tile.write(np.where(np.arange(width) < written, out[:, :, :width], old), 1, width)
    if executed is not None and (exhausted or not m.target.is_device):
        executed.store(used.astype(np.uint16).reshape(-1, 1, 4), executed.layout_for(True))


def _until_one_is_empty(owner: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Records taken of each list, and of all, when the last record of some list has been taken."""
    used = np.zeros((len(owner), 4), np.int64)
    counts = np.zeros(len(owner), np.int64)
    for block, owners in enumerate(owner):
        ends = [np.flatnonzero(owners == k)[-1] for k, n in enumerate(sizes) if n]
        counts[block] = min(ends, default=-1) + 1
        used[block, : len(sizes)] = np.bincount(owners[: counts[block]], minlength=len(sizes))
    return used, counts


def _merge_blocks(m: Machine, dst: TileOperand, src: TileOperand, length: int, element: np.dtype) -> None:
    """Merge four neighbouring blocks of `length` elements; what is left of the row is left alone."""
    per_list = length * element.itemsize // RECORD
    columns = (dst.vc if not m.target.is_device else src.vc) // (4 * length) * 4 * length
    if not columns:
        return
    records = _records(src, columns)
    parts = records.reshape(len(records), -1, 4, per_list)
    merged = [_merge_lists(m, [group[:, k] for k in range(4)], element)[0] for group in parts.transpose(1, 0, 2, 3)]
    out = np.ascontiguousarray(np.concatenate(merged, axis=1))
    dst.write(out.view(element).reshape(len(out), 1, -1), 1, columns)


def _merge_footprint(o: Site) -> Iterator[Access]:
    for name in ("src0", "src1", "src2", "src3"):
        info = o.operands[name]
        if isinstance(info, TileInfo):
            yield Access(name, False, 1, info.vc)  # type: ignore[arg-type]
    yield Access("dst", True, 1, o.dst.vc, kept=True)  # what is left of lists and blocks
    if o.has("tmp"):
        yield Access("tmp", True, 1, o.tmp.vc)


TMRGSORT = instruction(
    Instr(
        "TMRGSORT",
        "tmrgsort",
        "Merge sorted lists of records: four neighbouring blocks of one tile, or two to four tiles.",
        (
            dst(),
            Operand("executed", Role.OUT, Kind.RECORD, optional=True),
            in_text(tmp(optional=True, like="dst", needed=of_lists), absent="no_tmp"),
            src("src0"),
            src("src1", optional=True),
            src("src2", optional=True),
            src("src3", optional=True),
            agreed(scalar("block_len", optional=True, type="i32")),
        ),
        (Attr("exhausted", bool, False, "exhausted"),),
        form=TextForm(
            "dps-attrs-in",
            choices=(
                "dst src0 block_len",
                "dst executed tmp src0 src1",
                "dst tmp src0 src1",
                "dst tmp src0 src1 src2",
                "dst tmp src0 src1 src2 src3",
                "dst executed tmp src0 src1 src2",
                "dst executed tmp src0 src1 src2 src3",
                "dst executed src0 src1",
                "dst executed src0 src1 src2",
                "dst executed src0 src1 src2 src3",
            ),
            orders={LEVEL2: "src0 src1 src2 src3 tmp block_len -> dst executed"},
            misfits={"": "MS-1"},
        ),
        rules=(*MERGE_RULES, MS_1),
        run=_merge,
        footprint=_merge_footprint,
        source="compute-layout-irregular 2.6",
    )
)
