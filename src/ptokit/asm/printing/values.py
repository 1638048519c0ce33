"""Names and types of values in printed text, and copies of a program with those of level 1 (assembly 5)."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import Rule, Scope, define
from ptokit.ir import Block, Function, Op, Operands, Value
from ptokit.ir.core import ordered
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import Opaque, Type

# Names of values in printed text: as the author wrote them, made unique where necessary.


_VALID = re.compile(r"(?:\d+|[A-Za-z_$.\-][\w$.\-]*)\Z", re.ASCII)
_LABEL = re.compile(r"[\w$.\-]+\Z", re.ASCII)
_GROUP = re.compile(r"(.+)#(\d+)\Z", re.ASCII)
_WRONG = re.compile(r"[^\w$.]", re.ASCII)


class Names:
    """Gives each value of a function its name; names of a region are free again after it."""

    def __init__(self, function: Function) -> None:
        self._names: dict[int, str] = {}
        self._visible: set[str] = set()
        self._regions: list[list[str]] = [[]]
        self._reserved = _written(function)
        self._next = 0
        self._blocks: dict[int, str] = {}

    def enter(self) -> None:
        self._regions.append([])

    def leave(self) -> None:
        self._visible.difference_update(self._regions.pop())

    def announce(self, region: Block) -> None:
        """Name what the blocks of a region define before they are printed: some may use it before, in the text."""
        self._labels(region)
        for block in region.blocks:
            for arg in block.args:
                self.define(arg)
            for op in block.ops:
                self.results(op.results)

    def _labels(self, region: Block) -> None:
        """Choose the names of the blocks: the author's where they are unique."""
        taken: set[str] = set()
        numbers = itertools.count(1)
        for block in region.blocks:
            name = block.label
            if not _LABEL.match(name) or name in taken:
                name = "bb0" if block is region else next(n for k in numbers if (n := f"bb{k}") not in taken)
            taken.add(name)
            self._blocks[id(block)] = name

    def label(self, block: Block) -> str:
        """Name of a block, with ``^``."""
        return "^" + self._blocks.get(id(block), block.label or "bb0")

    def results(self, results: list[Value]) -> str:
        """``%a, %b = ``; empty without results. Defines their names."""
        if not results:
            return ""
        base = group_base(results)
        if base is not None:
            return f"{self.define_group(base, results)}:{len(results)} = "
        return ", ".join(map(self.define, results)) + " = "

    def define(self, value: Value) -> str:
        """Choose the name of a value, with ``%``, unless it has been announced."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = f"%{self._unique(value.name)}"
        self._names[id(value)] = name
        return name

    def define_group(self, base: str, values: list[Value]) -> str:
        """Choose the name of a group of results, with ``%`` and without ``#``."""
        known = self._names.get(id(values[0]))
        if known is not None:
            return known.partition("#")[0]
        name = self._unique(base)
        for k, value in enumerate(values):
            self._names[id(value)] = f"%{name}#{k}"
        return f"%{name}"

    def share(self, value: Value, other: Value) -> None:
        """Let a value have the name of another, which is not used any more."""
        self._names[id(value)] = self(other)

    def __call__(self, value: Value) -> str:
        """Name of a value that was defined; one that was not gets a name that reading refuses."""
        return self._names.get(id(value)) or f"%undefined.{value.name or id(value)}"

    def _unique(self, wanted: str) -> str:
        if not wanted:
            while str(self._next) in self._reserved:
                self._next += 1
            wanted = str(self._next)
            self._next += 1
        elif not _VALID.match(wanted):
            wanted = _WRONG.sub("_", wanted)
            wanted = f"_{wanted}" if wanted[0].isdigit() else wanted
        name, k = wanted, 0
        while name in self._visible:
            name = f"{'_' if wanted.isdigit() else ''}{wanted}_{k}"
            k += 1
        self._visible.add(name)
        self._regions[-1].append(name)
        return name


def head_of(block: Block, names: Names) -> str:
    """``^bb1(%a: T):`` or ``^bb1:``; defines the names of the arguments."""
    shown = ", ".join(f"{names.define(a)}: {a.type}" for a in block.args)
    return f"{names.label(block)}({shown}):" if shown else f"{names.label(block)}:"


