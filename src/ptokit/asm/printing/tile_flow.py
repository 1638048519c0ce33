"""Where tiles are written, read and renamed: what must be known to see them as values (assembly 5, rule 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from ptokit.ir import Block, Function, Op, Value
from ptokit.ir.control import control_of, edges, is_call
from ptokit.ir.facts import Facts, instr_of
from ptokit.isa.operands import BITS
from ptokit.isa.site import TileInfo, known
from ptokit.isa.table import Instr, Kind, Role
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.tile import TileSpec

from ..forms.operands import DPS_WORDS


def is_tile(value: Value | None) -> bool:
    """True if the value is a tile."""
    return value is not None and isinstance(value.type, TileSpec)


def statement_of(op: Op) -> Instr | None:
    """The table entry of a tile instruction in destination passing style; None for other operations."""
    instr = instr_of(op)
    return instr if instr is not None and instr.form.syntax in DPS_WORDS else None


@dataclass
class Summary:
    """Of a block or operation: tiles it reads before it has written them, surely writes, perhaps writes."""

    reads: set[Value] = field(default_factory=set)
    kills: set[Value] = field(default_factory=set)
    writes: set[Value] = field(default_factory=set)

    def then(self, other: Summary) -> None:
        """Add the reads and writes of what follows in the text."""
        self.reads |= other.reads - self.kills
        self.kills |= other.kills
        self.writes |= other.writes


class Flow:
    """The tiles of one function."""

    def __init__(self, function: Function, target: Target) -> None:
        self.facts = Facts(function)
        self.target = target
        self.number: dict[Value, int] = {}  # tiles in order of their definitions
        self._parent: dict[Value, Value] = {}
        self._members: dict[Value, list[Value]] = {}
        self._blocks: dict[int, Summary] = {}
        self._values: set[Value] = set()  # tiles that an instruction writes something else than a mask to
        assert function.body is not None
        for value in function.params:
            self._see(value)
        self._visit(function.body)

    # ------------------------------------------------------------------ groups

    def group(self, tile: Value) -> list[Value]:
        """Tiles that may share its memory, itself among them."""
        return self._members.get(self._root(tile), [tile])

    def _see(self, value: Value) -> None:
        if is_tile(value) and value not in self.number:
            self.number[value] = len(self.number)

    def _root(self, value: Value) -> Value:
        while value in self._parent:
            value = self._parent[value]
        return value

    def _join(self, a: Value, b: Value) -> None:
        if not (is_tile(a) and is_tile(b)):
            return
        x, y = self._root(a), self._root(b)
        if x is not y:
            self._parent[y] = x
            self._members[x] = self._members.pop(x, [x]) + self._members.pop(y, [y])

    def _visit(self, block: Block) -> None:
        for arg in block.args:
            self._see(arg)
        for op in block.ops:
            for region in op.regions:
                self._visit(region)
            for result in op.results:
                self._see(result)
            self._connect(op)

    def _connect(self, op: Op) -> None:
        """Join what an operation passes on, and note what it writes."""
        instr = statement_of(op)
        for operand in () if instr is None else instr.outs:
            if operand.type != BITS:
                self._values.update(v for v in op.group(operand.name) if is_tile(v))
        if not op.regions and instr is None and not is_call(op):
            for result in op.results:
                for value in op.values:
                    self._join(value, result)
        for edge in edges(op):
            for value, taken in zip(edge.given, edge.taken):
                self._join(taken, value)

    # ----------------------------------------------------------------- summary

    def block(self, block: Block) -> Summary:
        """Which tiles defined outside a block the block reads and writes."""
        known_summary = self._blocks.get(id(block))
        if known_summary is None:
            known_summary = self._blocks[id(block)] = Summary()
            for op in block.ops:
                known_summary.then(self.op(op))
            known_summary.reads.difference_update(block.args, *(op.results for op in block.ops))
        return known_summary

    def op(self, op: Op) -> Summary:
        """What an operation does, with its regions."""
        if not op.regions:
            return self._plain(op)
        out = Summary({v for v in op.values if is_tile(v)})
        parts = [self.block(r) for r in op.regions]
        for part in parts:
            out.writes |= part.writes
        first = {edge.to for edge in control_of(op).entered(op)}
        if None not in first:
            out.kills = set.intersection(*(part.kills for region, part in zip(op.regions, parts) if region in first))
        for region, part in zip(op.regions, parts):
            out.reads |= part.reads if region in first else part.reads - out.kills
        return out

    def _plain(self, op: Op) -> Summary:
        instr = statement_of(op)
        if instr is None:
            return Summary({v for v in op.values if is_tile(v)})
        out = Summary()
        for operand in instr.operands:
            for value in op.group(operand.name):
                if not is_tile(value):
                    continue
                if operand.role in (Role.OUT, Role.INOUT):
                    out.writes.add(value)
                if operand.role is Role.SCRATCH or (operand.role is Role.OUT and self.covers(op, operand.name)):
                    out.kills.add(value)
                else:
                    out.reads.add(value)
        return out

    # ---------------------------------------------------------------- coverage

    def covers(self, op: Op, operand: str) -> bool:
        """True if the instruction writes the whole valid region of a destination, whatever the sizes at run time are.

        Sizes that only the run knows are tried as numbers, different ones for different values, in both orders: the
        largest that the tiles have room for, and the least.
        """
        return all(self._covers(op, operand, order, least) for order in (1, -1) for least in (False, True))

    def _covers(self, op: Op, operand: str, order: int, least: bool) -> bool:
        site = self.facts.site(op, self.target, text=True)
        if site is None:
            return False
        sizes = list(dict.fromkeys(self._open_sizes(op)))[::order]
        infos: dict[str, Any] = dict(site.operands)

        def tried(limit: int, size: object) -> int:
            place = sizes.index(size)
            return min(1 + place, limit) if least else max(1, limit - place)

        for name, value in op.operands.items():
            info = infos.get(name)
            if isinstance(value, Value) and isinstance(info, TileInfo):
                rows, cols = (
                    size if known(size) else tried(limit, self._size(value, dim))
                    for size, limit, dim in (
                        (info.vr, info.spec.rows, "valid_row"),
                        (info.vc, info.spec.cols, "valid_col"),
                    )
                )
                infos[name] = replace(info, vr=rows, vc=cols)
        site = replace(site, operands=infos)
        wanted = infos[operand]
        if site.instr.operand(operand).type == BITS and not self._values.isdisjoint(self.group(op[operand])):
            compared = infos[site.instr.typed_operand]
            if wanted.vc * wanted.dtype.bits > compared.vc:  # what the tile held beyond the mask stays
                return False
        try:
            accesses = list(site.instr.footprint(site))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return False  # the operands break rules of the instruction
        return any(
            a.operand == operand and a.write and a.row == 0 == a.col and a.rows >= wanted.vr and a.cols >= wanted.vc
            for a in accesses
            if not a.kept
        )

    def overwritten(self, op: Op, instr: Instr) -> Value | None:
        """A source that an instruction writes, as some do on some targets."""
        site = self.facts.site(op, self.target, text=True)
        try:
            written = {a.operand for a in instr.footprint(site) if a.write} if site is not None else set()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None  # the operands break rules of the instruction
        sources = (op.get(o.name) for o in instr.operands if o.role is Role.IN and o.name in written)
        return next((value for value in sources if value is not None and is_tile(value)), None)

    def _open_sizes(self, op: Op) -> Iterator[object]:
        for value in op.values:
            if is_tile(value):
                yield self._size(value, "valid_row")
                yield self._size(value, "valid_col")

    @staticmethod
    def _size(tile: Value, dim: str) -> object:
        """What decides a valid size that the type leaves open: the value it is allocated with, or the tile itself."""
        owner = tile.owner
        given = owner.get(dim) if isinstance(owner, Op) and owner.name == "pto.alloc_tile" else None
        return (tile, dim) if given is None else given


def tile_destinations(op: Op, instr: Instr) -> list[tuple[str, Role, Value]]:
    """Tiles an instruction writes, in text order: operand, role, value."""
    return [(o.name, o.role, op[o.name]) for o in instr.outs if o.kind is Kind.TILE and is_tile(op.get(o.name))]
