"""Calls of instructions: attributes filled in, and rules checked where only the run knows the sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptokit.isa.check import first_error, rules_of
from ptokit.isa.site import Info, PtrInfo, RegisterInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Instr
from ptokit.isa.unknown import UNKNOWN, known

from ..fault import Fault
from ..memory.global_memory import Pointer, View
from ..memory.pointers import LocalPointer
from ..memory.tile import Tile

_REMEMBERED = 4096  # combinations of sizes per call that are checked once


def attributes(instr: Instr, given: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes of an instruction, defaults included."""
    return {a.name: given.get(a.name, a.default) for a in instr.attrs}


def bind(instr: Instr, site: Site, given: Mapping[str, Any]) -> Callable[..., Any]:
    """``call(machine, *operands)`` for one place in a program.

    Where the static check knew every size there is nothing left to check; else each new combination of sizes is
    checked when it first occurs. Rules about what tiles hold are checked at every call.
    """
    run, attrs = instr.run_at(site), attributes(instr, given)
    assert run is not None
    if instr.typed:
        attrs["types"] = site.operands
    if attrs:
        plain = _with_attributes(run, attrs)
    else:
        plain = run
    live = instr.checks_values(site)
    if not left_to_check(instr, site):
        return plain
    names = [o.name for o in instr.operands]
    registers = {name: info for name, info in site.operands.items() if isinstance(info, RegisterInfo)}
    seen: set[tuple[Any, ...]] = set()

    def checked(machine: Any, *operands: Any) -> Any:
        key = tuple([_key(o) for o in operands])
        if live or key not in seen:
            given = dict(zip(names, operands))
            check_operands(instr, site.target, given, attrs, extended=site.extended, text=site.text, static=registers)
            if len(seen) < _REMEMBERED:
                seen.add(key)
        return plain(machine, *operands)

    return checked


def left_to_check(instr: Instr, site: Site) -> bool:
    """True if rules of the instruction look at what only the run knows."""
    bound = bool(rules_of(instr, site.target)) and not instr.static_rules
    return bound and (not _decided(site) or instr.checks_values(site))


def _with_attributes(run: Callable[..., Any], attrs: dict[str, Any]) -> Callable[..., Any]:
    return lambda machine, *operands: run(machine, *operands, **attrs)


def _decided(site: Site) -> bool:
    for info in site.operands.values():
        if isinstance(info, TileInfo) and not known(info.vr, info.vc, info.origin):
            return False
        if isinstance(info, ViewInfo) and (info.layout is None or not known(*info.shape, *info.stride)):
            return False
        if isinstance(info, ScalarInfo) and not known(info.value) and info.type in ("i64", "index"):
            return False
    return True


def _key(operand: Any) -> Any:
    if isinstance(operand, Tile):
        return operand.vr, operand.vc
    if isinstance(operand, View):
        return operand.dims, operand.strides, operand.stated_layout
    if isinstance(operand, LocalPointer):
        return operand.address if isinstance(operand.address, int) else None
    return operand if isinstance(operand, int) else None


def check_operands(
    instr: Instr,
    target: Any,
    operands: Mapping[str, Any],
    attrs: Mapping[str, Any],
    *,
    extended: bool,
    text: bool = False,
    static: Mapping[str, Info] | None = None,
) -> None:
    """Check the rules of `instr` on run-time operands. Raises `Fault` for the first that is broken.

    ``static``: what the text says of registers, whose values at run time are plain arrays.
    """
    site = Site(instr, target, {**infos(operands), **(static or {})}, attrs, extended, text)
    broken = first_error(site)
    if broken is not None:
        raise Fault(broken.rule.id, broken.message, hint=broken.hint)


def infos(operands: Mapping[str, Any]) -> dict[str, Info | None]:
    """Run-time operands as rules see them."""
    tile = next((o for o in operands.values() if isinstance(o, Tile)), None)
    return {name: _info(name, o, tile) for name, o in operands.items()}


def _info(name: str, operand: Any, tile: Tile | None) -> Info | None:
    if operand is None:
        return None
    if isinstance(operand, Tile):
        address = UNKNOWN if operand.address is None else operand.address
        origin = (id(operand.storage.arena), operand.storage.start)
        return TileInfo(operand.name or name, operand.type, operand.vr, operand.vc, address, operand, origin)
    if isinstance(operand, View):
        layout = operand.layout_for(tile is None or tile.spec.takes_rows)
        return ViewInfo(name, operand.dtype, operand.shape, operand.stride, layout, operand)
    if isinstance(operand, LocalPointer):
        address = operand.address if isinstance(operand.address, int) else UNKNOWN
        return PtrInfo(name, operand.dtype, operand.space, address)
    if isinstance(operand, Pointer):
        return PtrInfo(name, operand.dtype, "gm")
    return ScalarInfo(name, "", operand if isinstance(operand, (int, float)) else UNKNOWN)
