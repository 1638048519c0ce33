"""What the reference assembler asks of tquant.mx (PTOAS of August 2026, PTO.cpp TQuantMxOp)."""

from __future__ import annotations

from ptokit.types.dtypes import e2m1
from ptokit.types.enums import QuantScaleAlg, QuantType
from ptokit.types.tile import DYNAMIC

from ..checks.assembler import assembler_rule
from ..checks.operands import Message, sharing
from ..site import Site, TileInfo
from ..typesets import types_of

GROUP = 32
_HALF, _BYTE = types_of("f16 bf16"), types_of("i8 u8")
_NAMES = ("src", "dst", "exp", "max", "scaling")


@assembler_rule(
    "MXQ-1",
    "pto.tquant.mx ins(%a : !pto.tile_buf<vec, 16x64xf32>) "
    "outs(%b, %c, %d, %e : !pto.tile_buf<vec, 16x64xi8>, !pto.tile_buf<vec, 1x32xui8>, !pto.tile_buf<vec, "
    "1x32xf32>, !pto.tile_buf<vec, 1x64xf32, valid=1x32>) {quant_type = #pto<quant_type {MXFP8|INT8_SYM}>}",
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp TQuantMxOp",
)
def MXQ_1(o: Site) -> Message:
    """tquant.mx: ND vec tiles of static sizes; MXFP8 of floats into 8 bits, MXFP4_E2M1 of f16 or bf16 into pairs."""
    if o.quant_type is None:
        return None  # ptokit's own words, older than the assembler's
    names = (*_NAMES, *(("exp_zz",) if o.has("exp_zz") else ()))
    for name in names:
        t = o.operands[name]
        assert isinstance(t, TileInfo)
        if t.loc.text != "vec" or t.layout_name != "ND":
            return f"{o:{name}} is a {t.loc.text} tile with the layout {t.layout_name}"
        if DYNAMIC in (t.spec.valid_row, t.spec.valid_col):
            return f"{o:{name}} has valid sizes that the type leaves open"
    if o.interleave and o.grp_axis == 1:
        return "interleave goes with grpAxis = axis0"
    if o.has("exp_zz") and (o.grp_axis == 0 or o.store_mode is None):
        return f"{o:exp_zz} goes with storeMode and grpAxis = axis1"
    if o.store_mode is not None and (not o.has("exp_zz") or o.scale_alg is not QuantScaleAlg.OCP):
        return f"storeMode goes with {o:exp_zz} and the scales of OCP"
    fp4 = o.quant_type is QuantType.MXFP4_E2M1
    if o.quant_type not in (QuantType.MXFP8, QuantType.MXFP4_E2M1):
        return f"quant_type is {o.quant_type.text}"
    sources = _HALF if fp4 else _HALF | types_of("f32")
    if o.src.dtype not in sources or o.exp.dtype not in _BYTE:
        return f"{o:src} holds {o.src.dtype}, {o:exp} {o.exp.dtype}"
    if o.max.dtype is not o.src.dtype or o.scaling.dtype is not o.src.dtype:
        return f"{o:src} holds {o.src.dtype}, {o:max} {o.max.dtype}, {o:scaling} {o.scaling.dtype}"
    if (o.dst.dtype is not e2m1) if fp4 else (o.dst.dtype not in _BYTE):
        return f"{o:dst} holds {o.dst.dtype}"
    return None


def _sizes(t: TileInfo) -> tuple[int, int, int, int]:
    return t.spec.valid_row, t.spec.valid_col, t.spec.rows, t.spec.cols


