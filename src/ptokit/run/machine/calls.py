"""What a machine of blocks calls for a step of a plan: the function of an instruction, or of arithmetic on numbers.

Steps are data. What they are bound to is found when a machine first does them, and kept with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.plan.steps import Step

from . import arithmetic
from .asking import Asking
from .lanes import settled


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
