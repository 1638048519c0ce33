"""Scratch tiles: those that text leaves out, rules about them, operands that share bytes (compute-elementwise 3.6, 6).

Facts: PTOAS 2026-08, PTOMaterializeImplicitTmp.cpp. At level 3 the program has to give those tiles.

Which operands may be one tile differs between instructions. Each variant of a rule is the same rule with another check;
an instruction names the one that holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ptokit.diagnostics import Doubt, family
from ptokit.targets import A2A3, Target
from ptokit.types.dtypes import DTYPES, HALVES, int4
from ptokit.types.enums import BLayout, SaturationMode, SLayout, TileType
from ptokit.types.tile import TileSpec, as_numbers, numbers_in

from .checks.compiling import Message, all_tiles, overlap, same_tile
from .operands import BITS, Operand
from .site import Info, Site, Size, TileInfo, known
from .table import Instr, Role

# Where the assembler makes a scratch tile that text leaves out, and what says its size (`Operand.needed`).


Needed = Callable[[Site], "str | None"]


def on_a2a3(like: str = "") -> Needed:
    """On a2a3 always, as large as this operand is valid; elsewhere the assembler has a tile of a fixed size."""
    return lambda o: like if o.target.is_a(A2A3) else None


def of_floats(o: Site) -> str | None:
    """Powers of floats."""
    return "dst" if o.dst.dtype.is_float else None


def of_trees(o: Site) -> str | None:
    """Sums of columns as trees."""
    return "src" if o.is_binary else None


def of_tails(o: Site) -> str | None:
    """Sorting of a width that is no multiple of 32, or open."""
    return "" if o.src.spec.valid_col % 32 else None


def of_lists(o: Site) -> str | None:
    """Merging of two tiles and more."""
    return "" if o.has("src1") else None


def of_wraps(o: Site) -> str | None:
    """Conversions of floats to narrower integers without saturation."""
    s, d = o.src.dtype, o.dst.dtype
    narrows = d.is_integer and (s.name, d.bits) in (("f32", 16), ("f16", 16), ("f16", 8))
    return "dst" if o.target.is_a(A2A3) and narrows and o.sat_mode is not SaturationMode.ON else None


def of_transposes(o: Site) -> str | None:
    """Transposing on a2a3; of tiles whose rows are no whole blocks, any will do."""
    s, d = o.src, o.dst
    if not o.target.is_a(A2A3) or not isinstance(s, TileInfo) or not isinstance(d, TileInfo):
        return None
    return "src" if a2a3_transposes_blocks(s, d) else ""


def a2a3_transposes_blocks(s: TileInfo, d: TileInfo) -> bool:
    """True if a2a3 transposes whole blocks, for which it uses a scratch tile of the source's size."""
    return d.cols % (32 if s.dtype.size == 1 else 16) == 0 and s.cols % s.c0 == 0 and s.cols // s.c0 <= 255


# Tiles that an instruction takes as others than text says.


SCALED = 32  # elements along K that share a scale, and bytes of a box of scales
_ROWS, _SHIFT = 16, 16  # of a box; an operand's address in units of that of its scales


def in_numbers(instr: Instr, operands: Mapping[str, Info | None], target: Target) -> dict[str, TileInfo]:
    """The tiles of pairs of 4-bit floats that are numbers to `instr`, since they meet tiles of other elements.

    Where all tiles hold pairs, a pair is one element. Of int4, a2a3 packs two into a byte.
    """
    if not instr.halves:
        return {}
    tiles = [(name, t) for name in instr.data_names if isinstance(t := operands.get(name), TileInfo)]
    pairs = {name: t for name, t in tiles if t.spec.dtype in HALVES or (t.spec.dtype is int4 and target.is_a(A2A3))}
    return {name: _numbers(t) for name, t in pairs.items()} if len(pairs) < len(tiles) else {}


def scales_of(instr: Instr, operands: Mapping[str, Info | None]) -> dict[str, TileInfo]:
    """Where scaled products find scales that text has as tiles of other elements.

    Such a tile is no more than a word: the hardware reads what belongs to the address of the operand.
    """
    found = {o.name: _scales(o, operands) for o in instr.operands if o.place is not None}
    return {name: tile for name, tile in found.items() if tile is not None}