@assembler_rule(
    "MXQ-2",
    "pto.tquant.mx ins(%a : !pto.tile_buf<vec, 16x64xf32>) "
    "outs(%b, %c, %d, %e : !pto.tile_buf<vec, 16x64xi8>, !pto.tile_buf<vec, {1x32xui8|1x64xui8}>, "
    "!pto.tile_buf<vec, 1x32xf32>, !pto.tile_buf<vec, 1x64xf32, valid=1x32>) {quant_type = #pto<quant_type "
    "MXFP8>}",
    targets=("a5",),
    source="PTOAS 2026-08 PTO.cpp TQuantMxOp",
)
def MXQ_2(o: Site) -> Message:
    """tquant.mx: sizes of the groups' tiles follow from the source and grpAxis, and their rows lie as the library's."""
    if o.quant_type is None or MXQ_1.check is None or MXQ_1.check(o):
        return None
    down = o.grp_axis == 0
    rows, cols, _, whole_cols = _sizes(o.src)
    if min(rows, cols) <= 0 or (rows if down else cols) % GROUP:
        return f"{o:src} is valid in {rows}x{cols}; groups of {GROUP} lie along {'rows' if down else 'columns'}"
    groups = rows * (cols // GROUP)
    grouped = (rows // GROUP, cols) if down else (rows, cols // GROUP)
    for name in ("max", "scaling", *(() if o.interleave else ("exp",))):
        valid = _sizes(o.operands[name])[:2]  # type: ignore[arg-type]
        if valid != grouped and (down or valid != (1, groups)):
            return f"{o:{name}} is valid in {valid[0]}x{valid[1]}, not {grouped[0]}x{grouped[1]}"
    pairs = o.quant_type is QuantType.MXFP4_E2M1
    if o.has("exp_zz") and _sizes(o.exp_zz)[0] * _sizes(o.exp_zz)[1] != groups:
        return f"{o:exp_zz} does not hold {groups} exponents"
    d = _sizes(o.dst)
    if (pairs and whole_cols % 2) or d[:2] != (rows, cols) or d[2] < rows:
        return f"{o:dst} is valid in {d[0]}x{d[1]}{' numbers' * pairs}, not {rows}x{cols}"
    return (_down if down else _along)(o, groups, pairs=pairs) or _padding(o)


MXQ_3 = assembler_rule(
    "MXQ-3",
    "five tiles apart",
    "max in the bytes of dst",
    targets=("a5",),
    source="PTOAS 2026-08 Utils.cpp verifySemanticNoAliasRanges",
)(
    "tquant.mx: no two of its tiles share bytes.",
    lambda o: sharing(o, *_NAMES, "exp_zz") if o.quant_type is not None else None,
)


def _room(o: Site, name: str, needed: int) -> Message:
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    return f"{o:{name}} has {t.rows * t.cols} elements, fewer than {needed}" if t.rows * t.cols < needed else None


def _down(o: Site, groups: int, *, pairs: bool) -> Message:
    """Groups along rows."""
    rows, cols, whole_rows, whole = _sizes(o.src)
    if pairs and o.dst.cols != whole:
        return f"{o:dst} has {o.dst.cols} numbers in a row, not {whole}"
    if pairs and (whole // 2) % GROUP and o.src.dtype.name == "f16":
        return f"rows of {whole // 2} bytes of pairs made of f16"
    if (wrong := _room(o, "dst", (rows - 1) * o.dst.cols + cols)) is not None:
        return wrong
    for name in ("max", "scaling", *(() if o.interleave else ("exp",))):
        if o.operands[name].cols != whole:  # type: ignore[union-attr]
            return f"{o:{name}} has {o.operands[name].cols} columns, {o:src} {whole}"  # type: ignore[union-attr]
        if (wrong := _room(o, name, rows // GROUP * whole)) is not None:
            return wrong
    if not o.interleave:
        return None
    if rows % 64 or whole_rows % 64:
        return f"interleave of {rows} valid rows of {whole_rows}"
    if o.src.dtype.name == "f32":
        return "interleave of f32"
    wanted = (rows // 64, 2 * cols, whole_rows // 64, -(-2 * whole // GROUP) * GROUP)
    return f"{o:exp} is {o.exp.rows}x{o.exp.cols}, not {wanted[2]}x{wanted[3]}" if _sizes(o.exp) != wanted else None


def _along(o: Site, groups: int, *, pairs: bool) -> Message:
    """Groups along columns."""
    rows, cols, _, whole = _sizes(o.src)
    if o.dst.cols != whole:
        return f"{o:dst} has {o.dst.cols} {'numbers in a row' if pairs else 'columns'}, not {whole}"
    wrong = _room(o, "dst", (rows - 1) * whole + cols) or _room(o, "max", groups)
    for name in ("max", "scaling"):
        t = _sizes(o.operands[name])  # type: ignore[arg-type]
        if t[0] != 1 and t[3] != t[1]:
            wrong = wrong or f"{o:{name}} has {t[3]} columns, {t[1]} of them valid"
    if wrong is not None:
        return wrong
    exp = _sizes(o.exp)
    if exp[2] == 1:
        return _flat(o, groups)
    if exp[0] == 1:
        return "flat exponents lie in one row"
    if o.src.dtype in _HALF:
        return f"exponents of {o.src.dtype} in rows"
    if exp[:2] != (rows, cols // GROUP):
        return f"{o:exp} is valid in {exp[0]}x{exp[1]}, not {rows}x{cols // GROUP}"
    return _room(o, "exp", (rows - 1) * exp[3] + cols // GROUP) or _room(o, "scaling", groups)


def _flat(o: Site, groups: int) -> Message:
    """Exponents one after the other."""
    rows, cols, whole_rows, whole = _sizes(o.src)
    if whole != cols or _sizes(o.exp)[:2] != (1, groups):
        return f"flat exponents of a source with {whole} columns, {cols} of them valid"
    if (wrong := _room(o, "exp", groups)) is not None:
        return wrong
    if o.src.dtype.name == "f32":
        total = whole_rows * whole
        unrolled = total > 1024 and total % 256 == 0 and rows * whole % 256 == 0
        return _room(o, "scaling", -(-groups * (2 if unrolled else 1) // 64) * 64)
    if o.scale_alg is QuantScaleAlg.OCP:
        return _room(o, "scaling", -(-groups // 128) * 128)
    return "flat exponents of 16-bit floats with the scales of NV"


def _padding(o: Site) -> Message:
    rows, cols, _, whole = _sizes(o.src)
    if o.src.dtype in _HALF and cols < whole and 128 % whole == 0 and rows * whole % 128:
        return f"{rows} rows of {whole}, {cols} of them valid, end inside a vector register"
    return None
