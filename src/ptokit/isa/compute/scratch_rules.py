"""Rules about scratch tiles, and the reference assembler's extra checks (compute-elementwise 2.4 and 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import RuleDecorator, Scope, rule
from ptokit.targets import A2A3

from ..operands import DEVICES, Message, same_tile
from ..site import Site, TileInfo
from ..unknown import Size, known


def _ceil(a: Size, b: int) -> Size:
    return (a + b - 1) // b


def _like_dst(o: Site, t: TileInfo) -> Message:
    d = o.dst
    if t.dtype is not d.dtype:
        return f"tmp has element type {t.dtype}, dst has {d.dtype}"
    if t.vr < d.vr or t.vc < d.vc:
        return f"tmp has valid region {t.vr}x{t.vc}, dst has {d.vr}x{d.vc}"
    return None


def _prelu(o: Site, t: TileInfo) -> Message:
    d = o.dst
    if t.dtype.name != "u8":
        return f"tmp has element type {t.dtype}; TPRELU keeps a packed mask in it and needs u8"
    if t.rows <= d.vr:
        return f"tmp has {t.rows} rows; TPRELU needs one more than dst's {d.vr} valid ones"
    mask = _ceil(d.vc, 256 // d.dtype.size) * (32 // d.dtype.size)
    if t.cols < mask:
        return f"tmp has {t.cols} bytes per row; the mask of {d.vc} columns takes {mask}"
    return None


def _rem(o: Site, t: TileInfo) -> Message:
    need = o.dst.cols + 2 * _ceil(o.dst.cols, 64)
    if t.dtype is not o.dst.dtype:
        return f"tmp has element type {t.dtype}, dst has {o.dst.dtype}"
    if t.spec.numel < need:
        return f"tmp has {t.spec.numel} elements; TREM writes {need}"
    return None


def _rems(o: Site, t: TileInfo) -> Message:
    if t.dtype is not o.dst.dtype:
        return f"tmp has element type {t.dtype}, dst has {o.dst.dtype}"
    if t.spec.numel < o.dst.vc:
        return f"tmp has {t.spec.numel} elements; TREMS writes {o.dst.vc}"
    return None


def _rsqrt(o: Site, t: TileInfo) -> Message:
    return f"tmp has {t.nbytes} bytes; TRSQRT needs 32" if t.nbytes < 32 else None


def _pow(o: Site, t: TileInfo) -> Message:
    return _like_dst(o, t) if o.dst.dtype.is_float else None


def _select(o: Site, t: TileInfo) -> Message:
    need = 16 if o.dst.dtype.size == 2 else 8
    return (
        f"tmp has {t.spec.nbytes} bytes; TSEL keeps an address of {need} bytes in it" if t.spec.nbytes < need else None
    )


def _select_scalar(o: Site, t: TileInfo) -> Message:
    need = o.dst.dtype.size
    return (
        f"tmp has {t.spec.nbytes} bytes; TSELS keeps the scalar of {need} bytes in it" if t.spec.nbytes < need else None
    )


def _scratch(o: Site, fits: Callable[[Site, TileInfo], Message]) -> Message:
    t = o.tmp
    if t is None:
        return None
    if not t.row_major:
        return "tmp has blayout=col_major; it must be row_major"
    return fits(o, t)


EW_11 = rule(
    "EW-11",
    what="The scratch tile of an a2a3 instruction has the type and size the kernel uses.",
    targets=("a2a3",),
    source="compute-elementwise 3.6",
    accepted="TPRELU on 16 rows with a u8 tmp of 17 rows",
    rejected="TREM on 64 columns with a tmp of 64 columns",
)(partial(_scratch, fits=_like_dst))
EW_11_MASK = replace(EW_11, check=partial(_scratch, fits=_prelu))
EW_11_REM = replace(EW_11, check=partial(_scratch, fits=_rem))
EW_11_REMS = replace(EW_11, check=partial(_scratch, fits=_rems))
EW_11_POW = replace(EW_11, check=partial(_scratch, fits=_pow))
EW_11_RSQRT = replace(EW_11, check=partial(_scratch, fits=_rsqrt))
EW_11_SEL = replace(EW_11, check=partial(_scratch, fits=_select))
EW_11_SELS = replace(EW_11, check=partial(_scratch, fits=_select_scalar))

# Assembler only ------------------------------------------------------------------------------------------------------


def _asm(id: str, targets: tuple[str, ...] = DEVICES, **more: Any) -> RuleDecorator:
    return rule(id, targets=targets, scope=Scope.ASSEMBLER, source="compute-elementwise 2.4", **more)


def _src_is_dst(o: Site) -> Message:
    for name, t in o.data_tiles:
        if name != "dst" and same_tile(t, o.dst):
            return f"{name} and dst are the same value"
    return None


def _physical(o: Site, *names: str) -> Message:
    d = o.dst
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.rows, t.cols) != (d.rows, d.cols):
            return f"{name} is {t.rows}x{t.cols}, dst is {d.rows}x{d.cols}; the assembler wants equal shapes"
    return None


@_asm("EW-AS-03", accepted="16x64 with a 17x64 tmp", rejected="a source of another shape")
def EW_AS_03(o: Site) -> Message:
    """tprelu: sources and dst have one shape; on a2a3, tmp is of 8-bit integers, has a row more than dst has valid
    ones, and a mask bit for each valid column.
    """
    t, d = o.tmp, o.dst
    if o.target.is_a(A2A3) and t is not None:
        if t.dtype.name not in ("u8", "i8"):
            return f"tmp has element type {t.dtype}; the assembler wants ui8"
        if not known(d.vr, d.vc):
            return "dst has a dynamic valid region; with tmp, the assembler wants a static one"
        if t.rows <= d.vr or t.vc < _ceil(d.vc, 8):
            return f"tmp is {t.rows}x{t.cols}, valid in {t.vc} columns; not {d.vr + 1} rows, {_ceil(d.vc, 8)} columns"
        need = (d.vr + 1) * max(32, _ceil(_ceil(d.vc, 8), 32) * 32)
        if t.spec.nbytes < need:
            return f"tmp has {t.spec.nbytes} bytes, it needs {need}"
    return _physical(o, "src0", "src1")


@_asm("EW-AS-04", accepted="a tmp like dst", rejected="an f16 tmp for f32")
def EW_AS_04(o: Site) -> Message:
    """trem trems: tmp is row-major, of dst's type, valid in at least 1 x dst's columns."""
    t = o.tmp
    if t is None:
        return None
    if t.dtype is not o.dst.dtype:
        return f"tmp has element type {t.dtype}, dst has {o.dst.dtype}"
    if not t.row_major:
        return "tmp has blayout=col_major; the assembler wants row_major"
    if t.vr < 1 or t.vc < o.dst.vc:
        return f"tmp is valid in {t.vr}x{t.vc}; the assembler wants at least 1x{o.dst.vc}"
    return None


@_asm("EW-AS-05", targets=("a2a3",), accepted="a tmp like dst", rejected="a tmp of another type")
def EW_AS_05(o: Site) -> Message:
    """txor on a2a3: tmp has dst's type, layout and valid region."""
    t = o.tmp
    if t is None:
        return None
    if t.blayout is not o.dst.blayout:
        return f"tmp has blayout={t.blayout.text}, dst has {o.dst.blayout.text}"
    return _like_dst(o, t)


