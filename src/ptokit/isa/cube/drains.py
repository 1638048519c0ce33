"""From accumulators to global memory, L1 and the unified buffer: quantised, rectified, bounded and laid out on the way.

The order is that of the fix-pipe: scale, ReLU, conversion, bound (PTOAS e32488c9, micro-isa 16). The arithmetic of the
scales and conversions is that of tiles (`isa.numerics.quant`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from ..atomics import combining
from ..checks.placement import SLOPES
from ..machine import Combine, Machine
from ..numerics.scaling import narrowed
from ..table import Kind, Operand, OperandForm, Role, listed
from .control import KEEP_NAN_BIT, NOSAT_BIT, control
from .drain_rules import RELU_WORDS
from .pointers import ACC_BYTES, ACC_COLS, BLOCK, accumulator, at, clause, cube, numbers

WORD, SLOPE = 8, 4  # bytes of a parameter word, and of a slope, in the fix-pipe buffer
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


@dataclass(frozen=True, slots=True)
class Drain:
    """What is drained, and how. Strides of the source count rows of 16 elements, those of the destination elements."""

    m: int
    n: int
    src_stride: int
    dst_stride: int
    layout: str = "nz2nd"
    step: int = 1  # of nz2dn: from a row of the source to the next one
    split: bool = False  # of nz2nz: blocks of 8 columns
    loop: tuple[int, int, int] = (1, 0, 0)  # count, stride of source and destination
    mode: str = "no_convert"
    quant: Any = None  # a word, a number, or where words lie
    relu: str = "no_relu"
    slope: Any = None  # a number, or where slopes lie
    clip: Any = None
    saturation: str | None = None  # "sat", "nosat"
    keep_nan: bool = False
    combine: Combine | None = None
    halves: str = ""  # "split_m", "split_n": to both vector cores
    sub: int = 0  # the vector core whose buffer is meant


def perform(m: Machine, src: Any, dst: Any, d: Drain) -> None:
    """Every repetition, the earlier ones first."""
    if d.m <= 0 or d.n <= 0:
        return
    row = ACC_COLS * ACC_BYTES
    words = _table(m, d.quant, d.n, WORD, np.dtype(np.uint64)) if d.mode.endswith("_vec") else _word(d.quant)
    slopes = _table(m, d.slope, d.n, SLOPE, np.dtype(np.float32)) if d.relu == "vector_relu" else d.slope
    count, src_step, dst_step = d.loop
    for turn in range(count):
        x = accumulator(m, src, turn * src_step * row, d.m, d.n, d.src_stride, d.step if d.layout == "nz2dn" else 1)
        y = narrowed(
            x,
            src.dtype,
            dst.dtype,
            d.mode,
            words,
            relu=d.relu,
            slopes=slopes,
            saturation=d.saturation,
            keep_nan=d.keep_nan,
            target=m.target,
        )
        if y is None:
            m.refuse("TEXT-UNIMPLEMENTED", f"pre_quant with mode = {d.mode} cannot be run yet")
        if d.clip is not None:
            y = np.minimum(y, _bound(d.clip, dst.dtype, y.dtype))
        _put(m, dst, y, turn * dst_step * dst.dtype.size, d)


def _put(m: Machine, dst: Any, y: np.ndarray, first: int, d: Drain) -> None:
    if d.halves:
        axis = 1 if d.halves == "split_m" else 2
        low, high = np.split(y, [y.shape[axis] // 2], axis=axis)
        _place(m, dst, high, first, d, 1)
        _place(m, dst, low, first, d, 0)
    else:
        _place(m, dst, y, first, d, d.sub)


def _place(m: Machine, dst: Any, y: np.ndarray, first: int, d: Drain, sub: int) -> None:
    """Write values (blocks or 1, rows, columns) in the layout."""
    stride = d.dst_stride * y.itemsize
    _, rows, cols = y.shape
    if d.layout == "nz2nd":
        m.deposit(dst, first, ((rows, stride),), y, combine=d.combine, sub=sub)
        return
    if d.layout == "nz2dn":
        m.deposit(dst, first, ((cols, stride),), y.transpose(0, 2, 1), combine=d.combine, sub=sub)
        return
    wide = 8 if d.split else max(ACC_COLS, BLOCK // y.itemsize)
    for begin, blocks, width in ((0, cols // wide, wide), (cols // wide * wide, 1, cols % wide)):
        if blocks and width:
            part = y[:, :, begin : begin + blocks * width].reshape(len(y), rows, blocks, width).transpose(0, 2, 1, 3)
            place = first + begin // wide * stride
            axes = ((blocks, stride), (rows, wide * y.itemsize))
            m.deposit(dst, place, axes, part, combine=d.combine, sub=sub)


def _table(m: Machine, pointer: Any, n: int, size: int, dtype: np.dtype) -> np.ndarray:
    """Parameters of `n` columns: (blocks or 1, 1, n)."""
    return m.fetch(pointer, 0, (), n * size).view(dtype)[:, None, :]


def _word(quant: Any) -> int:
    """A word, or a number as one: its bits as f32."""
    if quant is None:
        return 0
    if isinstance(quant, int):
        return quant
    return int(np.float32(quant).view(np.uint32))


def _bound(clip: Any, dst: DType, dtype: np.dtype) -> np.ndarray:
    """The bound as a value of the destination's type."""
    return np.asarray(clip, dtype) if dst.is_float else np.asarray(int(clip)).astype(dtype)


