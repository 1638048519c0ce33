"""Words to define operations of the cube unit on pointers with (assembly 12; PTOAS e32488c9, micro-isa 16).

Sizes, strides and counts are the same for all blocks of a launch that run together. A fractal is 512 bytes: 16 rows of
32 bytes in L1, L0A and L0B. An accumulator has blocks of 16 columns, in rows of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics.rules import merged
from ptokit.records import dataclass
from ptokit.types.codecs import decode, unpack_nibbles
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe

from ..machine import Machine
from ..meaning.rows import Rows
from ..meaning.words import Meaning
from ..table import Attr, Instr, Kind, Operand, OperandForm, Role, instruction
from .drain_rules import DRAINS
from .verifier_rules import VERIFIED

BLOCK = 32  # bytes: a row of a fractal
ROWS = 16  # of a fractal
FRACTAL = ROWS * BLOCK
ACC_COLS = 16  # columns of a block of an accumulator
ACC_BYTES = 4
SOURCE = "PTOAS e32488c9, micro-isa 16"


def at(name: str, space: str, role: Role = Role.IN) -> Operand:
    """A pointer into one of the buffers: gm, l1, l0a, l0b, l0c, fb, bt, ub; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, space=space, or_view=True)


def numbers(names: str, *, group: str = "", optional: bool = False) -> tuple[Operand, ...]:
    """Sizes, strides and counts, of type i64."""
    return tuple(
        Operand(n, Role.IN, Kind.SCALAR, optional, type="i64", form=OperandForm(group=group), agreed=True)
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
    run: Callable[..., Any] | None = None,
    attrs: tuple[Attr, ...] = (),
    meaning: Meaning | None = None,
    **more: Any,
) -> Instr:
    """An operation of the cube unit; operations with words of their own have a ``grammar``."""
    rules = merged(VERIFIED.get(text, ()) or DRAINS.get(text, ()))
    more = {"syntax": "micro", "source": SOURCE, "typed": True, "rules": rules, **more}
    instr = Instr(text, text, summary, operands, attrs, pipe=pipe, run=run, meaning=meaning, **more)
    return instruction(instr if meaning is None else replace(instr, run=Rows(instr)))


def ceil(value: int, unit: int) -> int:
    """`value` divided by the unit, rounded up."""
    return -(-value // unit)


def fractals(m: Machine, src: Any, rows: int, row_bytes: int) -> np.ndarray:
    """Rows of an operand in L0A or L0B in whole fractals: uint8 (blocks or 1, rows rounded up, row_bytes).

    Fractals lie one below the other, as many as the rows need, columns of them side by side.
    """
    whole, rest = divmod(row_bytes, BLOCK)
    high = ceil(rows, ROWS) * ROWS
    pitch = high * BLOCK
    parts = []
    for first, columns, nbytes in ((0, whole, BLOCK), (whole * pitch, 1, rest)):
        if columns and nbytes:
            needed = (((columns, pitch), (rows, BLOCK)), nbytes)
            parts.append(m.fetch(src, first, ((columns, pitch), (high, BLOCK)), nbytes, needed=needed))
    return np.concatenate([p.transpose(0, 2, 1, 3).reshape(len(p), high, -1) for p in parts], axis=2)


def accumulator(m: Machine, src: Any, first: int, rows: int, cols: int, pitch: int, step: int = 1) -> np.ndarray:
    """Elements of an accumulator: ``dtype.value`` of shape (blocks or 1, rows, cols).

    ``first``: bytes behind the pointer; ``pitch``: rows from a block of 16 columns to the next one; ``step``: rows from
    one that is taken to the next.
    """
    row = ACC_COLS * ACC_BYTES
    blocks = ceil(cols, ACC_COLS)
    found = m.fetch(src, first, ((blocks, pitch * row), (rows, step * row)), row)
    joined = found.transpose(0, 2, 1, 3).reshape(len(found), rows, -1)
    return np.ascontiguousarray(joined).view(src.dtype.value)[:, :, :cols]


@dataclass(slots=True)
class Spec:
    """The type of a `Matrix`."""

    dtype: DType


@dataclass(slots=True)
class Matrix:
    """An operand of a product, as products of tiles take it (`isa.meaning.contract`)."""

    spec: Spec
    codes: np.ndarray  # (blocks or 1, rows, cols), in the type's value dtype, or codes where it has none
    vr: int
    vc: int

    @classmethod
    def of(cls, dtype: DType, raw: np.ndarray) -> Matrix:
        """From bytes (blocks or 1, rows, bytes of a row)."""
        raw = np.ascontiguousarray(raw)
        codes = unpack_nibbles(raw) if dtype.packed or dtype.bits == 4 else raw.view(dtype.value or dtype.storage)
        return cls(Spec(dtype), codes, *codes.shape[1:])

    @property
    def turned(self) -> Matrix:
        """The transposed matrix."""
        return Matrix(self.spec, self.codes.transpose(0, 2, 1), self.vc, self.vr)

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        """The values, or codes where the type has no NumPy dtype, of the first rows and columns."""
        return self.codes[:, :rows, :cols]

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        """The values in a wider float dtype, exactly."""
        values = decode(self.spec.dtype, self.codes) if self.spec.dtype.value is None else self.codes
        return values.astype(dtype)