def group_base(results: list[Value]) -> str | None:
    """The name a group of results shares (``r`` of ``r#0, r#1``), or None if they have names of their own."""
    base: str | None = None
    for k, value in enumerate(results):
        m = _GROUP.match(value.name)
        if m is None or int(m[2]) != k or base not in (None, m[1]):
            return None
        base = m[1]
    return base


def _written(function: Function) -> set[str]:
    """All names the author gave in a function."""
    out = {v.name for v in function.params}
    stack: list[Block] = [function.body] if function.body is not None else []
    while stack:
        block = stack.pop()
        out.update(v.name for v in block.args)
        stack.extend(block.more)
        for op in block.ops:
            out.update(v.name.partition("#")[0] for v in op.results)
            stack.extend(op.regions)
    return out


# Types as level 1 and the sync form spell them: a tile is ``!pto.tile<..>`` (assembly 5).


_LONG, _SHORT = "!pto.tile_buf<", "!pto.tile<"
_DEFAULT = "vec, "


@dataclass(frozen=True, slots=True)
class ValueTile(Opaque):
    """``!pto.tile<16x16xf32>``; ``spec`` is the same type in level 2."""

    spec: TileSpec


def spelled(type: Type) -> Type:
    """A type as it is written there. Of vector tiles without options the buffer is left out."""
    if not isinstance(type, TileSpec) or not str(type).startswith(_LONG):
        return type
    body = str(type)[len(_LONG) : -1]
    if body.startswith(_DEFAULT) and "," not in body[len(_DEFAULT) :]:
        body = body[len(_DEFAULT) :]
    return ValueTile(f"{_SHORT}{body}>", type)


# A copy of a program whose types are those of level 1 and the sync form; the original stays as it is.


