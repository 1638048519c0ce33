"""Functions whose steps are told to an observer: the same text, with calls that say where it is in its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.ir.core import Block, Op
from ptokit.isa.site import Site
from ptokit.isa.table import Instr

from .calls import attributes, bind
from .chunk import Chunk
from .codegen import FunctionWriter
from .observer import Moment, Step


class WatchedWriter(FunctionWriter):
    """Writes functions whose machine has an observer."""

    at_once = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._level = 0
        self._bodies: dict[int, str] = {}

    def operation(self, op: Op) -> None:
        match op.name:
            case "scf.for" | "scf.while":
                self._loop(op)
            case "func.call":
                self.line("m.nest.enter()", op)
                super().operation(op)
                self.line("m.nest.back()", op)
            case "pto.vecscope" | "pto.strict_vecscope":
                self.line("m.observer.scope(m, begins=True)", op)
                super().operation(op)
                self.line("m.observer.scope(m, begins=False)", op)
            case "pto.load_scalar":
                call = watched(Step(op, ("ptr", "index"), Chunk.load_scalar))
                text = f"{self.const(call)}(m, {self.ref(op['ptr'])}, {self.ref(op['index'])})"
                self.line(f"{self.bind(op.result)} = {text}", op)
            case "pto.store_scalar":
                call = watched(Step(op, ("value", "ptr", "index"), Chunk.store_scalar))
                refs = ", ".join(self.ref(op[name]) for name in ("value", "ptr", "index"))
                self.line(f"{self.const(call)}(m, {refs})", op)
            case _:
                super().operation(op)

    def _loop(self, op: Op) -> None:
        self._level += 1
        level = self._level
        for region in op.regions:
            self._bodies[id(region)] = op.name
        super().operation(op)
        self._level -= 1
        self.line(f"m.nest.leave({level})", op)

    def region(self, body: Block, targets: list[str]) -> None:
        kind = self._bodies.pop(id(body), "")
        if kind:
            self.depth += 1
            if kind == "scf.for":
                iv = body.args[0]
                self.line(f"m.nest.iteration({self._level}, {iv.name or 'i'!r}, {self.names[iv]})")
            else:
                self.line(f"m.nest.again({self._level})")
            self.depth -= 1
        super().region(body, targets)

    def turn(self) -> None:
        self._level += 1
        self.line(f"m.nest.again({self._level})")

    def turned(self) -> None:
        self.line(f"m.nest.leave({self._level})")
        self._level -= 1

    def callee(self, op: Op, instr: Instr, site: Site) -> Callable[..., Any]:
        names = tuple(o.name for o in instr.operands)
        return watched(Step(op, names, bind(instr, site, op.attrs), instr, site, attributes(instr, op.attrs)))


def watched(step: Step) -> Callable[..., Any]:
    """``call(machine, *operands)``: the step as the machine's observer has it done."""
    return lambda machine, *operands: machine.observer.execute(Moment(step, machine, operands))
