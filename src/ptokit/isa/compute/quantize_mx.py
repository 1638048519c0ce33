"""TQUANT of block-scaled types: fp8 and fp4 with a shared exponent per 32 elements (compute-reduce-matrix 15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import MxGroupAxis, MxQuantAlg, QuantScaleAlg, QuantType, VecStoreMode

from ..checks.assembler import A5_ONLY
from ..element_positions import kind
from ..machine import Machine, TileOperand
from ..site import Site, TileInfo
from ..table import Access, Attr, Instr, dst, instruction, src
from .quantize_rules import GROUP, MX_RULES
from .quantize_text_rules import MXQ_1, MXQ_2, MXQ_3

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
    _put(max, largest.astype(kind(max)))
    narrow = x.dtype.itemsize == 2 and kind(scaling).itemsize == 2
    _put(scaling, factor.astype(ml_dtypes.bfloat16).view(kind(scaling)) if narrow else factor.astype(kind(scaling)))


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
        cpp="TQUANT",
        rules=(*MX_RULES, A5_ONLY, MXQ_1, MXQ_2, MXQ_3),
        run=_quantize,
        footprint=_footprint,
        halves=True,
        source="compute-reduce-matrix 15",
    )
)
