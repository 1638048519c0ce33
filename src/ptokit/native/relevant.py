"""What decides which global memory a kernel touches: accesses, control flow around them, and what both depend on."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.graph import passed
from ptokit.run.planning.planner import PLANNED
from ptokit.run.planning.stores import loaded, stored
from ptokit.types.values import Scalar


class Relevant:
    """Operations and values of a module that decide about global memory. All others have no effect on it.

    A loop is one of them if an access is inside it, or if one depends on what it hands on; of the values that it
    carries only those count on which something depends.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self._around: dict[Op, Op | Function] = {}
        self._region: dict[Op, Block] = {}  # that an operation stands in
        self._args: dict[Value, Op] = {}  # the operation whose region takes a value
        self._sources: dict[Value, list[Value]] = {}  # what a value may be
        self._calls: dict[str, list[Op]] = {}
        self._waiting: list[Op | Value] = []
        bodies = [(f, f.body) for f in module.functions if f.body is not None]
        for function, body in bodies:
            self._look(body, function)
        for _, body in bodies:
            for op in body.walk():
                self._flows(op)
        for _, body in bodies:
            for op in body.walk():
                if op.name == "func.return" or touched(op):
                    self._need(op)
        self._close()

    # --- the program ---------------------------------------------------------------------------------------------

    def _look(self, region: Block, owner: Op | Function) -> None:
        for block in region.blocks:
            for arg in block.args:
                if isinstance(owner, Op):
                    self._args[arg] = owner
            for op in block.ops:
                self._around[op], self._region[op] = owner, region
                if op.name == "func.call":
                    self._calls.setdefault(op.attrs["callee"], []).append(op)
                for inner in op.regions:
                    self._look(inner, op)

    def _flow(self, targets: list[Value], sources: list[Value]) -> None:
        for target, source in zip(targets, sources):
            self._sources.setdefault(target, []).append(source)

    def _flows(self, op: Op) -> None:
        """Which values an operation hands on to which."""
        for k, to in enumerate(op.successors):
            self._flow(to.args, passed(op, k))
        yielded = [list(end.values) for region in op.regions for end in _ends(region, "scf.yield")]
        match op.name:
            case "scf.for":
                (body,) = op.regions
                carried = body.args[1:]
                for values in (op.group("init"), *yielded):
                    self._flow(carried, values)
                self._flow(op.results, carried)
            case "scf.while":
                before, after = op.regions
                for values in (op.group("init"), *yielded):
                    self._flow(before.args, values)
                for end in _ends(before, "scf.condition"):
                    self._flow(op.results, end.group("values"))
                    self._flow(after.args, end.group("values"))
                self._flow(op.results, after.args)  # one place in memory carries both
                self._flow(after.args, op.results)
            case "func.call":
                callee = self.module.function(op.attrs["callee"])
                if callee is not None and callee.body is not None:
                    self._flow(callee.params, op.group("args"))
                    for end in _ends(callee.body, "func.return"):
                        self._flow(op.results, end.group("values"))
            case _:
                for values in yielded:
                    self._flow(op.results, values)
                for region in op.regions:
                    self._flow(region.args, op.group("captured"))

    # --- what is needed ------------------------------------------------------------------------------------------

    def _need(self, found: Op | Value) -> None:
        if isinstance(found, Op):
            if found in self.ops:
                return
            self.ops.add(found)
        else:
            if found in self.values:
                return
            self.values.add(found)
        self._waiting.append(found)

    def _close(self) -> None:
        while self._waiting:
            found = self._waiting.pop()
            if isinstance(found, Op):
                self._needed_by(found)
                continue
            owner = self._args.get(found, found.owner)
            if isinstance(owner, Op):
                self._need(owner)
            for source in self._sources.get(found, ()):
                self._need(source)

    def _needed_by(self, op: Op) -> None:
        for value in self._decides(op):
            self._need(value)
        owner = self._around[op]
        if isinstance(owner, Op):
            self._need(owner)
        else:
            for call in self._calls.get(owner.name, ()):
                self._need(call)
        for block in self._region[op].blocks:
            if block.ops and block.ops[-1].successors:
                self._need(block.ops[-1])

    def _decides(self, op: Op) -> list[Value]:
        """The operands on which it depends what an operation does to control flow and to global memory."""
        match op.name:
            case "scf.for":
                return [op["lower"], op["upper"], op["step"]]
            case "scf.while":
                return [end["condition"] for end in _ends(op.regions[0], "scf.condition")]
            case "scf.if":
                return [op["condition"]]
            case "scf.index_switch":
                return [op["index"]]
            case "cf.cond_br":
                return [op["condition"]]
            case "cf.switch":
                return [op["flag"]]
            case "pto.load_scalar" | "pto.store_scalar":
                return [op["ptr"], op["index"]]
        if op.regions or op.name in ("func.call", "func.return", "cf.br", "scf.yield", "scf.condition"):
            return []
        memory = touched(op)
        if not memory:
            return op.values
        instr = instr_of(op)
        numbers = [v for v in op.values if isinstance(v.type, Scalar)] if instr is not None and instr.typed else []
        return [*memory, *numbers]


def touched(op: Op) -> list[Value]:
    """The views and pointers through which an operation reads or writes global memory."""
    if op.name in PLANNED and op.name not in ("pto.load_scalar", "pto.store_scalar"):
        return []  # it makes another pointer or view
    return [*stored(op), *loaded(op)]


def _ends(region: Block, name: str) -> Iterator[Op]:
    """The operations of that name at the ends of a region's blocks."""
    return (block.ops[-1] for block in region.blocks if block.ops and block.ops[-1].name == name)
