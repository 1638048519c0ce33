"""Rules of TSORT32 and TMRGSORT (compute-layout-irregular 2.5 and 2.6)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Severity, define
from ptokit.types.enums import TileType

from ..operands import DEVICES, Message, overlap
from ..site import Site, TileInfo
from ..tile_checks import boxed_or_columns, differ, not_of, not_plain, not_vec, overlapping
from ..typesets import BF16, F, types_of
from ..unknown import known

_sort = partial(define, source="compute-layout-irregular 2.5")
_merge = partial(define, source="compute-layout-irregular 2.6")
_GROUP, _RECORD = 32, 8


def _sort_tiles(o: Site) -> Message:
    allowed = F | BF16 | types_of("i16 i32") if o.target.name == "cpu" else F
    return (
        not_vec(o, "dst", "src", "idx")
        or boxed_or_columns(o, "dst", "src", "idx")
        or differ(o, "dst", "src")
        or not_of(o, allowed, "src")
        or not_of(o, types_of("u32") if not o.text else types_of("u32 i32"), "idx")
    )


def _whole_groups(o: Site) -> Message:
    if o.has("tmp") or not known(o.src.vc) or o.src.vc % _GROUP == 0:
        return None
    return f"src has {o.src.vc} valid columns; without tmp the last {o.src.vc % _GROUP} are not sorted"


def _room(o: Site) -> Message:
    per = _RECORD // o.dst.dtype.size
    groups = -(-o.src.vc // _GROUP) if o.has("tmp") and o.target.name != "cpu" else 0
    columns = groups * _GROUP * per if groups else o.src.vc * per
    return f"dst has {o.dst.cols} columns; the records take {columns}" if o.dst.cols < columns else None


def _rows_of_groups(o: Site) -> Message:
    groups = o.src.vc // _GROUP
    bad = known(groups) and groups > 255 and groups % 255 == 0
    return f"a row has {groups} groups; the library leaves the last 255 unsorted" if bad else None


def _cpu_index(o: Site) -> Message:
    if o.idx.vr != o.dst.vr or o.idx.cols != o.src.cols:
        return f"idx is valid in {o.idx.vr} rows of {o.idx.cols}; the simulator wants src's {o.dst.vr} of {o.src.cols}"
    return None


SORT_RULES = (
    _sort(
        "SORT-COM-01",
        "dst and src are row-major Vec tiles of f16 or f32, idx of u32.",
        _sort_tiles,
        accepted="f32 with u32 indices",
        rejected="f32 with i16 indices",
    ),
    _sort(
        "SORT-COM-02",
        "Without tmp the valid columns are groups of 32.",
        _whole_groups,
        targets=DEVICES,
        accepted="64 columns",
        rejected="60 columns",
    ),
    _sort(
        "SORT-COM-03",
        "dst has room for a record of 8 bytes for each element.",
        _room,
        accepted="32xf32 into 64 columns",
        rejected="32xf32 into 32 columns",
    ),
    _sort(
        "SORT-COM-05",
        "dst does not overlap the sources.",
        overlapping,
        accepted="three tiles",
        rejected="dst at the address of src",
    ),
    _sort(
        "SORT-A23-01",
        "A row has no multiple of 255 groups above 255 on a2a3.",
        _rows_of_groups,
        targets=("a2a3",),
        severity=Severity.WARNING,
        accepted="256 groups",
        rejected="510 groups",
        decision="The executor sorts them.",
    ),
    _sort(
        "SORT-CPU-01",
        "The simulator takes an index for every element: idx has src's rows and pitch.",
        _cpu_index,
        targets=("cpu",),
        accepted="4x64 both",
        rejected="idx of one row for 4",
    ),
)


def _lists(o: Site) -> list[TileInfo]:
    found = (o.operands[f"src{k}"] for k in range(4))
    return [t for t in found if isinstance(t, TileInfo)]


def _merge_tiles(o: Site) -> Message:
    names = ("dst", "src0", "src1", "src2", "src3", "tmp")
    rows = next((n for n in names if o.has(n) and o.operands[n].rows != 1), None)  # type: ignore[union-attr]
    if rows is not None:
        return f"{rows} has several rows; TMRGSORT works on tiles of one row"
    return not_plain(o) or not_of(o, F, *names) or differ(o, *names)


def _block_length(o: Site) -> Message:
    if not o.has("block_len"):
        return None
    length = o.block_len.value
    if not known(length):
        return None
    if length <= 0 or length % 64:
        return f"blocks have {length} elements; they must have a multiple of 64"
    if not known(o.src0.vc):
        return None
    if o.src0.vc % (4 * length) or not 1 <= o.src0.vc // (4 * length) <= 255:
        return f"src0 has {o.src0.vc} valid columns; it takes 1 to 255 times 4 blocks of {length}"
    return None


def _merge_tmp(o: Site) -> Message:
    t = o.tmp
    if t is None:
        return None
    total = sum(s.cols for s in _lists(o))
    if t.cols < total:
        return f"tmp has {t.cols} columns; the lists have {total} together"
    others = [("dst", o.dst), *((s.name, s) for s in _lists(o))]
    return next((f"tmp and {name} share bytes" for name, s in others if overlap(t, s)), None)


def _merge_sizes(o: Site) -> Message:
    size = o.dst.dtype.size
    for k, s in enumerate(_lists(o)):
        if s.vc * size // _RECORD > 65535:
            return f"list {k} has {s.vc * size // _RECORD} records; the counts have 16 bits"
    if o.has("tmp"):
        total, ub = (sum(s.vc for s in _lists(o)) + o.tmp.vc) * size, o.target.capacity[TileType.Vec]
        if total >= ub:
            return f"the lists and tmp take {total} bytes of the {ub} of UB"
    return None


def _whole_records(o: Site) -> Message:
    per = _RECORD // o.dst.dtype.size
    for k, s in enumerate(_lists(o)):
        if known(s.vc) and s.vc % per:
            return f"list {k} has {s.vc} valid columns; a record has {per}"
    return None


def _merge_in_place(o: Site) -> Message:
    return "dst and src0 share bytes; blocks are not merged in place" if overlap(o.dst, o.src0) else None


MERGE_RULES = (
    _merge(
        "MRG-COM-01",
        "All tiles are row-major Vec tiles of one row, of f16 or f32.",
        _merge_tiles,
        accepted="1x256xf32",
        rejected="2x256xf32",
    ),
    _merge(
        "MRG-COM-02",
        "Blocks have a multiple of 64 elements, and src 1 to 255 times four of them.",
        _block_length,
        accepted="64 of 256",
        rejected="64 of 320",
    ),
    _merge(
        "MRG-COM-03",
        "tmp has room for all lists and overlaps none of them.",
        _merge_tmp,
        accepted="tmp of 512 for 256 and 256",
        rejected="tmp of 256 for 256 and 256",
    ),
    _merge(
        "MRG-COM-04",
        "A list has at most 65535 records, and the lists and tmp are smaller than UB.",
        _merge_sizes,
        accepted="lists of 1024 elements",
        rejected="two lists of 16384 f32 with tmp on a2a3",
    ),
    _merge(
        "MRG-COM-05",
        "The lists are sorted in descending order.",
        accepted="9 8 7",
        rejected="7 8 9",
        decision="The devices do not look; unsorted lists are an error here.",
    ),
    _merge(
        "MRG-COM-06",
        "Blocks are not merged in place.",
        _merge_in_place,
        accepted="two tiles",
        rejected="dst at the address of src0",
    ),
    _merge(
        "MRG-COM-07",
        "A list consists of whole records of 8 bytes.",
        _whole_records,
        accepted="64 columns of f16",
        rejected="62 columns of f16",
    ),
)
