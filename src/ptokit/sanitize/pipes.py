"""Pipes between cores under observation: what is moved, which pipe waits for a slot, and who reads one that has
been given back (layout-irregular 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.pipe_ends import Wait
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.run.memory import Buffer
from ptokit.run.pipes import End, Pipes, Waiting
from ptokit.run.rings import Ring
from ptokit.run.tile import Tile
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe

from .findings import Draft, Findings
from .footprints import Touch
from .slots import AwaitSlot, PostSlot

if TYPE_CHECKING:
    from .observe import Observer

Given = Mapping[str, Any]


@dataclass(frozen=True)
class _Given:
    """A slot that a consumer has given back."""

    tile: Tile
    op: Op


class ObservedPipes(Pipes):
    """The pipes of a core that is watched."""

    chunk: Observer

    def __init__(self, chunk: Any) -> None:
        super().__init__(chunk)
        self._tiles: dict[tuple[Ring, int], Tile] = {}  # popped and not yet freed
        self.given: dict[tuple[int, int], _Given] = {}  # freed, by the memory of a slot

    def join(self, board: Any) -> None:
        super().join(board)
        self._tiles.clear()
        self.given.clear()

    @property
    def name(self) -> str:
        """The operation that is carried out."""
        return self.chunk.here.name.removeprefix("pto.")

    # --- order ---------------------------------------------------------------------------------------------------

    def _wait(self, waiting: Waiting) -> Wait:
        o = self.chunk
        pipe = Pipe.S if o.in_order else self._waits_on(waiting)
        o.push(AwaitSlot(o.here, self.name, pipe, waiting=waiting))
        return waiting

    def _waits_on(self, waiting: Waiting) -> Pipe:
        """The pipe that a wait holds, where it does not hold the scalar unit."""
        if waiting.producing:
            return Pipe.FIX if self.on_cube else Pipe.MTE3
        if any(end.memory is not None for end in self._ends(waiting.ring)):
            return Pipe.MTE2
        return Pipe.MTE1 if self.on_cube else Pipe.V

    def _ends(self, ring: Ring) -> list[End]:
        return [end for end in self.opened if ring in end.rings.values()]

    def _pushed(self, ring: Ring, k: int) -> None:
        o = self.chunk
        ring.pushers[k] = o.here
        ring.pushers.pop(k - 4 * ring.slots, None)
        o.push(PostSlot(o.here, self.name, Pipe.FIX if self.on_cube else Pipe.MTE3, ring=ring, k=k))

    def _popped(self, end: End, ring: Ring, k: int, entry: Any) -> None:
        if isinstance(entry, Tile) and end.memory is None:
            self._tiles[ring, k] = entry
            self.given.pop((id(entry.storage.arena), entry.storage.start), None)

    def _freed(self, end: End, ring: Ring, k: int, entry: Any) -> None:
        o = self.chunk
        tile = self._tiles.pop((ring, k), None)
        if tile is not None:
            self.given[id(tile.storage.arena), tile.storage.start] = _Given(tile, o.here)
        local = Pipe.MTE1 if self.on_cube else Pipe.V
        pipe = local if end.memory is None else Pipe.MTE2
        o.push(PostSlot(o.here, self.name, pipe, ring=ring, k=k, full=False))

    def _seen_as(self, buffer: Buffer, dtype: DType) -> Buffer:
        found = super()._seen_as(buffer, dtype)
        self.chunk.memories[id(found)] = self.chunk.memories[id(buffer)]
        return found

    # --- data ----------------------------------------------------------------------------------------------------

    def _carry_out(self, instr: Instr, site: Site, operands: Given, attrs: Given) -> None:
        o = self.chunk
        run = instr.run_at(site)
        assert run is not None
        names = tuple(operand.name for operand in instr.operands)
        values = tuple(operands.get(name) for name in names)
        named = replace(instr, name=self.name)

        def carried(machine: Any, *given: Any) -> Any:
            return run(machine, *given, **attrs)

        alike = {"alike": ("slot",)} if self.whole and not self.on_cube else {}  # all vector cores write the same
        o.instruction(o.here, named, site, names, values, {**attrs, **alike}, carried)

    def check(self, op: Op, name: str, reads: Sequence[Touch]) -> None:
        """PIPE-FREED: an instruction reads a tile whose slot has been given back."""
        o = self.chunk
        for (arena, start), given in self.given.items():
            end = start + given.tile.spec.nbytes
            for touch in reads:
                space = o.buffers.spaces.get(arena)
                if touch.space is space and touch.where.lo < end and start < touch.where.hi:
                    o.report("PIPE-FREED", op, given.op, partial(_after, op, name, touch, given))


def _after(op: Op, name: str, touch: Touch, given: _Given) -> Draft:
    message = f"{name} reads %{touch.name} after its slot has been freed"
    note = Note("it is freed here", given.op.location)
    return Draft(message, op.location, "free the slot after the last use of the tile", [note])


def handle(o: Observer, op: Op, given: Given, attrs: Given, run: Callable[[], Any]) -> Any:
    """An operation on pipes: what it does tells `ObservedPipes`."""
    o.here = op
    return run()


def left_in(machine: Observer, findings: Findings) -> None:
    """PIPE-LEFT: entries that have been pushed and never popped, by the time that a core's cluster has ended."""
    core = machine.core
    for ring in machine.pipes.board.rings.values():
        pushed = ring.pushed.get(machine.pipes.me, 0) if machine.pipes.on_cube == ring.c2v else 0
        popped = min(ring.popped.values(), default=0)
        op = ring.pushers.get(popped)
        if pushed <= popped or op is None:
            continue

        def make(ring: Ring = ring, count: int = pushed - popped, op: Op = op) -> Draft:
            what = "this entry" if count == 1 else f"the last {count} entries"
            return Draft(
                f"{what} of {ring.name} {'is' if count == 1 else 'are'} never popped", op.location,
                "pop as often as is pushed",
            )  # fmt: skip

        findings.add("PIPE-LEFT", (op, ring.name), core, None, make)


OPERATIONS = (
    "reserve_buffer",
    "import_reserved_buffer",
    "initialize_l2g2l_pipe",
    "initialize_l2l_pipe",
    "declare_global",
    "set_quant_scalar",
    "set_quant_vector",
    "tpush",
    "tpop",
    "tfree",
    "talloc",
    *(f"{core}_initialize_pipe" for core in ("aic", "aiv")),
    *(f"{verb}_{core}" for verb in ("tpush_to", "tpop_from", "tfree_from", "talloc_to") for core in ("aic", "aiv")),
)
"""Names of the operations on pipes."""
