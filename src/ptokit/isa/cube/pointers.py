"""Words to define operations of the cube unit on pointers with (assembly 12; PTOAS e32488c9, micro-isa 16).

Sizes, strides and counts are the same for all blocks of a launch that run together. A fractal is 512 bytes: 16 rows of
32 bytes in L1, L0A and L0B. An accumulator has blocks of 16 columns, in rows of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptokit.diagnostics.rules import merged
from ptokit.types.dtypes import HALVES, DType
from ptokit.types.enums import Pipe

from ..meaning.behind import Behind
from ..meaning.expressions import Element
from ..meaning.matrices import FixPipe, Matrix
from ..meaning.words import Meaning, Move
from ..site import ScalarInfo, Site
from ..table import Attr, Instr, Kind, Operand, OperandForm, Role, TextForm, instruction
from ..unknown import known
from .drain_rules import DRAINS
from .field_rules import unsigned
from .verifier_rules import VERIFIED

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