@_asm("EW-AS-06", accepted="a 1x8 f32 tmp", rejected="a 1x4 f32 tmp")
def EW_AS_06(o: Site) -> Message:
    """trsqrt: tmp is a row-major vec tile of at least 32 bytes."""
    t = o.tmp
    if t is None:
        return None
    if t.loc.text != "vec" or not t.row_major:
        return f"tmp is a {t.blayout.text} {t.loc.text} tile; the assembler wants a row_major vec tile"
    return _rsqrt(o, t)


@_asm("EW-AS-08", accepted="f16 scalar, f16 src", rejected="f32 scalar, f16 src")
def EW_AS_08(o: Site) -> Message:
    """taxpy: the scalar has src's element type; src and dst have one shape."""
    if o.scalar.type != o.src.dtype.text and o.scalar.type in ("f16", "bf16", "f32", "f64"):
        return f"the scalar has type {o.scalar.type}, src has {o.src.dtype}"
    return _physical(o, "src")


EW_AS_01 = _asm(
    "EW-AS-01",
    what="tands tors txors: source and destination are different values.",
    accepted="tors ins(%a, %s) outs(%b)",
    rejected="tors ins(%a, %s) outs(%a)",
)(_src_is_dst)
EW_AS_02 = _asm(
    "EW-AS-02",
    what="trecip on a2a3: source and destination are different values.",
    targets=("a2a3",),
    accepted="trecip ins(%a) outs(%b)",
    rejected="trecip ins(%a) outs(%a)",
)(_src_is_dst)


@_asm("EW-AS-09", accepted="four 16x64 tiles", rejected="a source of another shape")
def EW_AS_09(o: Site) -> Message:
    """taddc taddsc: all tiles have one shape."""
    return _physical(o, "src0", "src1", "src2")
