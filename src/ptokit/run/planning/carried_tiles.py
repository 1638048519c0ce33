"""Tiles that outlive the iteration of a loop that allocates them: the loop carries them (assembly 11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptokit.ir import Function, Op, Value
from ptokit.ir.control import edges, ends, givers, is_loop
from ptokit.ir.core import Block


def carried_tiles(function: Function) -> set[Value]:
    """Tiles allocated in a loop that its next iteration may still see, through what it hands on.

    They need memory of their own for every iteration: the next one writes its tile while it reads this one's.
    """
    assert function.body is not None
    given = givers(function.body.walk())
    found: set[Value] = set()
    for inside, handed in _loops(function.body):
        tiles = {op.result for region in inside for op in region.walk() if op.name == "pto.alloc_tile"}
        if tiles:
            found |= tiles & _origins(handed, given)
    return found


def _loops(region: Block) -> Iterator[tuple[Sequence[Block], list[Value]]]:
    """The regions of each loop, and what it hands on; several blocks of a region may be a loop, too."""
    if region.more:
        branches = [block.ops[-1] for block in region.blocks if block.ops]
        yield [region], [value for op in branches if op.successors for edge in edges(op) for value in edge.given]
    for op in (op for block in region.blocks for op in block.ops):
        if is_loop(op):
            yield op.regions, [value for inner in op.regions for end in ends(inner) for value in end.values]
        for inner in op.regions:
            yield from _loops(inner)


def _origins(values: list[Value], given: dict[Value, list[Value]]) -> set[Value]:
    """What values may be, or be other names of."""
    found: set[Value] = set()
    while values:
        value = values.pop()
        if value not in found:
            found.add(value)
            values += given.get(value, ())
            if isinstance(value.owner, Op) and value.owner.name != "pto.alloc_tile" and not value.owner.regions:
                values += value.owner.values
    return found
