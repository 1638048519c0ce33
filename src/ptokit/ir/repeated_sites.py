"""Which instructions look the same to every rule, so that only the first of them has to be checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

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

from .core import Op, Value
from .facts import Facts


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
