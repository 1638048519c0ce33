"""A copy of a program whose types are those of level 1 and the sync form; the original stays as it is."""

from __future__ import annotations

from dataclasses import replace

from ptokit.ir import Block, Function, Op, Operands, Value
from ptokit.ir.graph import ordered
from ptokit.types.values import Type

from .value_types import spelled


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
