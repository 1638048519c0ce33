"""`Seen`: what an operand held at one moment of a run, with where and when that was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.isa.placement import buffer_name
from ptokit.run.memory.global_memory import View
from ptokit.run.memory.tile import Tile
from ptokit.run.observer import Loops, Moment, contents
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType


@dataclass(frozen=True, eq=False)
class Seen:
    """The contents of one operand right after an instruction.

    ``array`` is a copy: of a tile its valid region, of a view its rows and columns, of a register its lanes. Its
    dtype is that of the element type; float32 for types that NumPy and ml_dtypes lack, int8 for int4. It is None
    where nothing can be read. ``address`` is in bytes, and None for what has no address.
    """

    name: str  # as in the program, without %
    instruction: str
    operand: str  # its role in the instruction: dst, src0 …
    location: Location
    block: int
    core: int
    loops: Loops
    kind: str  # vec, mat, acc …; "view", "register" or "number"
    dtype: DType | None
    array: np.ndarray | None = field(repr=False)
    address: int | None = None
    buffer: str = ""

    @property
    def line(self) -> int:
        """Line of the instruction."""
        return self.location.line

    @property
    def when(self) -> str:
        """Block, core and loop variables in words."""
        core = f"core {self.core}, " if self.core else ""
        return ", ".join([f"{core}block {self.block}", *(f"{name}={value}" for name, value in self.loops)])

    @property
    def what(self) -> str:
        """The type in words: ``vec 16x16xf32 at 0x100 of UB``."""
        shape = "" if self.array is None else "x".join(str(n) for n in self.array.shape)
        elements = "x".join(part for part in (shape, "" if self.dtype is None else str(self.dtype)) if part)
        at = "" if self.address is None else f"at {self.address:#x} of {self.buffer}"
        return " ".join(part for part in (self.kind, elements, at) if part)

    def table(self, width: int = 80, most: int = 256) -> str:
        """The elements as text, those in the middle left out of arrays with more than ``most``."""
        if self.array is None:
            return "cannot be read"
        if not self.array.size:
            return "empty"
        values = self.array
        if self.dtype is not None and self.dtype.is_float:
            values = values.astype(np.float32)
        finite = np.abs(values[np.isfinite(values) & (values != 0)]) if values.dtype.kind == "f" else values[:0]
        plain = bool(finite.size == 0 or (finite.min() >= 1e-3 and finite.max() < 1e6))
        style: Any = {"max_line_width": width, "precision": 4, "suppress_small": plain}
        if values.ndim == 2 and values.shape[1] == 1 < values.shape[0]:  # as a row: it is easier to read
            row = np.array2string(values[:, 0], threshold=most, edgeitems=4, **style)
            return f"column {row}"
        return np.array2string(values, threshold=most, edgeitems=4, **style)

    def __str__(self) -> str:
        return (
            f"{self.name or self.operand} after {self.instruction} in line {self.line} ({self.when}): {self.what}\n"
            f"{self.table()}"
        )

    def __repr__(self) -> str:
        return f"<{self.name or self.operand} after {self.instruction} in line {self.line}, {self.when}: {self.what}>"


def name_of(moment: Moment, operand: str) -> str:
    """What the program calls an operand of a step; empty if it has no name."""
    value = moment.op.get(operand)
    named = "" if value is None else value.name
    return named or getattr(moment.given.get(operand), "name", "") or ""


def seen(moment: Moment, operand: str, value: Any = None) -> Seen:
    """What an operand of a step holds now. ``value`` is looked at in place of the operand, if given."""
    value = moment.given.get(operand) if value is None else value
    dtype, address, buffer, kind = None, None, "", "number"
    if isinstance(value, Tile):
        dtype, kind, address = value.type.dtype, value.type.loc.text, value.address
        buffer = "" if value.type.loc is TileType.Ctrl else buffer_name(value.type.loc)
    elif isinstance(value, View):
        dtype, kind = value.dtype, "view"
    elif isinstance(value, np.ndarray):
        kind = "register"
    held = contents(value)
    if dtype is not None and dtype.value is None and held is not None:
        held = decode(dtype, held).copy()
    array = None if held is None else np.asarray(held)
    name = name_of(moment, operand) if operand else getattr(value, "name", "")
    where = (moment.location, moment.block, moment.core, moment.loops)
    return Seen(name, moment.name, operand, *where, kind, dtype, array, address, buffer)
