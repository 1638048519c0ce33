"""What a machine of blocks calls for a step of a plan, and the rules that a launch asks before it.

Steps are data. What they are bound to is found when a machine first does them, and kept with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ptokit.diagnostics import Severity
from ptokit.isa.check import Asked, first_error, found_by, open_operands, watched
from ptokit.isa.site import UNKNOWN, Info, PtrInfo, RegisterInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Instr
from ptokit.plan.steps import Step
from ptokit.targets import Target
from ptokit.types.codecs import unsigned, width

from . import arithmetic
from .global_memory import Pointer, View
from .lanes import Fault, Line, lanes, plain, settled
from .local_memory import LocalPointer
from .tiles import Tile

# Rules that a launch asks: those that the text leaves open, once for each combination of what they look at.


_REMEMBERED = 4096  # combinations per place in a program

Looked = tuple[tuple[int, str], ...]
"""What rules have looked at: operands by their numbers, and what of them."""


class Asking:
    """The rules that one place in a program leaves open. ``live``: they look at what tiles hold, at every call."""

    def __init__(self, site: Site, attrs: Mapping[str, Any], rules: Sequence[Asked], *, live: bool) -> None:
        self.site, self.attrs, self.rules, self.live = site, attrs, rules, live
        self.names = [o.name for o in site.instr.operands]
        self.opened = open_operands(site)
        self.numbers = [
            k for k, name in enumerate(self.names) if isinstance(site.operands.get(name), ScalarInfo | PtrInfo)
        ]
        self._passed: dict[Looked, set[tuple[Any, ...]]] = {}
        self._count = 0

    def __call__(self, machine: Any, operands: Sequence[Any]) -> None:
        """Ask before a call. Raises `Fault` for the first rule that is broken."""
        if self._known(operands) is None:
            for block, single in self._blocks(operands):
                self.ask(machine, single, block)

    def _known(self, operands: Sequence[Any]) -> Looked | None:
        """What rules looked at before, if they would see the same again."""
        if self.live:
            return None
        for looked, passed in self._passed.items():
            try:
                if tuple([_SEEN[field](operands[k]) for k, field in looked]) in passed:
                    return looked
            except TypeError:  # an array: a number for each block
                return None
        return None

    def ask(self, machine: Any, operands: Sequence[Any], block: int | None = None) -> Looked:
        """What the rules look at, of the operands of one block. Raises `Fault` for the first that is broken.

        ``block``: its number in the chunk, where that tells the operands apart.
        """
        known = self._known(operands)
        if known is not None:
            return known
        looked: set[tuple[int, str]] = set()
        site, index = self.site, self.names.index
        given = infos(dict(zip(self.names, operands)), site.operands)
        shown = replace(site, operands={**site.operands, **given}, attrs=self.attrs)
        seen = watched(shown, self.opened, lambda operand, field: looked.add((index(operand), field)))
        broken = list(found_by(self.rules, seen))
        for b in broken:
            if b.severity is Severity.ERROR:
                raise Fault(b.rule.id, b.message, hint=b.hint, block=block)
        for b in broken:
            if b.rule.severity is Severity.WARNING:  # a doubt about an error is for memory to settle, not for a remark
                machine.remark(b.rule.id, b.message)
        order = tuple(sorted(looked))
        if not broken and not self.live and self._count < _REMEMBERED:
            self._passed.setdefault(order, set()).add(tuple([_SEEN[field](operands[k]) for k, field in order]))
            self._count += 1
        return order

    def _blocks(self, operands: Sequence[Any]) -> Iterator[tuple[int | None, Sequence[Any]]]:
        """The operands of each block, one after the other, where numbers differ between blocks."""
        columns = {k: column for k in self.numbers if (column := _column(operands[k])) is not None}
        if not columns:
            yield None, operands
            return
        for block in range(max(map(len, columns.values()))):
            single = list(operands)
            for k, column in columns.items():
                single[k] = _with_number(operands[k], plain(column[block if len(column) > 1 else 0]))
            yield block, single


def check_operands(
    instr: Instr,
    target: Target,
    operands: Mapping[str, Any],
    attrs: Mapping[str, Any],
    *,
    extended: bool,
    stated: Mapping[str, Info | None] | None = None,
) -> None:
    """Check all rules of an instruction on run-time operands. Raises `Fault` for the first that is broken.

    ``stated``: what the text says of operands and results.
    """
    site = Site(instr, target, {**(stated or {}), **infos(operands, stated)}, attrs, extended)
    broken = first_error(site)
    if broken is not None:
        raise Fault(broken.rule.id, broken.message, hint=broken.hint)


def infos(operands: Mapping[str, Any], stated: Mapping[str, Info | None] | None = None) -> dict[str, Info | None]:
    """Run-time operands as rules see them. ``stated``: what the text says of them, which numbers alone do not tell."""
    tile = next((o for o in operands.values() if isinstance(o, Tile)), None)
    stated = stated or {}
    return {name: _info(name, o, tile, stated.get(name)) for name, o in operands.items()}


def _info(name: str, operand: Any, tile: Tile | None, stated: Info | None) -> Info | None:
    if operand is None or isinstance(stated, RegisterInfo):
        return stated if isinstance(stated, RegisterInfo) else None
    if isinstance(operand, Tile):
        address = UNKNOWN if operand.address is None else operand.address
        origin = (id(operand.storage.arena), operand.storage.start)
        return TileInfo(operand.name or name, operand.type, operand.vr, operand.vc, address, operand, origin)
    if isinstance(operand, View):
        layout = operand.layout_for(tile is None or tile.spec.takes_rows)
        found = ViewInfo(name, operand.dtype, operand.shape, operand.stride, layout, operand)
        return replace(found, dims=stated.dims, whole=stated.whole) if isinstance(stated, ViewInfo) else found
    if isinstance(operand, LocalPointer | Pointer):
        local = isinstance(operand, LocalPointer)
        address = operand.address if local and isinstance(operand.address, int) else UNKNOWN  # type: ignore[union-attr]
        space = operand.space if isinstance(operand, LocalPointer) else "gm"
        return PtrInfo(name, operand.dtype, space, address, isinstance(stated, PtrInfo) and stated.signed)
    if isinstance(stated, ScalarInfo):
        return ScalarInfo(stated.name, stated.type, _number(operand, stated.type), stated.signed)
    return ScalarInfo(name, "", _number(operand, ""))


def _number(operand: Any, type: str) -> Any:
    """The value of a scalar as rules see constants."""
    if isinstance(operand, np.generic):
        operand = plain(operand)
    if isinstance(operand, np.generic):  # a NaN with its bits
        operand = float(operand)
    if not isinstance(operand, (int, float)):
        return UNKNOWN
    return unsigned(operand, width(type)) if type.startswith("ui") else operand


def _column(operand: Any) -> np.ndarray | None:
    """The numbers of the blocks, of a scalar or pointer in which they differ."""
    if isinstance(operand, LocalPointer):
        operand = operand.address
    if isinstance(operand, Line | np.ndarray):
        column: np.ndarray = np.reshape(lanes(operand), -1)
        return column
    return None


def _with_number(operand: Any, number: Any) -> Any:
    """The same with the number of one block."""
    if isinstance(operand, LocalPointer):
        return LocalPointer(operand.space, number, operand.dtype, operand.apart)
    return number


def _value(operand: Any) -> Any:
    if isinstance(operand, float):
        return operand.hex()
    if isinstance(operand, Line | np.ndarray):
        raise TypeError("it differs between blocks")
    return operand


def _origin(tile: Tile) -> Any:
    return id(tile.storage.arena), tile.storage.start


_SEEN: dict[str, Callable[[Any], Any]] = {
    "vr": attrgetter("vr"),
    "vc": attrgetter("vc"),
    "addr": lambda o: None if isinstance(o, Pointer) else _value(o.address),
    "origin": _origin,
    "data": id,
    "shape": lambda view: view.dims,
    "stride": lambda view: (view.dims, view.strides),
    "layout": lambda view: (view.dims, view.strides, view.stated_layout),
    "value": _value,
}
"""A key for what rules look at, equal where they cannot tell the difference. `TypeError` where blocks differ."""


# What a machine of blocks calls for a step of a plan: the function of an instruction, or of arithmetic on numbers.


class Bound(NamedTuple):
    """``call(machine, *operands)`` of an instruction, of arithmetic ``call(*operands)``.

    ``asking``: the rules that the call asks first; None if the text has decided all of them.
    """

    call: Callable[..., Any]
    asking: Asking | None = None


def bound(step: Step) -> Bound:
    """What an instruction or arithmetic is bound to."""
    found: Bound | None = step.bound
    if found is None:
        found = step.bound = _instruction(step) if step.word == "instruction" else Bound(arithmetic.function(step.op))
    return found


def carry_out(step: Step, machine: Any, *operands: Any) -> Any:
    """Do a step on a machine, with operands as they are at that moment. Not for words of `CONTROL`."""
    if step.word == "instruction":
        return bound(step).call(machine, *operands)
    if step.word == "compute":
        return bound(step).call(*operands)
    found = getattr(machine, step.word)
    return found(*operands) if callable(found) else found


def _instruction(step: Step) -> Bound:
    instr, site = step.instr, step.site
    assert instr is not None
    asking = None
    if step.rules:
        assert site is not None
        asking = Asking(site, step.attrs, step.rules, live=step.live)
    call = function_at(instr, site, step.attrs)
    if asking is not None:
        call = _asked(call, asking)
    return Bound(_simplest(call, step.varying) if step.varying else call, asking)


def function_at(instr: Instr, site: Site | None, attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """``call(machine, *operands)`` at one place in a program. ``attrs``: complete."""
    run = instr.run if site is None else instr.run_at(site)
    assert run is not None
    if instr.typed and site is not None:
        attrs = {**attrs, "types": site.operands}
    return (lambda machine, *operands: run(machine, *operands, **attrs)) if attrs else run


def _asked(call: Callable[..., Any], asking: Asking) -> Callable[..., Any]:
    def checked(machine: Any, *operands: Any) -> Any:
        asking(machine, operands)
        return call(machine, *operands)

    return checked


def _simplest(call: Callable[..., Any], varying: tuple[bool, ...]) -> Callable[..., Any]:
    """The same with numbers among the results in their simplest form."""
    if len(varying) == 1:
        return lambda machine, *operands: settled(call(machine, *operands))

    def several(machine: Any, *operands: Any) -> Any:
        results = call(machine, *operands)
        return (*(settled(r) if s else r for r, s in zip(results, varying)), *results[len(varying) :])

    return several
