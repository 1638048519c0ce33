"""The statements of a source text that operations come from, and how operations are nested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptokit.ir.control import is_loop
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.scopes import SCOPES
from ptokit.records import dataclass

from .lines import first_line, last_line
from .python_text import python_text

FLAGS = ("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn")


@dataclass(frozen=True, slots=True)
class _Place:
    block: Block
    index: int


@dataclass(eq=False)
class Statement:
    """Lines ``first`` to ``last`` of a file, and the operations that come from them: several where a loop is unrolled,
    or a function of Python called more than once. ``alone``: nothing else comes from its lines, so that lines can be
    inserted around it."""

    file: str
    first: int
    last: int
    ops: list[Op]
    alone: bool = True

    @property
    def once(self) -> bool:
        """True if it has been looked at once: no loop around it is unrolled."""
        return sum(issues(op) or bool(op.regions) for op in self.ops) <= 1

    @property
    def python(self) -> bool:
        """True for a statement of Python."""
        return self.file.endswith(".py")

    @property
    def flag(self) -> str:
        """ "set" or "wait" for a flag of the pipes of a core, else ""."""
        names = {instr.name for op in self.ops if (instr := instr_of(op)) is not None}
        return next((name.partition("_")[0] for name in FLAGS if name in names), "")


class Structure:
    """How the operations of a program are nested, and which statements they come from."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._place: dict[Op, _Place] = {}
        self._parent: dict[int, Op] = {}  # by id of the block
        self._statements: dict[Op, Statement] | None = None
        self._function: dict[Op, Function] = {}
        self._chains: dict[Op, tuple[tuple[Op, int], ...]] = {}
        for function in functions:
            if function.body is not None:
                self._walk(function, function.body)

    def _walk(self, function: Function, region: Block) -> None:
        for block in region.blocks:
            for i, op in enumerate(block.ops):
                self._place[op], self._function[op] = _Place(block, i), function
                for inner in op.regions:
                    self._parent.update((id(part), op) for part in inner.blocks)
                    self._walk(function, inner)

    def _span(self, op: Op) -> tuple[str, int, int]:
        return op.location.file or "", first_line(op), last_line(op, self.following(op))

    def _alone(self, file: str, first: int, last: int, ops: list[Op]) -> bool:
        if file.endswith(".py"):
            places = {(op.location.line, op.location.column) for op in ops if issues(op) or op.regions}
            return len(places) <= 1 and python_text(file).sharing(first) == 1
        op = ops[0]
        if len(ops) > 1:
            return False
        following, place = self.following(op), self._place[op]
        before = place.block.ops[place.index - 1] if place.index else None
        if following is not None and first_line(following) <= last:
            return False
        return before is None or last_line(before, op) < first

    @property
    def ops(self) -> Iterator[Op]:
        """All operations, in the order of the program."""
        yield from self._place

    def following(self, op: Op) -> Op | None:
        """The next operation of the block."""
        place = self._place[op]
        return place.block.ops[place.index + 1] if place.index + 1 < len(place.block.ops) else None

    def statement(self, op: Op) -> Statement | None:
        """What an operation comes from; None without a source text."""
        return self._by_op().get(op)

    @property
    def statements(self) -> list[Statement]:
        """All statements, in the order of the program."""
        return list(dict.fromkeys(self._by_op().values()))

    def _by_op(self) -> dict[Op, Statement]:
        if self._statements is not None:
            return self._statements
        by_lines: dict[tuple[str, int, int], list[Op]] = {}
        for op in self._place:
            if op.location.file is not None:
                by_lines.setdefault(self._span(op), []).append(op)
        self._statements = {}
        for (file, first, last), ops in by_lines.items():
            statement = Statement(file, first, last, ops, self._alone(file, first, last, ops))
            self._statements.update((op, statement) for op in ops)
        return self._statements

    def function(self, op: Op) -> Function | None:
        """The function that an operation is in."""
        return self._function.get(op)

    def chain(self, op: Op) -> tuple[tuple[Op, int], ...]:
        """An operation and those it is nested in, inside out, each with how many loops of it and within it are around
        the operation."""
        found = self._chains.get(op)
        if found is None:
            steps, loops = [], 0
            at: Op | None = op
            while at is not None and at in self._place:
                loops += is_loop(at) and at is not op
                steps.append((at, loops))
                at = self._parent.get(id(self._place[at].block))
            found = self._chains[op] = tuple(steps)
        return found

    def outside(self, op: Op) -> Op:
        """The operation, or the vector scope it is in, within which there are no flags."""
        return next((each for each, _ in reversed(self.chain(op)) if each.name in SCOPES), op)

    def common(self, a: Op, b: Op) -> tuple[Op, Op, Block] | None:
        """The operations of the innermost common block that hold `a` and `b`; None if they share none."""
        if a not in self._place or b not in self._place:
            return None
        blocks = {id(self._place[op].block): op for op, _ in self.chain(a)}
        for op, _ in self.chain(b):
            block = self._place[op].block
            if id(block) in blocks:
                return blocks[id(block)], op, block
        return None

    def index(self, op: Op) -> int:
        """The number of an operation in its block."""
        return self._place[op].index

    def loop(self, block: Block) -> Op | None:
        """The innermost loop around a block."""
        parent = self._parent.get(id(block))
        return next((op for op, _ in self.chain(parent) if is_loop(op)), None) if parent is not None else None

    def defined(self, value: Value, at: Op) -> bool:
        """True if a value is defined before an operation, in a block around it."""
        owner = value.owner
        if isinstance(owner, Op):
            block = self._place[owner].block if owner in self._place else None
            around = {id(self._place[op].block): self._place[op].index for op, _ in self.chain(at)}
            return block is not None and self._place[owner].index < around.get(id(block), -1)
        return owner is None or any(
            owner is part for op, _ in self.chain(at) for region in op.regions for part in region.blocks
        )


def issues(op: Op) -> bool:
    """True for an operation that a pipe, or the scalar unit, has to do something for; others make tiles and views."""
    return instr_of(op) is not None and not op.results
