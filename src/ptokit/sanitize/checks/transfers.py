"""Transfers between devices under observation: what they read and write of global memory, and the tiles they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Op
from ptokit.isa.table import TABLE, Role
from ptokit.run.memory.global_memory import View
from ptokit.run.memory.tile import Tile
from ptokit.types.enums import Pipe

from ..memory.footprints import Touch, footprint
from ..memory.touches import tile_region
from ..simulation.events import Work
from . import placement
from .views import leaves_memory, place

if TYPE_CHECKING:
    from ..observe import CoreObserver


def handle(o: CoreObserver, op: Op, given: Mapping[str, Any], attrs: Mapping[str, Any], run: Callable[[], Any]) -> Any:
    """Reads come before writes; a transfer with a part that leaves its memory is reported and left out."""
    instr = TABLE[op.name.removeprefix("pto.")]
    reads: list[Touch] = []
    writes: list[Touch] = []
    views: list[View] = []
    sound = True
    for operand in instr.operands:
        value = given.get(operand.name)
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            if isinstance(part, View):
                views.append(part)
                sound = _inside(o, op, instr.name, operand.name, part) and sound
                write = operand.role is Role.OUT
                (writes if write else reads).extend(_touch(o, part, attrs.get("atomic") if write else None, write))
            elif isinstance(part, Tile):  # what it held before is gone
                space = o.space_of(part.storage.arena, part.spec.loc, f"tile %{part.name}")
                region = tile_region(part, part.spec.rows, part.spec.cols)
                writes.append(Touch(space, True, footprint(region), part.name, operand.name, region))
    result = run() if sound else None
    for touched in views:
        if touched.buffer is not None and touched.buffer.chosen:
            touched.buffer.chosen.clear()  # they are whole
    o.push(Work(op, instr.name, Pipe.MTE3, touches=[*reads, *writes]))
    return result


def _inside(o: CoreObserver, op: Op, name: str, operand: str, view: View) -> bool:
    if view.buffer is None:
        o.report("GM-NULL", op, operand, partial(placement.null, op, name, operand))
        return False
    message = leaves_memory(view)
    if message is not None:
        o.report("GM-OOB", op, operand, partial(placement.outside, op, name, view, message))
    return message is None


def _touch(o: CoreObserver, view: View, atomic: Any, write: bool) -> list[Touch]:
    if view.buffer is None:
        return []
    memory, origin = o.memories[id(view.buffer)]
    where = place(view, origin, memory.granule)
    kind = (atomic.name, view.dtype.name) if atomic else None
    return [] if where is None else [Touch(memory, write, where, memory.name, atomic=kind)]


OPERATIONS = ("comm.tput", "comm.tget", "comm.tbroadcast", "comm.tgather", "comm.tscatter", "comm.treduce")
"""Names of the transfers that run."""
