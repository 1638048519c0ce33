"""Rules of TQUANT and TDEQUANT (compute-reduce-matrix 14, 15, 17)."""

from __future__ import annotations

from ptokit.diagnostics import Severity, family
from ptokit.targets import A2A3
from ptokit.types.enums import QuantType

from ..checks.assembler import assembler_rule
from ..checks.operands import DEVICES, Message, is_dn1, layout
from ..checks.tiles import boxed_or_columns, missing, not_of, not_vec, rows_differ, valid_differs
from ..site import Site, TileInfo
from ..typesets import F32, FB, types_of
from ..unknown import known

_quant = family("compute-reduce-matrix 14")
_mx = family("compute-reduce-matrix 15")
_dequant = family("compute-reduce-matrix 17")
GROUP = 32


@_quant("QNT-COM-01", "i8 without offset", "u8 without offset")
def QNT_COM_01(o: Site) -> Message:
    """src, scale and offset are f32; symmetric: i8 without offset, asymmetric: u8 with one."""
    wrong = not_of(o, F32, "src", "scale", "offset")
    if wrong:
        return wrong
    sym = o.quant_type is QuantType.INT8_SYM or (o.quant_type is None and not o.has("offset"))
    if sym and o.has("offset"):
        return f"INT8_SYM takes no {o:offset}"
    if not sym and not o.has("offset"):
        return "INT8_ASYM takes an offset"
    return not_of(o, types_of("i8" if sym else "u8"), "dst")


def _parameters(o: Site, rows: TileInfo) -> Message:
    for name in ("scale", "offset"):
        t = o.operands.get(name)
        if not isinstance(t, TileInfo):
            continue
        if o.target.is_a(A2A3) and not is_dn1(t):
            return f"{layout(o, name)}; it is one column, col_major"
        if known(rows.vr) and t.rows * t.cols < rows.vr:
            return f"{o:{name}} has {t.rows * t.cols} elements; there are {rows.vr} rows"
    return None


@_quant("QNT-COM-02", "6x64 with a column of 8", "6x64 with a column of 4")
def QNT_COM_02(o: Site) -> Message:
    """dst and src are row-major and valid alike; scale and offset have an element per row."""
    return (
        not_vec(o, "dst", "src", "scale", "offset")
        or boxed_or_columns(o, "dst", "src")
        or valid_differs(o, "dst", "src")
        or _parameters(o, o.src)
    )


@_quant("QNT-A3-01", "16x64xf32", "8x64xf32")
def QNT_A3_01(o: Site) -> Message:
    """The scratch tile has as many elements of 4 bytes as src."""
    if not o.has("tmp"):
        return None if o.text else "TQUANT needs a scratch tile on a2a3"
    t, s = o.tmp, o.src
    if t.dtype.size != 4 or t.rows != s.rows or t.cols != s.cols:
        return f"{o:tmp} is {t.rows}x{t.cols}x{t.dtype}; it has {o:src}'s {s.rows}x{s.cols} elements of 4 bytes"
    return None


@_quant("QNT-A3-02", "on a5", "on a2a3", severity=Severity.WARNING)
def QNT_A3_02(o: Site) -> Message:
    """TQUANT destroys its source on a2a3.

    Decision: The executor leaves the source as it is.
    """
    return f"{o:src} is scaled in place; what it held is lost on a2a3"


QUANT_RULES = (
    QNT_COM_01,
    QNT_COM_02,
    QNT_A3_01,
    QNT_A3_02,
)


@_dequant("DEQ-COM-01", "i8 into f32", "u8 into f32")
def DEQ_COM_01(o: Site) -> Message:
    """src is i8 or i16, the others f32; scale and offset have one type."""
    if o.scale.dtype is not o.offset.dtype or o.scale.rows != o.offset.rows or o.scale.cols != o.offset.cols:
        return f"{o:scale} and {o:offset} are tiles of one type"
    return not_of(o, types_of("i8 i16"), "src") or not_of(o, F32, "dst", "scale", "offset")


@_dequant("DEQ-COM-02", "6x64 with 6 rows of scales", "6x64 with 4 rows of scales")
def DEQ_COM_02(o: Site) -> Message:
    """dst and src are row-major and valid alike; scale and offset have a row for each of theirs."""
    return (
        not_vec(o, "dst", "src", "scale", "offset")
        or boxed_or_columns(o, "dst", "src")
        or valid_differs(o, "dst", "src")
        or rows_differ(o, "dst", "scale", "offset")
    )


@_dequant("DEQ-COM-03", "6x1", "6x8", severity=Severity.WARNING)
def DEQ_COM_03(o: Site) -> Message:
    """scale and offset have one column.

    Decision: The executor uses the first.
    """
    return f"{o:scale} has {o.scale.vc} valid columns; the devices use the first" if o.scale.vc > 1 else None


DEQUANT_RULES = (
    DEQ_COM_01,
    DEQ_COM_02,
    DEQ_COM_03,
)


@_mx("QMX-COM-01", "f16 into u8", "i16 into u8")
def QMX_COM_01(o: Site) -> Message:
    """src is a float tile, dst 8-bit or e2m1 codes of one shape, exponents 8-bit; all are Vec tiles."""
    fp4 = (o.quant_type or o.alg).name.endswith("E2M1")
    sources = FB - F32 if fp4 and o.target.is_device else FB
    return (
        not_of(o, sources, "src")
        or not_of(o, types_of("e2m1") if fp4 else types_of("i8 u8 e4m3"), "dst")
        or not_of(o, types_of("u8 i8 e8m0"), "exp")
        or boxed_or_columns(o, "dst", "src")
        or not_vec(o, "dst", "src", "exp", "max", "scaling")
        or _mx_shape(o)
    )


