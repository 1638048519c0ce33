"""Operations of the cube unit on pointers: words to define them with, and registers that they read.

Sizes, strides and counts are the same for all blocks of a launch that run together. A fractal is 512 bytes: 16 rows of
32 bytes in L1, L0A and L0B. An accumulator has blocks of 16 columns, in rows of 64 bytes.

The bits of the control register that ptokit gives a meaning: 45 reads 8-bit floats as hif8 and 46 and 47 round f32
operands in products with the fields of the hardware; 48 and 50 choose how drains narrow; 6 to 8 and 9 to 10 say type
and operation of atomic stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import merged
from ptokit.types.dtypes import DTYPES, HALVES, DType, i64, u64
from ptokit.types.enums import Pipe

from ..checks.compiling import Message
from ..machine import ATOMIC_CONTROL, OPERATION_SHIFT, OPERATIONS, TYPE_SHIFT, TYPES
from ..meaning.expressions import Const, Element, Expr, Held, Reinterpret, Scalar
from ..meaning.fold import ROUNDING
from ..meaning.matrices import FixPipe, Matrix
from ..meaning.matrix_moves import Behind
from ..meaning.words import Keep, Lane, Meaning, Move, Write
from ..site import ScalarInfo, Site, known
from ..table import CALLED, Attr, Instr, Kind, Operand, OperandForm, Role, TextForm, grammar, instruction
from .verifier_rules import DRAINS, VERIFIED, unsigned

# Words to define operations of the cube unit on pointers with (assembly 12; PTOAS e32488c9, micro-isa 16).


BLOCK = 32  # bytes: a row of a fractal
ROWS = 16  # of a fractal
FRACTAL = ROWS * BLOCK  # bytes
ACC_COLS = 16  # columns of a block of an accumulator
ACC_BYTES = 4
SOURCE = "PTOAS e32488c9, micro-isa 16"


def at(name: str, space: str, role: Role = Role.IN) -> Operand:
    """A pointer into one of the buffers: gm, l1, l0a, l0b, l0c, fb, bt, ub; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, type=space, also=(Kind.VIEW,))


def numbers(names: str, *, group: str = "", optional: bool = False, type: str = "i64") -> tuple[Operand, ...]:
    """Sizes, strides and counts."""
    return tuple(
        Operand(n, Role.IN, Kind.SCALAR, optional, type=type, form=OperandForm(group=group), agreed=True)
        for n in names.split()
    )


def bit(name: str) -> Operand:
    """A number of one bit."""
    return Operand(name, Role.IN, Kind.SCALAR, type="i1", agreed=True)


def clause(name: str, mnemonic: str = "", *, key: str = "", words: Iterable[str] = ()) -> Attr:
    """A word of the form that may be missing; ``mnemonic`` names its values, ``key`` stands in the generic form."""
    return Attr(name, str, None, key or name, mnemonic or name, words=tuple(words))


def cube(
    text: str,
    summary: str,
    pipe: Pipe,
    operands: tuple[Operand, ...],
    meaning: Meaning,
    attrs: tuple[Attr, ...] = (),
    **more: Any,
) -> Instr:
    """An operation of the cube unit; operations with words of their own have a `form`."""
    rules = merged((*(VERIFIED.get(text, ()) or DRAINS.get(text, ())), *unsigned(operands)))
    more = {"form": TextForm("micro"), "source": SOURCE, "typed": True, "rules": rules, **more}
    instr = Instr(text, text, summary, operands, attrs, pipe=pipe, meaning=meaning, **more)
    return instruction(instr, Behind)


def ceil(value: int, unit: int) -> int:
    """`value` divided by the unit, rounded up."""
    return -(-value // unit)


def given(o: Site, names: str) -> list[Any] | None:
    """The numbers of operands, None for absent ones; None for all of them where one is not known yet."""
    infos = [o.operands.get(name) for name in names.split()]
    found = [info.value if isinstance(info, ScalarInfo) else None for info in infos]
    return found if known(*found) else None


def element(dtype: DType) -> DType:
    """The type of single elements: of a pair of 4-bit numbers one of both."""
    return HALVES.get(dtype, dtype)


def in_fractals(name: str, dtype: DType, rows: int, cols: int, pitch: int, **more: Any) -> Matrix:
    """A matrix in columns of fractals, one below the other; ``pitch``: rows of 32 bytes from column to column."""
    return Matrix(name, dtype, rows, cols, BLOCK, dtype.c0, pitch * BLOCK, **more)


def in_accumulator(name: str, dtype: DType, rows: int, cols: int, pitch: int, step: int = 1, **more: Any) -> Matrix:
    """Rows of an accumulator, every `step`-th; ``pitch``: rows from one block of 16 columns to the next."""
    row = ACC_COLS * ACC_BYTES
    return Matrix(name, dtype, rows, cols, step * row, ACC_COLS, pitch * row, **more)


def moved(src: Matrix, dst: Matrix, drain: FixPipe | None = None) -> Move:
    """One matrix becomes another."""
    return Move(Element(src.name), dst.rows, dst.cols, behind=(src, dst), drain=drain)


# The control register, and registers that copies and drains read (PTOAS e32488c9, lowering of the cube operations).


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


# Rounding of f32 operands of the cube unit (compute-reduce-matrix 11).


rule = family("compute-reduce-matrix 11")

_MODES = ("CAST_ROUND", "CAST_RINT")


@rule("MODE-01", "SETTF32MODE(mode='{CAST_RINT|CAST_FLOOR}')", evidence="static_assert")
def MODE_01(o: Site) -> Message:
    """Operands are rounded with ties away from zero (CAST_ROUND) or to even (CAST_RINT).

    Decision: Both names set the one state of the unit; the target says how many bits it keeps.
    """
    return f"the mode is {o.mode}; it is {' or '.join(_MODES)}" if o.mode not in _MODES else None


def _mode(name: str, summary: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (),
            (Attr("enable", bool, True, "enable"), Attr("mode", str, "CAST_ROUND", "mode")),
            pipe=Pipe.S,
            form=grammar(*CALLED),
            rules=(MODE_01,),
            meaning=lambda o: Keep(ROUNDING, o.mode if o.enable else None),
            source="compute-reduce-matrix 11",
        )
    )


SETHF32MODE = _mode("SETHF32MODE", "Round f32 operands of the cube unit to 11 bits of mantissa (A2/A3), or stop it.")
SETTF32MODE = _mode("SETTF32MODE", "Round f32 operands of the cube unit to 10 bits of mantissa (A5), or stop it.")
