"""Regions of several blocks: read in the order of dominance, so that values are seen where they may be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ptokit.diagnostics import Note
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Value
from ptokit.ir.control import TERMINATORS, dominators, reverse_postorder

from ..text import rules
from ..text.cursor import OperationError
from ..types.parse import POISON
from .parser import Parser
from .scope import Jump, Region

_MAX_NAMES = 5000  # labels to compare with a wrong one


class Kind(NamedTuple):
    """What a region may hold. ``ends``: the terminators of its operation. ``several``: it may have several blocks.

    ``labelled``: its arguments are named in the label of its first block.
    """

    ends: tuple[str, ...] = ("scf.yield",)
    several: bool = False
    labelled: bool = False


BODY = Kind(("func.return",), several=True)
YIELDS = Kind()
EXECUTED = Kind(several=True)
LABELLED = Kind(labelled=True)
SECTION = Kind(())

ReadOps = Callable[[Parser, Block], None]


def read_blocks(p: Parser, region: Region, read_ops: ReadOps) -> None:
    """Read the blocks of a region behind its brace; the cursor is then behind the last."""
    starts = p.labels.regions[region.opening]
    first = region.opening + 1
    starts = starts if starts[0] == first else [first, *starts]
    blocks = [region.first, *(Block() for _ in starts[1:])]
    region.first.more = blocks[1:]
    for start, block in zip(starts, blocks):
        _name(p, region, block, start)
    edges, region.complete = p.labels.branches(region.opening, starts)
    dominated: list[list[int]] = [[] for _ in starts]
    above = dominators(edges)
    for k in sorted(above):
        if k:
            dominated[above[k]].append(k)
    end = 0

    def read(k: int) -> None:
        nonlocal end
        p.i = starts[k]
        errors = p.errors
        _block(p, region, blocks[k], read_ops)
        if k == len(starts) - 1:
            end = p.i
        if p.errors == errors and not (blocks[k].ops and blocks[k].ops[-1].name in TERMINATORS):
            name = f"block ^{blocks[k].label}" if blocks[k].label else "the first block of this region"
            p.error(rules.TERMINATOR, f"{name} has no terminator", starts[k], hint="end it with a branch or a return")

    level = p.scope.level
    stack = [(0, level)]
    while stack:  # a name is seen in the blocks that its block dominates
        k, depth = stack.pop()
        p.scope.unwind(depth)
        p.scope.enter()
        read(k)
        stack.extend((child, depth + 1) for child in reversed(dominated[k]))
    p.scope.unwind(level)
    if len(above) < len(starts):
        _unreachable(p, blocks, edges, set(above), read)
    _repeated(p, blocks)
    _jumps(p, region)
    p.i = end


def _name(p: Parser, region: Region, block: Block, start: int) -> None:
    """Enter the label at a token, if there is one."""
    token = p.texts[start]
    if start not in p.labels.places:
        return
    region.tokens[id(block)] = start
    block.label = token[1:]
    known = region.blocks.setdefault(token, block)
    if known is not block:
        note = Note("first defined here", p.location(region.tokens[id(known)]))
        p.error(rules.LABEL, f"block {token} is defined twice", start, notes=(note,))


def _block(p: Parser, region: Region, block: Block, read_ops: ReadOps) -> None:
    if p.i in p.labels.places:
        read_head(p, region, block)
    read_ops(p, block)


def read_head(p: Parser, region: Region, block: Block) -> None:
    """The label of a block; after an error in it its arguments are poisoned values."""
    start, end = p.i, p.labels.head_end(p.i)
    try:
        _label(p, block)
    except OperationError:
        region.unread.add(id(block))
        stop = end + 1 if end else max(p.i, start + 1)  # a label without an end is read as far as it goes
        for index in range(start, stop):
            if p.texts[index][0] == "%" and p.texts[index] not in p.scope.values:
                p.poison(index)
        p.i = stop


def _label(p: Parser, block: Block) -> None:
    """``^bb0(%a: T, ..):``."""
    p.i += 1
    if p.accept("("):
        first = True
        while not p.accept(")"):
            if not first and not p.accept(","):
                p.unexpected("',' or ')'")
            first = False
            index = p.name()
            p.expect(":")
            value = p.define(index, p.type())
            value.owner = block
            block.args.append(value)
            p.skip_location()
    p.expect(":")


def _unreachable(
    p: Parser, blocks: Sequence[Block], edges: Sequence[Sequence[int]], reached: set[int], read: Callable[[int], None]
) -> None:
    """Blocks that nothing leads to: they may use what they like of the region."""
    p.scope.enter()
    for value in (v for block in blocks for v in _values(block)):
        for name in {f"%{value.name}", f"%{value.name}".partition("#")[0]}:
            if name not in p.scope.values:
                p.scope.define(name, value)
    for k in range(len(blocks)):
        for node in reverse_postorder(edges, k, reached) if k not in reached else ():
            read(node)
    p.scope.leave()


def _values(block: Block) -> Iterator[Value]:
    """The values that a block itself defines, by name."""
    yield from (v for v in block.args if v.name)
    yield from (v for op in block.ops for v in op.results if v.name)


def _repeated(p: Parser, blocks: Sequence[Block]) -> None:
    """A name that two blocks define, neither of which sees the other's, is TY-9 as any other."""
    known: dict[str, Value] = {}
    for block in blocks:
        for value in _values(block):
            old = known.setdefault(value.name, value)
            if old is value or POISON in (old.type, value.type) or f"%{value.name}" in p.repeated:
                continue
            p.error(
                rules.TY_9,
                f"value %{value.name} is defined twice",
                value.location,
                notes=(Note("first defined here", old.location),),
            )


