"""Instructions: from their meaning where native code has a form for it, else carried out by Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.isa.meaning.execute import Derived, types_at
from ptokit.isa.meaning.words import Bursts, Contract, Fold, Gather, Lane, Scatter
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.types.values import Scalar

from . import apart, between_tiles, bursts, callbacks, contracts, folds, gathers, lanes, moves, registers
from .lanes import Pending as Pending
from .values import NotNativeError

if TYPE_CHECKING:
    from .function import Writer


def write(w: Writer, op: Op) -> None:
    """An instruction of the table."""
    instr = instr_of(op)
    if instr is None:
        raise NotNativeError(op.name)
    if instr.waits or instr.between_cores:
        raise NotNativeError(instr.name, "it waits for other cores")
    site = w.site(op)
    if instr.ordering:
        w.check(op, instr, site)
        return
    operands = {o.name: _operand(w, op, o.name) for o in instr.operands}
    if _native(w, op, instr, site, operands):
        return
    w.pending.flush()
    w.module.called.add(op)
    callbacks.instruction(w, op, instr)


def _operand(w: Writer, op: Op, name: str) -> Any:
    value = op.get(name)  # not a list
    return None if value is None or isinstance(value.type, Scalar) else w.get(value)


def _native(w: Writer, op: Op, instr: Instr, site: Site, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    if instr.checks_values(site):
        return False
    if instr.typed:
        return _on_registers(w, op, instr, site, operands)
    if op.results:
        return False
    if moves.write(w, op, instr, site, operands) or between_tiles.write(w, op, instr, site, operands):
        return True
    word = instr.meaning_at(site)
    types = types_at(site)
    if isinstance(word, Gather | Scatter):
        return gathers.write(w, op, instr, site, word, operands)
    if isinstance(word, Contract):
        w.check(op, instr, site)
        return contracts.write(w, op, word, operands)
    if isinstance(word, Fold) and folds.supported(word, operands, types):
        w.check(op, instr, site)
        folds.write(w, op, word, operands, types)
        return True
    if not isinstance(word, Lane):
        return False
    operands, copies = apart.sources(w, word, operands)
    if not lanes.supported(word, instr, site, operands, types):
        return False
    w.check(op, instr, site)
    lanes.check_regions(w, op, word, operands)
    apart.copy(w, copies)
    w.pending.add(word, site, op, operands, types)
    return True


def _on_registers(w: Writer, op: Op, instr: Instr, site: Site, operands: dict[str, Any]) -> bool:
    """Native code of an operation on vector registers."""
    word = instr.meaning_at(site)
    if isinstance(word, Bursts):
        return bursts.write(w, op, instr, site, word, operands)
    types = instr.run.types(site) if isinstance(instr.run, Derived) else {}
    if not isinstance(word, Lane) or not registers.supported(w, instr, word, op, operands, types):
        return False
    w.check(op, instr, site)
    registers.write(w, op, instr, word, operands, types)
    return True
