"""What a program does with blocks and memory, and how long a launch takes: found by analyses before it runs.

* which values may differ between blocks (they depend on the block index or on data of a tile);
* which pointer arguments it writes, and which it reads;
* whether it multiplies matrices;
* whether blocks can run in lockstep: control flow that may differ between blocks must come before the first store,
  so that a chunk whose blocks disagree can be split and started again.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import cache
from itertools import chain

from ptokit.ir.control import (
    call_edges,
    called_from,
    callee,
    control_of,
    decides,
    is_call,
    is_loop,
    reached,
    returns,
    takers,
)
from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts, folded, instr_of
from ptokit.isa.scalar.arithmetic import CONSTANT
from ptokit.isa.table import Instr, Kind, Operand, Role
from ptokit.records import dataclass
from ptokit.types.enums import Pipe
from ptokit.types.tile import TileSpec
from ptokit.types.values import (
    EventIdArray,
    LocalArray,
    MemRef,
    PartitionView,
    Ptr,
    Scalar,
    Struct,
    TensorView,
    Type,
    VReg,
)

from .steps import Step

# What operations and steps write and read of global memory.


@cache
def _touching(instr: Instr, but: Role | None) -> tuple[Operand, ...]:
    """The operands that may lead to global memory, but those of one role."""
    kinds = (Kind.VIEW, Kind.PTR, Kind.GROUP)
    return tuple(o for o in instr.operands if o.role is not but and (o.kind in kinds or Kind.PTR in o.also))


def _through(of: Op | Step, operand: Operand) -> list[Value]:
    """What an operand gives of global memory."""
    given = of.group(operand.name)
    whole = operand.kind in (Kind.VIEW, Kind.GROUP)
    return [v for v in given if whole or (is_global(v.type) and _pointer(v.type, operand))]


def _pointer(type: Type, operand: Operand) -> bool:
    return operand.kind is Kind.PTR or isinstance(type, Ptr)


def _instr(of: Op | Step) -> Instr | None:
    return of.instr if isinstance(of, Step) else instr_of(of)


def _element(pointer: Value) -> list[Value]:
    return [pointer] if is_global(pointer.type) else []


def stored(of: Op | Step) -> list[Value]:
    """The views and pointers an operation or a step writes global memory through."""
    if of.name in ("pto.store_scalar", "store_scalar"):
        return _element(of["ptr"])
    instr = _instr(of)
    if instr is None:
        return []
    return [value for o in _touching(instr, Role.IN) for value in _through(of, o)]


def loaded(of: Op | Step) -> list[Value]:
    """The views and pointers an operation or a step reads global memory through, atomic updates among them."""
    if of.name in ("pto.load_scalar", "load_scalar"):
        return _element(of["ptr"])
    instr = _instr(of)
    if instr is None or (isinstance(of, Op) and of.results and all(isinstance(r.type, _NAMES) for r in of.results)):
        return []  # a view or an address that is made of another one
    updates = bool(of.attrs.get("atomic"))
    return [value for o in _touching(instr, None if updates else Role.OUT) for value in _through(of, o)]


_NAMES = (TensorView, PartitionView, MemRef, Ptr)


def stores_last(entry: Function) -> bool:
    """True if no operation that may fail can follow a store."""
    assert entry.body is not None
    ops = [op for op in entry.body.ops if not _harmless(op)]
    if entry.body.more or any(op.regions or is_call(op) for op in ops):
        return False
    return not any(stored(op) for op in ops[:-1])


def _harmless(op: Op) -> bool:
    instr = instr_of(op)
    return returns(op) or op.name == CONSTANT or (instr is not None and instr.order.only)


def is_global(type: Type) -> bool:
    """True for pointers to global memory."""
    return not isinstance(type, Ptr) or type.space in (None, "gm")


# Whether blocks can run together: a chunk whose blocks disagree is split and started again, so nothing may be stored.


def agreed(op: Op, operand: str) -> bool:
    """True if all blocks of a chunk need the same value of an operand."""
    return operand in _agreed_operands(op)


def _agreed_operands(op: Op) -> tuple[str, ...]:
    instr = instr_of(op)
    if op.name == "arith.select" and not isinstance(op.result.type, Scalar):
        return ("condition",)  # between tiles or registers it is a branch
    return decides(op) if instr is None else tuple(o.name for o in instr.operands if o.agreed)


def lockstep(module: Module, entry: Function, varying: AbstractSet[Value]) -> bool:
    """True if no store can come before an operation on whose operands blocks may disagree."""
    order = _Order(module, varying)
    order.function(entry, written=False)
    return not order.unsafe


class _Order:
    """The search for a place where blocks may disagree and some may have stored."""

    def __init__(self, module: Module, varying: AbstractSet[Value]) -> None:
        self.module = module
        self.varying = varying
        self.unsafe = False
        self._left: dict[tuple[str, bool], bool] = {}  # function, entered after a store: left after a store
        self._regions: dict[Block, bool] = {}

    def function(self, function: Function, *, written: bool) -> bool:
        """True if something may have been stored when the function returns."""
        assert function.body is not None
        key = (function.name, written)
        if key not in self._left:
            self._left[key] = self._region(function.body, written=written)
        return self._left[key]

    def _region(self, region: Block, *, written: bool) -> bool:
        if region.more:  # branches may lead back
            written = written or self._stores(region)
        for block in region.blocks:
            for op in block.ops:
                written = self._op(op, written=written)
        return written

    def _op(self, op: Op, *, written: bool) -> bool:
        if written and any(v in self.varying for name in _agreed_operands(op) for v in op.group(name)):
            self.unsafe = True
        if (function := callee(op, self.module)) is not None:
            return self.function(function, written=written)
        inside = written or (is_loop(op) and any(self._stores(region) for region in op.regions))
        ends = [self._region(region, written=inside) for region in op.regions]
        return written or any(ends) or bool(stored(op))

    def _stores(self, region: Block) -> bool:
        """True if the region or a function called from it may store."""
        if region not in self._regions:
            self._regions[region] = any(self._may_store(op) for block in region.blocks for op in block.ops)
        return self._regions[region]

    def _may_store(self, op: Op) -> bool:
        function = callee(op, self.module)
        if function is not None and function.body is not None:
            return self._stores(function.body)
        return bool(stored(op)) or any(self._stores(region) for region in op.regions)


# What a program does with blocks and memory, found by one analysis before it runs.


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
        self.counted: dict[Value, list[Value]] = {}  # by bounds of loops: what counts from them
        self.users: dict[Value, list[Op]] = {}
        self.todo: dict[Op, None] = {}
        bodies = [f.body for f in called_from(module, entry) if f.body is not None]
        ops = [op for body in bodies for op in body.walk()]
        calls = [(op, inner) for op in ops if (inner := callee(op, module)) is not None]
        self.handed = takers(ops, chain.from_iterable(call_edges(op, inner) for op, inner in calls))
        called = {op for op, _ in calls}
        for op in ops:
            self._add(op, op in called)

    def _add(self, op: Op, calls: bool) -> None:
        for induction in control_of(op).inductions(op):
            for bound in (induction.lower, induction.step):
                self.counted.setdefault(bound, []).append(induction.arg)
        if not calls and not op.successors and not op.regions:
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
        if value not in self.effects.varying:
            for each in reached([value], lambda v: (*self.handed.get(v, ()), *self.counted.get(v, ()))):
                self.effects.varying.add(each)
                self._changed(each)

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


# How long a launch will take, roughly: what decides whether compiling it pays.


CALL = 5e-6  # seconds for one NumPy call and what is around it
ELEMENT = 1e-9  # seconds for one element
_ITERATIONS = 8  # of a loop whose bounds are not known
_DEPTH = 8  # of calls


class Work:
    """How often a block executes each instruction, given the numbers among its arguments."""

    def __init__(self, module: Module, entry: Function, numbers: Mapping[Value, int]) -> None:
        self.module = module
        self.counts: dict[Op, float] = {}
        self._numbers = dict(numbers)
        self._function(entry, 1.0, 0)

    def seconds(self, blocks: int, together: int) -> float:
        """On NumPy, with so many blocks in one call."""
        return sum(n * blocks * (CALL / max(1, together) + elements(op) * ELEMENT) for op, n in self.counts.items())

    def _function(self, function: Function, times: float, depth: int) -> None:
        if function.body is None or depth > _DEPTH:
            return
        for value, number in Facts(function).constants.items():
            if isinstance(number, int):
                self._numbers[value] = number
        self._region(function.body, times, depth)

    def _region(self, region: Block, times: float, depth: int) -> None:
        for block in region.blocks:
            for op in block.ops:
                self._op(op, times, depth)

    def _op(self, op: Op, times: float, depth: int) -> None:
        instr = instr_of(op)
        if instr is not None and not instr.order.only:
            self.counts[op] = self.counts.get(op, 0.0) + times
        elif (number := folded(op, self._numbers.get)) is not None:
            self._numbers[op.result] = number
        elif (function := callee(op, self.module)) is not None:
            for param, value in zip(function.params, op.group("args")):
                if value in self._numbers:
                    self._numbers[param] = self._numbers[value]
            self._function(function, times, depth + 1)
        inside = times * (self._iterations(op) if is_loop(op) else 1)
        for region in op.regions:
            self._region(region, inside, depth)

    def _iterations(self, op: Op) -> float:
        counted = control_of(op).inductions(op)
        product = 1 if counted else _ITERATIONS
        for _, *bounds in counted:
            lower, upper, step = map(self._numbers.get, bounds)
            if lower is None or upper is None or step is None or step <= 0:
                product *= _ITERATIONS
            else:
                product *= max(0, -((lower - upper) // step))
        return product


def elements(op: Op) -> int:
    """Elements of the largest tile or register that an instruction works on."""
    sizes = [0]
    for value in (*op.values, *op.results):
        if isinstance(value.type, TileSpec):
            sizes.append(value.type.numel)
        elif isinstance(value.type, VReg):
            sizes.append(value.type.lanes)
    return max(sizes)