# ------------------------------------------------------------------- clauses


def _clauses(d: Drain, given: Sequence[Any], words: dict[str, Any]) -> Drain:
    """The drain with what the clauses say."""
    quant, relu, clip, layout_stride, count, loop_src, loop_dst = given
    layout = words["conversion"] or "nz2nd"
    mode, rectify = words["quant_mode"] or "no_convert", words["relu_mode"] or "no_relu"
    kind, operation = words.get("atomic_element"), words.get("atomic_op")
    return replace(
        d,
        layout=layout,
        step=(1 if layout_stride is None else layout_stride) if layout == "nz2dn" else 1,
        split=layout == "nz2nz" and bool(layout_stride),
        loop=(1, 0, 0) if count is None else (count, loop_src, loop_dst),
        mode=mode,
        quant=quant,
        relu=rectify,
        slope=relu,
        clip=clip,
        saturation=words["saturation"],
        keep_nan=words["nan"] is not None,
        combine=None if kind is None else (operation or "add", DTYPES[_ATOMIC_TYPES[kind]]),
    )


def _to_gm(m: Machine, src: Any, dst: Any, *given: Any, types: Any, **words: Any) -> None:
    shape, (_, _, *clauses) = given[:4], given[4:]  # sid and the cache control between them mean nothing here
    d = _clauses(Drain(*shape), clauses, words)
    perform(m, src, dst, d if d.combine is not None else replace(d, combine=combining(m)))


def _to_l1(m: Machine, src: Any, dst: Any, *given: Any, types: Any, **words: Any) -> None:
    perform(m, src, dst, _clauses(Drain(*given[:4]), given[4:], words))


def _to_ub(m: Machine, src: Any, dst: Any, *given: Any, dst_mode: str | None, types: Any, **words: Any) -> None:
    shape, (sub_core, *clauses) = given[:4], given[4:]
    d = replace(Drain(*shape), halves=dst_mode or "", sub=sub_core or 0)
    perform(m, src, dst, _clauses(d, clauses, words))


# -------------------------------------------------------------------- fields


