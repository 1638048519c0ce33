"""What a program does with blocks and memory, found by one analysis before it runs.

* which values may differ between blocks (they depend on the block index or on data of a tile);
* which pointer arguments it writes, and which it reads;
* whether it multiplies matrices;
* whether blocks can run in lockstep: control flow that may differ between blocks must come before the first store,
  so that a chunk whose blocks disagree can be split and started again.
"""

from __future__ import annotations

from dataclasses import field

from ptokit.ir.control import call_edges, called_from, callee, control_of, edges
from ptokit.ir.core import Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.records import dataclass
from ptokit.types.enums import Pipe
from ptokit.types.tile import TileSpec
from ptokit.types.values import EventIdArray, LocalArray, Ptr, Struct

from .lockstep import lockstep
from .stores import is_global, loaded, stored


@dataclass
class Effects:
    """The result of `analyse`."""

    varying: set[Value] = field(default_factory=set)
    written: set[Value] = field(default_factory=set)  # pointer parameters stored through
    read: set[Value] = field(default_factory=set)  # and loaded through
    lockstep: bool = True
    multiplies: bool = False  # uses the cube unit
    stack: bool = False  # numbers in arrays and structs on the stack may differ between blocks


def analyse(module: Module, entry: Function) -> Effects:
    """Effects of running `entry`."""
    effects = Effects()
    _Flow(module, entry, effects).run()
    operations = [op for f in module.functions if f.body is not None for op in f.body.walk()]
    effects.multiplies = any((instr := instr_of(op)) is not None and instr.pipe is Pipe.M for op in operations)
    effects.lockstep = lockstep(module, entry, effects.varying)
    return effects


class _Flow:
    """Which values differ between blocks, and which parameters pointers come from, until nothing more is known.

    An operation is looked at again when one of its operands has changed; what edges hand over changes at once.
    """

    def __init__(self, module: Module, entry: Function, effects: Effects) -> None:
        self.effects = effects
        self.roots: dict[Value, set[Value]] = {p: {p} for p in entry.params}
        self.pointers = [p for p in entry.params if isinstance(p.type, Ptr)]
        self.handed: dict[Value, list[Value]] = {}
        self.counted: dict[Value, list[Value]] = {}  # by bounds of loops: what counts from them
        self.users: dict[Value, list[Op]] = {}
        self.todo: dict[Op, None] = {}
        for function in called_from(module, entry):
            for op in function.body.walk() if function.body is not None else ():
                self._add(op, module)

    def _add(self, op: Op, module: Module) -> None:
        inner = callee(op, module)
        for edge in (*edges(op), *(call_edges(op, inner) if inner is not None else ())):
            for value, taken in zip(edge.given, edge.taken):
                self.handed.setdefault(value, []).append(taken)
        for induction in control_of(op).inductions(op):
            for bound in (induction.lower, induction.step):
                self.counted.setdefault(bound, []).append(induction.arg)
        if inner is None and not op.successors and not op.regions:
            self.todo[op] = None
            for value in op.values:
                self.users.setdefault(value, []).append(op)

    def run(self) -> None:
        for param in list(self.roots):
            for taken in self.handed.get(param, ()):
                self._root(param, taken)
        while self.todo:
            op = next(iter(self.todo))
            del self.todo[op]
            self._plain(op)

    def _changed(self, value: Value) -> None:
        self.todo.update(dict.fromkeys(self.users.get(value, ())))

    def _mark(self, value: Value) -> None:
        """`value` may differ between blocks."""
        marked = [value]
        while marked:
            value = marked.pop()
            if value not in self.effects.varying:
                self.effects.varying.add(value)
                self._changed(value)
                marked += self.handed.get(value, [])
                marked += self.counted.get(value, [])

    def _root(self, source: Value, target: Value) -> None:
        """`target` leads to the parameters that `source` leads to."""
        grown = [(source, target)]
        while grown:
            source, target = grown.pop()
            have = self.roots.setdefault(target, set())
            new = self.roots.get(source, set()) - have
            if new:
                have |= new
                self._changed(target)
                grown += [(target, taken) for taken in self.handed.get(target, ())]

    def _plain(self, op: Op) -> None:
        effects, roots, values = self.effects, self.roots, op.values
        varying = not effects.varying.isdisjoint(values) or _reads_local(op)
        if not varying:
            instr = instr_of(op)
            varying = instr is not None and instr.per_block
        if any(isinstance(v.type, _ON_STACK) for v in values):  # calls may pass one under another name
            if varying and not op.results and not effects.stack:
                effects.stack = True
                self.todo.update((user, None) for users in self.users.values() for user in users)
            varying = varying or effects.stack
        for result in op.results:
            if varying and not isinstance(result.type, TileSpec):
                self._mark(result)
            for value in values:
                if value in roots:
                    self._root(value, result)
            if op.name == "pto.inttoptr":  # the address may come from memory
                for param in self.pointers:
                    self._root(param, result)
        for pointers, known in ((stored(op), effects.written), (loaded(op), effects.read)):
            for value in pointers:
                known |= roots.get(value, set())


_ON_STACK = (EventIdArray, LocalArray, Struct)


def _reads_local(op: Op) -> bool:
    """True if the result comes from on-chip memory, which is another one for each block."""
    return op.name == "pto.load_scalar" and not is_global(op["ptr"].type)
