"""Rules of TSORT32 and TMRGSORT (compute-layout-irregular 2.5 and 2.6)."""

from __future__ import annotations

from ptokit.diagnostics import Doubt, define, family
from ptokit.diagnostics.conditions import need
from ptokit.types.enums import TileType

from ..checks.operands import DEVICES, Message, overlap
from ..checks.tiles import boxed_or_columns, differ, not_of, not_plain, not_vec, overlapping
from ..site import Site, TileInfo
from ..typesets import BF16, F, types_of
from ..unknown import known

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
        what="dst does not overlap the sources.",
        evidence="device",
    )(overlapping),
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
    return next((f"{o:tmp} and {o:{name}} share bytes" for name, s in o.data_tiles if overlap(t, s)), None)


@_merge("MRG-COM-04", "lists of 1024 elements", "two lists of 16384 f32 with tmp on a2a3")
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
        accepted="9 8 7",
        rejected="7 8 9",
        decision="The devices do not look; unsorted lists are an error here.",
    ),
    _merge(
        "MRG-COM-06",
        "TMRGSORT(Tile(Vec, f32, 1, 256{|, addr=0}), src0=Tile(Vec, f32, 1, 256{|, addr=0}), block_len=64)",
        evidence="device",
    )(
        "Blocks are not merged in place.",
        "not overlap(dst, src0)",
        "{dst} and {src0} share bytes; blocks are not merged in place",
    ),
    MRG_COM_07,
)