def _fields(m: Machine, xm: int, xt: int, *, atomic: bool = False, dst: DType) -> Drain:
    """A drain from the fields of the hardware and the registers it reads."""
    ctrl, fpc = control(m), m.registers.get("fpc", 0)
    mode = MODES[min(xt >> 34 & 31 | (xt >> 29 & 1) << 5, len(MODES) - 1)]
    relu = RELUS[min(xt >> 39 & 7, len(RELUS) - 1)]
    layout = "nz2nd" if xt >> 43 & 1 else "nz2dn" if xt >> 62 & 1 else "nz2nz"
    loop3 = m.registers.get("loop3", 1)
    words = m.cast((fpc >> 8 & 0xFF) << 7, DTYPES["u64"], "fb")
    slopes = m.cast(SLOPES + ((fpc & 0xFF) << 6), DTYPES["f32"], "fb")
    alpha = np.uint32(m.registers.get("relu_alpha", 0) & 0xFFFFFFFF).view(np.float32)
    bound = m.registers.get("fix_clip_relu", 0) & 0xFFFF
    clip = np.uint16(bound).view(np.float16) if dst.is_float else int(np.uint16(bound).view(np.int16))
    return Drain(
        xm >> 16 & 0xFFFF,
        xm >> 4 & 0xFFF,
        xt & 0xFFFF,
        xm >> 32 & 0xFFFFFFFF,
        layout,
        step=max(1, m.registers.get("channel", 1 << 48) >> 48 & 0xFFFF),
        split=bool(xt >> 42 & 1),
        loop=(loop3 & 0xFFFF, loop3 >> 16 & 0xFFFF, loop3 >> 32) if layout != "nz2nz" else (1, 0, 0),
        mode=mode,
        quant=words if mode.endswith("_vec") else m.registers.get("quant_pre", 0),
        relu=relu,
        slope=slopes if relu == "vector_relu" else alpha,
        clip=clip if xt >> 30 & 3 else None,
        saturation="nosat" if ctrl >> NOSAT_BIT & 1 else "sat" if ctrl >> KEEP_NAN_BIT & 1 else None,
        keep_nan=bool(ctrl >> KEEP_NAN_BIT & 1),
        combine=combining(m) if atomic else None,
    )


def _raw_gm(m: Machine, src: Any, dst: Any, xm: int, xt: int, *, types: Any) -> None:
    perform(m, src, dst, _fields(m, xm, xt, atomic=True, dst=dst.dtype))


def _raw_l1(m: Machine, src: Any, dst: Any, xm: int, xt: int, *, types: Any) -> None:
    perform(m, src, dst, _fields(m, xm, xt, dst=dst.dtype))


def _raw_ub(m: Machine, src: Any, dst: Any, xm: int, xt: int, *, types: Any) -> None:
    halves = ("", "split_m", "split_n", "")[xt >> 16 & 3]
    perform(m, src, dst, replace(_fields(m, xm, xt, dst=dst.dtype), halves=halves, sub=xt >> 18 & 1))


_DRAIN = (
    Operand(
        "quant", Role.IN, Kind.SCALAR, optional=True, or_ptr=True, form=OperandForm(group="pre_quant"), agreed=True
    ),
    Operand("relu", Role.IN, Kind.SCALAR, optional=True, or_ptr=True, form=OperandForm(group="pre_relu"), agreed=True),
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


for _space, _what, _sizes, _run in (
    ("gm", "global memory", "m n src_stride dst_stride sid l2_cache_ctl", _to_gm),
    ("ub", "the unified buffer", "m n src_stride dst_stride", _to_ub),
    ("l1", "L1", "m n src_stride dst_stride", _to_l1),
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
        _run,
        (*((clause("dst_mode"),) if _space == "ub" else ()), *_WORDS),
        grammar=(_form(_sizes, cores=_space == "ub"),),
        decision="Without a layout, rows are stored one after the other (nz2nd), as the assembler does it.",
    )
for _space, _what, _dst, _names, _raw in (
    ("gm", "global memory", "gm", "xm xt", _raw_gm),
    ("cbuf", "L1", "l1", "config0 config1", _raw_l1),
    ("ub", "the unified buffer", "ub", "config0 config1", _raw_ub),
):
    cube(
        f"copy_matrix_cc_to_{_space}",
        f"Drain the accumulator into {_what}, with the fields of the hardware.",
        Pipe.FIX,
        (at("src", "l0c"), at("dst", _dst, Role.OUT), *numbers(_names)),
        _raw,
        decision="Fields are numbered as the assembler numbers the words of the text.",
    )
