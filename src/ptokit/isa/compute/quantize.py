"""TQUANT and TDEQUANT: 8-bit integers of f32 and back (compute-reduce-matrix 14, 15, 17)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import family
from ptokit.targets import A2A3
from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout, MxQuantAlg, QuantType

from ..checks.compiling import DEVICES, Message, is_dn1, layout
from ..checks.tiles import assembler_rule, boxed_or_columns, missing, not_of, not_vec, rows_differ, valid_differs
from ..meaning.expressions import COLUMN, Axis, Convert, Element, Expr, Index
from ..meaning.words import Lane, lane
from ..operands import BF16, F32, FB, types_of
from ..scratch import on_a2a3
from ..site import Site, Size, TileInfo, known
from ..table import ALSO, LEVEL2, Access, Attr, Instr, TextForm, default_footprint, dst, instruction, src, tmp
from .vector_unit import SRC

# Rules of TQUANT and TDEQUANT (compute-reduce-matrix 14, 15, 17).


_quant = family("compute-reduce-matrix 14")
_mx = family("compute-reduce-matrix 15")
_dequant = family("compute-reduce-matrix 17")
GROUP = 32


@_quant(
    "QNT-COM-01",
    "TQUANT(Tile(Vec, i8, 6, 64), Tile(Vec, {f32|f16}, 6, 64), Tile(Vec, f32, 8, 1, ColMajor, valid_row=6))",
    evidence="static_assert",
    on="cpu",
)
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
            return f"{layout(o, name)}; it is one column, {o.word(BLayout.ColMajor)}"
        if known(rows.vr) and t.rows * t.cols < rows.vr:
            return f"{o:{name}} has {t.rows * t.cols} elements; there are {rows.vr} rows"
    return None


@_quant(
    "QNT-A3-02",
    """
        h = Tile(Vec, f16, 16, 64)
        q = Tile(Vec, i8, 16, 64)
        {TCVT(q, h, RoundMode.RINT)|TQUANT(q, Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 1, ColMajor), tmp=Tile(Vec,
            f32, 16, 64))}
    """,
    evidence="legal",
)
def QNT_A3_02(o: Site) -> Message:
    """TQUANT destroys its source on a2a3.

    Decision: The executor leaves the source as it is.
    """
    return f"{o:src} is scaled in place; what it held is lost on a2a3"


QUANT_RULES = (
    QNT_COM_01,
    _quant(
        "QNT-COM-02",
        "TQUANT(Tile(Vec, i8, 6, {64|32}), Tile(Vec, f32, 6, 64), Tile(Vec, f32, 8, 1, ColMajor, valid_row=6))",
        evidence="static_assert device",
    )(
        "dst and src are row-major and valid alike; scale and offset have an element per row.",
        lambda o: not_vec(o, "dst", "src", "scale", "offset"),
        lambda o: boxed_or_columns(o, "dst", "src"),
        lambda o: valid_differs(o, "dst", "src"),
        lambda o: _parameters(o, o.src),
    ),
    _quant(
        "QNT-A3-01",
        "t = Tile(Vec, f32, 16, 64); "
        "TQUANT(Tile(Vec, i8, 16, 64), t, Tile(Vec, f32, 16, 1, ColMajor), tmp=Tile(Vec, f32, {16|8}, 64))",
        evidence="static_assert",
    )(
        "The scratch tile has as many elements of 4 bytes as src.",
        "text if tmp is None",
        "TQUANT needs a scratch tile on a2a3",
        "tmp.dtype.size == 4 and tmp.rows == src.rows and (tmp.cols == src.cols)",
        "{tmp} is {tmp.rows}x{tmp.cols}x{tmp.dtype}; it has {src}'s {src.rows}x{src.cols} elements of 4 bytes",
    ),
    QNT_A3_02,
)


DEQUANT_RULES = (
    _dequant(
        "DEQ-COM-01",
        "t = Tile(Vec, f32, 8, 1, ColMajor, valid_row=6); "
        "TDEQUANT(Tile(Vec, f32, 6, 64), Tile(Vec, {i8|u8}, 6, 64), t, t)",
        evidence="static_assert",
    )(
        "src is i8 or i16, the others f32; scale and offset have one type.",
        "scale.dtype is offset.dtype and scale.rows == offset.rows and (scale.cols == offset.cols)",
        "{scale} and {offset} are tiles of one type",
        lambda o: not_of(o, types_of("i8 i16"), "src"),
        lambda o: not_of(o, F32, "dst", "scale", "offset"),
    ),
    _dequant(
        "DEQ-COM-02",
        "t = Tile(Vec, f32, 8, 1, ColMajor{, valid_row=6|}); "
        "TDEQUANT(Tile(Vec, f32, 6, 64), Tile(Vec, i8, 6, 64), t, t)",
        evidence="static_assert device assertion",
        on="a2a3",
    )(
        "dst and src are row-major and valid alike; scale and offset have a row for each of theirs.",
        lambda o: not_vec(o, "dst", "src", "scale", "offset"),
        lambda o: boxed_or_columns(o, "dst", "src"),
        lambda o: valid_differs(o, "dst", "src"),
        lambda o: rows_differ(o, "dst", "scale", "offset"),
    ),
    _dequant(
        "DEQ-COM-03",
        "t = Tile(Vec, f32, {8, 1, ColMajor, valid_row=6|6, 8}); "
        "TDEQUANT(Tile(Vec, f32, 6, 64), Tile(Vec, i8, 6, 64), t, t)",
        evidence="legal",
    )(
        """scale and offset have one column.

        Decision: The executor uses the first.
        """,
        "scale.vc <= 1",
        "{scale} has {scale.vc} valid columns; the devices use the first",
    ),
)


@_mx(
    "QMX-COM-01",
    "t = Tile(Vec, f16, 1, 128); TQUANT_MX(Tile(Vec, u8, {64|32}, 64), Tile(Vec, f16, 64, 64), "
    "Tile(Vec, u8, 1, 128), t, t)",
    evidence="static_assert",
)
def QMX_COM_01(o: Site) -> Message:
    """src is a float tile, dst 8-bit or e2m1 codes of one shape, exponents 8-bit; all are Vec tiles."""
    if o.alg is MxQuantAlg.Hif4 and o.quant_type is None:
        return _hif4(o)
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


def _hif4(o: Site) -> Message:
    if hif4 not in o.target.dtypes:
        return f"{o.target.name} has no HiFloat4"
    return (
        not_of(o, BF16, "src")
        or not_of(o, types_of("e1m2"), "dst")
        or not_of(o, types_of("u8 i8 e8m0"), "exp")
        or not_of(o, BF16, "max", "scaling")
        or boxed_or_columns(o, "dst", "src")
        or not_vec(o, "dst", "src", "exp", "max", "scaling")
        or _mx_shape(o)
    )


def _mx_shape(o: Site) -> Message:
    s, d = o.src, o.dst
    differs = s.rows != d.rows or s.cols != d.cols
    if o.target.is_device and o.grp_axis == 0 and o.alg.name.endswith("E4M3"):  # along rows dst has its own pitch
        differs = s.vr > d.rows or s.vc > d.cols
    return f"{o:src} is {s.rows}x{s.cols}, {o:dst} {d.rows}x{d.cols}; they have one shape" if differs else None


@_mx(
    "QMX-COM-03",
    "t = Tile(Vec, f16, 1, 128); TQUANT_MX(Tile(Vec, u8, 64, 64), Tile(Vec, f16, 64, 64), "
    "Tile(Vec, u8, 1, {128|96}), t, t)",
    evidence="static_assert",
    on="cpu",
)
def QMX_COM_03(o: Site) -> Message:
    """exp, max and scaling have an element for each group.

    Of HiFloat4 exp has 10 bytes for each 64 elements, max 3 elements for each 8, scaling one for each 2.
    """
    groups = o.src.spec.numel // GROUP
    need = dict.fromkeys(("exp", "max", "scaling"), groups)
    if o.alg is MxQuantAlg.Hif4:
        need = {"exp": groups * 5, "max": groups * 12, "scaling": groups * 16}
    for name, least in need.items():
        t = o.operands[name]
        if isinstance(t, TileInfo) and t.rows * t.cols < least:
            what = f"there are {groups} groups" if least == groups else f"it needs {least}"
            return f"{o:{name}} has {t.rows * t.cols} elements; {what}"
    return None


MX_RULES = (
    QMX_COM_01,
    _mx(
        "QMX-COM-02",
        "t = Tile(Vec, f32, 2, 32); TQUANT_MX(Tile(Vec, i8, {64|48}, 32), Tile(Vec, f32, {64|48}, 32), "
        "Tile(Vec, u8, 2, 32), t, t, quant_type=QuantType.MXFP8, grp_axis=MxGroupAxis.Axis0)",
        evidence="static_assert device",
    )(
        "Along the groups the tiles have a multiple of 32 elements.",
        "grp_axis in (0, 1)",
        "grp_axis is {grp_axis}; groups lie along rows (0) or columns (1)",
        "along = src.cols if grp_axis == 1 else src.rows",
        "along % GROUP == 0",
        "{src} has {along} elements along the groups; they have {GROUP}",
    ),
    QMX_COM_03,
    _mx(
        "QMX-A5-01",
        "t = Tile(Vec, f16, 1, 128); TQUANT_MX(Tile(Vec, u8, 64, 64), "
        "Tile(Vec, f16, 64, 64{|, valid_col=60}), Tile(Vec, u8, 1, 128), t, t)",
        evidence="legal",
    )(
        """The valid columns are whole groups.

        Decision: The executor counts missing elements as zeros and leaves src as it is.
        """,
        "src.dtype.size != 2 if grp_axis == 1 and known(src.vc) and src.vc % GROUP != 0",
        "the operation writes zeros into {src}'s columns after the valid ones",
        "src.vc % GROUP == 0 if grp_axis == 1 and known(src.vc)",
        "{src} has {src.vc} valid columns; the last group sees what lies after them",
    ),
    _mx(
        "QMX-A5-03",
        "t = Tile(Vec, f16, 1, 128); TQUANT_MX(Tile(Vec, u8, 64, 64), Tile(Vec, f16, 64, 64), "
        "Tile(Vec, u8, 1, 128), t, t{|, interleave=True})",
        targets=("cpu", *DEVICES[1:]),
        evidence="static_assert device",
    )(
        "Interleaved exponents belong to groups along rows, of a multiple of 64 rows.",
        "grp_axis == 0 if interleave",
        "exponents are interleaved for groups along rows only",
        "src.rows % 64 == 0 and (not known(src.vr) or src.vr % 64 == 0) if interleave",
        "{src} has {src.rows} rows, {src.vr} of them valid; interleaving takes multiples of 64",
    ),
    _mx(
        "QMX-A3-01",
        """
            {TMULS(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), 2.0)|TQUANT_MX(Tile(Vec, u8, 64, 64), Tile(Vec,
                f16, 64, 64), Tile(Vec, u8, 1, 128), Tile(Vec, f16, 1, 128), Tile(Vec, f16, 1, 128))}
        """,
        what="Block-scaled quantisation exists on a5 and cpu.",
        evidence="static_assert",
    )(missing),
)


@assembler_rule(
    "TQ-2",
    "pto.tquant ins(%a, %b : !pto.tile_buf<vec, 16x32xf32>, !pto.tile_buf<vec, 32x1xf32, valid=16x1, "
    "blayout=col_major>) outs(%c : !pto.tile_buf<vec, 16x32xi8, valid={16x32|8x32}>) {quant_type = "
    "#pto<quant_type INT8_SYM>}",
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
            return f"{o:{name}} has blayout={o.word(BLayout.ColMajor)}"
    if o.tmp is not None and (o.tmp.rows, o.tmp.cols) != (o.src.rows, o.src.cols):
        return f"{o:tmp} is {o.tmp.rows}x{o.tmp.cols}, {o:src} {o.src.rows}x{o.src.cols}"
    for name in ("scale", "offset"):
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.row_major or t.vr != o.dst.vr or t.vc != 1):
            return f"{o:{name}} is {o.word(t.blayout)}, valid in {t.vr}x{t.vc}; not a column of {o.dst.vr}"
    return valid_differs(o, "src", "tmp")


TQ_1 = assembler_rule(
    "TQ-1",
    "pto.tquant ins(%a, %b : !pto.tile_buf<vec, 16x32xf32>, !pto.tile_buf<vec, 32x1xf32, valid=16x1, "
    "blayout=col_major>) outs(%c : !pto.tile_buf<vec, {16x32xi8|16x32xi16}>) {quant_type = #pto<quant_type "
    "INT8_SYM>}",
    source="assembly 13.9",
    always=True,
)(
    "tquant: INT8_SYM without an offset or INT8_ASYM with one, into 8-bit integers.",
    "quant_type is not None",
    "quant_type is missing",
    "quant_type in (QuantType.INT8_SYM, QuantType.INT8_ASYM)",
    "{quant_type.text} is of tquant.mx",
    "dst.dtype.is_integer and dst.dtype.bits == 8",
    "{dst} has element type {dst.dtype}, not an integer of 8 bits",
    "asymmetric = quant_type is QuantType.INT8_ASYM",
    "(offset is not None) == asymmetric",
    "{quant_type.text} {'needs an' if asymmetric else 'has no'} {offset}",
)


# TQUANT and TDEQUANT: 8-bit integers of f32 and back (compute-reduce-matrix 14 and 17).


def _of_rows(o: Site, name: str, rows: Size) -> Expr | None:
    """The parameter of each row: the first column, or of a tile of fewer rows its elements in order.

    None while it is not known which.
    """
    tile = o.operands[name]
    assert isinstance(tile, TileInfo)
    if not known(rows):
        return None
    if tile.rows >= rows:
        return Element(name, COLUMN)
    return Element(name, Index(Axis(i=1, over=tile.cols), Axis(i=1, cycle=tile.cols)))


def _quantize(o: Site) -> Lane | None:
    """Each step is rounded to f32; then to the nearest even integer, with saturation. NaN gives 0."""
    scale = _of_rows(o, "scale", o.src.vr)
    if scale is None:
        return None
    value = SRC * scale
    if o.has("offset"):
        offset = _of_rows(o, "offset", o.src.vr)
        assert offset is not None
        value = value + offset
    return lane(Convert(value, "dst", saturate=True), over="src")


def _footprint(o: Site) -> Iterator[Access]:
    """a2a3 uses the source as scratch memory."""
    yield from default_footprint(o)
    if o.target.is_a(A2A3):
        yield Access("src", True, o.src.vr, o.src.vc)


def _dequantize(o: Site) -> Lane | None:
    """The difference is rounded to f32, then the product."""
    scale, offset = (_of_rows(o, name, o.dst.vr) for name in ("scale", "offset"))
    return None if scale is None or offset is None else lane((Convert(SRC, "dst") - offset) * scale)


TQUANT = instruction(
    Instr(
        "TQUANT",
        "tquant",
        "dst = src * scale + offset as 8-bit integers, with a scale and an offset per row",
        (
            dst(),
            src(),
            src("scale"),
            src("offset", optional=True),
            tmp(optional=True, needed=on_a2a3("src")),
        ),
        (Attr("quant_type", QuantType, None, "quant_type", "quant_type"),),
        form=TextForm(orders={LEVEL2: "src scale offset -> dst tmp", ALSO: "src scale offset tmp"}),
        rules=(*QUANT_RULES, TQ_1, TQ_2),
        meaning=_quantize,
        footprint=_footprint,
        halves=True,
        source="compute-reduce-matrix 14",
        cpp="TQUANT<quant_type>(dst, src, scale, tmp?, &offset?)",
    )
)
TDEQUANT = instruction(
    Instr(
        "TDEQUANT",
        "tdequant",
        "dst = (src - offset) * scale, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset")),
        rules=DEQUANT_RULES,
        meaning=_dequantize,
        source="compute-reduce-matrix 17",
    )
)
