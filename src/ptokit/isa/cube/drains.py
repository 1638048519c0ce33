"""From accumulators to global memory, L1 and the unified buffer: quantised, rectified, bounded and laid out on the way.

The order is that of the fix-pipe: scale, ReLU, conversion, bound (PTOAS e32488c9, micro-isa 16). The arithmetic of the
scales and conversions is that of tiles (`isa.numerics.quant`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from ..checks.tile_types import SLOPES
from ..machine import ATOMIC_CONTROL
from ..meaning.matrices import FixPipe, Matrix
from ..meaning.words import Move
from ..site import Site
from ..table import Kind, Operand, OperandForm, Role, grammar, listed
from .pointers import (
    ACC_BYTES,
    ACC_COLS,
    BLOCK,
    KEEP_NAN_BIT,
    NOSAT_BIT,
    at,
    ceil,
    clause,
    cube,
    given,
    in_accumulator,
    moved,
    numbers,
)
from .verifier_rules import RELU_WORDS

_U64, _F32 = DTYPES["u64"], DTYPES["f32"]  # a parameter word, and a slope, in the fix-pipe buffer
MODES = (
    *("no_convert f32_f16 qf322hif8_pre_vec qf322hif8_pre_scalar qf322hif8_pre_hybrid_vec").split(),
    *("qf322hif8_pre_hybrid_scalar deqs32_int_vec deqs32_int_scalar req8_vec req8_scalar deqf16_vec").split(),
    *("deqf16_scalar qf322fp8_pre_vec qf322fp8_pre_scalar qf322f32_pre_vec qf322f32_pre_scalar f32_bf16").split(),
    *("qf162b8_pre_vec qf162b8_pre_scalar qf162s4_pre_vec qf162s4_pre_scalar req4_vec req4_scalar").split(),
    *("qf322b8_pre_vec qf322b8_pre_scalar qf322s4_pre_vec qf322s4_pre_scalar deqs16_vec deqs16_scalar").split(),
    *("qf162s16_pre_vec qf162s16_pre_scalar qf322f16_pre_vec qf322f16_pre_scalar qf322bf16_pre_vec").split(),
    *("qf322bf16_pre_scalar qs322bf16_pre_vec qs322bf16_pre_scalar").split(),
)
"""Words of the text by number, as the fields of the hardware have it."""
RELUS = ("no_relu", "normal_relu", "scalar_relu", "vector_relu")
_ATOMIC_TYPES = {"f32": "f32", "f16": "f16", "bf16": "bf16", "s32": "i32", "s16": "i16", "s8": "i8"}


def _drained(
    o: Site,
    sizes: Sequence[int],
    layout: str,
    fix: FixPipe,
    *,
    step: int = 1,
    split: bool = False,
    loop: Sequence[int] = (1, 0, 0),
) -> Move:
    """A drain of m rows and n columns. Strides of the source count rows of 16 elements, of the destination elements.

    ``step``: of nz2dn, from a row of the source to the next one; ``split``: of nz2nz, blocks of 8 columns; ``loop``:
    count, and strides of source and destination.
    """
    m, n, src_stride, dst_stride = sizes
    count, src_step, dst_step = loop
    dtype = o.dst.dtype
    size = dtype.size
    wide = 8 if split else max(ACC_COLS, BLOCK // size)
    along, block = {"nz2nd": (dst_stride * size, 0), "nz2dn": (size, 1), "nz2nz": (wide * size, wide)}[layout]
    row = ACC_COLS * ACC_BYTES
    step = step if layout == "nz2dn" else 1
    cols = ceil(n, ACC_COLS) * ACC_COLS
    src = in_accumulator("src", o.src.dtype, count * m, cols, src_stride, step, band=m, band_step=src_step * row)
    dst = Matrix("dst", dtype, count * m, n, along, block, dst_stride * size, m, dst_step * size)
    return moved(src, dst, fix)


def _table(name: str, dtype: DType, n: int, **place: Any) -> Matrix:
    """Parameters of `n` columns."""
    return Matrix(name, dtype, 1, n, 0, **place)


# ------------------------------------------------------------------- clauses


def _clauses(o: Site) -> Move | None:
    """A drain with what the clauses say; other numbers mean nothing here."""
    found = given(o, "m n src_stride dst_stride quant relu clip layout_stride loop_count loop_src loop_dst sub_core")
    if found is None:
        return None
    (*sizes, quant, relu, clip, stride, count, src_step, dst_step, core), n = found, found[1]
    mode, rectify = o.quant_mode or "no_convert", o.relu_mode or "no_relu"
    word = quant if isinstance(quant, int) else int(np.float32(quant or 0).view(np.uint32))
    kind = o.attrs.get("atomic_element")
    fix = FixPipe(
        mode,
        _table("quant", _U64, n) if mode.endswith("_vec") else word,
        rectify,
        _table("relu", _F32, n) if rectify == "vector_relu" else relu,
        clip,
        o.saturation,
        o.nan is not None,
        None if kind is None else (o.atomic_op or "add", DTYPES[_ATOMIC_TYPES[kind]]),
        o.attrs.get("dst_mode") or "",
        core or 0,
    )
    layout = o.conversion or "nz2nd"
    loop = (1, 0, 0) if count is None else (count, src_step, dst_step)
    step = 1 if stride is None else stride
    return _drained(o, sizes, layout, fix, step=step, split=bool(stride), loop=loop)


# -------------------------------------------------------------------- fields


def _fields(o: Site) -> Move | None:
    """A drain from the fields of the hardware and the registers it reads."""
    found = given(o, " ".join(operand.name for operand in o.instr.operands[2:]))
    if found is None or o.registers is None:
        return None
    (xm, xt), held = found, o.registers.get
    ctrl, fpc, loop3 = int(held(ATOMIC_CONTROL, 0)), held("fpc", 0), held("loop3", 1)
    mode = MODES[min(xt >> 34 & 31 | (xt >> 29 & 1) << 5, len(MODES) - 1)]
    relu = RELUS[min(xt >> 39 & 7, len(RELUS) - 1)]
    layout = "nz2nd" if xt >> 43 & 1 else "nz2dn" if xt >> 62 & 1 else "nz2nz"
    bound = held("fix_clip_relu", 0) & 0xFFFF
    clip = np.uint16(bound).view(np.float16 if o.dst.dtype.is_float else np.int16)
    alpha = float(np.uint32(held("relu_alpha", 0) & 0xFFFFFFFF).view(np.float32))
    n = xm >> 4 & 0xFFF
    words = _table("words", _U64, n, space="fb", address=(fpc >> 8 & 0xFF) << 7)
    slopes = _table("slopes", _F32, n, space="fb", address=SLOPES + ((fpc & 0xFF) << 6))
    to_ub = o.instr.operands[1].space == "ub"
    fix = FixPipe(
        mode,
        words if mode.endswith("_vec") else held("quant_pre", 0),
        relu,
        slopes if relu == "vector_relu" else alpha,
        float(clip) if xt >> 30 & 3 else None,
        "nosat" if ctrl >> NOSAT_BIT & 1 else "sat" if ctrl >> KEEP_NAN_BIT & 1 else None,
        bool(ctrl >> KEEP_NAN_BIT & 1),
        halves=("", "split_m", "split_n", "")[xt >> 16 & 3] if to_ub else "",
        sub=xt >> 18 & 1 if to_ub else 0,
    )
    sizes = (xm >> 16 & 0xFFFF, n, xt & 0xFFFF, xm >> 32 & 0xFFFFFFFF)
    step = max(1, held("channel", 1 << 48) >> 48 & 0xFFFF)
    loop = (loop3 & 0xFFFF, loop3 >> 16 & 0xFFFF, loop3 >> 32) if layout != "nz2nz" else (1, 0, 0)
    return _drained(o, sizes, layout, fix, step=step, split=bool(xt >> 42 & 1), loop=loop)


_DRAIN = (
    Operand(
        "quant", Role.IN, Kind.SCALAR, optional=True, also=(Kind.PTR,), form=OperandForm(group="pre_quant"), agreed=True
    ),
    Operand(
        "relu", Role.IN, Kind.SCALAR, optional=True, also=(Kind.PTR,), form=OperandForm(group="pre_relu"), agreed=True
    ),
    Operand("clip", Role.IN, Kind.SCALAR, optional=True, form=OperandForm(group="pre_relu"), agreed=True),
    *numbers("layout_stride", group="layout", optional=True),
    *numbers("loop_count loop_src loop_dst", group="loop3", optional=True),
)
_WORDS = (
    clause("unit_flag", "drain_unit_flag"),
    clause("quant_mode", "pre_quant_mode", key="pre_quant_mode", words=MODES),
    clause("relu_mode", "pre_relu_mode", key="pre_relu_mode", words=RELU_WORDS),
    clause("conversion", "drain_conversion", key="mode"),
    clause("saturation", "saturation_word", key="sat_mode"),
    clause("nan", "saturation_nan"),
    clause("atomic_element", "atomic_element", key="atomic_type", words=("f32", "f16", "bf16", "s32", "s16", "s8")),
    clause("atomic_op", "atomic_op"),
)


def _form(sizes: str, *, cores: bool) -> str:
    """Operands, clauses, types. ``cores``: it says to which vector core it goes."""
    core = ("<? , dst_mode ~( <? %sub_core ?> <? W(dst_mode) ?> ) ?>", "<? , T(sub_core) ?>") if cores else ("", "")
    clauses = (
        "<? , unit_flag ~( W(unit_flag) ) ?> <? , pre_quant ~( %quant , mode = W(quant_mode) ) ?> "
        "<? , pre_relu ~( <? %relu , ?> mode = W(relu_mode) <? , clip = %clip ?> ) ?> "
        "<? , W(conversion) <? ~( %layout_stride ) ?> ?> <? , loop3 ~( %loop_count , %loop_src , %loop_dst ) ?> "
        "<? , W(saturation) <? ~( W(nan) ) ?> ?> <? , atomic ~( type = W(atomic_element) , op = W(atomic_op) ) ?> {}"
    )
    types = (
        "<? , T(quant) ?> <? , T(relu) ?> <? , T(clip) ?> <? , T(layout_stride) ?> "
        "<? , T(loop_count) , T(loop_src) , T(loop_dst) ?>"
    )
    names = f"src dst {sizes}"
    return f"{listed(names)} {core[0]} {clauses} : {listed(names, 'T({})')} {core[1]} {types}"


for _space, _what, _sizes in (
    ("gm", "global memory", "m n src_stride dst_stride sid l2_cache_ctl"),
    ("ub", "the unified buffer", "m n src_stride dst_stride"),
    ("l1", "L1", "m n src_stride dst_stride"),
):
    cube(
        f"mte_l0c_{_space}",
        f"Drain the accumulator into {_what}.",
        Pipe.FIX,
        (
            at("src", "l0c"),
            at("dst", _space, Role.OUT),
            *numbers(_sizes),
            *(numbers("sub_core", optional=True) if _space == "ub" else ()),
            *_DRAIN,
        ),
        _clauses,
        (*((clause("dst_mode"),) if _space == "ub" else ()), *_WORDS),
        form=grammar(_form(_sizes, cores=_space == "ub")),
        decision="Without a layout, rows are stored one after the other (nz2nd), as the assembler does it.",
    )
for _space, _what, _dst, _names in (
    ("gm", "global memory", "gm", "xm xt"),
    ("cbuf", "L1", "l1", "config0 config1"),
    ("ub", "the unified buffer", "ub", "config0 config1"),
):
    cube(
        f"copy_matrix_cc_to_{_space}",
        f"Drain the accumulator into {_what}, with the fields of the hardware.",
        Pipe.FIX,
        (at("src", "l0c"), at("dst", _dst, Role.OUT), *numbers(_names)),
        _fields,
        decision="Fields are numbered as the assembler numbers the words of the text.",
    )
