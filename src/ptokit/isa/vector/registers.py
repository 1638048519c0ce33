"""The NumPy executor's function of an operation on registers, written from its meaning.

An expression becomes one line on arrays (blocks or 1, lanes), made once for each combination of element types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, from_numpy

from ..meaning.execute import Derived, Run
from ..meaning.expressions import Bit, Element, Expr, Place, Stored, lanes_at, leaves, type_of
from ..meaning.source import Source, count
from ..meaning.words import Bursts, Lane, Word, Write
from ..site import VregInfo
from ..table import Instr, Kind
from .dma.burst_rows import bursts, levels
from .lanes import ALL, VREG_BYTES, Predicate, active, element, image

_TRUE = np.True_


class Registers(Derived):
    """The function of an instruction on registers whose meaning is data."""

    def __init__(self, instr: Instr) -> None:
        super().__init__(instr)
        self.registers = tuple(i for i, o in enumerate(instr.operands) if o.kind is Kind.VREG)

    def types(self, site: Any) -> dict[str, DType]:
        found: dict[str, DType] = {}
        for operand in (*self.instr.operands, *self.instr.produces):
            info = site.operands.get(operand.name) or site.operands.get(operand.like)
            if isinstance(info, VregInfo) or (operand.kind is Kind.VREG and info is not None):
                found[operand.name] = info.dtype
        return found

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
        return found

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        if isinstance(word, Bursts):
            return _copying(word, self.names)
        assert isinstance(word, Lane)
        source = _Source(types, word)
        lines = [line for write in word.writes for line in source.read(write.value)]
        kinds = {o.name: o.kind for o in (*self.instr.operands, *self.instr.produces)}
        made = {advance.result: f"{advance.pointer}.advance({advance.by})" for advance in word.advances}
        for write in word.writes:
            if kinds[write.name] is Kind.PTR:
                lines.append(source.store(write))
            else:
                made[write.name] = source.result(write, kinds[write.name])
        results = ", ".join(made[o.name] for o in self.instr.produces if o.name in made)
        head = f"def run(m, {''.join(f'{name}=None, ' for name in self.names)}**_):"
        exec("\n    ".join([head, *lines, f"return {results}"]), source.names)
        run: Run = source.names["run"]
        if source.leaves or word.mask:
            return run
        always = run(None)  # made of nothing but constants
        return lambda m, *_, **__: always


def _copying(word: Bursts, names: tuple[str, ...]) -> Run:
    """The function of a copy between memories."""
    axes = "".join(f"({', '.join(map(count, axis))}), " for axis in word.axes)
    around = f"*levels({word.groups} or ()), " if word.groups else ""
    names_of: dict[str, Any] = {"bursts": bursts, "levels": levels}
    counts = f"{count(word.length)}, {count(word.before)}, {word.loops!r}, {word.alignment}"
    head = f"def run(m, {''.join(f'{name}=None, ' for name in names)}**_):"
    text = f"{head}\n    bursts(m, {word.src}, {word.dst}, [{around}{axes}], {counts})"
    exec(text, names_of)
    run: Run = names_of["run"]
    return run


class _Source(Source):
    """Text on registers: an element is a lane, a bit that of a predicate."""

    def __init__(self, types: dict[str, DType], word: Lane) -> None:
        super().__init__(types)
        self.lanes = word.lanes or VREG_BYTES // types[word.over].size
        self.width = word.width or VREG_BYTES // self.lanes
        self.on = f"active({word.mask}, {self.width})" if word.mask else "None"
        self.names |= _NAMES
        self.memory: dict[str, str] = {}  # names of what has been loaded

    def leaf(self, e: Expr, rows: str, cols: str) -> str:
        match e:
            case Element(operand, at, dtype):
                own, shown = self.types[operand], operand
                if dtype is not None:
                    shown = f"as_lanes({operand}, {self.object(element(dtype))})"
                text = self._taken(shown, lanes_at(at, self.lanes), VREG_BYTES // (dtype or own).size)
            case Bit(operand, at, width):
                width = width or self.width
                text = self._taken(f"bits({operand}, {width})", lanes_at(at, self.lanes), VREG_BYTES // width)
            case Stored(pointer, dtype, span, alignment, at, offset, pitch):
                found = f"m.load({pointer}, {offset or None}, {span}, {alignment})"
                if found in self.memory:
                    found = self.memory[found]
                else:
                    self.memory[found] = f"memory{len(self.memory)}"
                    found = f"({self.memory[found]} := {found})"
                found = f"{found}.view({self.object(element(dtype))})"
                text = self._taken(found, lanes_at(at, self.lanes, pitch), span // dtype.size)
            case _:
                return super().leaf(e, rows, cols)
        name = self.leaves[e] = f"x{len(self.leaves)}"
        return f"{name} = {text}"

    def _taken(self, text: str, places: list[int], count: int) -> str:
        """Some of `count` lanes; all of them in their order as they are."""
        if places == list(range(count)):
            return text
        if text.startswith("bits("):
            return f"taken_bits({text}, {self.object(np.array(places))})"
        step = places[1] - places[0] if len(places) > 1 else 1
        if step > 0 and places == list(range(places[0], places[0] + step * len(places), step)):
            return f"{text}[:, {places[0]} : {places[-1] + 1} : {step}]"
        return f"take_lanes({text}, {self.object(np.array(places))})"

    def value(self, e: Expr, out: str = "") -> str:
        if isinstance(e, Place):
            assert e.dtype.value is not None
            return self.object(np.arange(self.lanes).astype(e.dtype.value)[None])
        return super().value(e, out)

    def _all(self, e: Expr) -> str:
        """The values of all lanes."""
        text = self.value(e)
        if any(isinstance(leaf, (Element, Stored)) for leaf in leaves(e)):
            return text
        return f"each({text}, {self.lanes})"

    def store(self, write: Write) -> str:
        """The statement that puts lanes into memory."""
        offset = write.offset or "None"
        return f"m.store({write.name}, {offset}, {self._all(write.value)}, {self.on}, {write.alignment})"

    def result(self, write: Write, kind: Kind) -> str:
        """The register, predicate or number that a write gives."""
        if (
            write.packed
            and write.value == Bit(getattr(write.value, "name", ""))
            and (self.width, self.on) == (1, "None")
        ):
            return write.value.name  # type: ignore[attr-defined]
        if write.packed:
            return f"image_({self._all(write.value)}, {self.on}, {VREG_BYTES // self.lanes})"
        if kind is Kind.SCALAR:
            return f"number({self.value(write.value)})"
        text = f"kept({self._all(write.value)}, {self.on})"
        of = type_of(write.value, self.types)
        assert isinstance(of, DType)
        places, count = lanes_at(write.at, self.lanes), VREG_BYTES // of.size
        if places != list(range(count)):
            text = f"placed({text}, {self.object(np.array(places))}, {count})"
        to = element(self.types[write.name])
        return text if to == element(of) else f"as_lanes({text}, {self.object(to)})"


def _bits(predicate: Predicate, width: int) -> Any:
    """Which lanes a predicate names; true where there is none."""
    on = active(predicate, width)
    return _TRUE if on is None else on


def _taken_bits(on: Any, places: np.ndarray) -> Any:
    return on if on is _TRUE else np.take(on, places, axis=1)


def _image(found: np.ndarray, on: np.ndarray | None, width: int) -> np.ndarray:
    """The predicate of the lanes where a condition holds and the mask lets it through."""
    if on is not None:
        found = found & on
    return ALL[width] if found.all() and width in ALL else image(found, width)


def _kept(values: np.ndarray, on: np.ndarray | None) -> np.ndarray:
    return np.ascontiguousarray(values) if on is None else np.where(on, values, np.zeros((), values.dtype))


def _placed(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Lanes at their places in a register of `count`, and 0 in the others."""
    out = np.zeros((len(values), count), values.dtype)
    out[:, places] = values
    return out


def _each(values: Any, count: int) -> np.ndarray:
    """A number, or one for each block, in all lanes."""
    values = np.asarray(values)
    return np.broadcast_to(values, (len(values) if values.ndim else 1, count))


def _number(value: Any) -> Any:
    """A number of the program: one for all blocks, or one for each."""
    return value.astype(np.int64) if value.ndim else int(value)


def _as_lanes(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(values).view(kind)


_NAMES: dict[str, Any] = {
    "active": active,
    "as_lanes": _as_lanes,
    "bits": _bits,
    "each": _each,
    "image_": _image,
    "kept": _kept,
    "number": _number,
    "placed": _placed,
    "take_lanes": lambda x, places: np.take(x, places, axis=1),
    "taken_bits": _taken_bits,
}
