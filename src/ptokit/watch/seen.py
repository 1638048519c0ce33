"""`Seen`: what an operand held at one moment of a run, with where and when that was."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine.global_memory import View
from ptokit.machine.loops import Loops
from ptokit.machine.observer import Moment, contents
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.values import Mask, Scalar


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
    kind: str  # vec, mat, acc …; "view", "register", "predicate", "pointer" or "number"
    dtype: DType | None
    array: np.ndarray | None = field(repr=False)
    address: int | None = None
    buffer: str = ""
    rank: int = -1  # of the device, in a launch on several
    place: str = ""  # rank, block and core in words

    @property
    def line(self) -> int:
        """Line of the instruction."""
        return self.location.line

    @property
    def when(self) -> str:
        """Rank, block, core and loop variables in words."""
        return ", ".join([self.place, *(f"{name}={value}" for name, value in self.loops)])

    @property
    def what(self) -> str:
        """The type in words: ``vec 16x16xf32 at 0x100 of UB``."""
        if self.array is not None and not self.array.ndim:
            return f"{self.kind} {self.array}"
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
        values = values.astype(np.uint8) if values.dtype == np.bool_ else values
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


@dataclass(frozen=True)
class Named:
    """An operand or a result of a step: what the program calls it, its type there, and the object itself."""

    name: str  # empty if it has none
    type: Any  # None where the program has no value for it
    value: Any


def named(moment: Moment) -> dict[str, Named]:
    """The operands of a step and, once it is done, its results, by their names in the instruction."""
    out = {}
    for operand, value in moment.given.items():
        declared = moment.op.get(operand)
        made = str(getattr(value, "name", "") or "").removeprefix("%")
        out[operand] = Named(
            made if declared is None else declared.name or made, None if declared is None else declared.type, value
        )
    for (operand, value), result in zip(moment.returned.items(), moment.op.results):
        out[operand] = Named(result.name, result.type, value)
    return out


def seen(moment: Moment, operand: str) -> Seen:
    """What an operand or a result of a step holds now."""
    return look(moment, operand, named(moment).get(operand, Named("", None, None)))


def look(moment: Moment, operand: str, it: Named) -> Seen:
    """What `it` holds at this moment, as that operand of the step; no operand of it if ``operand`` is empty."""
    value, type = it.value, it.type
    dtype, address, buffer, kind = None, None, "", "number"
    held = contents(value)
    if isinstance(value, Tile):
        dtype, kind, address = value.type.dtype, value.type.loc.text, value.address
        buffer = "" if value.type.loc is TileType.Ctrl else buffer_name(value.type.loc)
    elif isinstance(value, View):
        dtype, kind = value.dtype, "view"
    elif isinstance(type, Mask):
        kind = "predicate"
        held = None if held is None else held[:: max(1, type.bits // 8)]
    elif isinstance(value, np.ndarray) and not isinstance(type, Scalar):
        dtype, kind = getattr(type, "dtype", None), "register"
    elif held is None and value is not None:
        kind = "pointer"
    if dtype is not None and dtype.value is None and held is not None:
        held = decode(dtype, held).copy()
    array = None if held is None else np.asarray(held)
    where = (moment.location, moment.block, moment.core, moment.loops)
    return Seen(
        it.name, moment.name, operand, *where, kind, dtype, array, address, buffer, moment.machine.rank, moment.place
    )


class Known:
    """What the names of a program stood for when a step last used them, on each core."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], Named] = {}

    def remember(self, moment: Moment) -> None:
        """The step is done."""
        for it in named(moment).values():
            if it.name and it.value is not None:
                self._known[moment.core, it.name] = it

    def look(self, moment: Moment, name: str) -> Seen | None:
        """The contents of the named operand now; None if no step has used it."""
        it = self._known.get((moment.core, name))
        return None if it is None else look(moment, "", it)

    def names(self, core: int) -> list[str]:
        """The names that steps of the core have used."""
        return sorted(name for number, name in self._known if number == core)
