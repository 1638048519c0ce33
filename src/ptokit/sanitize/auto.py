"""What a program must leave to the compiler in Auto mode (memory-model-and-sync 4): AUTO-RULE."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostics
from ptokit.ir.core import Function, Module, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.isa.site import known
from ptokit.types.choices import Mode
from ptokit.types.tile import TileSpec

MODES = tuple(Mode)


def auto_rules(module: Module, found: Diagnostics) -> None:
    """Report what an Auto-mode program must not contain."""
    for function in module.functions:
        if function.body is not None:
            _function(function, found)


def _function(function: Function, found: Diagnostics) -> None:
    facts = Facts(function)
    placed: dict[tuple[object, int], Op] = {}
    aliased: set[Value] = set()
    assert function.body is not None
    for op in function.body.walk():
        instr = instr_of(op)
        if instr is not None and instr.order.by_compiler:
            message = f"{instr.name} in Auto mode, where the compiler orders pipes"
            found.error("AUTO-RULE", message, op.location, hint="leave it out, or write the whole program by hand")
        if instr is not None and instr.alias:
            aliased.update(op.results)
        if op.name == "pto.tassign" and op.get("tile") in aliased:
            message = f"{op['tile'].shown} is an alias already, and cannot be bound to an address as well"
            found.error("AUTO-RULE", message, op.location, hint="an alias has one source in Auto mode")
        if op.name not in ("pto.tassign", "pto.alloc_tile") or not op.results:
            continue
        spec, address = op.result.type, facts.size(op.get("addr"))
        if op.get("addr") is None or not isinstance(spec, TileSpec) or not known(address):
            continue
        first = placed.setdefault((spec.loc, int(address)), op)  # type: ignore[arg-type]
        if first is not op:
            message = f"{op.result.shown} is bound to the address of {first.result.shown}"
            hint = "use treshape or subset: in Auto mode tiles share memory in no other way"
            found.error("AUTO-RULE", message, op.location, hint=hint)
