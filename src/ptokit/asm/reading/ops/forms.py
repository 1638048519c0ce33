"""Operations outside of the instruction table that have a written form, and their regions in order of dominance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

from ptokit.diagnostics import Note
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Op, RawAttr, Value
from ptokit.ir.control import RETURNS, TERMINATORS, Control
from ptokit.ir.core import dominators, reverse_postorder
from ptokit.isa.scalar.arithmetic import ARITH_BINARY, ARITH_CASTS, ARITH_EXTENDED, ARITH_UNARY
from ptokit.types.values import I1, INDEX, Type

from ...forms.attributes import generic_attrs, read_dictionary, symbol, unquote
from ...forms.operands import FORMS, PREDICATES, Element, Form, compile_form
from ...text import rules
from ...text.cursor import OperationError, is_string
from ...types.parse import POISON, scalar
from ..parser import READERS, Parser
from ..result_types import (
    check_alloc,
    check_dealloc,
    check_reinterpret_cast,
    check_subview,
    check_types,
    like,
    read_flags,
)
from ..scope import Jump, Region
from ..written import Read, Reading, Steps

# Regions of several blocks: read in the order of dominance, so that values are seen where they may be used.


_MAX_NAMES = 5000  # labels to compare with a wrong one


class Kind(NamedTuple):
    """What a region may hold. ``ends``: the terminators of its operation. ``several``: it may have several blocks.

    ``labelled``: its arguments are named in the label of its first block.
    """

    ends: tuple[str, ...]
    several: bool = False
    labelled: bool = False


def kind_of(control: Control, k: int, *, labelled: bool) -> Kind:
    """Region k of an operation of control flow."""
    return Kind((control.end(k),) if control.ends else (), control.several, labelled)


BODY = Kind(RETURNS, several=True)

ReadOps = Callable[[Parser, Block], None]


def read_blocks(p: Parser, region: Region, read_ops: ReadOps) -> None:
    """Read the blocks of a region after its brace; the cursor is then after the last."""
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
    """A name that two blocks define, neither in sight of the other, is TY-9 as any other."""
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


# Operations outside of the instruction table that have a written form: arithmetic, calls, branches, memrefs.


Check = Callable[[Parser, Op, int], None]
_VECTOR = re.compile(r"vector<\s*\d+\s*x\s*(\w+)\s*>\Z", re.ASCII)


class StructureReading(Reading):
    """What has been read of one operation outside of the table."""

    __slots__ = ("name", "type", "places", "successors")
    type: Type  # the last one of operands

    def __init__(self, p: Parser, name: str) -> None:
        self.p, self.name, self.instr = p, name, None
        self.operands, self.first, self.attrs, self.results = {}, {}, {}, []
        self.places: list[int] = []  # tokens of types
        self.successors: list[Block] = []

    def _dictionary(self, e: Element) -> None:
        if self.p.texts[self.p.i] == "{":
            self.attrs.update(generic_attrs(self.p, read_dictionary(self.p)))

    def _flags(self, e: Element) -> None:
        if self.p.texts[self.p.i] != ":":
            self.attrs.update(read_flags(self.p, self.name))

    def _types(self, e: Element) -> None:
        p, value = self.p, self.operands[e.name]
        if e.flag == "?" and not p.accept(","):
            return
        self.places.append(p.i)
        if e.flag == "+":
            p.typed_list(value, self.first[e.name], "passed")  # type: ignore[arg-type]
            return
        if isinstance(value, list):
            p.typed(value, self.first[e.name])
            return
        self.type = p.type()
        p.match(value, self.type, self.first[e.name])

    def _common_type(self, e: Element) -> None:
        p = self.p
        self.places.append(p.i)
        type = self.type = p.type()
        for name in e.more.split(","):
            p.match(self.operands[name], type, self.first[name])  # type: ignore[arg-type]

    def _result(self, e: Element) -> None:
        p = self.p
        if e.flag in ("+", "!"):
            self.results += p.result_types()
        elif e.more == "element":
            m = _VECTOR.match(str(self.type))
            inner = scalar(m[1]) if m is not None else None
            if inner is None:
                p.fail(rules.TYPE, f"{self.type} is not a short vector", self.places[-1])
            self.results.append(inner)
        elif e.flag == "*":
            super()._result(e)
        elif p.accept(","):
            self._written_result(e)
        else:
            self.results.append(like(self.type, I1))

    def _written_result(self, e: Element) -> None:
        self.places.append(self.p.i)
        self.results.append(self.p.type())

    def _same(self, e: Element) -> None:
        self.results.append(self.type)

    def _numbers(self, e: Element) -> None:
        super()._numbers(e)
        self.attrs[e.name] = RawAttr(f"array<i32: {', '.join(map(str, self.attrs[e.name]))}>")

    def _predicate(self, e: Element) -> None:
        p, known = self.p, PREDICATES[self.name]
        word = p.texts[p.i].strip('"')
        if word not in known:
            p.fail(rules.TY_8, f"{p.found()} is not a predicate of {self.name}", hint=suggest(word, known))
        self.attrs[e.name] = word
        p.i += 1

    def _symbol(self, e: Element) -> None:
        token = self.p.texts[self.p.i]
        if token[0] != "@" or len(token) < 2:
            self.p.unexpected("a function name")
        self.attrs[e.name] = symbol(token)
        self.p.i += 1

    def _string(self, e: Element) -> None:
        token = self.p.texts[self.p.i]
        self.p.check_string()
        if not is_string(token):
            self.p.unexpected("a string")
        self.attrs[e.name] = unquote(token)
        self.p.i += 1

    def _type(self, e: Element) -> None:
        self.attrs[e.name] = RawAttr(str(self.p.type()))

    def _mixed(self, e: Element) -> None:
        """Numbers stand in the attribute, with question marks for values."""
        p = self.p
        values: list[Value] = []
        shown: list[str] = []
        places: list[int] = []
        while p.texts[p.i] != "]":
            if shown:
                p.expect(",")
            if p.texts[p.i][0] == "%":
                places.append(p.i)
                values.append(p.value())
                if not e.flag:
                    p.match(values[-1], INDEX, places[-1])
                shown.append("?")
            else:
                shown.append(str(p.integer("a value or an integer")))
        self.operands[e.name], self.first[e.name] = values, places
        self.attrs[e.name] = RawAttr("[" + ", ".join(shown) + "]")

    def _block(self, e: Element) -> None:
        to = read_successor(self.p)
        self.operands[e.name] = to.values
        self.successors.append(branch_to(self.p, to, to.values))

    @classmethod
    def reader(cls, e: Element) -> Read:
        if e.kind == "T" and "," in e.more:
            return StructureReading._common_type
        if e.kind == "R" and not e.flag and e.more in ("", "same"):
            return StructureReading._same if e.more else StructureReading._written_result
        return super().reader(e)

    STEPS: ClassVar[Steps] = {}
    READERS: ClassVar[dict[str, Read]] = {
        **Reading.READERS,
        "T": _types,
        "R": _result,
        "{": _dictionary,
        "F": _flags,
        "L": _numbers,
        "W": _predicate,
        "S": _symbol,
        "Q": _string,
        "Y": _type,
        "M": _mixed,
        "J": _block,
    }


class _Plan(NamedTuple):
    """What reading an operation needs to know of it, found once."""

    form: Form
    lists: tuple[str, ...]  # all its operands, if some are lists
    check: Check | None


@cache
def _plan(name: str) -> _Plan:
    form = compile_form(FORMS[name])
    parts = [inner for e in form for inner in (e.group or (e,)) if inner.kind in "%MJ"]
    lists = any(e.kind != "%" or e.flag for e in parts)
    return _Plan(form, tuple(e.name for e in parts) if lists else (), _CHECKS.get(name))


def read_structure(p: Parser, name: str, at: int) -> Op:
    """Read an operation after its name."""
    plan = _plan(name)
    reading = StructureReading(p, name)
    reading.read(plan.form)
    operands: Any = reading.operands
    if plan.lists:
        operands = {key: operands.get(key, []) for key in plan.lists}
    op = Op(name, operands, reading.attrs, [Value(type) for type in reading.results])
    if plan.check is not None:
        plan.check(p, op, reading.places[0 if name in _AT_SOURCE else -1])
    return op


def _check_carry(p: Parser, op: Op, at: int) -> None:
    check_types(p, op, at)
    wanted = like(op.results[0].type, I1)
    if op.results[1].type != wanted:
        p.fail(rules.TYPE, f"the carry of {op.name} is {wanted}", at)


_CHECKS: dict[str, Check] = {
    **dict.fromkeys((*ARITH_BINARY, *ARITH_UNARY, *ARITH_CASTS, *ARITH_EXTENDED, *PREDICATES), check_types),
    "arith.addui_extended": _check_carry,
    "memref.alloc": check_alloc,
    "memref.alloca": check_alloc,
    "memref.dealloc": check_dealloc,
    "memref.reinterpret_cast": check_reinterpret_cast,
    "memref.subview": check_subview,
}

_AT_SOURCE = frozenset(("memref.reinterpret_cast", "memref.subview"))
"""Operations whose checks report at the type of the source, not at that of the result."""

READERS.update(dict.fromkeys(FORMS, read_structure))
