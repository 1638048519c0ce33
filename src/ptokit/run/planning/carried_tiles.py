"""Tiles that outlive the turn of a loop that allocates them: the loop carries them (assembly 11)."""

from __future__ import annotations

from ptokit.ir import Block, Function, Op, Value


def carried_tiles(function: Function) -> set[Value]:
    """Tiles allocated in a loop that its next turn may still see, through what it yields.

    They need memory of their own for every turn: the next turn writes its tile while it reads this one's.
    """
    assert function.body is not None
    passed: list[Value] = []
    _collect(function.body, passed, loop=False)
    found: set[Value] = set()
    while passed:
        value = passed.pop()
        owner = value.owner
        if value in found or not isinstance(owner, Op):
            continue
        found.add(value)
        if owner.name == "pto.alloc_tile":
            continue
        if not owner.regions:
            passed += owner.values
        for region in owner.regions:
            for last in (block.ops[-1] for block in region.blocks if block.ops):
                if last.name in ("scf.yield", "scf.condition"):
                    passed += last.group("values")
    return {value for value in found if isinstance(value.owner, Op) and value.owner.name == "pto.alloc_tile"}


def _collect(first: Block, passed: list[Value], *, loop: bool) -> None:
    """Values that loops pass to their next turns; branches may make loops, too."""
    for op in (op for block in first.blocks for op in block.ops):
        if (loop and op.name in ("scf.yield", "scf.condition")) or op.successors:
            passed += op.values
        for region in op.regions:
            _collect(region, passed, loop=op.name in ("scf.for", "scf.while"))
