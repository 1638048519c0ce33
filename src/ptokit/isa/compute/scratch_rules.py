"""Rules about scratch tiles (compute-elementwise 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ptokit.diagnostics import Doubt, family
from ptokit.types.enums import BLayout

from ..checks.operands import Message
from ..site import Site, TileInfo
from ..unknown import Size

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
