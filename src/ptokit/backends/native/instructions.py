"""Instructions: from their meaning where native code has a form for it, else carried out by Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.execute import Derived, types_at
from ptokit.isa.meaning.words import Bursts, Contract, Fold, Gather, Lane, Scatter, Single
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.plan.steps import Step
from ptokit.types.values import Scalar

from . import (
    apart,
    between_tiles,
    bursts,
    callbacks,
    contracts,
    folds,
    gathers,
    lanes,
    moves,
    registers,
    single_elements,
)
from .lanes import Pending as Pending
from .values import NotNativeError

if TYPE_CHECKING:
    from .function import Writer


def write(w: Writer, step: Step) -> None:
    """An instruction of the table."""
    instr = step.instr
    assert instr is not None
    if instr.order.waits or instr.order.between_cores:
        raise NotNativeError(instr.name, "it waits for other cores")
    if instr.order.only:
        w.check(step)
        return
    operands = {name: _operand(w, step.get(name)) for name in step.names}
    if _native(w, step, instr, operands):
        return
    w.pending.flush()
    w.settle_for(step)
    w.module.called.add(step)
    callbacks.instruction(w, step)


def _operand(w: Writer, given: Any) -> Any:
    return None if given is None or isinstance(given.type, Scalar) else w.get(given)


def _native(w: Writer, step: Step, instr: Instr, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    site = w.site(step)
    if instr.checks_values(site):
        return False
    if instr.typed:
        return _on_registers(w, step, instr, site, operands)
    word = instr.meaning_at(site)
    if isinstance(word, Single):
        return single_elements.write(w, step, word, operands)
    if step.results:
        return False
    if moves.write(w, step, site, operands) or between_tiles.write(w, step, site, operands):
        return True
    types = types_at(site)
    if isinstance(word, Gather | Scatter):
        return gathers.write(w, step, word, operands)
    if isinstance(word, Contract):
        w.check(step)
        return contracts.write(w, step, word, operands)
    if isinstance(word, Fold) and folds.supported(word, operands, types):
        w.check(step)
        folds.write(w, step, word, operands, types)
        return True
    if not isinstance(word, Lane):
        return False
    operands, copies = apart.sources(w, word, operands)
    if not lanes.supported(word, instr, site, operands, types):
        return False
    w.check(step)
    lanes.check_regions(w, step, word, operands)
    apart.copy(w, copies)
    w.pending.add(word, site, step, operands, types)
    return True


def _on_registers(w: Writer, step: Step, instr: Instr, site: Site, operands: dict[str, Any]) -> bool:
    """Native code of an operation on vector registers."""
    word = instr.meaning_at(site)
    if isinstance(word, Bursts):
        return bursts.write(w, step, word, operands)
    types = instr.run.types(site) if isinstance(instr.run, Derived) else {}
    if not isinstance(word, Lane) or not registers.supported(w, instr, word, step, operands, types):
        return False
    w.check(step)
    registers.write(w, step, instr, word, operands, types)
    return True
