"""TSORT32 and TMRGSORT: sorted records of value and index (compute-layout-irregular 2.5, 2.6).

A record has 8 bytes: the value, zeros up to 4 bytes, a 32-bit index. Here it is one uint64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import Doubt, define, family
from ptokit.diagnostics.rules import need
from ptokit.types.enums import TileType

from ..checks.compiling import DEVICES, Message, overlap
from ..checks.tiles import boxed_or_columns, differ, not_of, not_plain, not_vec, overlapping
from ..machine import Machine, TileOperand
from ..meaning.moves import for_all_blocks, kind
from ..operands import BF16, F, types_of
from ..scratch import of_lists, of_tails
from ..site import Site, TileInfo, known
from ..table import (
    LEVEL2,
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
from .text_rules import MS_1, SORT_AS_01

# Rules of TSORT32 and TMRGSORT (compute-layout-irregular 2.5 and 2.6).


_sort = family("compute-layout-irregular 2.5")
_merge = family("compute-layout-irregular 2.6")
_GROUP, _RECORD = 32, 8


@_sort(
    "SORT-COM-01",
    "TSORT32(Tile(Vec, f32, 16, 128), Tile(Vec, f32, 16, 64), Tile(Vec, {u32|u16}, 16, 64))",
    evidence="static_assert",
)
def SORT_COM_01(o: Site) -> Message:
    """dst and src are row-major Vec tiles of f16 or f32, idx of u32."""
    allowed = F | BF16 | types_of("i16 i32") if not o.target.is_device else F
    return (
        not_vec(o, "dst", "src", "idx")
        or boxed_or_columns(o, "dst", "src", "idx")
        or differ(o, "dst", "src")
        or not_of(o, allowed, "src")
        or not_of(o, types_of("u32") if not o.text else types_of("u32 i32"), "idx")
    )


def _shares_bytes(o: Site) -> Message:
    return overlapping(o, "dst", "src", "idx", *(("tmp",) if of_tails(o) is not None else ()))


SORT_RULES = (
    SORT_COM_01,
    _sort(
        "SORT-COM-02",
        "TSORT32(Tile(Vec, f32, 16, 128), Tile(Vec, f32, 16, 64{|, valid_col=60}), Tile(Vec, u32, 16, 64))",
        targets=DEVICES,
        evidence="device",
        on="a2a3",
    )(
        "Without tmp the valid columns are groups of 32.",
        "src.vc % _GROUP == 0 if tmp is None and known(src.vc)",
        "{src} has {src.vc} valid columns; without {tmp} the last {src.vc % _GROUP} are not sorted",
    ),
    _sort(
        "SORT-COM-03",
        "TSORT32(Tile(Vec, f32, 16, {128|64}), Tile(Vec, f32, 16, 64), Tile(Vec, u32, 16, 64))",
        evidence="device",
    )(
        "dst has room for a record of 8 bytes for each element.",
        "per = _RECORD // dst.dtype.size",
        "groups = -(-src.vc // _GROUP) if tmp is not None and target.is_device else 0",
        "columns = groups * _GROUP * per if groups else src.vc * per",
        "dst.cols >= columns",
        "{dst} has {dst.cols} columns; the records take {columns}",
    ),
    _sort(
        "SORT-COM-05",
        "TSORT32(Tile(Vec, f32, 16, 128{|, addr=0}), Tile(Vec, f32, 16, {|64, addr=}64), Tile(Vec, u32, 16, 64))",
        what="dst does not overlap the sources, nor scratch where the last group of a row is filled up there.",
        evidence="device",
    )(_shares_bytes),
    _sort(
        "SORT-A23-01",
        "TSORT32(Tile(Vec, {f32, 16, 128), Tile(Vec, f32, 16, 64), Tile(Vec, u32, 16, 64|f16, 1, 65280), "
        "Tile(Vec, f16, 1, 16320), Tile(Vec, u32, 1, 16320}))",
        evidence="legal",
    )(
        """A row has no multiple of 255 groups above 255 on a2a3.

        Decision: The executor sorts them.
        """,
        "groups = src.vc // _GROUP",
        "groups % 255 != 0 if known(groups) and groups > 255",
        "a row has {groups} groups; the library leaves the last 255 unsorted",
    ),
    _sort(
        "SORT-CPU-01",
        "TSORT32(Tile(Vec, f32, 16, 128), Tile(Vec, f32, 16, 64), Tile(Vec, u32, {16|1}, 64))",
        evidence="simulator",
    )(
        "The simulator takes an index for every element: idx has src's rows and pitch.",
        "idx.vr == dst.vr and idx.cols == src.cols",
        "{idx} is valid in {idx.vr} rows of {idx.cols}; the simulator wants {src}'s {dst.vr} of {src.cols}",
    ),
)


def _lists(o: Site) -> list[TileInfo]:
    found = (o.operands[f"src{k}"] for k in range(4))
    return [t for t in found if isinstance(t, TileInfo)]


@_merge(
    "MRG-COM-01",
    "TMRGSORT(Tile(Vec, f32, {1|2}, 256), src0=Tile(Vec, f32, {1|2}, 256), block_len=64)",
    evidence="static_assert",
    on="a2a3",
)
def MRG_COM_01(o: Site) -> Message:
    """All tiles are row-major Vec tiles of one row, of f16 or f32."""
    names = ("dst", "src0", "src1", "src2", "src3", "tmp")
    rows = next((n for n in names if o.has(n) and o.operands[n].rows != 1), None)  # type: ignore[union-attr]
    if rows is not None:
        return f"{o:{rows}} has several rows; TMRGSORT works on tiles of one row"
    return not_plain(o) or not_of(o, F, *names) or differ(o, *names)


@_merge(
    "MRG-COM-03",
    "TMRGSORT(Tile(Vec, f32, 1, 128), tmp=Tile(Vec, f32, 1, {128|64}), src0=Tile(Vec, f32, 1, 64), "
    "src1=Tile(Vec, f32, 1, 64))",
    evidence="device",
    on="cpu",
)
def MRG_COM_03(o: Site) -> Message:
    """tmp has room for all lists and overlaps none of them."""
    t = o.tmp
    if t is None:
        return None
    total = sum(s.cols for s in _lists(o))
    if t.cols < total:
        message = f"{o:tmp} has {t.cols} columns; the lists have {total} together"
        return Doubt(message) if o.target.is_device else message
    return next((f"{o:tmp} and {o:{name}} share bytes" for name, s in o.data_tiles if overlap(t, s, whole=True)), None)


@_merge(
    "MRG-COM-04",
    """
        t = [Tile(Vec, f32, 1, {1024|16384}), Tile(Vec, f32, 1, {1024|16384})]
        TMRGSORT(Tile(Vec, f32, 1, {2048|32768}), None, Tile(Vec, f32, 1, {2048|32768}), t[0], t[1])
    """,
    evidence="device assertion",
    on="a2a3",
)
def MRG_COM_04(o: Site) -> Message:
    """A list has at most 65535 records, and the lists and tmp are smaller than UB."""
    size = o.dst.dtype.size
    for k, s in enumerate(_lists(o)):
        if s.vc * size // _RECORD > 65535:
            return f"list {k} has {s.vc * size // _RECORD} records; the counts have 16 bits"
    if o.has("tmp"):
        total, ub = (sum(s.vc for s in _lists(o)) + o.tmp.vc) * size, o.target.capacity[TileType.Vec]
        if total >= ub:
            return f"the lists and {o:tmp} take {total} bytes of the {ub} of UB"
    return None


@_merge(
    "MRG-COM-07",
    "TMRGSORT(Tile(Vec, f32, 1, 128), tmp=Tile(Vec, f32, 1, 128), src0=Tile(Vec, f32, 1, 64), "
    "src1=Tile(Vec, f32, 1, 64{|, valid_col=63}))",
    evidence="device",
)
def MRG_COM_07(o: Site) -> Message:
    """A list consists of whole records of 8 bytes."""
    per = _RECORD // o.dst.dtype.size
    for k, s in enumerate(_lists(o)):
        if known(s.vc) and s.vc % per:
            return f"list {k} has {s.vc} valid columns; a record has {per}"
    return None


MERGE_RULES = (
    MRG_COM_01,
    _merge(
        "MRG-COM-02",
        "TMRGSORT(Tile(Vec, f32, 1, 256), src0=Tile(Vec, f32, 1, 256), block_len={64|60})",
        evidence="device assertion",
    )(
        "Blocks have a multiple of 64 elements, and src 1 to 255 times four of them.",
        "if known(block_len.value)",
        "block_len.value > 0 and block_len.value % 64 == 0",
        "blocks have {block_len.value} elements; they must have a multiple of 64",
        "1 <= src0.vc // (4 * block_len.value) <= 255 if known(src0.vc)",
        "{src0} has {src0.vc} valid columns; it takes 1 to 255 times 4 blocks of {block_len.value}",
        need(
            "src0.vc % (4 * block_len.value) == 0 if known(src0.vc)",
            "{src0} has {src0.vc} valid columns; what follows the last four blocks of {block_len.value} stays as it is",
            doubt="target.is_device",
        ),
    ),
    MRG_COM_03,
    MRG_COM_04,
    define(
        "MRG-COM-05",
        "The lists are sorted in descending order.",
        source="compute-layout-irregular 2.6",
        example="""
            # ptokit run
            a = Tile(Vec, f32, 1, 64)
            TEXPANDS(a, 1.0)
            b = Tile(Vec, f32, 1, 64)
            TEXPANDS(b, 1.0)
            {|TSETVAL(a, 2, 2.0)
            }TMRGSORT(Tile(Vec, f32, 1, 128), None, Tile(Vec, f32, 1, 128), a, b)
        """,
        decision="The devices do not look; unsorted lists are an error here.",
        evidence="device",
    ),
    _merge(
        "MRG-COM-06",
        "TMRGSORT(Tile(Vec, f32, 1, 256{|, addr=0}), src0=Tile(Vec, f32, 1, 256{|, addr=0}), block_len=64)",
        evidence="device",
    )(
        "Blocks are not merged in place.",
        lambda o: Doubt(f"{o:dst} and {o:src0} share bytes") if overlap(o.dst, o.src0) else None,
    ),
    MRG_COM_07,
)


# TSORT32 and TMRGSORT: sorted records of value and index (compute-layout-irregular 2.5 and 2.6).


GROUP = 32
RECORD = 8  # bytes


def _sort32(m: Machine, dst: TileOperand, src: TileOperand, idx: TileOperand, tmp: TileOperand | None = None) -> None:
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
    beyond = np.broadcast_to((np.arange(padded.shape[2]) >= end).reshape(1, 1, groups, GROUP), grouped[0].shape)
    order = np.lexsort((grouped[1], grouped[0], beyond), axis=3)
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
        run=_sort32,
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


def _merged_lists(
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
    # What is left of lists and blocks is kept. Lists are merged into the scratch tile, and moved from there.
    yield Access("dst", True, 1, o.dst.vc, kept=True, last=o.has("tmp"))
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
        run=_merged_lists,
        footprint=_merge_footprint,
        source="compute-layout-irregular 2.6",
        cpp=(
            "TMRGSORT(dst, src0, block_len) | "
            "TMRGSORT<^dst, ^tmp, ^src0, ^src1, ^src2?, ^src3?, !exhausted>"
            "(dst, MrgSortExecutedNumList{}, tmp, src0, src1, src2?, src3?)"
        ),
    )
)
