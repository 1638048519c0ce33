"""Transfers between devices under observation: what they read and write of global memory, and the tiles they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Role
from ptokit.machine.global_memory import View
from ptokit.machine.tiles import Tile
from ptokit.types.enums import Pipe

from ..memory.footprints import Touch, footprint
from ..memory.touches import tile_region
from ..simulation.events import OWN_FLAG, SetFlag, WaitFlag, Work
from . import global_views
from .core import ObservedCore


def handle(o: ObservedCore, op: Op, given: Mapping[str, Any], attrs: Mapping[str, Any], run: Callable[[], Any]) -> Any:
    """A transfer loads its source into tiles, and stores them; where it adds up, the vector pipe does that between.

    The pipes are in order inside, and loads that follow come after the stores; nothing else waits for the stores
    (pto-isa include/pto/comm). One with a part that leaves its memory is reported and left out.
    """
    instr = instr_of(op)
    assert instr is not None
    sides: dict[bool, list[Touch]] = {False: [], True: []}  # of global memory, by whether they write
    tiles: list[tuple[Tile, str]] = []
    views: list[View] = []
    in_memory = True
    for operand in instr.operands:
        value = given.get(operand.name)
        role = operand.role
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, View):
                views.append(part)
                in_memory = global_views.stays_in_memory(o, op, instr.name, operand.name, part) and in_memory
                write = role is Role.OUT
                kind = global_views.atomic_kind(attrs.get("atomic"), part) if write else None
                sides[write] += global_views.touched(o, part, write=write, kind=kind)
            elif isinstance(part, Tile):
                tiles.append((part, operand.name))
    o.catch_up(Pipe.MTE2)
    result = run() if in_memory else None
    global_views.whole(*views)
    adds = "acc" in given
    loaded = [_staged(o, tile, name, write=True) for tile, name in tiles]
    o.push(Work(op, instr.name, Pipe.MTE2, touches=[*sides[False], *loaded]))
    stored = [_staged(o, tile, name, write=False) for tile, name in tiles if not adds or name == "acc"]
    if adds:
        _order(o, op, instr.name, Pipe.MTE2, Pipe.V)
        o.push(Work(op, instr.name, Pipe.V, touches=[_staged(o, t, n, write=n == "acc") for t, n in tiles]))
    _order(o, op, instr.name, Pipe.V if adds else Pipe.MTE2, Pipe.MTE3)
    o.push(Work(op, instr.name, Pipe.MTE3, touches=[*stored, *sides[True]]))
    _order(o, op, instr.name, Pipe.MTE3, Pipe.MTE2)
    return result


def _order(o: ObservedCore, op: Op, name: str, first: Pipe, second: Pipe) -> None:
    """The transfer's own flag."""
    o.push(SetFlag(op, name, first, key=(first, second, OWN_FLAG)))
    o.push(WaitFlag(op, name, second, key=(first, second, OWN_FLAG)))


def _staged(o: ObservedCore, tile: Tile, operand: str, *, write: bool) -> Touch:
    """The access to a tile that data pass through: all of it, what it held before is gone."""
    space = o.space_of(tile.storage.arena, tile.spec.loc, f"tile {tile.name}")
    region = tile_region(tile, tile.spec.rows, tile.spec.cols)
    return Touch(space, write, footprint(region), tile.name, operand, region)


OPERATIONS = (
    *(f"comm.{name}" for name in ("tput", "tget", "tbroadcast", "tgather", "tscatter", "treduce")),
    *("TPUT", "TGET", "TBROADCAST", "TREDUCE", "GROUP_GATHER", "GROUP_SCATTER"),
)
"""Names of the transfers."""
