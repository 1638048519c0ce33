"""Names of values in printed text: as the author wrote them, made unique where necessary."""

from __future__ import annotations

import itertools
import re

from ptokit.ir import Block, Function, Value

_VALID = re.compile(r"(?:\d+|[A-Za-z_$.\-][\w$.\-]*)\Z", re.ASCII)
_LABEL = re.compile(r"[\w$.\-]+\Z", re.ASCII)
_GROUP = re.compile(r"(.+)#(\d+)\Z", re.ASCII)
_WRONG = re.compile(r"[^\w$.]", re.ASCII)


class Names:
    """Gives each value of a function its name; names of a region are free again behind it."""

    def __init__(self, function: Function) -> None:
        self._names: dict[int, str] = {}
        self._visible: set[str] = set()
        self._regions: list[list[str]] = [[]]
        self._reserved = _written(function)
        self._next = 0
        self._blocks: dict[int, str] = {}

    def enter(self) -> None:
        self._regions.append([])

    def leave(self) -> None:
        self._visible.difference_update(self._regions.pop())

    def announce(self, region: Block) -> None:
        """Name what the blocks of a region define before they are printed: some may use it before, in the text."""
        self._labels(region)
        for block in region.blocks:
            for arg in block.args:
                self.define(arg)
            for op in block.ops:
                self.results(op.results)

    def _labels(self, region: Block) -> None:
        """Choose the names of the blocks: the author's where they are unique."""
        taken: set[str] = set()
        numbers = itertools.count(1)
        for block in region.blocks:
            name = block.label
            if not _LABEL.match(name) or name in taken:
                name = "bb0" if block is region else next(n for k in numbers if (n := f"bb{k}") not in taken)
            taken.add(name)
            self._blocks[id(block)] = name

    def label(self, block: Block) -> str:
        """Name of a block, with ``^``."""
        return "^" + self._blocks.get(id(block), block.label or "bb0")

    def results(self, results: list[Value]) -> str:
        """``%a, %b = ``; empty without results. Defines their names."""
        if not results:
            return ""
        base = group_base(results)
        if base is not None:
            return f"{self.define_group(base, results)}:{len(results)} = "
        return ", ".join(map(self.define, results)) + " = "

    def define(self, value: Value) -> str:
        """Choose the name of a value, with ``%``, unless it has been announced."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = f"%{self._unique(value.name)}"
        self._names[id(value)] = name
        return name

    def define_group(self, base: str, values: list[Value]) -> str:
        """Choose the name of a group of results, with ``%`` and without ``#``."""
        known = self._names.get(id(values[0]))
        if known is not None:
            return known.partition("#")[0]
        name = self._unique(base)
        for k, value in enumerate(values):
            self._names[id(value)] = f"%{name}#{k}"
        return f"%{name}"

    def share(self, value: Value, other: Value) -> None:
        """Let a value have the name of another, which is not used any more."""
        self._names[id(value)] = self(other)

    def __call__(self, value: Value) -> str:
        """Name of a value that was defined; one that was not gets a name that reading refuses."""
        return self._names.get(id(value)) or f"%undefined.{value.name or id(value)}"

    def _unique(self, wanted: str) -> str:
        if not wanted:
            while str(self._next) in self._reserved:
                self._next += 1
            wanted = str(self._next)
            self._next += 1
        elif not _VALID.match(wanted):
            wanted = _WRONG.sub("_", wanted)
            wanted = f"_{wanted}" if wanted[0].isdigit() else wanted
        name, k = wanted, 0
        while name in self._visible:
            name = f"{'_' if wanted.isdigit() else ''}{wanted}_{k}"
            k += 1
        self._visible.add(name)
        self._regions[-1].append(name)
        return name


def head_of(block: Block, names: Names) -> str:
    """``^bb1(%a: T):`` or ``^bb1:``; defines the names of the arguments."""
    shown = ", ".join(f"{names.define(a)}: {a.type}" for a in block.args)
    return f"{names.label(block)}({shown}):" if shown else f"{names.label(block)}:"


def group_base(results: list[Value]) -> str | None:
    """The name a group of results shares (``r`` of ``r#0, r#1``), or None if they have names of their own."""
    base: str | None = None
    for k, value in enumerate(results):
        m = _GROUP.match(value.name)
        if m is None or int(m[2]) != k or base not in (None, m[1]):
            return None
        base = m[1]
    return base


def _written(function: Function) -> set[str]:
    """All names the author gave in a function."""
    out = {v.name for v in function.params}
    stack: list[Block] = [function.body] if function.body is not None else []
    while stack:
        block = stack.pop()
        out.update(v.name for v in block.args)
        stack.extend(block.more)
        for op in block.ops:
            out.update(v.name.partition("#")[0] for v in op.results)
            stack.extend(op.regions)
    return out
