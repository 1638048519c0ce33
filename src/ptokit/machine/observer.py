"""Watching a launch: what happens at each step of a program, with the operands as they are at that moment.

Give an observer to a launch, and every step is told to it, one block after the other, on the NumPy backend:

    class Stores(Observer):
        def after(self, moment):
            if moment.name == "TSTORE":
                print(moment.location.line, moment.block, moment.loops, moment.contents("src"))

    program.launch(args, blocks, observer=Stores())

A kernel that an observer watches gives the same results. An observer that raises an exception ends the launch with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.ir.core import Op
from ptokit.isa.table import Instr, Role
from ptokit.plan.steps import Step

from .chunk import Chunk
from .global_memory import View
from .lanes import Fault
from .local_memory import Access
from .loops import Even, Loops
from .signals import Event, block_text, place_text
from .threads import Watch
from .tiles import Tile

ELEMENTS = frozenset(("load_scalar", "store_scalar"))
"""Words of steps that observers are told beside instructions."""

MAKING = frozenset(("view", "slice", "tile", "tiles", "rebind", "alias", "numbers", "window"))
"""Words of steps that make tiles and views."""

THREADS = frozenset(("launch_threads", "one_thread"))
"""Words of steps that threads execute."""

TOLD = ELEMENTS | MAKING | THREADS


class Moment:
    """A step as one block comes to it. Valid until the observer returns; operands are the program's own objects."""

    __slots__ = ("machine", "operands", "result", "step")

    def __init__(self, step: Step, machine: Chunk, operands: tuple[Any, ...]) -> None:
        self.step, self.machine, self.operands = step, machine, operands
        self.result: Any = None  # of the step, once it has been carried out

    @property
    def op(self) -> Op:
        """The operation of the program."""
        return self.step.op

    @property
    def name(self) -> str:
        """The instruction's name in the table (``TADD``), or that of the operation without its dialect."""
        return self.step.name

    @property
    def instr(self) -> Instr | None:
        """The instruction's entry in the table."""
        return self.step.instr

    @property
    def location(self) -> Location:
        """Where it stands in the text."""
        return self.step.op.location

    @property
    def block(self) -> int:
        """Index of the block that comes to it."""
        return self.machine.block_number(0)

    @property
    def core(self) -> int:
        """Number of the core in a launch whose cores wait for each other; its kind and place are the machine's."""
        return self.machine.number

    @property
    def place(self) -> str:
        """Rank, block and core in words."""
        machine = self.machine
        if machine.semaphores is None:
            return block_text(machine.rank, self.block)
        return place_text(machine.semaphores.cores[machine.number])

    @property
    def loops(self) -> Loops:
        """The loops around it, innermost last, with the values of their variables; of the callers', too."""
        return tuple((name.removeprefix("%"), value) for name, value in self.machine.nest.loops)

    @property
    def given(self) -> dict[str, Any]:
        """Operands by name: `Tile`, `View`, pointer, number, the array of a register, or None."""
        return dict(zip(self.step.names, self.operands))

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the operands that the instruction writes, scratch tiles left out."""
        return self._with(Role.OUT, Role.INOUT)

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the operands that the instruction reads."""
        return self._with(Role.IN, Role.INOUT)

    def _with(self, *roles: Role) -> tuple[str, ...]:
        if self.step.instr is None:
            return ()
        there = [o.name for o, value in zip(self.step.instr.operands, self.operands) if value is not None]
        return tuple(name for name in there if self.step.instr.operand(name).role in roles)

    @property
    def returned(self) -> dict[str, Any]:
        """Results by name, once it has been carried out: registers, predicates, numbers, pointers."""
        targets, instr = self.step.results, self.step.instr
        if not targets or (instr is not None and instr.order.waits):
            return {}
        names = [] if instr is None else [o.name for o in sorted(instr.produces, key=lambda o: o.posted)]
        names += [f"result{k}" if k else "result" for k in range(len(names), len(targets))]
        single = max(len(targets), 0 if instr is None else len(instr.returned)) == 1
        listed = instr is not None and instr.results < 0
        return dict(zip(names[: len(targets)], [self.result] if single and not listed else self.result))

    @property
    def left(self) -> tuple[str, ...]:
        """Names of what the instruction leaves: the operands that it writes, and its results."""
        return (*self.written, *self.returned)

    def contents(self, name: str) -> Any:
        """What an operand or a result holds now, a copy: of a tile its valid region, of a view its rows and columns.

        Arrays (rows, cols) in the type's NumPy dtype, those of types without one as codes. None where nothing can be
        read: a view that leaves its memory, a pointer, an operand that is not there.
        """
        return contents({**self.given, **self.returned}.get(name))

    def run(self) -> Any:
        """Carry it out. Raises what it raises."""
        self.result = self.machine.carry_out(self.step, *self.operands)
        return self.result


