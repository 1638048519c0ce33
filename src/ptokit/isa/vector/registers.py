"""The NumPy executor's function of an operation on registers, written from its meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, from_numpy

from ..meaning.execute import Run
from ..meaning.expressions import Bit, Index, lanes_at
from ..meaning.rows import Rows, RowSource
from ..meaning.words import Lane, Repeats, Word, Write
from ..site import MaskInfo, ScalarInfo, VregInfo
from ..table import Instr, Kind
from .lanes import ALL, VREG_BYTES, Predicate, active, image
from .repeats import repeated

_TRUE = np.True_


class Registers(Rows):
    """The function of an instruction on registers whose meaning is data."""

    def __init__(self, instr: Instr) -> None:
        super().__init__(instr)
        self.registers = tuple(i for i, o in enumerate(instr.operands) if o.kind is Kind.VREG)

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """What is stated of the operands, and the element types that the registers have."""
        found = dict(attributes["types"])
        for i in self.registers:
            if operands[i] is None:
                continue
            dtype = from_numpy(operands[i].dtype)
            assert dtype is not None, operands[i].dtype
            stated = found.get(self.names[i])
            if isinstance(stated, VregInfo) and (stated.dtype.value is None or stated.dtype.size != dtype.size):
                continue  # bytes at hand
            found[self.names[i]] = VregInfo(self.names[i], dtype, operands[i].shape[1])
        for name, operand in zip(self.names, operands):
            if operand is not None and name not in found:
                found[name] = MaskInfo(name, 0) if self.kinds[name] == "mask" else ScalarInfo(name, "")
        return found

    def source(self, types: dict[str, DType], word: Lane) -> RowSource:
        return _Source(types, word, self.kinds)

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        if isinstance(word, Repeats):
            return repeated(word, self.names)
        return super().written(word, types)


class _Source(RowSource):
    """Text on registers: a predicate is its image."""

    def __init__(self, types: dict[str, DType], word: Lane, kinds: dict[str, str]) -> None:
        super().__init__(types, word, kinds)
        self.lanes = word.lanes or VREG_BYTES // types[word.over].size
        self.width = word.width or VREG_BYTES // self.lanes
        self.on = f"active({word.mask}, {self.width})" if word.mask else "None"
        self.names |= {"active": active, "bits": _bits, "image_": _image, "placed": _placed}

    def count(self, dtype: DType) -> int:
        return VREG_BYTES // dtype.size

    def bit(self, operand: str, at: Index, width: int) -> str:
        width = width or self.width
        return self.taken(f"bits({operand}, {width})", at, VREG_BYTES // width)

    def result(self, write: Write, kind: str) -> str:
        if not write.packed:
            return super().result(write, kind)
        same = write.value == Bit(getattr(write.value, "name", ""))
        if same and (self.width, self.on) == (1, "None"):
            return write.value.name  # type: ignore[attr-defined]
        return f"image_({self._all(write.value)}, {self._let_through(write)}, {VREG_BYTES // self.lanes})"

    def placed(self, text: str, write: Write, of: DType) -> str:
        places, count = lanes_at(write.at, self.lanes), VREG_BYTES // of.size
        if places == list(range(count)):
            return text
        return f"placed({text}, {self.object(np.array(places))}, {count})"


def _bits(predicate: Predicate, width: int) -> Any:
    """Which lanes a predicate names; true where there is none."""
    on = active(predicate, width)
    return _TRUE if on is None else on


def _image(found: np.ndarray, on: np.ndarray | None, width: int) -> np.ndarray:
    """The predicate of the lanes where a condition holds and the mask lets it through."""
    if on is not None:
        found = found & on
    return ALL[width] if found.all() and width in ALL else image(found, width)


def _placed(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Lanes at their places in a register of `count`, and 0 in the others."""
    out = np.zeros((len(values), count), values.dtype)
    out[:, places] = values
    return out
