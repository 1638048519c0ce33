"""The NumPy executor's function of an instruction, written from its meaning.

An expression becomes one line of nested calls of the primitives' NumPy forms, made once for each combination of element
types; the last primitive puts its values into the destination's own array where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.types.dtypes import DType

from ..numerics.scalars import element
from ..site import Info, ScalarInfo, Site, TileInfo
from .expressions import (
    COLUMN,
    OWN,
    ROW,
    Apply,
    Axis,
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Index,
    Scalar,
    leaves,
    type_of,
)
from .masks import read_mask, write_mask
from .primitives import PRIMITIVES
from .words import Lane, Word, Write

if TYPE_CHECKING:
    from ..table import Instr

Run = Callable[..., Any]
Types = Mapping[str, DType]

_READ: dict[Index, str] = {OWN: "rows, cols", COLUMN: "rows, 1", ROW: "1, cols"}


def _repeated(block: np.ndarray, cols: int) -> np.ndarray:
    """Columns over and over, `cols` of them."""
    return np.tile(block, (1, 1, -(-cols // block.shape[2])))[:, :, :cols]


class Derived:
    """The function of an instruction whose meaning is data: ``derived(machine, *operands, **attributes)``.

    `at` gives the function for one place in a program, which spares each call the look at its operands.
    """

    def __init__(self, instr: Instr) -> None:
        self.instr = instr
        self.names = tuple(operand.name for operand in instr.operands)

    def __call__(self, machine: Any, *operands: Any, **attributes: Any) -> Any:
        infos = {name: _info(name, operand) for name, operand in zip(self.names, operands)}
        run = self.at(Site(self.instr, machine.target, infos, attributes))
        assert run is not None, self.instr.name
        return run(machine, *operands, **attributes)

    def at(self, site: Site) -> Run | None:
        """The function for a site; None where it depends on a size that is not known there."""
        word = self.instr.meaning_at(site)
        return None if word is None else runner(word, self.names, types_at(site))


def types_at(site: Site) -> dict[str, DType]:
    """The element types of the tiles, registers and views of a site, by operand."""
    found = ((name, getattr(info, "dtype", None)) for name, info in site.operands.items())
    return {name: dtype for name, dtype in found if dtype is not None}


def _info(name: str, operand: Any) -> Info | None:
    if operand is None:
        return None
    spec = getattr(operand, "spec", None)
    return ScalarInfo(name, "", operand) if spec is None else TileInfo(name, spec, operand.vr, operand.vc)


def runner(word: Word, operands: tuple[str, ...], types: Types) -> Run | None:
    """``run(machine, *operands, **attributes)`` for operands of these element types; None where the word has none."""
    if not isinstance(word, Lane):
        return None
    return _lane_runner(word, operands, tuple(sorted(types.items())))


@lru_cache(maxsize=4096)
def _lane_runner(lane: Lane, operands: tuple[str, ...], types: tuple[tuple[str, DType], ...]) -> Run:
    source = _Source(dict(types))
    lines = [f"def run(m, {''.join(f'{name}=None, ' for name in operands)}**_):"]
    size = ("rows", "cols") if lane.whole else ("vr", "vc")
    over = f"{lane.over}.spec" if lane.whole else lane.over
    lines.append(f"    rows, cols = {over}.{size[0]}, {over}.{size[1]}")
    (write,) = lane.writes
    if any(isinstance(leaf, Element) and leaf.at != OWN for leaf in leaves(write.value)):
        lines.append("    if not (rows and cols): return")
    for leaf in leaves(write.value):
        lines.append(f"    {source.leaf(leaf)}")
    if write.packed:
        lines.append(f"    write_mask({write.name}, {source.value(write.value)})")
    else:
        lines += source.store(write)
    exec("\n".join(lines), source.names)
    return source.names["run"]


_NAMES = {
    "element": element,
    "broadcast": np.broadcast_to,
    "repeated": _repeated,
    "read_mask": read_mask,
    "write_mask": write_mask,
}


class _Source:
    """Python text for the nodes of expressions, and the objects that it names."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.names: dict[str, Any] = dict(_NAMES)
        self.leaves: dict[Expr, str] = {}

    def leaf(self, e: Expr) -> str:
        """The line that reads a leaf."""
        name = self.leaves[e] = f"x{len(self.leaves)}"
        match e:
            case Element(operand, Index(Axis(1, 0, 0, 0), Axis(0, 1, 0, int(cycle)))) if cycle:
                return f"{name} = repeated({operand}.read(rows, {cycle}), cols)"
            case Bit(operand):
                return f"{name} = read_mask({operand}, rows, cols)"
            case Element(operand, at):
                return f"{name} = {operand}.read({_READ[at]})"
            case Scalar(operand, like):
                return f"{name} = element({self.object(self.types[like])}, {operand})"
        raise TypeError(e)

    def object(self, value: Any) -> str:
        """A name for an object."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def value(self, e: Expr, out: str = "") -> str:
        """An expression for the values of a node, stored in `out` if it is given and the node computes something."""
        if e in self.leaves:
            return self.leaves[e]
        match e:
            case Const(number):
                dtype = type_of(e, self.types)
                assert isinstance(dtype, DType)
                return self.object(element(dtype, number))
            case Convert(inner):
                return self.converted(e, inner)
            case Apply(op, args):
                texts = [self.value(a) for a in args]
                return f"{self.object(PRIMITIVES[op].numpy)}({', '.join([*texts, *([out] if out else [])])})"
        raise TypeError(e)

    def converted(self, e: Convert, inner: Expr) -> str:
        """The conversion of a node between two types that NumPy computes with."""
        source, target = type_of(inner, self.types), type_of(e, self.types)
        assert isinstance(source, DType)
        assert isinstance(target, DType)
        return f"{self.value(inner)}.astype({self.object(target.value)})"

    def store(self, write: Write) -> list[str]:
        """The lines that put a value into the domain of its tile."""
        return [
            f"    out = {write.name}.out(rows, cols)",
            "    if out is None:",
            f"        {write.name}.write({self.whole(write.value)}, rows, cols)",
            "    else:",
            f"        {self.into(write.value, 'out')}",
        ]

    def whole(self, e: Expr) -> str:
        """The values as an array of the whole domain."""
        text = self.value(e)
        if isinstance(e, Apply):
            return text
        return f"broadcast({text}, (len({text}), rows, cols))"

    def into(self, e: Expr, out: str) -> str:
        """A statement that stores the values in an array of the domain."""
        return self.value(e, out) if isinstance(e, Apply) else f"{out}[...] = {self.value(e)}"