def contents(operand: Any) -> Any:
    """As `Moment.contents`, of an operand itself."""
    if isinstance(operand, Tile):
        return operand.read()[0].copy()
    if isinstance(operand, View):
        try:
            operand.check_bounds()
        except Fault:
            return None
        return operand.load(operand.layout)[0].copy()
    if isinstance(operand, np.ndarray):
        return operand[0].copy()
    return operand if isinstance(operand, int | float) else None


class Observer:
    """Does nothing at each step; subclasses say what to do. One observer sees all blocks of a launch."""

    together = False
    """Blocks run in chunks, as without an observer, and come to each step together."""

    def before(self, moment: Moment) -> None:
        """The step comes next: its operands hold what it will read."""

    def after(self, moment: Moment) -> None:
        """The step is done; ``moment.result`` is what it returned. Not called where it has failed."""

    def execute(self, moment: Moment) -> Any:
        """Carry the step out, or have it carried out later if its result is not needed; returns the result."""
        self.before(moment)
        result = moment.run()
        if moment.instr is not None and moment.instr.order.waits:
            moment.machine.when_over = partial(self._over, moment)
        else:
            self.after(moment)
        return result

    def _over(self, moment: Moment, found: Any) -> None:
        """The wait of a step is over."""
        moment.result = found
        self.after(moment)

    def make(self, moment: Moment) -> Any:
        """Carry out a step that makes a tile or a view (a word of `MAKING`); returns it."""
        return moment.run()

    def accessed(self, access: Access) -> None:
        """The running instruction has read or written on-chip memory by address."""

    def piped(self, machine: Chunk, event: Event) -> None:
        """The running instruction waits for a pipe between cores, or has moved or freed an entry of it."""

    def carry_out_part(self, step: Step, machine: Chunk, operands: tuple[Any, ...]) -> Any:
        """An instruction by which the running one is carried out; subclasses say what to do in `part`."""
        return self.part(Moment(step, machine, operands))

    def part(self, moment: Moment) -> Any:
        """An instruction by which the running one is carried out, at its place in the program."""
        return moment.run()

    def iterations(self, machine: Chunk, loop: Even, counts: Iterable[Any]) -> Iterable[Any]:
        """The iterations of a loop that are carried out, those of `counts`; subclasses may leave some out."""
        return counts

    def compared(self, machine: Chunk, first: Any, second: Any) -> None:
        """Two numbers whose order decides how evenly the iterations of a loop around them differ."""

    def threads(self, moment: Moment) -> Any:
        """Carry out a step that launches threads, or an operation of theirs that one thread executes."""
        return moment.run()

    def watch_threads(self, op: Op) -> Watch | None:
        """Who is told of what the threads of a launch access."""
        return None

    def remark(self, rule: str, message: str) -> None:
        """What the running instruction does breaks a rule of warning severity."""

    def scope(self, machine: Chunk, *, begins: bool) -> None:
        """A vector scope begins or ends."""


def watched(step: Step) -> Callable[..., Any]:
    """``call(machine, *operands)``: the step as the machine's observer has it done."""
    if step.word in MAKING:
        return lambda machine, *operands: machine.observer.make(Moment(step, machine, operands))
    if step.word in THREADS:
        return lambda machine, *operands: machine.observer.threads(Moment(step, machine, operands))
    return lambda machine, *operands: machine.observer.execute(Moment(step, machine, operands))


def done(step: Step, machine: Chunk, operands: tuple[Any, ...]) -> Any:
    """Do a step, as the machine's observer has it done, if it has one."""
    if machine.observer is None or (step.instr is None and step.word not in TOLD):
        return machine.carry_out(step, *operands)
    return watched(step)(machine, *operands)