class Copier:
    """Copies one function. Subclasses change what they copy."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.copies: dict[Value, Value] = {}
        self.copied: dict[Block, Block] = {}
        self.ops: list[Op] = []  # of the block being filled

    def copy(self) -> Function:
        """The copy of the function."""
        f = self.function
        params = [self.define(v) for v in f.params]
        results = [spelled(t) for t in f.results]
        body = None
        if f.body is not None:
            body = self.blocks(f.body, params)
        return replace(f, params=params, results=results, body=body)

    def define(self, value: Value) -> Value:
        """The copy of a value where it is defined."""
        copy = self.copies[value] = self.value(value.type, value)
        return copy

    @staticmethod
    def value(type: Type, like: Value) -> Value:
        """A new value named like another."""
        return Value(spelled(type), like.name, None, like.location)

    def use(self, value: Value, op: Op) -> Value:
        """The copy of a value where `op` uses it."""
        return self.copies[value]

    def fill(self, block: Block, source: Block) -> Block:
        """Copy the operations of a block into another."""
        before, self.ops = self.ops, block.ops
        for op in source.ops:
            self.op(op)
        self.ops = before
        return block

    def region(self, source: Block) -> Block:
        """The copy of a region."""
        return self.blocks(source, [self.define(a) for a in source.args])

    def blocks(self, source: Block, args: list[Value]) -> Block:
        """The copy of a region whose arguments have been copied."""
        first = self.copied[source] = Block(args, label=source.label)
        for block in source.more:
            self.copied[block] = Block([self.define(a) for a in block.args], label=block.label)
        for block in ordered(source):  # as they dominate each other, so that what is used has a copy
            self.fill(self.copied[block], block)
        first.more = [self.copied[block] for block in source.more]
        return first

    def operands(self, op: Op) -> Operands:
        """The copies of its operands."""
        out: Operands = {}
        for name, value in op.operands.items():
            if isinstance(value, list):
                out[name] = [self.use(v, op) for v in value]
            else:
                out[name] = None if value is None else self.use(value, op)
        return out

    def op(self, op: Op) -> None:
        """Copy an operation to the block being filled."""
        operands = self.operands(op)
        regions = [self.region(r) for r in op.regions]
        results = [self.define(r) for r in op.results]
        successors = [self.copied[block] for block in op.successors]
        self.ops.append(Op(op.name, operands, op.attrs, results, regions, op.location, successors))


# What level 1 cannot express (assembly 5): its tiles are values, which have no address, no order and never change.


def _rule(id: str, what: str, **more: Any) -> Rule:
    return define(id, what, scope=Scope.TEXT, source="assembly 5", **more)


ADDRESS = _rule(
    "CONVERT-ADDRESS",
    "Level 1 has no addresses: no operation in the text to convert may give a tile one or ask for it.",
    why="At level 1 the compiler places tiles (LV-1). Two tiles at one address would be two values in one memory.",
    example="""
        // ptokit convert --to ssa
        %z = arith.constant 0 : i64
        %t = pto.alloc_tile {|addr = %z }: !pto.tile_buf<vec, 16x16xf32>
    """,
)
ORDER = _rule(
    "CONVERT-ORDER",
    "Level 1 has no flags, barriers, events and tokens: a value is ready when it is used.",
    why="Leaving them out would lose what the program says about order, so they are not left out silently.",
    example="""
        // ptokit convert --to ssa
        %a = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
        {|pto.barrier <PIPE_ALL>
        }pto.tabs ins(%a : !pto.tile_buf<vec, 16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
    """,
)
ALIAS = _rule(
    "CONVERT-ALIAS",
    "At level 1 a tile does not change when another one that shares its memory is written.",
    why="treshape, bitcast and subset name the same memory again; as values the two names part at the next write.",
    example="""
        // ptokit convert --to ssa
        %a = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        {|%b = pto.treshape %a : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, 8x32xf32>
        }pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
        {%b = pto.treshape %a : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, 8x32xf32>
        |}pto.tabs ins(%b : !pto.tile_buf<vec, 8x32xf32>) outs(%b : !pto.tile_buf<vec, 8x32xf32>)
    """,
)
PARTIAL = _rule(
    "CONVERT-PARTIAL",
    "At level 1 an instruction makes its result as a whole: it cannot write a part of a tile that holds data.",
    why="The rest of the new value would be undefined.",
    example="// ptokit convert --to ssa\n"
    "%a = pto.alloc_tile : !pto.tile_buf<vec, 16x8xf32>\n"
    "pto.tload ins(%v : !pto.partition_tensor_view<16x8xf32>) outs(%a : !pto.tile_buf<vec, 16x8xf32>)\n"
    "pto.{tabs|trowsum} ins(%t{|, %u} : !pto.tile_buf<vec, 16x8xf32>{|, !pto.tile_buf<vec, 16x8xf32>}) "
    "outs(%a : !pto.tile_buf<vec, 16x8xf32>)",
)
VALID = _rule(
    "CONVERT-VALID",
    "At level 1 valid sizes that a type leaves open are those of the first source, and do not change.",
    why="No text of level 1 gives the result of an instruction a valid size; reading takes it from the source.",
    example="""
        // ptokit convert --to ssa
        {|%n = arith.constant 8 : index
        }%a = pto.alloc_tile {|valid_row = %n }: !pto.tile_buf<vec, 16x16xf32{|, valid=?x16}>
        pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32{|, valid=?x16}>)
    """,
)
PLACE = _rule(
    "CONVERT-PLACE",
    "At level 1 nothing is written in place: not the tile of a caller, not one outside of a section.",
    why="A function gets values, and a section gives none back.",
    example="""
        // ptokit convert --to ssa
        func.func @example(%t: !pto.tile_buf<vec, 16x16xf32>) {
        {  %u = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        |}  pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%{u|t} : !pto.tile_buf<vec, 16x16xf32>)
          return
        }
    """,
)
BRANCH = _rule(
    "CONVERT-BRANCH",
    "Level 1 is written without branches between blocks.",
    why="What a tile holds after a label depends on the way there; scf.for, scf.if and scf.while say which way.",
    example="""
        // ptokit convert --to ssa
        func.func @example(%c: i1) {
        {  return
        |  cf.br ^bb1
        ^bb1:
          return
        }}
    """,
)
FORM = _rule(
    "CONVERT-FORM",
    "Level 1 has no text for an instruction that writes something other than tiles, records and memory, whose operands "
    "are of other kinds than it takes, or that has words or a result after outs.",
    why="Its results are tiles, and a statement tells operands by their types (assembly 5).",
    example="""
        // ptokit convert --to ssa
        func.func @f(%v: !pto.partition_tensor_view<16x16xf32>, %x: f32) {
          %t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
          pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%t : !pto.tile_buf<vec,
            16x16xf32>){| pad_value = %x : f32}
          return
        }
    """,
)
