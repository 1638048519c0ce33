"""The control register, and registers that copies and drains read (PTOAS e32488c9, lowering of the cube operations).

The bits of the control register that ptokit gives a meaning: 45 reads 8-bit floats as hif8 and 46 and 47 round f32
operands in products with the fields of the hardware; 48 and 50 choose how drains narrow; 6 to 8 and 9 to 10 say type
and operation of atomic stores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Pipe

from ..atomics import ATOMIC_CONTROL, OPERATION_SHIFT, OPERATIONS, TYPE_SHIFT, TYPES
from ..machine import Machine
from ..table import Kind, Operand, Role
from .pointers import cube, numbers

HIF8_BIT, TF32_BIT, TF32_AWAY_BIT, NOSAT_BIT, KEEP_NAN_BIT = 45, 46, 47, 48, 50


def control(m: Machine) -> int:
    """The control register; 0 at the start of a kernel."""
    return int(m.registers.get(ATOMIC_CONTROL, 0))


def _get(m: Machine, *, types: Any) -> int:
    value = control(m)
    return value - (1 << 64) if value >> 63 else value


def _set(m: Machine, ctrl: int, *, types: Any) -> None:
    m.registers[ATOMIC_CONTROL] = ctrl & ((1 << 64) - 1)


def _bit_set(m: Machine, ctrl: Any, bit: Any, *, types: Any) -> Any:
    return ctrl | 1 << (bit & 63) if bit & 63 < 63 else ctrl | -(1 << 63)


def _bit_cleared(m: Machine, ctrl: Any, bit: Any, *, types: Any) -> Any:
    return ctrl & ~(1 << (bit & 63)) if bit & 63 < 63 else ctrl & ((1 << 63) - 1)


_RESULT = Operand("value", Role.OUT, Kind.SCALAR, type="i64")
cube("get_ctrl", "Read the control register.", Pipe.S, (), _get, results=1, produces=(_RESULT,))
cube("set_ctrl", "Write the control register.", Pipe.S, numbers("ctrl"), _set)
for _bit, _what, _run in ((1, "with one more bit set", _bit_set), (0, "with one bit less", _bit_cleared)):
    cube(f"sbitset{_bit}", f"A number {_what}.", Pipe.S, numbers("ctrl bit"), _run, results=1, produces=(_RESULT,))


def _kept(name: str) -> Callable[..., None]:
    def run(m: Machine, value: int, *, types: Any) -> None:
        m.registers[name] = value & ((1 << 64) - 1)

    return run


def _two(name: str) -> Callable[..., None]:
    """A register of 64 bits, given as the lower 40 and the upper 24."""

    def run(m: Machine, first: int, second: int, *, types: Any) -> None:
        m.registers[name] = first & ((1 << 40) - 1) | (second & ((1 << 24) - 1)) << 40

    return run


def _counts(m: Machine, value: int, *, types: Any) -> None:
    m.registers["loop_size_outtol1"] = (value & ((1 << 21) - 1), value >> 21 & ((1 << 21) - 1))


def _strides(level: int) -> Callable[..., None]:
    def run(m: Machine, value: int, *, types: Any) -> None:
        m.registers[f"loop{level}_stride_outtol1"] = (value & ((1 << 40) - 1), value >> 40 & ((1 << 24) - 1))

    return run


def _atomic_config(m: Machine, value: int, *, types: Any) -> None:
    """Type in the lowest three bits, operation in the next two, as the control register has them."""
    mask = 0x1F << TYPE_SHIFT
    m.registers[ATOMIC_CONTROL] = control(m) & ~mask | (value & 0x1F) << TYPE_SHIFT


for _text, _what, _fields, _set_it in (
    ("set_loop3_para", "Counts and strides of the outer loop of later drains", "first second", _two("loop3")),
    ("set_channel_para", "Fields of the channels of later drains", "first second", _two("channel")),
    ("set_mte2_nz_para", "Counts and strides of later copies into fractals", "value", _kept("mte2_nz_para")),
    ("set_pad_val_outtol1", "The value that pads later copies into L1", "value", _kept("pad_val_outtol1")),
    ("set_loop_size_outtol1", "Counts of the loops around later copies into L1", "value", _counts),
    ("set_loop1_stride_outtol1", "Strides of loop 1 around later copies into L1", "value", _strides(1)),
    ("set_loop2_stride_outtol1", "Strides of loop 2 around later copies into L1", "value", _strides(2)),
    ("set_quant_pre", "The scale of later drains", "value", _kept("quant_pre")),
    ("set_relu_alpha", "The slope of later drains", "value", _kept("relu_alpha")),
    ("set_fix_clip_relu", "The bound of later drains", "value", _kept("fix_clip_relu")),
    ("set_fpc", "The place of the tables of later drains", "value", _kept("fpc")),
    ("set_store_atomic_cfg", "How later stores are combined with memory", "value", _atomic_config),
):
    cube(_text, f"{_what}.", Pipe.S, numbers(_fields), _set_it)


def _atomic(shift: int, width: int, value: int) -> Callable[..., None]:
    def run(m: Machine, *, types: Any) -> None:
        mask = ((1 << width) - 1) << shift
        m.registers[ATOMIC_CONTROL] = control(m) & ~mask | value << shift

    return run


_NAMES = {DTYPES["f32"]: "f32", DTYPES["i32"]: "s32", DTYPES["i16"]: "s16", DTYPES["i8"]: "s8"}
for _type, _run in (
    *((op, _atomic(OPERATION_SHIFT, 2, code)) for code, op in enumerate(OPERATIONS)),
    ("none", _atomic(TYPE_SHIFT, 3, 0)),
    *((_NAMES.get(dtype, dtype.name), _atomic(TYPE_SHIFT, 3, code)) for code, dtype in TYPES.items()),
):
    cube(f"set_atomic_{_type}", f"How later stores are combined with memory: {_type}.", Pipe.S, (), _run)
