"""TQUANT of block-scaled types: fp8 and fp4 with a shared exponent per 32 elements (compute-reduce-matrix 15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np

from ptokit.types import codecs
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES, e2m1
from ptokit.types.enums import MxGroupAxis, MxQuantAlg, QuantScaleAlg, QuantType, VecStoreMode
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import Message, sharing
from ..checks.tiles import A5_ONLY, assembler_rule
from ..machine import Machine, TileOperand
from ..meaning.moves import kind
from ..operands import types_of
from ..site import Site, TileInfo
from ..table import Access, Attr, Instr, dst, instruction, src
from .quantize import GROUP, MX_RULES

# What the reference assembler asks of tquant.mx (PTOAS of August 2026, PTO.cpp TQuantMxOp).


MX_GROUP = 32
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
    if min(rows, cols) <= 0 or (rows if down else cols) % MX_GROUP:
        return f"{o:src} is valid in {rows}x{cols}; groups of {MX_GROUP} lie along {'rows' if down else 'columns'}"
    groups = rows * (cols // MX_GROUP)
    grouped = (rows // MX_GROUP, cols) if down else (rows, cols // MX_GROUP)
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
    """
        !s = !pto.tile_buf<vec, 16x32xf32>
        !d = !pto.tile_buf<vec, 16x32xui8>
        !e = !pto.tile_buf<vec, 1x32xui8, valid=1x16>
        !m = !pto.tile_buf<vec, 1x16xf32>
        !c = !pto.tile_buf<vec, 1x64xf32, valid=1x16>
        %s = pto.alloc_tile : !s
        %d = pto.{alloc_tile|bitcast %s : !s ->}{ :|} !d
        pto.tquant.mx ins(%s : !s) outs(%d, %e, %m, %c : !d, !e, !m, !c) {quant_type = #pto<quant_type MXFP8>}
    """,
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
    if pairs and (whole // 2) % MX_GROUP and o.src.dtype.name == "f16":
        return f"rows of {whole // 2} bytes of pairs made of f16"
    if (wrong := _room(o, "dst", (rows - 1) * o.dst.cols + cols)) is not None:
        return wrong
    for name in ("max", "scaling", *(() if o.interleave else ("exp",))):
        if o.operands[name].cols != whole:  # type: ignore[union-attr]
            return f"{o:{name}} has {o.operands[name].cols} columns, {o:src} {whole}"  # type: ignore[union-attr]
        if (wrong := _room(o, name, rows // MX_GROUP * whole)) is not None:
            return wrong
    if not o.interleave:
        return None
    if rows % 64 or whole_rows % 64:
        return f"interleave of {rows} valid rows of {whole_rows}"
    if o.src.dtype.name == "f32":
        return "interleave of f32"
    wanted = (rows // 64, 2 * cols, whole_rows // 64, -(-2 * whole // MX_GROUP) * MX_GROUP)
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
    if exp[:2] != (rows, cols // MX_GROUP):
        return f"{o:exp} is valid in {exp[0]}x{exp[1]}, not {rows}x{cols // MX_GROUP}"
    return _room(o, "exp", (rows - 1) * exp[3] + cols // MX_GROUP) or _room(o, "scaling", groups)


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


# TQUANT of block-scaled types: fp8 and fp4 with a shared exponent per 32 elements (compute-reduce-matrix 15).


_OCP = {MxQuantAlg.OcpMxFp8E4M3: 8, MxQuantAlg.OcpMxFp4E2M1: 2}  # exponent of the largest element
_NV = {MxQuantAlg.NvMxFp8E4M3: 0x3B124925, MxQuantAlg.NvMxFp4E2M1: 0x3E2AAAAB}  # bits of 1 / the largest element
_NAN, _INF = np.uint32(0xFF), 0xFF


def shared_exponent(largest: np.ndarray, alg: MxQuantAlg) -> np.ndarray:
    """The e8m0 code of groups whose largest magnitude, as float32, is given."""
    value = largest.astype(np.float32)
    if alg in _NV:
        value = value * np.array(_NV[alg], np.uint32).view(np.float32)
    bits = value.view(np.uint32)
    e, f = (bits >> 23 & 0xFF).astype(np.int64), bits & 0x7FFFFF
    if alg in _OCP:
        code = np.maximum(e - _OCP[alg], 0)
    else:
        up = (f != 0) & ((e != 0) | (f > 0x400000)) & (e < 0xFE)
        code = np.where(e == _INF, 0xFE, e + up)
    return np.where(np.isnan(largest), 0xFF, code).astype(np.uint8)


def multiplier(code: np.ndarray) -> np.ndarray:
    """``2**(127 - code)`` as float32; NaN of the code 0xFF."""
    bits = (254 - code.astype(np.int64)) << 23
    bits = np.where(code == 0xFE, 0x00400000, np.where(code == 0xFF, 0x7FC00000, bits))
    return bits.astype(np.uint32).view(np.float32)


def _magnitudes(x: np.ndarray, alg: MxQuantAlg) -> np.ndarray:
    """|x| as float32; halves are cut to bf16 first where the algorithm says so."""
    wide = np.abs(x.astype(np.float32))
    if x.dtype == np.float16 and alg in _OCP:
        cut = (wide.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        wide = np.where(np.isnan(wide), wide, cut)
    return wide


def _quantize(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    exp: TileOperand,
    max: TileOperand,
    scaling: TileOperand,
    exp_zz: TileOperand | None = None,
    *,
    grp_axis: int,
    alg: MxQuantAlg,
    interleave: bool,
    quant_type: QuantType | None = None,
    scale_alg: QuantScaleAlg = QuantScaleAlg.OCP,
    store_mode: VecStoreMode | None = None,
) -> None:
    if exp_zz is not None:
        m.refuse("TEXT-UNIMPLEMENTED", "tquant.mx with exp_zz cannot be run yet")
    alg = _ALGS.get((quant_type, scale_alg), alg) if quant_type is not None else alg
    x = src.read()
    blocks, rows, cols = x.shape
    if not (rows and cols):
        return
    if alg is MxQuantAlg.Hif4:
        _quantize_hif4(dst, x, exp, max, scaling)
        return
    axis = 2 if grp_axis == 1 else 1
    length = x.shape[axis]
    padded = np.pad(x, [(0, -length % GROUP if k == axis else 0) for k in range(3)])
    shape = (blocks, rows, -1, GROUP) if axis == 2 else (blocks, padded.shape[1] // GROUP, GROUP, cols)
    groups = padded.reshape(shape)
    largest = _magnitudes(groups, alg).max(axis=axis + 1)
    code = shared_exponent(largest, alg)
    factor = multiplier(code)
    spread = np.repeat(factor, GROUP, axis=axis)[:, :rows, :cols]
    y = x.astype(np.float32) * spread
    if x.dtype == ml_dtypes.bfloat16:
        y = y.astype(ml_dtypes.bfloat16).astype(np.float32)
    element = DTYPES["e2m1" if alg.name.endswith("E2M1") else "e4m3"]
    dst.write(encode(element, y).view(kind(dst)), rows, cols)
    if interleave:  # rows of exponents in pairs, the bytes of a pair side by side
        pairs = code.reshape(blocks, -1, 2, cols).swapaxes(2, 3)
        code = pairs.reshape(blocks, -1, 2 * cols)
    _put(exp, code.view(kind(exp)))
    as_bf16 = x.dtype == np.float16 and alg in _OCP and kind(max).itemsize == 2  # the maxima of halves, too
    _put(max, largest.astype(ml_dtypes.bfloat16).view(kind(max)) if as_bf16 else largest.astype(kind(max)))
    narrow = x.dtype.itemsize == 2 and kind(scaling).itemsize == 2
    _put(scaling, factor.astype(ml_dtypes.bfloat16).view(kind(scaling)) if narrow else factor.astype(kind(scaling)))


def _quantize_hif4(dst: TileOperand, x: np.ndarray, exp: TileOperand, max: TileOperand, scaling: TileOperand) -> None:
    """HiFloat4: exp holds Ea (two bytes each), Eb, as many zeros, Ec, and the three as the cube unit takes them."""
    blocks, rows, cols = x.shape
    found = codecs.quantised(x.astype(np.float32).reshape(blocks, -1, codecs.GROUP))
    dst.write(encode(DTYPES["e1m2"], found.scaled.reshape(x.shape)).view(kind(dst)), rows, cols)
    groups = found.ea.shape[1]
    ea = np.zeros((blocks, groups, 2), np.uint8)
    ea[..., 0] = found.ea
    eb = np.concatenate((found.eb, np.zeros_like(found.eb)), axis=1)
    ec = found.ec.reshape(blocks, -1)
    parts = (ea.reshape(blocks, -1), eb, ec, _for_cube(found.ea, found.eb, found.ec))
    _fill(exp, np.concatenate(parts, axis=1))
    _fill(max, np.concatenate([each.reshape(blocks, -1) for each in (found.largest_of_4, found.largest_of_8)], axis=1))
    _fill(scaling, np.repeat(found.factor.reshape(blocks, -1), 2, axis=1))


def _for_cube(ea: np.ndarray, eb: np.ndarray, ec: np.ndarray) -> np.ndarray:
    """16 pairs of Ea and Eb, then the 16 Ec, and so on: as the vector unit puts them together, 128 groups at a time.

    Of the second 128 groups and further ones it takes the Ea that lie 64 groups earlier.
    """
    blocks, groups = ea.shape
    at = np.arange(groups)
    pairs = np.stack((ea[:, at - at // 128 * 64], eb), axis=-1)
    both = np.stack((pairs.reshape(blocks, -1, 32), ec.reshape(blocks, -1, 32)), axis=2)
    return both.reshape(blocks, -1)


def _fill(tile: TileOperand, values: np.ndarray) -> None:
    """Values one after the other from the first element of a tile on, whose rest stays; bf16 where it is no byte."""
    whole = tile.read(tile.spec.rows, tile.spec.cols).reshape(-1, tile.spec.numel)
    out = np.repeat(whole, len(values) // len(whole), axis=0).copy()
    made = values if values.dtype == np.uint8 else values.astype(ml_dtypes.bfloat16)
    out[:, : values.shape[1]] = made.view(out.dtype)
    tile.write(out.reshape(len(values), tile.spec.rows, tile.spec.cols), tile.spec.rows, tile.spec.cols)


def _put(tile: TileOperand, values: np.ndarray) -> None:
    """One value per group: row by row, or one after the other where the tile has fewer rows."""
    rows, cols = values.shape[1:]
    if tile.spec.rows >= rows > 1 and tile.spec.cols >= cols:
        tile.write(values, rows, cols)
        return
    old = tile.read(tile.spec.rows, tile.spec.cols).reshape(-1, tile.spec.numel)
    out = np.repeat(old, len(values), axis=0)[: len(values)].copy()
    out[:, : rows * cols] = values.reshape(len(values), -1)
    tile.write(out.reshape(len(values), tile.spec.rows, tile.spec.cols), tile.spec.rows, tile.spec.cols)


def _footprint(o: Site) -> Iterator[Access]:
    """What there is one of for each group fills as much of its tile as there are groups."""
    yield Access("src", False, o.src.vr, o.src.vc)
    yield Access("dst", True, o.src.vr, o.src.vc)
    for name in ("exp", "max", "scaling", "exp_zz"):
        info = o.operands[name]
        if isinstance(info, TileInfo):
            yield Access(name, True, info.vr, info.vc, kept=True)  # type: ignore[arg-type]


_ALGS = {
    (QuantType.MXFP8, QuantScaleAlg.OCP): MxQuantAlg.OcpMxFp8E4M3,
    (QuantType.MXFP8, QuantScaleAlg.NV): MxQuantAlg.NvMxFp8E4M3,
    (QuantType.MXFP4_E2M1, QuantScaleAlg.OCP): MxQuantAlg.OcpMxFp4E2M1,
    (QuantType.MXFP4_E2M1, QuantScaleAlg.NV): MxQuantAlg.NvMxFp4E2M1,
}

TQUANT_MX = instruction(
    Instr(
        "TQUANT_MX",
        "tquant.mx",
        "dst = src scaled by a power of two per 32 elements, which exp holds",
        (dst(), src(), dst("exp"), dst("max"), dst("scaling"), replace(dst("exp_zz"), optional=True)),
        (
            Attr("quant_type", QuantType, None, "quant_type", "quant_type"),
            Attr("scale_alg", QuantScaleAlg, QuantScaleAlg.OCP, "quantScaleAlg", "quant_scale_alg"),
            Attr("store_mode", VecStoreMode, None, "storeMode", "vec_store_mode"),
            Attr("grp_axis", MxGroupAxis, MxGroupAxis.Axis1, "grpAxis", "mx_group_axis", older="grp_axis"),
            Attr("alg", MxQuantAlg, MxQuantAlg.OcpMxFp8E4M3, "mx_alg", "mx_quant_alg"),
            Attr("interleave", bool, False, "interleave"),
        ),
        cpp=(
            "TQUANT<!quant_type, store_mode>(dst, src, &exp, &max, &scaling, &exp_zz) | "
            "TQUANT<!quant_type, ^dst, ^src, ^exp, ^max, ^scaling, scale_alg?>(dst, src, &exp, &max, &scaling) | "
            "TQUANT<!grp_axis:int, !alg, interleave?>(dst, src, &exp, &max, &scaling)"
        ),
        rules=(*MX_RULES, A5_ONLY, MXQ_1, MXQ_2, MXQ_3),
        run=_quantize,
        footprint=_footprint,
        halves=True,
        source="compute-reduce-matrix 15",
    )
)
