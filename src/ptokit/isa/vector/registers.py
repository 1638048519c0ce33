"""The NumPy executor's function of an operation on registers, written from its meaning.

An expression becomes one line on arrays (blocks or 1, lanes), made once for each combination of element types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, from_numpy

from ..meaning.execute import Derived, Run
from ..meaning.expressions import Bit, Element, Expr
from ..meaning.source import Source
from ..meaning.words import Lane, Word, Write
from ..site import VregInfo
from ..table import Instr, Kind
from .lanes import Predicate, active, image, zeroed

_TRUE = np.True_


class Registers(Derived):
    """The function of an instruction on registers whose meaning is data."""

    def __init__(self, instr: Instr) -> None:
        super().__init__(instr)
        self.registers = tuple(i for i, o in enumerate(instr.operands) if o.kind is Kind.VREG)

    def types(self, site: Any) -> dict[str, DType]:
        return {o.name: site.operands[o.name].dtype for o in self.instr.operands if o.kind is Kind.VREG}

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """What is stated of the operands, and the element types that the registers have."""
        found = dict(attributes["types"])
        for i in self.registers:
            dtype = from_numpy(operands[i].dtype)
            assert dtype is not None, operands[i].dtype
            found[self.names[i]] = VregInfo(self.names[i], dtype, operands[i].shape[1])
        return found

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        assert isinstance(word, Lane)
        source = _Source(types, word)
        lines = [line for write in word.writes for line in source.read(write.value)]
        results = ", ".join(source.result(write) for write in word.writes)
        head = f"def run(m, {''.join(f'{name}=None, ' for name in self.names)}**_):"
        exec("\n    ".join([head, *lines, f"return {results}"]), source.names)
        return source.names["run"]


class _Source(Source):
    """Text on registers: an element is a lane, a bit that of a predicate."""

    def __init__(self, types: dict[str, DType], lane: Lane) -> None:
        super().__init__(types)
        self.mask = lane.mask or "None"
        self.width = types[lane.over].size
        self.names |= {"bits": _bits, "image_": _image, "zeroed": zeroed}

    def leaf(self, e: Expr, rows: str, cols: str) -> str:
        match e:
            case Element(operand):
                text = operand
            case Bit(operand):
                text = f"bits({operand}, {self.width})"
            case _:
                return super().leaf(e, rows, cols)
        name = self.leaves[e] = f"x{len(self.leaves)}"
        return f"{name} = {text}"

    def result(self, write: Write) -> str:
        """The register or predicate that a write gives."""
        if write.packed:
            return f"image_({self.value(write.value)}, {self.mask}, {self.width})"
        return f"zeroed({self.value(write.value)}, {self.mask})"


def _bits(predicate: Predicate, width: int) -> Any:
    """Which lanes a predicate names; true where there is none."""
    on = active(predicate, width)
    return _TRUE if on is None else on


def _image(found: np.ndarray, mask: Predicate, width: int) -> np.ndarray:
    """The predicate of the lanes where a condition holds and the mask lets it through."""
    on = active(mask, width)
    return image(found if on is None else found & on, width)
