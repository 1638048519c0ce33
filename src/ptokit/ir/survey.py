"""The operations of a function, gone through once for all checks, and where their findings are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import Diagnostic, Diagnostics, Note
from ptokit.diagnostics.ignored import ignores_of_python
from ptokit.isa.site import (
    UNKNOWN,
    AlignInfo,
    Info,
    LanesInfo,
    LoweredInfo,
    MaskInfo,
    PtrInfo,
    ScalarInfo,
    TileInfo,
    VectorInfo,
    VregInfo,
)
from ptokit.isa.table import Instr

from .control import is_call
from .core import Function, Module, Op, Value
from .facts import Facts, instr_of

# The operations of a function, gone through once for all checks.


class Survey:
    """The operations of one function: all in text order, nested ones after the one that holds them, and by name."""

    __slots__ = ("function", "ops", "_by_name")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.ops: list[Op] = list(function.body.walk()) if function.body is not None else []
        self._by_name: dict[str, list[Op]] = {}
        for op in self.ops:
            self._by_name.setdefault(op.name, []).append(op)

    def named(self, name: str) -> list[Op]:
        """The operations with this full name, in text order."""
        return self._by_name.get(name, [])

    @property
    def calls(self) -> list[Op]:
        """The calls of functions of the module, in text order."""
        return next((ops for ops in self._by_name.values() if is_call(ops[0])), [])

    @property
    def names(self) -> Iterable[str]:
        """The full names of its operations, each once."""
        return self._by_name

    def has(self, names: frozenset[str]) -> bool:
        """True if one of the operations has one of these full names."""
        return not names.isdisjoint(self._by_name)


Surveys = Mapping[Function, Survey]
"""Those of all functions of a module that have a body."""


# Where findings of the checker stand: at the operation while they are collected, in the end at what they are about.


class Marks:
    """Findings in a module, and the operands that some are about.

    Operands are looked up in the end, since that takes time, and since rules cover others of the same operation.
    """

    def __init__(self, module: Module, found: Diagnostics) -> None:
        self.found = found
        self._module = module
        self._marked: dict[Diagnostic, tuple[Op, str, bool]] = {}

    def report(self, diagnostic: Diagnostic, op: Op, operand: str, *, type: bool = False) -> None:
        """Record what is found at `op` about one of its operands (``%name``: a result), or its ``type``."""
        self.found.add(diagnostic)
        if operand:
            self._marked[diagnostic] = op, operand, type

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding at the place of what it is about."""
        if diagnostic not in self._marked:
            return diagnostic
        op, operand, type = self._marked[diagnostic]
        return replace(diagnostic, location=self._module.place(op, operand, type=type))

    def folded(self, found: Iterable[Diagnostic]) -> Diagnostics:
        """The findings at their places. In Python those that say the same of the type of one tile are one.

        Those that a comment ignores are kept apart, so that it hides no others.
        """
        alike: dict[object, list[Diagnostic]] = {}
        for diagnostic in found:
            alike.setdefault(self._mistake(diagnostic), []).append(diagnostic)
        kept = Diagnostics()
        for group in alike.values():
            first, *others = [self.placed(d) for d in group]
            if others and any(
                c.hides(d) for c in ignores_of_python(first.location.file or "") for d in (first, *others)
            ):
                kept.extend((first, *others))
                continue
            if others:
                more = f", and in {len(others) - 1} more" if len(others) > 1 else ""
                note = Note(f"the same in {self._instruction(group[1])}{more}", others[0].location)
                first = replace(first, notes=(*first.notes, note))
            kept.add(first)
        return kept

    def _mistake(self, diagnostic: Diagnostic) -> object:
        """What is equal for findings with one cause."""
        op, operand, type = self._marked.get(diagnostic, (None, "", False))
        value = op.get(operand) if op is not None and type and not self._module.text else None
        if value is None:
            return diagnostic
        said = diagnostic.message.removeprefix(f"{self._instruction(diagnostic)}: ")
        return diagnostic.rule, diagnostic.severity, said, diagnostic.hint, diagnostic.notes, value

    def _instruction(self, diagnostic: Diagnostic) -> str:
        instr = instr_of(self._marked[diagnostic][0])
        return "" if instr is None else instr.name


# Which instructions look the same to every rule, so that only the first of them has to be checked.


class RepeatedSites:
    """Tells instructions apart by what their rules can see. One serves the check of one module for one target."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._values: dict[Value, tuple[int, Hashable]] = {}

    def key(self, op: Op, instr: Instr, facts: Facts) -> tuple[Any, ...] | None:
        """Equal for operations of which every rule says the same, whatever their operands are called.

        Of where tiles lie, it has the addresses and which operands start at the same place. None if that is not known.
        """
        if instr.looks_around:
            return None
        parts: list[Any] = [instr.name, facts.core_of(op)]
        places: dict[Hashable, int] = {}
        named: Iterable[tuple[str, Any]] = op.operands.items()
        if instr.produces:
            named = [*named, *((o.name, v) for o, v in zip(instr.produces, op.results))]
        for name, value in named:
            if not isinstance(value, Value):  # a list, which rules do not see, or nothing
                continue
            number, place = self._values.get(value) or self._number(value, facts)
            if number < 0:
                return None
            parts += (name, number)
            if place is not None:
                parts.append(places.setdefault(place, len(places)))
        parts += op.attrs.items()
        return tuple(parts)

    def _number(self, value: Value, facts: Facts) -> tuple[int, Hashable]:
        """The number of all that is known of a value, -1 if it has none; of a tile, also the place where it begins."""
        info = facts.info(value)
        known = _known(info)
        number = -1 if known is None else self._numbers.setdefault(known, len(self._numbers))
        place: Hashable = None
        if isinstance(info, TileInfo):
            place = value if info.origin is UNKNOWN else info.origin
        self._values[value] = number, place
        return number, place


def _known(info: Info) -> tuple[Any, ...] | None:
    """What rules can depend on in an operand: everything but its name."""
    if isinstance(info, TileInfo):
        return TileInfo, info.spec, info.vr, info.vc, info.addr
    if isinstance(info, ScalarInfo):
        return ScalarInfo, info.type, type(info.value), info.value, info.signed
    if isinstance(info, PtrInfo):
        return PtrInfo, info.dtype, info.space, info.addr, info.signed
    if isinstance(info, VregInfo):
        return VregInfo, info.dtype, info.lanes, info.signed
    if isinstance(info, MaskInfo):
        return MaskInfo, info.bits
    if isinstance(info, AlignInfo):
        return (AlignInfo,)
    if isinstance(info, VectorInfo):
        return VectorInfo, info.dtype, info.lanes, info.layout, info.signed
    if isinstance(info, LanesInfo):
        return LanesInfo, info.lanes, info.granularity, info.layout
    if isinstance(info, LoweredInfo):
        return None
    return type(info), info.dtype, info.shape, info.stride, info.layout, info.dims, info.whole