def _mx_shape(o: Site) -> Message:
    s, d = o.src, o.dst
    differs = s.rows != d.rows or s.cols != d.cols
    return f"{o:src} is {s.rows}x{s.cols}, {o:dst} {d.rows}x{d.cols}; they have one shape" if differs else None


@_mx("QMX-COM-02", "16x64", "16x48")
def QMX_COM_02(o: Site) -> Message:
    """Along the groups the tiles have a multiple of 32 elements."""
    if o.grp_axis not in (0, 1):
        return f"grp_axis is {o.grp_axis}; groups lie along rows (0) or columns (1)"
    along = o.src.cols if o.grp_axis == 1 else o.src.rows
    return f"{o:src} has {along} elements along the groups; they have {GROUP}" if along % GROUP else None


@_mx("QMX-COM-03", "32 exponents for 16x64", "16 exponents for 16x64")
def QMX_COM_03(o: Site) -> Message:
    """exp, max and scaling have an element for each group."""
    groups = o.src.spec.numel // GROUP
    for name in ("exp", "max", "scaling"):
        t = o.operands[name]
        if isinstance(t, TileInfo) and t.rows * t.cols < groups:
            return f"{o:{name}} has {t.rows * t.cols} elements; there are {groups} groups"
    return None


@_mx("QMX-A5-01", "64 columns", "60 columns", severity=Severity.WARNING)
def QMX_A5_01(o: Site) -> Message:
    """The valid columns are whole groups.

    Decision: The executor counts missing elements as zeros and leaves src as it is.
    """
    if o.grp_axis != 1 or not known(o.src.vc) or o.src.vc % GROUP == 0:
        return None
    if o.src.dtype.size == 2:
        return f"the operation writes zeros into {o:src}'s columns behind the valid ones"
    return f"{o:src} has {o.src.vc} valid columns; the last group sees what lies behind them"


@_mx("QMX-A5-03", "64x32", "32x32", targets=("cpu", *DEVICES[1:]))
def QMX_A5_03(o: Site) -> Message:
    """Interleaved exponents belong to groups along rows, of a multiple of 64 rows."""
    if not o.interleave:
        return None
    if o.grp_axis != 0:
        return "exponents are interleaved for groups along rows only"
    if o.src.rows % 64 or (known(o.src.vr) and o.src.vr % 64):
        return f"{o:src} has {o.src.rows} rows, {o.src.vr} of them valid; interleaving takes multiples of 64"
    return None


MX_RULES = (
    QMX_COM_01,
    QMX_COM_02,
    QMX_COM_03,
    QMX_A5_01,
    QMX_A5_03,
    _mx("QMX-A3-01", "on a5", "on a2a3", what="Block-scaled quantisation exists on a5 and cpu.")(missing),
)


@assembler_rule(
    "TQ-2",
    "columns of scales, a tmp like src",
    "scales in rows on a2a3",
    source="PTOAS 2026-08 PTO.cpp TQuantOp",
    covered_by=("QNT-COM-01", "QNT-COM-02"),
)
def TQ_2(o: Site) -> Message:
    """tquant: src, offset and tmp are f32, dst has src's valid region. On a2a3 src and dst lie in rows, scales and
    offsets in columns, one for each valid row of dst, and tmp has src's shape and valid region, in rows.
    """
    wrong = not_of(o, F32, "src", "offset", "tmp") or valid_differs(o, "src", "dst")
    if wrong or not o.target.is_a(A2A3):
        return wrong
    for name in ("src", "dst", "tmp"):
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and not t.row_major:
            return f"{o:{name}} has blayout=col_major"
    if o.tmp is not None and (o.tmp.rows, o.tmp.cols) != (o.src.rows, o.src.cols):
        return f"{o:tmp} is {o.tmp.rows}x{o.tmp.cols}, {o:src} {o.src.rows}x{o.src.cols}"
    for name in ("scale", "offset"):
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.row_major or t.vr != o.dst.vr or t.vc != 1):
            return f"{o:{name}} is {t.blayout.text}, valid in {t.vr}x{t.vc}; not a column of {o.dst.vr}"
    return valid_differs(o, "src", "tmp")


@assembler_rule("TQ-1", "INT8_ASYM to ui8 with an offset", "INT8_SYM to ui8", source="assembly 13.9", always=True)
def TQ_1(o: Site) -> Message:
    """tquant: INT8_SYM without an offset or INT8_ASYM with one, into 8-bit integers."""
    if o.quant_type is None:
        return "quant_type is missing"
    asymmetric = o.quant_type is QuantType.INT8_ASYM
    if o.quant_type not in (QuantType.INT8_SYM, QuantType.INT8_ASYM):
        return f"{o.quant_type.text} is of tquant.mx"
    if not (o.dst.dtype.is_integer and o.dst.dtype.bits == 8):
        return f"{o:dst} has element type {o.dst.dtype}, not an integer of 8 bits"
    if o.has("offset") != asymmetric:
        return f"{o.quant_type.text} {'needs an' if asymmetric else 'has no'} {o:offset}"
    return None
