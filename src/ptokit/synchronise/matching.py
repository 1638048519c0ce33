"""Which instruction of one version of a program is which of another one.

Instructions are told by their name, their operands, and what else touches their tiles. Names of values, addresses,
flags and the order of lines do not count. Those that are still alike are told by their order in the text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from ptokit.ir.core import Function, Module, Op, Value
from ptokit.ir.facts import constant_of, instr_of
from ptokit.types.enums import Pipe
from ptokit.types.tile import TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView

from .dependences import Path

_ARRAYS = (Ptr, MemRef, TensorView, PartitionView)
_DEEP = 64
_ROUNDS = 2
"""How often tiles are told apart by the instructions that touch them, and these by their tiles."""


class Labels:
    """What tells the instructions of a program apart: numbers, the same ones for programs with one `known`."""

    def __init__(
        self, module: Module, entry: Function, accesses: Mapping[str, Mapping[Path, tuple[Pipe, ...]]], known: Any
    ) -> None:
        self.accesses, self.known = accesses, known
        self.arguments = {param: k for k, param in enumerate(entry.params)}
        self.params = {param: k for function in module.functions for k, param in enumerate(function.params)}
        self._keys: dict[Any, int] = {}
        self.colours: dict[Any, int] = {}  # of tiles, by how exactly they are told

    def levels(self, core: str) -> Iterator[dict[Path, int]]:
        """Labels of a core's instructions, the most exact ones first."""
        for exact in (True, False):
            self.colours, rounds = {}, []
            for _ in range(_ROUNDS + 1):
                self._keys = {}
                made = {path: self._instruction(path, exact) for path in self.accesses.get(core, ())}
                rounds.append(made)
                touched: dict[Any, list[tuple[int, str]]] = {}
                for path, label in made.items():
                    for name, value in _operands(path[-1]):
                        if isinstance(value.type, TileSpec):
                            touched.setdefault(self._tile(value, path[:-1]), []).append((label, name))
                self.colours = {tile: self._number(("touched", *sorted(by))) for tile, by in touched.items()}
            yield from reversed(rounds)
        yield {path: self._number(path[-1].name) for path in self.accesses.get(core, ())}

    def _number(self, key: Hashable) -> int:
        return self.known.setdefault(key, len(self.known))

    def _instruction(self, path: Path, exact: bool) -> int:
        op, calls = path[-1], path[:-1]
        keys = [(name, self._key(value, calls, exact)) for name, value in _operands(op)]
        return self._number((op.name, *keys, *(_attributes(op) if exact else ())))

    def _outside(self, value: Value, calls: Path) -> tuple[Value, Path]:
        """The argument of a call for a parameter of what is called."""
        while calls and value in self.params and value not in self.arguments:
            given = calls[-1].group("args")
            value, calls = given[self.params[value]], calls[:-1]
        return value, calls

    def _tile(self, value: Value, calls: Path) -> tuple[Value, Path]:
        """Where a tile is made that a value is, or is a part of."""
        for _ in range(_DEEP):
            value, calls = self._outside(value, calls)
            inside = [each for _, each in _operands(value.owner)] if isinstance(value.owner, Op) else []
            tiles = [each for each in inside if isinstance(each.type, TileSpec)]
            if not tiles:
                break
            value = tiles[0]
        return value, calls

    def _key(self, value: Value, calls: Path, exact: bool, depth: int = 0) -> int:
        value, calls = self._outside(value, calls)
        key = value, calls
        if key not in self._keys:
            self._keys[key] = self._number(self._described(value, calls, exact, depth))
        return self._keys[key]

    def _described(self, value: Value, calls: Path, exact: bool, depth: int) -> Hashable:
        kind = value.type
        if isinstance(kind, TileSpec):
            shape = (kind.loc, kind.dtype.name, kind.rows, kind.cols)
            return "tile", *shape, self.colours.get(self._tile(value, calls), -1)
        if value in self.arguments:
            return "argument", self.arguments[value]
        if not isinstance(value.owner, Op) or depth == _DEEP:
            return ("carried", str(kind)) if exact else "carried"
        number = constant_of(value)
        if number is not None:
            return "number", number
        inside = list(_operands(value.owner))
        if exact:
            keys = [(name, self._key(each, calls, exact, depth + 1)) for name, each in inside]
            return value.owner.name, value.owner.results.index(value), *_attributes(value.owner), *keys
        if isinstance(kind, _ARRAYS):
            arrays = [each for _, each in inside if isinstance(each.type, _ARRAYS)]
            return ("view", self._key(arrays[0], calls, exact, depth + 1)) if arrays else "view"
        return "value"


def _operands(op: Op) -> Iterator[tuple[str, Value]]:
    """The operands of an operation, but for where a tile lies."""
    for name, given in op.operands.items():
        for value in given if isinstance(given, list | tuple) else (given,):
            if isinstance(value, Value) and not (name == "addr" and instr_of(op) is None):
                yield name, value


def _attributes(op: Op) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in op.attrs.items() if name != "callee")


def matched(a: Labels, b: Labels, core: str) -> dict[Path, Path]:
    """Of instructions of a core, those of `b` that those of `a` are."""
    found: dict[Path, Path] = {}
    taken: set[Path] = set()
    for mine, theirs in zip(a.levels(core), b.levels(core)):
        groups: dict[int, tuple[list[Path], list[Path]]] = {}
        for path, label in mine.items():
            if path not in found:
                groups.setdefault(label, ([], []))[0].append(path)
        for path, label in theirs.items():
            if path not in taken:
                groups.setdefault(label, ([], []))[1].append(path)
        for ours, others in groups.values():
            if len(ours) == len(others):
                found.update(zip(ours, others))
                taken.update(others)
    left, right = [p for p in mine if p not in found], [p for p in theirs if p not in taken]
    alike = SequenceMatcher(None, [mine[p] for p in left], [theirs[p] for p in right], autojunk=False)
    for i, j, size in alike.get_matching_blocks():
        found.update(zip(left[i : i + size], right[j : j + size]))
    return found
