"""What a program does with blocks and memory, found by one analysis before it runs.

* which values may differ between blocks (they depend on the block index or on data of a tile);
* which pointer arguments it writes, and which it reads;
* whether it multiplies matrices;
* whether blocks can run in lockstep: control flow that may differ between blocks must come before the first store,
  so that a chunk whose blocks disagree can be split and started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.graph import passed
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
    roots: dict[Value, set[Value]] = {p: {p} for p in entry.params}
    while _Pass(module, effects, roots).run(entry):
        pass
    operations = [op for f in module.functions if f.body is not None for op in f.body.walk()]
    effects.multiplies = any((instr := instr_of(op)) is not None and instr.pipe is Pipe.M for op in operations)
    effects.lockstep = lockstep(module, entry, effects.varying)
    return effects


def _own(region: Block) -> Iterator[Op]:
    """The operations of a region's blocks, not those inside them."""
    return (op for block in region.blocks for op in block.ops)


class _Pass:
    """One sweep of the data flow; repeated until nothing changes."""

    def __init__(self, module: Module, effects: Effects, roots: dict[Value, set[Value]]) -> None:
        self.module, self.effects, self.roots = module, effects, roots
        self.pointers = [value for value, own in roots.items() if own == {value} and isinstance(value.type, Ptr)]
        self.changed = False
        self.active: set[str] = set()

    def run(self, function: Function) -> bool:
        if function.body is not None and function.name not in self.active:
            self.active.add(function.name)
            self.block(function.body)
        return self.changed

    def mark(self, value: Value) -> None:
        if value not in self.effects.varying:
            self.effects.varying.add(value)
            self.changed = True

    def flow(self, source: Value, target: Value) -> None:
        """`target` may be `source`."""
        if source in self.effects.varying:
            self.mark(target)
        self.root(source, target)

    def root(self, source: Value, target: Value) -> None:
        have = self.roots.setdefault(target, set())
        new = self.roots.get(source, set()) - have
        if new:
            have |= new
            self.changed = True

    def block(self, region: Block) -> None:
        for op in _own(region):
            self.op(op)

    def op(self, op: Op) -> None:
        varying = self.effects.varying
        match op.name:
            case "scf.for":
                body = op.regions[0]
                if any(op.get(n) in varying for n in ("lower", "step")):
                    self.mark(body.args[0])
                for init, arg in zip(op.group("init"), body.args[1:]):
                    self.flow(init, arg)
                self.block(body)
                self._yields(body, [*body.args[1:]])
                self._yields(body, op.results)
                for arg, result in zip(body.args[1:], op.results):
                    self.flow(arg, result)
            case "scf.if" | "scf.execute_region" | "scf.index_switch":
                for region in op.regions:
                    self.block(region)
                    self._yields(region, op.results)
            case "scf.while":
                before, after = op.regions
                for init, arg in zip(op.group("init"), before.args):
                    self.flow(init, arg)
                self.block(before)
                for inner in before.ops:
                    if inner.name == "scf.condition":
                        for value, arg, result in zip(inner.group("values"), after.args, op.results):
                            self.flow(value, arg)
                            self.flow(value, result)
                self.block(after)
                self._yields(after, before.args)
            case "cf.br" | "cf.cond_br" | "cf.switch":
                for k, to in enumerate(op.successors):
                    for value, arg in zip(passed(op, k), to.args):
                        self.flow(value, arg)
            case "func.call":
                self._call(op)
            case "pto.vecscope" | "pto.strict_vecscope":
                (body,) = op.regions
                for value, arg in zip(op.group("captured"), body.args):
                    self.flow(value, arg)
                self.block(body)
            case _:
                self._plain(op)
                for region in op.regions:
                    self.block(region)

    def _yields(self, region: Block, targets: list[Value]) -> None:
        for inner in _own(region):
            if inner.name == "scf.yield":
                for value, target in zip(inner.group("values"), targets):
                    self.flow(value, target)

    def _call(self, op: Op) -> None:
        callee = self.module.function(op.attrs["callee"])
        if callee is None or callee.body is None:
            return
        for value, param in zip(op.group("args"), callee.params):
            self.flow(value, param)
        self.run(callee)
        for inner in callee.body.walk():
            if inner.name == "func.return":
                for value, result in zip(inner.group("values"), op.results):
                    self.flow(value, result)

    def _plain(self, op: Op) -> None:
        effects, roots, values = self.effects, self.roots, op.values
        varying = not effects.varying.isdisjoint(values) or _reads_local(op)
        if not varying:
            instr = instr_of(op)
            varying = instr is not None and instr.per_block
        if any(isinstance(v.type, _ON_STACK) for v in values):  # calls may pass one under another name
            if varying and not op.results and not self.effects.stack:
                self.effects.stack = self.changed = True
            varying = varying or self.effects.stack
        for result in op.results:
            if varying and not isinstance(result.type, TileSpec):
                self.mark(result)
            for value in values:
                if value in roots:
                    self.root(value, result)
            if op.name == "pto.inttoptr":  # the address may come from memory
                for param in self.pointers:
                    self.root(param, result)
        for pointers, known in ((stored(op), effects.written), (loaded(op), effects.read)):
            for value in pointers:
                new = roots.get(value, set()) - known
                if new:
                    known |= new
                    self.changed = True


_ON_STACK = (EventIdArray, LocalArray, Struct)


def _reads_local(op: Op) -> bool:
    """True if the result comes from on-chip memory, which is another one for each block."""
    return op.name == "pto.load_scalar" and not is_global(op["ptr"].type)
