"""The control register, and registers that copies and drains read (PTOAS e32488c9, lowering of the cube operations).

The bits of the control register that ptokit gives a meaning: 45 reads 8-bit floats as hif8 and 46 and 47 round f32
operands in products with the fields of the hardware; 48 and 50 choose how drains narrow; 6 to 8 and 9 to 10 say type
and operation of atomic stores.
"""

from __future__ import annotations

from ptokit.types.dtypes import DTYPES, i64, u64
from ptokit.types.enums import Pipe

from ..atomics import ATOMIC_CONTROL, OPERATION_SHIFT, OPERATIONS, TYPE_SHIFT, TYPES
from ..meaning.expressions import Const, Expr, Held, Reinterpret, Scalar
from ..meaning.words import Keep, Lane, Write
from ..table import Kind, Operand, Role
from .pointers import cube, numbers

HIF8_BIT, TF32_BIT, TF32_AWAY_BIT, NOSAT_BIT, KEEP_NAN_BIT = 45, 46, 47, 48, 50


_RESULT = Operand("value", Role.OUT, Kind.SCALAR, type="i64")
_HELD, _GIVEN = Held(ATOMIC_CONTROL, u64), Scalar("value", u64)
_CTRL, _BIT = Scalar("ctrl", i64), Scalar("bit", i64)
_ONE = Const(1, _CTRL) << (_BIT & 63)


def _fields(number: Expr, *widths: int) -> tuple[Expr, ...]:
    """Fields of a number, the lowest first."""
    firsts = (sum(widths[:k]) for k in range(len(widths)))
    return tuple((number >> first if first else number) & ((1 << width) - 1) for first, width in zip(firsts, widths))


def _kept(register: str) -> Keep:
    return Keep(register, _GIVEN)


def _two(register: str) -> Keep:
    """A register of 64 bits, given as the lower 40 and the upper 24."""
    ((low,), (high,)) = _fields(Scalar("first", u64), 40), _fields(Scalar("second", u64), 24)
    return Keep(register, low | high << 40)


def _control(shift: int, width: int, value: Expr) -> Keep:
    """A field of the control register."""
    return Keep(ATOMIC_CONTROL, _HELD & ~(((1 << width) - 1) << shift) & (1 << 64) - 1 | value << shift)


for _text, _what, _names, _value in (
    ("get_ctrl", "Read the control register", "", Reinterpret(_HELD, i64)),
    ("sbitset1", "A number with one more bit set", "ctrl bit", _CTRL | _ONE),
    ("sbitset0", "A number with one bit less", "ctrl bit", _CTRL & ~_ONE),
):
    _word = Lane((Write("value", _value),), lanes=1)
    cube(_text, f"{_what}.", Pipe.S, numbers(_names), _word, produces=(_RESULT,))
for _text, _what, _names, _keep in (
    ("set_ctrl", "Write the control register", "ctrl", Keep(ATOMIC_CONTROL, Scalar("ctrl", u64))),
    ("set_loop3_para", "Counts and strides of the outer loop of later drains", "first second", _two("loop3")),
    ("set_channel_para", "Fields of the channels of later drains", "first second", _two("channel")),
    ("set_mte2_nz_para", "Counts and strides of later copies into fractals", "value", _kept("mte2_nz_para")),
    ("set_pad_val_outtol1", "The value that pads later copies into L1", "value", _kept("pad_val_outtol1")),
    *(
        (f"set_loop{level}_outtol1", f"{what} later copies into L1", "value", Keep(f"loop{level}_outtol1", fields))
        for level, what, fields in (
            ("_size", "Counts of the loops around", _fields(_GIVEN, 21, 21)),
            ("1_stride", "Strides of loop 1 around", _fields(_GIVEN, 40, 24)),
            ("2_stride", "Strides of loop 2 around", _fields(_GIVEN, 40, 24)),
        )
    ),
    ("set_quant_pre", "The scale of later drains", "value", _kept("quant_pre")),
    ("set_relu_alpha", "The slope of later drains", "value", _kept("relu_alpha")),
    ("set_fix_clip_relu", "The bound of later drains", "value", _kept("fix_clip_relu")),
    ("set_fpc", "The place of the tables of later drains", "value", _kept("fpc")),
    # type in the lowest three bits, operation in the next two, as the control register has them
    (
        "set_store_atomic_cfg",
        "How later stores are combined with memory",
        "value",
        _control(TYPE_SHIFT, 5, _GIVEN & 31),
    ),
):
    cube(_text, f"{_what}.", Pipe.S, numbers(_names), _keep)

_NAMES = {DTYPES["f32"]: "f32", DTYPES["i32"]: "s32", DTYPES["i16"]: "s16", DTYPES["i8"]: "s8"}
for _type, _keep in (
    *((op, _control(OPERATION_SHIFT, 2, Const(code, _HELD))) for code, op in enumerate(OPERATIONS)),
    ("none", _control(TYPE_SHIFT, 3, Const(0, _HELD))),
    *((_NAMES.get(dtype, dtype.name), _control(TYPE_SHIFT, 3, Const(code, _HELD))) for code, dtype in TYPES.items()),
):
    cube(f"set_atomic_{_type}", f"How later stores are combined with memory: {_type}.", Pipe.S, (), _keep)
