"""Calls of instructions: attributes filled in, and rules asked that the text leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptokit.isa.site import Site
from ptokit.isa.table import Instr

from .asking import Asking


def attributes(instr: Instr, given: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes of an instruction, defaults included."""
    return {a.name: given.get(a.name, a.default) for a in instr.attrs}


def bind(instr: Instr, site: Site, given: Mapping[str, Any], asking: Asking | None) -> Callable[..., Any]:
    """``call(machine, *operands)`` for one place in a program, which asks first what the text leaves open."""
    run, attrs = instr.run_at(site), attributes(instr, given)
    assert run is not None
    if instr.typed:
        attrs["types"] = site.operands
    plain = _with_attributes(run, attrs) if attrs else run
    if asking is None:
        return plain

    def checked(machine: Any, *operands: Any) -> Any:
        asking(machine, operands)
        return plain(machine, *operands)

    return checked


def _with_attributes(run: Callable[..., Any], attrs: dict[str, Any]) -> Callable[..., Any]:
    return lambda machine, *operands: run(machine, *operands, **attrs)
