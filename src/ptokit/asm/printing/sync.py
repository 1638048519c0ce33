"""The sync form: instructions without ``pto.``, tiles and parts of memory as the manual writes them (assembly 5).

| level 2 | sync form |
|---|---|
| ``pto.tadd ins(%a, %b : T, T) outs(%d : T)`` | ``tadd %d, %a, %b : (T, T, T)`` |
| the same, where it is the first to use ``%d = pto.alloc_tile : T`` | ``%d = tadd %a, %b : (T, T) -> T`` |
| a load of ``%v = pto.partition_view %g, ..``, as large as %t | ``%t = tload %g[%i, %j] : (G, index, index) -> T`` |
| ``%u = pto.tassign %t, %a : T -> T``, the only use of %t | ``tassign %t, %a : T, i64``; %t names the result |
| ``pto.tsync ins(%a, %b : T, T)`` | ``tsync %a, %b : T, T`` |

Operations with a text of their own keep it. An instruction that writes something other than tiles and memory is
written with ``ins`` and ``outs``, and so is one whose statement would be read as something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Instr, Kind, Role
from ptokit.types.values import MemRef, PartitionView, TensorView

from ..forms.operands import DPS_WORDS, first_source
from .instructions import lacks_scratch, obstacle, print_dps, print_statement
from .printer import INDENT, FunctionPrinter, print_module
from .values import Copier, ValueTile

Part = tuple[Value, Sequence[Value]]
"""A tensor and the indices of a part of it."""


def print_sync(module: Module) -> str:
    """The module in the sync form."""
    plans: dict[str, _Plan] = {}
    functions = []
    for function in module.functions:
        copy = Copier(function).copy()
        plans[copy.name] = _Plan(copy)
        functions.append(copy)
    return print_module(replace(module, functions=functions), lambda f: _Printer(f, plans[f.name]))


class _Plan:
    """What is folded into the statements of a function: allocations, parts of memory, assignments of addresses."""

    def __init__(self, function: Function) -> None:
        self.users: dict[Value, list[Op]] = {}
        self.results: dict[Op, Value] = {}  # instructions that name a tile they are the first to use
        self.parts: dict[Value, Part] = {}  # partitions that stand in the statement that uses them
        self.moved: set[Op] = set()  # operations that are not printed by themselves
        self.supplied: dict[Op, str] = {}  # operands that reading supplies again
        self.assigned: dict[Value, Value] = {}  # results of tassign by what they are named after
        if function.body is not None:
            for op in function.body.walk():
                for value in op.values:
                    self.users.setdefault(value, []).append(op)
            self._region(function.body)
            self._constants(function.body)

    def _constants(self, body: Block) -> None:
        """Constants that say no more than how large a part is go with it."""
        needed: set[Value] = set()
        for op in body.walk():
            if op in self.moved:
                needed.update(v for name in ("source", "offsets") for v in op.group(name))
            else:
                needed.update(op.values)
        for op in body.walk():
            if op.name == "arith.constant" and op.result in self.users and op.result not in needed:
                self.moved.add(op)

    def _region(self, region: Block) -> None:
        for block in region.blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        order = {op: k for k, op in enumerate(block.ops)}
        for op in block.ops:
            if op.name == "pto.alloc_tile":
                self._allocation(op, order)
            elif op.name == "pto.partition_view":
                self._partition(op, order)
            elif op.name == "pto.tassign" and len(self.users[op["tile"]]) == 1 and not op.attrs:
                self.assigned[op.result] = op["tile"]
            elif (instr := instr_of(op)) is not None and instr.form.syntax in DPS_WORDS:
                self._scratch(op, instr)
            for region in op.regions:
                self._region(region)

    def _allocation(self, op: Op, order: dict[Op, int]) -> None:
        """Fold an allocation into the first instruction that uses the tile, if that writes it."""
        tile, users = op.result, self.users.get(op.result, [])
        spec = tile.type.spec if isinstance(tile.type, ValueTile) else None
        first = users[0] if users else None
        instr = instr_of(first) if first is not None else None
        if (
            op.get("addr") is not None
            or spec is None
            or spec.dynamic
            or op.attrs
            or first not in order
            or instr is None
        ):
            return
        written = [o for o in instr.outs if first.get(o.name) is not None]
        plain = [o.role for o in written] == [Role.OUT] and written[0].kind is Kind.TILE
        plain = plain and instr.form.syntax in DPS_WORDS and _states(first, instr, destinations=False)
        if plain and first.values.count(tile) == 1 and first.get(written[0].name) is tile and first.get("acc") is None:
            self.results[first] = tile
            self.moved.add(op)

    def _scratch(self, op: Op, instr: Instr) -> None:
        """Leave out a scratch tile that is there for one instruction only and that reading supplies (rule 5)."""
        if instr.supplied is None or obstacle(op, instr, destinations=True):
            return
        scratch, source = op.get(instr.supplied.name), first_source(instr, op.operands)
        owner = scratch.owner if scratch is not None else None
        if not isinstance(owner, Op) or owner.name != "pto.alloc_tile" or owner.operands or owner.attrs:
            return
        if source is not None and scratch is not None and source.type == scratch.type and self.users[scratch] == [op]:
            self.supplied[op] = instr.supplied.name
            self.moved.add(owner)

    def _partition(self, op: Op, order: dict[Op, int]) -> None:
        """Fold a partition into the only statement that uses it, if that would take the same part."""
        users = self.users.get(op.result, [])
        if len(users) != 1 or users[0] not in order or op.attrs:
            return
        user = users[0]
        instr = instr_of(user)
        if (
            instr is None
            or instr.form.syntax not in DPS_WORDS
            or any(o.variadic or Kind.TILE in o.also for o in instr.operands)
        ):
            return
        if not _states(user, instr, destinations=True):
            return
        tile = user.get("dst") if user.get("src") is op.result else user.get("src")
        view = op["source"].type
        spec = tile.type.spec if tile is not None and isinstance(tile.type, ValueTile) else None
        if spec is None or spec.dynamic or not isinstance(view, (TensorView, MemRef)):
            return
        valid = [spec.valid_row, spec.valid_col]
        rank = len(view.dims)
        sizes = [_constant(v) for v in op.group("sizes")]
        wanted = [*([1] * (rank - 2)), *valid[-min(rank, 2) :]]
        if (
            sizes == wanted
            and (rank > 1 or valid[0] == 1)
            and op.result.type == PartitionView(tuple(wanted), view.dtype)
        ):
            self.parts[op.result] = (op["source"], op.group("offsets"))
            self.moved.add(op)


def _states(op: Op, instr: Instr, *, destinations: bool) -> bool:
    """True if a statement says what the operation is, no more and no less."""
    return not lacks_scratch(op, instr) and not obstacle(op, instr, destinations=destinations)


def _constant(value: Value) -> int | None:
    owner = value.owner
    found = owner.attrs.get("value") if isinstance(owner, Op) and owner.name == "arith.constant" else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


class _Printer(FunctionPrinter):
    """Prints one function."""

    def __init__(self, function: Function, plan: _Plan) -> None:
        super().__init__(function)
        self.plan = plan

    def op(self, op: Op, depth: int) -> None:
        if op in self.plan.moved:
            return
        if op.name == "pto.tassign" and op.result in self.plan.assigned:
            tile, addr = op["tile"], op["addr"]
            text = f"tassign {self.names(tile)}, {self.names(addr)} : {tile.type}, {addr.type}"
            self.names.share(op.result, tile)
            self.lines.append(INDENT * depth + text)
            return
        super().op(op, depth)

    def instruction(self, op: Op, instr: Instr) -> str:
        name = instr.shown
        if instr.text == "tsync" and op.values and not op.attrs:
            types = ", ".join(str(v.type) for v in op.values)
            return f"{name} {', '.join(map(self.names, op.values))} : {types}"
        if instr.form.syntax not in DPS_WORDS:
            return super().instruction(op, instr)
        tile = self.plan.results.get(op)
        others = [o for o in instr.outs if o.kind not in (Kind.TILE, Kind.VIEW) and op.get(o.name) is not None]
        if others or not instr.ins or not (tile is not None or _states(op, instr, destinations=True)):
            return name + print_dps(op, instr, self.names)
        if op in self.plan.supplied:
            op = replace(op, operands={k: v for k, v in op.operands.items() if k != self.plan.supplied[op]})
        if tile is None:
            return name + print_statement(op, instr, self.names, destinations=True, parts=self.plan.parts)
        text = name + print_statement(op, instr, self.names, results=[tile], parts=self.plan.parts)
        return self.results([tile]) + text
