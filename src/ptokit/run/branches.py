"""Control flow without a count: scf.while, scf.execute_region, scf.index_switch, and branches (assembly 2, 11).

The blocks of a region stand in a Python loop, each behind its number, in an order in which only a branch back needs
another turn of the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Block, Op
from ptokit.ir.graph import passed, reachable

if TYPE_CHECKING:
    from .codegen import FunctionWriter


def execute_region(writer: FunctionWriter, op: Op) -> None:
    """A region in its place."""
    names = [writer.bind(r) for r in op.results]
    if op.regions[0].more:
        graph(writer, op.regions[0], names)
        return
    writer.line("if True:", op)
    writer.region(op.regions[0], names)


def index_switch(writer: FunctionWriter, op: Op) -> None:
    """One of several regions, by a number on which all blocks agree."""
    names = [writer.bind(r) for r in op.results]
    chosen = writer.fresh("c")
    writer.line(f"{chosen} = {writer.uniform(op['index'])}", op)
    for k, (case, region) in enumerate(zip(op.attrs["cases"], op.regions[1:])):
        writer.line(f"{'elif' if k else 'if'} {chosen} == {case}:")
        writer.region(region, names)
    writer.line("else:" if op.attrs["cases"] else "if True:")
    writer.region(op.regions[0], names)


def while_loop(writer: FunctionWriter, op: Op) -> None:
    """scf.while."""
    before, after = op.regions
    names = [writer.bind(v) for v in before.args]
    writer.assign(names, [writer.ref(v) for v in op.group("init")], op)
    results = [writer.bind(r) for r in op.results]
    writer.names.update(zip(after.args, results))
    writer.line("while True:", op)
    writer.depth += 1
    for inner in before.ops:
        if inner.name == "scf.condition":
            writer.assign(results, [writer.ref(v) for v in inner.group("values")], inner)
            writer.line(f"if not {writer.truth(inner['condition'])}: break", inner)
        else:
            writer.op(inner)
    writer.depth -= 1
    writer.region(after, names)


def graph(writer: FunctionWriter, region: Block, targets: list[str]) -> None:
    """A region of several blocks, whose `scf.yield` assigns to ``targets``."""
    blocks = reachable(region)
    number = {id(block): k for k, block in enumerate(blocks)}
    for block in blocks[1:]:
        for arg in block.args:
            writer.bind(arg)
    chosen = writer.fresh("b")
    writer.line(f"{chosen} = 0")
    writer.line("while True:")
    writer.depth += 1
    writer.turn()
    for k, block in enumerate(blocks):
        writer.line(f"if {chosen} == {k}:")
        writer.depth += 1
        for op in block.ops:
            if op.successors:
                _branch(writer, op, chosen, number)
            elif op.name == "scf.yield":
                writer.assign(targets, [writer.ref(v) for v in op.group("values")], op)
                writer.line("break")
            else:
                writer.op(op)
        writer.depth -= 1
    writer.depth -= 1
    writer.turned()


def _branch(writer: FunctionWriter, op: Op, chosen: str, number: dict[int, int]) -> None:
    """A branch at the end of a block: the arguments of the next block, and its number."""

    def to(k: int) -> None:
        block = op.successors[k]
        writer.assign([writer.names[a] for a in block.args], [writer.ref(v) for v in passed(op, k)], op)
        writer.line(f"{chosen} = {number[id(block)]}", op)

    if op.name == "cf.br":
        to(0)
        return
    if op.name == "cf.cond_br":
        tests = [(writer.truth(op["condition"]), 0)]
        other = 1
    else:
        flag = writer.fresh("c")
        writer.line(f"{flag} = {writer.uniform(op['flag'])}", op)
        tests = [(f"{flag} == {case}", k) for k, case in enumerate(op.attrs["values"], 1)]
        other = 0
    for i, (test, k) in enumerate(tests):
        writer.line(f"{'elif' if i else 'if'} {test}:", op)
        writer.depth += 1
        to(k)
        writer.depth -= 1
    writer.line("else:" if tests else "if True:")
    writer.depth += 1
    to(other)
    writer.depth -= 1


def assertion(writer: FunctionWriter, op: Op) -> None:
    """cf.assert: every block must find it true."""
    writer.line(f"m.claim({writer.ref(op['condition'])}, {op.attrs['msg']!r})", op)
