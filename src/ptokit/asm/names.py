"""Names of values in printed text: as the author wrote them, made unique where necessary."""

from __future__ import annotations

import re

from ptokit.ir import Block, Function, Value

_VALID = re.compile(r"(?:\d+|[A-Za-z_$.\-][\w$.\-]*)\Z", re.ASCII)
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

    def enter(self) -> None:
        self._regions.append([])

    def leave(self) -> None:
        self._visible.difference_update(self._regions.pop())

    def define(self, value: Value) -> str:
        """Choose the name of a value, with ``%``."""
        name = f"%{self._unique(value.name)}"
        self._names[id(value)] = name
        return name

    def define_group(self, base: str, values: list[Value]) -> str:
        """Choose the name of a group of results, with ``%`` and without ``#``."""
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
        for op in block.ops:
            out.update(v.name.partition("#")[0] for v in op.results)
            stack.extend(op.regions)
    return out
