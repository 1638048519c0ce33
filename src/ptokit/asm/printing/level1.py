"""Level 1: from tiles that are written to tiles that are values (assembly 5, rule 1).

Every instruction gets a result of its own, and later uses of the tile it wrote use that. A tile that a loop or branch
writes and later code reads is carried by it. What is changed in place (accumulators, tinsert) stays so: the result
names the same tile. What level 1 cannot express is reported, each with its place (`ptokit.asm.printing.values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ptokit.diagnostics import Diagnostics, Note, Rule
from ptokit.ir import Block, Function, Module, Op, Operands, Value
from ptokit.ir.control import control_of, ends, is_loop, yield_of
from ptokit.ir.facts import instr_of
from ptokit.ir.functions import ARCH, target_named
from ptokit.isa.check import broken_rules
from ptokit.isa.site import TileInfo
from ptokit.isa.table import Instr, Kind, Role
from ptokit.targets import Target
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import Type

from ..forms.operands import DPS_WORDS, first_source
from . import values as rules
from .instructions import lacks_scratch, obstacle, print_statement
from .printer import FunctionPrinter, print_module
from .tile_flow import Flow, is_tile, statement_of, tile_destinations
from .values import Copier

# From tiles that are written to tiles that are values: level 2 as level 1 (assembly 5, rule 1).


_NUMBERED = re.compile(r"(?:_\d+)+\Z", re.ASCII)
_MAKERS = ("pto.alloc_tile", "pto.declare_tile")
_ADDRESSED = ("pto.tassign", "pto.tile_buf_addr")
_SIZES = ("valid_row", "valid_col")

Size = int | Value | None
"""A valid size: a number, the value that gives it, or unknown."""


def to_values(function: Function, target: Target, found: Diagnostics) -> Function:
    """A copy of a function with a body, as level 1 has it. What cannot be expressed is added to `found`."""
    return _ToValues(function, target, found).copy()


class _ToValues(Copier):
    """Converts one function."""

    def __init__(self, function: Function, target: Target, found: Diagnostics) -> None:
        super().__init__(function)
        self.flow = Flow(function, target)
        self.found = found
        self.now: dict[Value, Value | None] = {}  # the value of each visible tile; None: changed under another name
        self.start: dict[Value, Value] = {}  # the value of an allocated tile that nothing has written
        self.sizes: dict[Value, tuple[Size, Size]] = {}  # valid sizes of the new values
        self.records = _records(function)  # constants that are there to be written: results of level 1
        self.after: set[Value] = set()  # tiles read after the block being filled
        self.live: dict[Op, set[Value]] = {}  # tiles read after an operation with regions

    def error(self, rule: Rule, message: str, op: Op, about: Value | None = None, hint: str | None = None) -> None:
        notes = (Note(f"%{about.name} is defined here", about.location),) if about is not None else ()
        self.found.error(rule.id, message, op.location, hint=hint, notes=notes)

    # ------------------------------------------------------------------ values

    def copy(self) -> Function:
        new = super().copy()
        assert new.body is not None
        used = _used(new.body)
        idle = {op.result for op in new.body.walk() if op.name in _MAKERS} - used
        self._prune(new.body, idle)
        still = _used(new.body)
        assert self.function.body is not None
        before = {self.copies[v] for v in _used(self.function.body) if v in self.copies}
        self._prune(
            new.body,
            {op.result for op in new.body.walk() if op.name == "arith.constant" and op.result in before - still},
        )
        return new

    def _prune(self, block: Block, idle: set[Value]) -> None:
        """Drop allocations of tiles that are only written, and constants that only these needed."""
        block.ops[:] = [op for op in block.ops if idle.isdisjoint(op.results)]
        for op in block.ops:
            for region in op.regions:
                self._prune(region, idle)

    @staticmethod
    def value(type: Type, like: Value) -> Value:
        """A new value; tiles are named after the tile without the number that made its name unique."""
        copy = Copier.value(type, like)
        if isinstance(type, TileSpec):
            base = _NUMBERED.sub("", like.name)
            copy.name = f"t{base}" if not base or base.isdigit() else base
        return copy

    def define(self, value: Value) -> Value:
        copy = super().define(value)
        if is_tile(value):
            self.now[value] = copy
            self.sizes[copy] = self._own_sizes(value)
        return copy

    def _own_sizes(self, tile: Value) -> tuple[Size, Size]:
        """Valid sizes of a tile as it is defined."""
        owner = tile.owner
        given = owner if isinstance(owner, Op) and owner.name == "pto.alloc_tile" else None
        assert isinstance(tile.type, TileSpec)
        row, col = (
            size if size != DYNAMIC else self._size(given.get(name) if given is not None else None)
            for size, name in zip((tile.type.valid_row, tile.type.valid_col), _SIZES)
        )
        return row, col

    def _size(self, value: Value | None) -> Size:
        number = self.flow.facts.constants.get(value) if value is not None else None
        return number if isinstance(number, int) else value

    def use(self, value: Value, op: Op) -> Value:
        if not is_tile(value):
            return self.copies[value]
        now = self.now.get(value)
        if now is None:
            self.error(
                rules.ALIAS,
                f"%{value.name} is read here, but its memory has been written under another name since",
                op,
                value,
                "write and read the tile under one name",
            )
            return self.copies[value]
        return now

    # -------------------------------------------------------------- operations

    def fill(self, block: Block, source: Block) -> Block:
        live = set(self.after)
        for op in reversed(source.ops):
            if op.regions:
                self.live[op] = set(live)
            summary = self.flow.op(op)
            live -= summary.kills
            live |= summary.reads
        return super().fill(block, source)

    def op(self, op: Op) -> None:
        if len(op.results) == 1 and op.result in self.records:
            return
        instr = instr_of(op)
        statement = statement_of(op)
        if op.regions:
            self._control(op)
        elif statement is not None:
            self._statement(op, statement)
        else:
            if op.name in _ADDRESSED or (op.name in _MAKERS and op.get("addr") is not None):
                what = "gives a tile an address" if op.name != "pto.tile_buf_addr" else "asks for an address"
                self.error(rules.ADDRESS, f"{op.name} {what}, which level 1 does not have", op)
            elif instr is not None and instr.order.only:
                self.error(rules.ORDER, f"{op.name} states an order, which level 1 does not have", op)
            elif instr is not None:
                self._in_place(op, instr)
            super().op(op)
            if op.name in _MAKERS:
                self.start[op.result] = self.copies[op.result]

    def _in_place(self, op: Op, instr: Instr) -> None:
        for operand in instr.operands:
            value = op.get(operand.name)
            if value is None or not is_tile(value) or operand.role not in (Role.OUT, Role.INOUT):
                continue
            if op.name == "pto.set_validshape":
                self.error(rules.VALID, f"the valid sizes of %{value.name} change here", op, value)
            else:
                self.error(rules.PLACE, f"{op.name} writes %{value.name} in place", op, value)

    def _statement(self, op: Op, instr: Instr) -> None:
        """A tile instruction: its destinations become results."""
        if reason := obstacle(op, instr, destinations=False):
            self.error(rules.FORM, f"{op.name} {reason}: level 1 has no text for it", op)
        elif broken := self._broken_by_scratch(op, instr):
            message = f"{op.name} has no scratch tile, and the one that reading supplies breaks {broken}"
            self.error(rules.FORM, f"{message}: level 1 has no text for it", op)
        elif (source := self.flow.overwritten(op, instr)) is not None:
            self.error(rules.PLACE, f"{op.name} computes in its source %{source.name}", op, source)
        operands: Operands = {}
        for operand in instr.operands:
            given = op.operands.get(operand.name)
            in_tile = operand.kind is Kind.TILE and is_tile(op.get(operand.name))
            if given is None or (in_tile and operand.role is Role.OUT) or op.get(operand.name) in self.records:
                continue
            if operand.role in (Role.OUT, Role.INOUT) and operand.kind not in (Kind.VIEW, Kind.GROUP) and not in_tile:
                self.error(rules.FORM, f"{op.name} writes %{op[operand.name].name}, which is no tile", op)
            elif isinstance(given, list):
                operands[operand.name] = [self.use(v, op) for v in given]
            elif operand.role is not Role.SCRATCH or not is_tile(given):
                operands[operand.name] = self.use(given, op)
            elif not self._supplied(op, instr, given):
                alone = _alone(op, instr, given)
                operands[operand.name] = self.start[given] if alone and given in self.start else self.use(given, op)
        results = [self._result(op, name, role, tile) for name, role, tile in tile_destinations(op, instr)]
        records = [r for o in instr.outs if (r := op.get(o.name)) in self.records and r is not None]
        self._inferred(op, instr, operands)
        for operand in instr.operands:
            scratch = op.get(operand.name) if operand.role is Role.SCRATCH else None
            if scratch is not None and scratch in self.start:
                self.now[scratch] = self.start[scratch]
        for (_, _, tile), result in zip(tile_destinations(op, instr), results):
            for other in self.flow.group(tile):
                later = tile not in self.start or self.flow.number[other] > self.flow.number[tile]
                if other is not tile and later and other in self.now:
                    self.now[other] = None
            self.now[tile] = result
        results += [self.value(record.type, record) for record in records]
        self.ops.append(Op(op.name, operands, op.attrs, results, [], op.location))

    def _broken_by_scratch(self, op: Op, instr: Instr) -> str:
        """The rule that the scratch tile breaks which reading supplies where the operation has none."""
        source = first_source(instr, op.operands)
        site = self.flow.facts.site(op, self.flow.target, text=True)
        if not lacks_scratch(op, instr) or source is None or site is None or instr.supplied is None:
            return ""
        tile = TileInfo.static(instr.supplied.name, source.type)  # type: ignore[arg-type]
        supplied = replace(site, operands={**site.operands, instr.supplied.name: tile})
        before = {b.rule.id for b in broken_rules(site)}
        return next((b.rule.id for b in broken_rules(supplied) if b.rule.id not in before), "")

    def _supplied(self, op: Op, instr: Instr, scratch: Value) -> bool:
        """True if reading the text supplies the same scratch tile (rule 5)."""
        source = first_source(instr, op.operands)
        if instr.supplied is None or source is None or not _alone(op, instr, scratch):
            return False
        static = isinstance(source.type, TileSpec) and not source.type.dynamic
        return static and source.type == scratch.type and scratch in self.start

    def _result(self, op: Op, name: str, role: Role, tile: Value) -> Value:
        """The value of a tile that is written."""
        held = op.get("acc")
        if tile in self.function.params:
            self.error(
                rules.PLACE, f"%{tile.name}, a parameter, is written", op, tile, "write a tile of the function's own"
            )
        elif held is not None and held is not tile and held.type == tile.type:
            self.error(
                rules.PLACE, f"{op.name} adds to %{held.name} but writes %{tile.name}: level 1 adds in place", op, held
            )
        elif role is Role.OUT and held is not tile:
            fresh = self.now.get(tile) is self.start.get(tile, tile)
            if not fresh and not self.flow.covers(op, name):
                message = f"{op.name} writes a part of %{tile.name} and leaves the rest as it is"
                self.error(rules.PARTIAL, message, op, tile, "use another tile")
        result = self.value(tile.type, tile)
        start = self.start.get(tile)
        self.sizes[result] = self.sizes[start] if start is not None else self._own_sizes(tile)
        return result

    def _inferred(self, op: Op, instr: Instr, operands: Operands) -> None:
        """Sizes that the type of a result leaves open are those reading finds."""
        tiles = [
            tile for _, role, tile in tile_destinations(op, instr) if role is Role.OUT and op.get("acc") is not tile
        ]
        for tile in tiles:
            assert isinstance(tile.type, TileSpec)
            if not tile.type.dynamic:
                continue
            source = first_source(instr, operands)
            found = self.sizes.get(source, (None, None)) if source is not None else self._sizes_of_view(op, instr)
            start = self.start.get(tile)
            wanted = self.sizes[start] if start is not None else (None, None)
            for stated, size, other in zip((tile.type.valid_row, tile.type.valid_col), wanted, found):
                if stated == DYNAMIC and (size is None or size != other):
                    self.error(
                        rules.VALID,
                        f"no source of {op.name} has the valid sizes of %{tile.name}, which its type leaves open",
                        op,
                        tile,
                    )
                    break

    def _sizes_of_view(self, op: Op, instr: Instr) -> tuple[Size, Size]:
        for operand in instr.ins:
            value = op.get(operand.name)
            owner = value.owner if value is not None else None
            if operand.kind is Kind.VIEW and isinstance(owner, Op) and owner.name == "pto.partition_view":
                row, col = [1, *(self._size(v) for v in owner.group("sizes"))][-2:]
                return row, col
        return None, None

    # ----------------------------------------------------------------- control

    def _control(self, op: Op) -> None:
        if control_of(op).carries:
            self._loop(op)
        else:
            self._branches(op)

    def _carried(self, wanted: Iterable[Value], among: set[Value]) -> list[Value]:
        """Tiles of outside that are written inside and needed later, in the order of their definitions."""
        return sorted((t for t in wanted if t in self.now and t in among), key=self.flow.number.__getitem__)

    def _begin(self, source: Block, carried: Sequence[Value], after: set[Value]) -> Block:
        """The copy of a region that takes carried tiles as further arguments."""
        block = Block([self.define(a) for a in source.args])
        for tile in carried:
            block.args.append(self._bind(tile))
        self.after, before = after, self.after
        self.fill(block, source)
        self.after = before
        return block

    def _bind(self, tile: Value) -> Value:
        """A new value for a tile that arrives as an argument or result."""
        value = self.now[tile] = self.value(tile.type, tile)
        assert isinstance(tile.type, TileSpec)
        row, col = (None if size == DYNAMIC else size for size in (tile.type.valid_row, tile.type.valid_col))
        self.sizes[value] = (row, col)
        return value

    def _pass(self, block: Block, carried: Sequence[Value], op: Op) -> None:
        """Append the carried tiles to what a region passes on."""
        if not carried:
            return
        if not ends(block):
            block.ops.append(yield_of(op.location))
        block.ops[-1].group("values").extend(self.use(t, op) for t in carried)

    def _end(self, op: Op, operands: Operands, blocks: list[Block], carried: Sequence[Value]) -> None:
        results = [self.define(r) for r in op.results] + [self._bind(t) for t in carried]
        self.ops.append(Op(op.name, operands, op.attrs, results, blocks, op.location))

    def _leave(self, before: dict[Value, Value | None], ends: Sequence[dict[Value, Value | None]]) -> None:
        """Outside again: what some way through has changed under another name stays so."""
        self.now = {t: None if any(end.get(t) is None for end in ends) else value for t, value in before.items()}

    def _iterations(self, op: Op, before: dict[Value, Value | None], reads: set[Value]) -> None:
        """A loop's next iteration reads nothing that this one has changed under another name."""
        for tile in sorted(reads, key=self.flow.number.__getitem__):
            if before.get(tile) is not None and self.now.get(tile) is None:
                self.error(
                    rules.ALIAS,
                    f"a later iteration reads %{tile.name}, whose memory this one writes under another name",
                    op,
                    tile,
                )

    def _loop(self, op: Op) -> None:
        """Its regions run one after the other, and again."""
        after = self.live[op]
        inside = [self.flow.block(region) for region in op.regions]
        reads = set[Value]().union(*(each.reads for each in inside))
        carried = self._carried(set[Value]().union(*(each.writes for each in inside)), reads | after)
        operands, init = self.operands(op), control_of(op).carries
        operands[init] = [*op_group(operands, init), *(self.use(t, op) for t in carried)]
        before = dict(self.now)
        blocks: list[Block] = []
        at_ends: list[dict[Value, Value | None]] = []
        for region in op.regions:
            blocks.append(self._begin(region, carried, after | reads))
            self._pass(blocks[-1], carried, op)
            at_ends.append(dict(self.now))
        self._iterations(op, before, reads)
        self._leave(before, at_ends)
        self._end(op, operands, blocks, carried)

    def _branches(self, op: Op) -> None:
        """One of the regions runs, or the only one."""
        after = self.live[op]
        writes = set[Value]().union(*(self.flow.block(r).writes for r in op.regions))
        carried = self._carried(writes, after)
        operands = self.operands(op)
        if carried and (is_loop(op) or not control_of(op).ends):
            for tile in carried:
                message = f"{op.name} writes %{tile.name}, which is read after it"
                self.error(rules.PLACE, message, op, tile, "read it inside, or write it outside")
            carried = []
        before = dict(self.now)
        blocks: list[Block] = []
        at_ends: list[dict[Value, Value | None]] = []
        for region in op.regions:
            self.now = dict(before)
            blocks.append(self._begin(region, (), after))
            self._pass(blocks[-1], carried, op)
            at_ends.append(self.now)
        if carried and any(edge.to is None for edge in control_of(op).entered(op)):  # it may pass over the regions
            self.now = dict(before)
            blocks.append(Block())
            self._pass(blocks[-1], carried, op)
            at_ends.append(self.now)
        self._leave(before, at_ends)
        self._end(op, operands, blocks, carried)