# ------------------------------------------------------------------ branches


class Successor(NamedTuple):
    """``^bb1(%a : T)``: the label's token, the block, and the values with their tokens."""

    token: int
    block: Block | None
    values: list[Value]


def read_successor(p: Parser) -> Successor:
    """``^bb1``, ``^bb1(%a, %b : T, U)`` or ``^bb1(%a : T, %b : U)``. An unknown label is TEXT-LABEL."""
    index = p.i
    label = p.texts[index]
    if label[0] != "^":
        p.unexpected("the label of a block")
    p.i += 1
    values: list[Value] = []
    if p.accept("("):
        while True:
            first = p.i
            part = p.values(":")
            p.expect(":")
            p.typed(part, first)
            values += part
            if not p.accept(","):
                break
        p.expect(")")
    return Successor(index, _target(p, label, index), values)


def _target(p: Parser, label: str, index: int) -> Block | None:
    known = p.region.blocks if p.region is not None else {}
    block = known.get(label)
    if block is None:
        hint = suggest(label, known) if len(known) <= _MAX_NAMES else None
        p.error(rules.LABEL, f"this region has no block {label[:60]}", index, hint=hint)
    elif p.region is not None and block is p.region.first:
        note = Note("it begins here", p.location(p.region.tokens[id(block)]))
        p.error(rules.LABEL, f"nothing may branch to {label}, the first block of its region", index, notes=(note,))
        block = None
    return block


def branch_to(p: Parser, successor: Successor, values: Sequence[Value]) -> Block:
    """The block a branch leads to with `values`, which are compared with its arguments when all are read."""
    if successor.block is None or p.region is None:
        return Block()
    p.region.jumps.append(Jump(successor.token, successor.block, list(values)))
    return successor.block


def _jumps(p: Parser, region: Region) -> None:
    """Branches pass what the blocks take (TEXT-BRANCH)."""
    for token, block, values in region.jumps:
        given, wanted = [v.type for v in values], [a.type for a in block.args]
        if id(block) in region.unread:
            continue
        message = ""
        if len(given) != len(wanted):
            message = f"^{block.label} takes {len(wanted)} arguments, not {len(given)}"
        else:
            for value, arg in zip(values, block.args):
                if value.type != arg.type and POISON not in (value.type, arg.type):
                    message = f"%{value.name} of type {value.type} is passed for %{arg.name} of type {arg.type}"
                    break
        if message:
            note = Note(f"^{block.label} begins here", p.location(region.tokens[id(block)]))
            p.error(rules.BRANCH, message, token, notes=(note,))