def _numbers(tile: TileInfo) -> TileInfo:
    spec, (rows, cols) = as_numbers(tile.spec), numbers_in(tile.spec)
    return replace(tile, spec=spec, vr=tile.vr * rows, vc=tile.vc * cols)


def _scales(operand: Operand, operands: Mapping[str, Info | None]) -> TileInfo | None:
    given, scaled = operands.get(operand.name), operands.get(operand.name.removesuffix("_scale"))
    if not isinstance(given, TileInfo) or not isinstance(scaled, TileInfo) or not known(scaled.addr):
        return None
    if given.loc is not TileType.Scaling or given.spec.dtype.name == "e8m0" or operand.place is None:
        return None
    left = operand.place is TileType.ScaleLeft
    rows = scaled.spec.rows if left else scaled.spec.cols
    rows = 1 if left and rows == 1 else -(-rows // _ROWS) * _ROWS  # those of a vector are a vector
    groups = -(-(scaled.spec.cols if left else scaled.spec.rows) // (2 * SCALED)) * 2
    size = (rows, groups) if left else (groups, rows)
    blayout, slayout = (BLayout.RowMajor, SLayout.RowMajor) if left else (BLayout.ColMajor, SLayout.ColMajor)
    spec = TileSpec(operand.place, DTYPES["e8m0"], *size, *size, blayout, slayout, SCALED)
    return TileInfo(given.name, spec, *size, scaled.addr // _SHIFT)


# Rules about operands that share bytes (compute-elementwise 6, compute-reduce-matrix 0.3).


rule = family("compute-elementwise 6")

# Elementwise ---------------------------------------------------------------------------------------------------------


def _on_a2a3(o: Site) -> bool:
    return o.target.is_a(A2A3)


def _floats_on_a2a3(o: Site) -> bool:
    return _on_a2a3(o) and o.dst.dtype.is_float


def _reciprocal_on_a2a3(o: Site) -> bool:
    return _floats_on_a2a3(o) and bool(o.scalar_first)


def _aliasing(o: Site, apart: Callable[[Site], bool] = lambda o: False, *, chain: bool = False) -> Message:
    """``apart``: no source may be dst; ``chain``: nor the last one, which the second of two steps reads."""
    for name, t in o.sources:
        if same_tile(o.dst, t):
            if apart(o) or name == "mask":
                return (
                    f"{o:dst} and {o:{name}} are the same tile; {o.instr.name} on {o.target.name} needs them distinct"
                )
            if chain and name == o.instr.operands[-1].name and o.target.is_device:
                return f"{o:dst} and {o:{name}} are the same tile; the first of the two steps would overwrite it"
        elif overlap(o.dst, t) and not _bits_after_rows(o, t):
            return f"{o:dst} and {o:{name}} overlap partly (bytes from {o.dst.addr} and {t.addr})"
    scratch = [(n, t) for n, t in all_tiles(o) if o.instr.operand(n).role is Role.SCRATCH]
    if o.target.is_a(A2A3):
        for name, t in scratch:
            for other, u in o.data_tiles:
                if overlap(t, u, whole=True):
                    return f"{o:{name}} overlaps {o:{other}}; {o.instr.name} on a2a3 uses it as scratch"
    return None


def _bits_after_rows(o: Site, source: TileInfo) -> bool:
    """True if the result is bits, and those of each row lie in bytes of rows that have been read by then.

    Sizes that are not known yet are asked for again at run time.
    """
    bits = o.instr.operand("dst").type is BITS and o.dst.addr <= source.addr
    return bits and _row_after_row(source, o.dst) is not False


EW_10 = rule(
    "EW-10",
    "t = Tile(Vec, f32, 16, 64, addr=0); TDIVS(t, t, 2.0{|, scalar_first=True})",
    what="Destination and sources are one tile or do not overlap; some a2a3 instructions need distinct tiles.",
    evidence="device",
    on="a2a3",
)(_aliasing)
EW_10_APART = replace(EW_10, check=partial(_aliasing, apart=lambda o: True))
EW_10_APART_A3 = replace(EW_10, check=partial(_aliasing, apart=_on_a2a3))
EW_10_FLOATS_APART_A3 = replace(EW_10, check=partial(_aliasing, apart=_floats_on_a2a3))
EW_10_RECIPROCAL_APART_A3 = replace(EW_10, check=partial(_aliasing, apart=_reciprocal_on_a2a3))
EW_10_CHAIN = replace(EW_10, check=partial(_aliasing, chain=True))

# Reductions, expansions, partial operations --------------------------------------------------------------------------


def _never(o: Site, source: TileInfo, written: TileInfo) -> bool:
    return False


def _matrix(o: Site, source: TileInfo, written: TileInfo) -> bool:
    return same_tile(source, written) and (source.vr, source.vc) == (written.vr, written.vc)


def _row_0(o: Site, source: TileInfo, written: TileInfo) -> bool:
    return bool(source.addr == written.addr and source.cols == written.cols)


def _row_after_row(source: TileInfo, written: TileInfo) -> bool | None:
    """True if each row of the result ends before the next row of the source begins; None if sizes are not known yet."""
    pitches = []
    for t in (source, written):
        if t.boxed or not (t.row_major or t.cols == 1):
            return False
        pitches.append(t.dtype.nbytes(t.cols) if t.row_major else t.dtype.size)
    read, write = pitches

    def safe(rows: Size) -> bool:
        return all(written.addr + n * write <= source.addr + n * read for n in (1, rows))

    if known(source.vr, written.vr):
        return bool(source.vr == written.vr) and safe(source.vr)
    return None if safe(1) else False


def _in_place(o: Site, allowed: Callable[[Site, TileInfo, TileInfo], bool] = _never) -> Message:
    """``allowed(site, source, written)``: this source may share its bytes with this destination."""
    tiles, doubt = o.data_tiles, None
    for result, written in tiles:
        if o.instr.operand(result).role is Role.IN:
            continue
        for name, t in o.sources:
            if not overlap(t, written) or allowed(o, t, written):
                continue
            message = f"{o:{result}} overlaps {o:{name}}"
            safe = _row_after_row(t, written)
            if safe is False:
                return message
            if safe:
                doubt = Doubt(f"{message}; row after row, nothing is read that has been overwritten")
    scratch = o.operands.get("tmp")
    met = isinstance(scratch, TileInfo) and any(overlap(scratch, t, whole=True) for _, t in tiles)
    if met and o.instr.operand("tmp").used(o):
        return f"{o:tmp} overlaps another operand"
    return doubt


CMP_INP_01 = rule(
    "CMP-INP-01",
    "TCOLMAX(Tile(Vec, f32, 1, 64, addr={0|256}), Tile(Vec, f32, 16, 64, addr=0))",
    what=(
        "dst overlaps no source or tmp, but for an expansion's matrix, TPART's full source, row 0 of a column "
        "reduction."
    ),
    source="compute-reduce-matrix 0.3",
    decision="A warning where the result of each row lies before the next row of the source. Scratch that the target "
    "leaves alone may lie anywhere.",
    evidence="device document",
)(_in_place)
CMP_INP_01_MATRIX = replace(CMP_INP_01, check=partial(_in_place, allowed=_matrix))
CMP_INP_01_ROW_0 = replace(CMP_INP_01, check=partial(_in_place, allowed=_row_0))


# Rules about scratch tiles (compute-elementwise 3.6).


rule = family("compute-elementwise 3.6")


def _ceil(a: Size, b: int) -> Size:
    return (a + b - 1) // b


def _like_dst(o: Site, t: TileInfo) -> Message:
    d = o.dst
    if t.dtype is not d.dtype:
        return f"{o:tmp} has element type {t.dtype}, {o:dst} has {d.dtype}"
    if t.vr < d.vr or t.vc < d.vc:
        return f"{o:tmp} has valid region {t.vr}x{t.vc}, {o:dst} has {d.vr}x{d.vc}"
    return None


def _prelu(o: Site, t: TileInfo) -> Message:
    d = o.dst
    if t.dtype.name != "u8":
        return f"{o:tmp} has element type {t.dtype}; TPRELU keeps a packed mask in it and needs u8"
    if t.rows <= d.vr:
        return f"{o:tmp} has {t.rows} rows; TPRELU needs one more than {o:dst}'s {d.vr} valid ones"
    mask = _ceil(d.vc, 256 // d.dtype.size) * (32 // d.dtype.size)
    if t.cols < mask:
        return f"{o:tmp} has {t.cols} bytes per row; the mask of {d.vc} columns takes {mask}"
    return None


def _rem(o: Site, t: TileInfo) -> Message:
    need = o.dst.cols + 2 * _ceil(o.dst.cols, 64)
    if t.dtype is not o.dst.dtype:
        return f"{o:tmp} has element type {t.dtype}, {o:dst} has {o.dst.dtype}"
    if t.spec.numel < need:
        return f"{o:tmp} has {t.spec.numel} elements; TREM writes {need}"
    return None


def _rems(o: Site, t: TileInfo) -> Message:
    if t.dtype is not o.dst.dtype:
        return f"{o:tmp} has element type {t.dtype}, {o:dst} has {o.dst.dtype}"
    if t.spec.numel < o.dst.vc:
        return f"{o:tmp} has {t.spec.numel} elements; TREMS writes {o.dst.vc}"
    return None


def _rsqrt(o: Site, t: TileInfo) -> Message:
    return f"{o:tmp} has {t.nbytes} bytes; TRSQRT needs 32" if t.nbytes < 32 else None


def _pow(o: Site, t: TileInfo) -> Message:
    return _like_dst(o, t) if o.dst.dtype.is_float else None


def _select(o: Site, t: TileInfo) -> Message:
    need = 16 if o.dst.dtype.size == 2 else 8
    return (
        f"{o:tmp} has {t.spec.nbytes} bytes; TSEL keeps an address of {need} bytes in it"
        if t.spec.nbytes < need
        else None
    )


def _select_scalar(o: Site, t: TileInfo) -> Message:
    need = o.dst.dtype.size
    return (
        f"{o:tmp} has {t.spec.nbytes} bytes; TSELS keeps the scalar of {need} bytes in it"
        if t.spec.nbytes < need
        else None
    )


def _sums(o: Site, t: TileInfo) -> Message:
    d = o.dst
    if t.dtype.name != "i32":
        return f"{o:tmp} has element type {t.dtype}; TADDDEQRELU keeps sums of i32 in it"
    if t.rows < d.vr or t.cols < d.vc:
        return f"{o:tmp} has {t.rows}x{t.cols} elements; TADDDEQRELU writes {d.vr}x{d.vc}"
    if t.vr < d.vr or t.vc < d.vc:
        return Doubt(f"{o:tmp} has valid region {t.vr}x{t.vc}, {o:dst} has {d.vr}x{d.vc}")
    return None


def _scratch(o: Site, fits: Callable[[Site, TileInfo], Message]) -> Message:
    t = o.tmp
    if t is None:
        return None
    if not t.row_major:
        return f"{o:tmp} has blayout={o.word(BLayout.ColMajor)}; it must be {o.word(BLayout.RowMajor)}"
    return fits(o, t)


EW_11 = rule(
    "EW-11",
    "TREMS(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), 2, Tile(Vec, f32, 1, {64|56}))",
    what="The scratch tile of an a2a3 instruction has the type and size the kernel uses.",
    targets=("a2a3",),
    evidence="static_assert device assertion",
)(partial(_scratch, fits=_like_dst))
EW_11_MASK = replace(EW_11, check=partial(_scratch, fits=_prelu))
EW_11_REM = replace(EW_11, check=partial(_scratch, fits=_rem))
EW_11_REMS = replace(EW_11, check=partial(_scratch, fits=_rems))
EW_11_POW = replace(EW_11, check=partial(_scratch, fits=_pow))
EW_11_RSQRT = replace(EW_11, check=partial(_scratch, fits=_rsqrt))
EW_11_SEL = replace(EW_11, check=partial(_scratch, fits=_select))
EW_11_SELS = replace(EW_11, check=partial(_scratch, fits=_select_scalar))
EW_11_SUMS = replace(EW_11, check=partial(_scratch, fits=_sums))
