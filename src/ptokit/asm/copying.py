"""A copy of a program whose types are those of level 1 and the sync form; the original stays as it is."""

from __future__ import annotations

from dataclasses import replace

from ptokit.ir import Block, Function, Op, Operands, Value
from ptokit.types.values import Type

from .value_types import spelled


class Copier:
    """Copies one function. Subclasses change what they copy."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.copies: dict[Value, Value] = {}
        self.ops: list[Op] = []  # of the block being filled

    def copy(self) -> Function:
        """The copy of the function."""
        f = self.function
        params = [self.define(v) for v in f.params]
        results = [spelled(t) for t in f.results]
        body = None
        if f.body is not None:
            body = Block(params)
            self.fill(body, f.body)
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
        return self.fill(Block([self.define(a) for a in source.args]), source)

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
        self.ops.append(Op(op.name, operands, op.attrs, [self.define(r) for r in op.results], regions, op.location))
