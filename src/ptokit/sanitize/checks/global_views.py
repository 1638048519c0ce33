"""What instructions that handle views themselves do about them: what they touch, and whether they may."""

from __future__ import annotations

from functools import partial
from typing import Any

from ptokit.ir.core import Op
from ptokit.machine.global_memory import View

from ..memory.footprints import Touch
from . import placement
from .core import ObservedCore
from .views import leaves_memory, leaves_shape, place


def touched(o: ObservedCore, view: View, *, write: bool, kind: Any = None) -> list[Touch]:
    """The access to a view; none if it is empty. ``kind``: of an atomic update."""
    if view.buffer is None:
        return []
    memory, origin = o.memories[id(view.buffer.whole)]
    where = place(view, origin, memory.granule)
    return [] if where is None else [Touch(memory, write, where, view.buffer.shown, atomic=kind)]


def atomic_kind(atomic: Any, view: View) -> Any:
    """The kind of an atomic update, None of a plain store: those of one kind do not race."""
    return (atomic.name, view.dtype.name) if atomic else None


def stays_in_memory(o: ObservedCore, op: Op, name: str, operand: str, view: View) -> bool:
    """True if a view has memory and stays in it; else that is reported."""
    if view.buffer is None:
        o.report("GM-NULL", op, operand, partial(placement.null, op, name, operand))
        return False
    message = leaves_memory(view)
    if message is not None:
        o.report("GM-OOB", op, operand, partial(placement.outside, op, name, view, message))
    elif (shape := leaves_shape(view)) is not None:
        o.report("GM-SLICE", op, operand, partial(placement.past_a_dimension, op, name, view, shape))
    return message is None


def whole(*views: View) -> None:
    """These are touched as a whole: which elements the instruction has chosen does not matter."""
    for view in views:
        if view.buffer is not None and view.buffer.chosen:
            view.buffer.chosen.clear()
