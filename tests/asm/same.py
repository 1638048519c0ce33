"""Structural equality of modules: everything but places in the text."""

from __future__ import annotations

import math
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.core import ordered


class Difference(AssertionError):
    """Two modules differ."""


class _Comparison:
    """Values of one function correspond one to one; names are compared unless `names` is False, or there is none."""

    def __init__(self, names: bool) -> None:
        self.names = names
        self.partner: dict[int, int] = {}

    def need(self, condition: bool, *what: object) -> None:
        if not condition:
            raise Difference(*what)

    def attrs(self, a: dict[str, Any], b: dict[str, Any], where: object) -> None:
        self.need(list(a) == list(b), where, a, b)
        for key in a:
            x, y = a[key], b[key]
            both_nan = isinstance(x, float) and isinstance(y, float) and math.isnan(x) and math.isnan(y)
            self.need(type(x) is type(y) and (x == y or both_nan) and repr(x) == repr(y), where, key, x, y)

    def define(self, a: Value, b: Value) -> None:
        self.need(a.type == b.type, a, b)
        self.need(not self.names or not a.name or a.name == b.name, a, b)
        self.partner[id(a)] = id(b)

    def use(self, a: Value, b: Value, where: object) -> None:
        self.need(self.partner.get(id(a)) == id(b), where, a, b)

    def op(self, a: Op, b: Op) -> None:
        self.need(a.name == b.name, a.name, b.name)
        self.need(list(a.operands) == list(b.operands), a.name, list(a.operands), list(b.operands))
        for key, x in a.operands.items():
            y = b.operands[key]
            self.need(isinstance(x, list) == isinstance(y, list), a.name, key)
        self.need(len(a.values) == len(b.values), a.name)
        for x, y in zip(a.values, b.values):
            self.use(x, y, a.name)
        self.attrs(a.attrs, b.attrs, a.name)
        self.need(len(a.regions) == len(b.regions), a.name)
        for x, y in zip(a.regions, b.regions):
            self.block(x, y)
        self.need([self.partner[id(x)] for x in a.successors] == [id(y) for y in b.successors], a.name, "successors")
        self.need(len(a.results) == len(b.results), a.name)
        for x, y in zip(a.results, b.results):
            self.need(x.owner is a and y.owner is b, a.name, "owner")
            self.define(x, y)

    def block(self, a: Block, b: Block) -> None:
        """Two regions."""
        self.need(len(a.blocks) == len(b.blocks), "blocks")
        for k, (x, y) in enumerate(zip(a.blocks, b.blocks)):
            self.need(not self.names or not k or x.label == y.label, x.label, y.label)
            self.partner[id(x)] = id(y)
            self.need(len(x.args) == len(y.args))
            for v, w in zip(x.args, y.args):
                self.define(v, w)
        after = {id(block): block for block in b.blocks}
        for x in ordered(a):
            self.operations(x, after[self.partner[id(x)]])

    def operations(self, a: Block, b: Block) -> None:
        self.need([o.name for o in a.ops] == [o.name for o in b.ops])
        for x, y in zip(a.ops, b.ops):
            self.op(x, y)

    def function(self, a: Function, b: Function) -> None:
        self.need((a.name, a.visibility, a.results) == (b.name, b.visibility, b.results), a.name, b.name)
        self.attrs(a.attrs, b.attrs, a.name)
        self.need(a.param_attrs == b.param_attrs, a.name)
        self.need([p.type for p in a.params] == [p.type for p in b.params], a.name)
        self.need((a.body is None) == (b.body is None), a.name)
        if a.body is not None and b.body is not None:
            self.block(a.body, b.body)


def assert_same(a: Module, b: Module, *, names: bool = True) -> None:
    """Raise `Difference` unless the modules are structurally equal."""
    c = _Comparison(names)
    c.need(a.name == b.name)
    c.attrs(a.attrs, b.attrs, "module")
    c.need([f.name for f in a.functions] == [f.name for f in b.functions])
    for f, g in zip(a.functions, b.functions):
        _Comparison(names).function(f, g)