def _alone(op: Op, instr: Instr, scratch: Value) -> bool:
    """True if a scratch tile is not read by the same instruction."""
    read = [v for o in instr.operands if o.role is not Role.OUT for v in op.group(o.name)]
    return read.count(scratch) == 1


def _used(body: Block) -> set[Value]:
    return {value for op in body.walk() for value in op.values}


def op_group(operands: Operands, name: str) -> list[Value]:
    """The list of operands with this name."""
    value = operands.get(name)
    return value if isinstance(value, list) else []


def _records(function: Function) -> set[Value]:
    """Constants that instructions write a record of counts to, and nothing reads."""
    written: set[Value] = set()
    read: set[Value] = set()
    assert function.body is not None
    for op in function.body.walk():
        instr = instr_of(op)
        records = [o.name for o in instr.outs if o.kind is Kind.RECORD] if instr is not None else []
        written.update(v for name in records for v in op.group(name))
        read.update(v for name in op.operands if name not in records for v in op.group(name))
    return {v for v in written - read if isinstance(v.owner, Op) and v.owner.name == "arith.constant"}


# Level 1: tile instructions with results, no tile written in place (assembly 5).


def print_ssa(module: Module) -> tuple[str | None, Diagnostics]:
    """The module as level 1, or None and what level 1 cannot express of it."""
    found = Diagnostics()
    target = target_named(module.attrs.get(ARCH))
    for op in (op for f in module.functions if f.body is not None for op in f.body.walk() if op.successors):
        found.error(rules.BRANCH.id, f"{op.name} cannot be written at level 1", op.location, hint="use scf operations")
    if found.errors:
        return None, found
    functions = [Copier(f).copy() if f.body is None else to_values(f, target, found) for f in module.functions]
    text = None if found.errors else print_module(replace(module, functions=functions), _Printer)
    return text, found


class _Printer(FunctionPrinter):
    def instruction(self, op: Op, instr: Instr) -> str:
        if instr.form.syntax not in DPS_WORDS:
            return super().instruction(op, instr)
        return f"pto.{instr.shown}" + print_statement(op, instr, self.names)
