"""Where flags go that order dependences, in the blocks of a program.

Both ends of a dependence are lifted to the operations of their innermost common block, so that never half of a flag is
in an arm of a branch. There the intervals of each pair of pipes are stabbed with as few flags as possible. What a loop
carries backwards takes one flag for each pair of pipes, set before the loop and waited for after it, in rotation if
several iterations may be under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ptokit.diagnostics import Location
from ptokit.ir.control import control_of, is_loop
from ptokit.ir.core import Block, Op
from ptokit.records import dataclass
from ptokit.sanitize.findings.insertion import carried, shortest, stabbed
from ptokit.sanitize.findings.source_text import (
    Structure,
    cpp_statement,
    loop_head,
)
from ptokit.types.enums import Pipe

from .dependences import Barrier, Dependence, Flag, Path, Placed
from .numbering import rotate


@dataclass(frozen=True, eq=False)
class _Span:
    """A dependence between two operations of one block, by their numbers there."""

    start: int
    end: int
    dependence: Dependence

    @property
    def backwards(self) -> bool:
        """True if only the next iterations can wait."""
        return self.dependence.level is not None and self.start >= self.end


class Placing:
    """Places flags in the text of a program. ``rotatable``: of a loop, whether its iterations can be told by number.

    ``merged``: as few flags as there can be; else one for each dependence, but where a shorter one orders it, too, so
    that no pipe waits for more than it has to.
    """

    def __init__(
        self,
        structure: Structure,
        dependences: Sequence[Dependence],
        rotatable: Callable[[Op], bool],
        merged: bool = True,
    ) -> None:
        self.structure, self.rotatable, self.merged = structure, rotatable, merged
        self.placed = Placed()
        groups: dict[tuple[str, Pipe, Pipe, int], tuple[Block, list[_Span]]] = {}
        for each in dependences:
            found = self._lifted(each)
            if isinstance(found, str):
                self._barrier(each, found)
            elif found is not None:
                block, span = found
                groups.setdefault((each.core, *each.pipes, id(block)), (block, []))[1].append(span)
        for (core, p, q, _), (block, spans) in groups.items():
            self._stab((p, q), core, block, [span for span in spans if not span.backwards])
            back = [span for span in spans if span.backwards]
            for loop in dict.fromkeys(span.dependence.loop for span in back):
                self._carry((p, q), core, block, [span for span in back if span.dependence.loop is loop])
        rotate(self.placed.flags)

    def _lifted(self, each: Dependence) -> tuple[Block, _Span] | str | None:
        """A dependence in the block of both its ends; why there is none, and None where nothing has to be ordered."""
        structure, loop = self.structure, each.loop
        first, second = (structure.outside(self._in_function(path, each)) for path in (each.first, each.second))
        found = structure.common(first, second)
        if found is None:
            return "the two are in different blocks of a graph"
        a, b, block = found
        if loop is not None and not loop.regions:
            return "the loop is one of a graph of blocks"
        if loop is not None:
            body = loop.regions[0]
            inside = [
                next((op for op, _ in structure.chain(x) if structure.block(op) is body), None) for x in (first, second)
            ]
            if None in inside:
                return "the loop that carries it has several blocks"
            if not (self._in_branch(a, loop, each.distance) and apart(a, structure) and apart(b, structure)):
                a, b = inside  # type: ignore[assignment]
                block = body
        start, end = structure.index(a), structure.index(b)
        if loop is None and start == end:  # the arms of one branch, or blocks inside
            return "the two are in different blocks of a graph" if any(r.more for r in a.regions) else None
        return block, _Span(start, end, each)

    def _in_branch(self, op: Op, loop: Op, distance: int) -> bool:
        """True if a flag that the loop carries may be waited for and set where an operation is: in an arm of a branch.

        An iteration that does not come there leaves it as it is. With one iteration under way the next one that does
        waits for all before it.
        """
        around = next(k for k, (each, _) in enumerate(self.structure.chain(op)) if each is loop)
        branches = [each for each, _ in self.structure.chain(op)[1:around]]
        if any(is_loop(each) or any(region.more for region in each.regions) for each in branches):
            return False
        return distance == 1 or not self.rotatable(loop)

    def _in_function(self, path: Path, each: Dependence) -> Op:
        """The operation of the function in which both ends are, or which calls for them."""
        other = each.second if path is each.first else each.first
        common = next((k for k, (x, y) in enumerate(zip(path, other)) if x is not y), min(len(path), len(other)) - 1)
        if each.loop is not None:
            home = self.structure.function(each.loop)
            common = next((k for k, op in enumerate(path) if self.structure.function(op) is home), common)
        return path[common]

    def _barrier(self, each: Dependence, why: str) -> None:
        before = self.structure.outside(each.second[-1])
        if all(barrier.before is not before for barrier in self.placed.barriers):
            self.placed.barriers.append(Barrier(before, why))

    def _stab(self, pipes: tuple[Pipe, Pipe], core: str, block: Block, spans: Sequence[_Span]) -> None:
        """As few flags as there are spans apart from each other, or one for each of the shortest."""
        for start, end in (stabbed if self.merged else shortest)((span.start, span.end) for span in spans):
            home = self.structure.loop(block)
            self.placed.flags.append(Flag(pipes, core, block, block.ops[start], block.ops[end], home))

    def _carry(self, pipes: tuple[Pipe, Pipe], core: str, block: Block, spans: Sequence[_Span]) -> None:
        """One flag for all that a loop carries from one pipe to another, or one for each of the shortest."""
        groups = [spans] if self.merged and spans else [[span] for span in _apart(spans)]
        for some in groups:
            start, end = carried((span.start, span.end) for span in some)
            loop = some[0].dependence.loop
            depth = min(span.dependence.distance for span in some)
            depth = depth if loop is not None and self.rotatable(loop) else 1
            after, before = block.ops[start], block.ops[end]
            self.placed.flags.append(Flag(pipes, core, block, after, before, loop, loop, depth))


def in_text(dependences: Iterable[Dependence], structure: Structure) -> Iterator[Dependence]:
    """Dependences by the loops of a C++ text, in which blocks that lead back are loops. Raises `NoPlace`."""
    for each in dependences:
        if not each.first[-1].in_cpp:
            yield each
            continue
        a, b = ([x for x, _ in structure.chain(path[-1]) if is_loop(x)][::-1] for path in (each.first, each.second))
        loops = tuple(x for x, y in zip(a, b) if x is y)
        level, loop = each.level, each.loop
        if loop is not None and len(loops) != len(each.loops):
            place = loop.location[1:3]
            around = [k for k, x in enumerate(loops) if (s := cpp_statement(x)) and s.start <= place <= s.end]
            if not around:
                raise NoPlace("the loop that this belongs to is not one of the text", loop.location)
            level = around[-1]
        yield replace(each, loops=loops, level=level)


def _apart(spans: Sequence[_Span]) -> list[_Span]:
    """What a loop carries, without what others of no greater distance order, too."""
    found: list[_Span] = []
    for span in sorted(spans, key=lambda x: (x.dependence.distance, -x.start, x.end)):
        if not any(other.start >= span.start and other.end <= span.end for other in found):
            found.append(span)
    return found


class NoPlace(Exception):
    """Lines cannot be inserted around an operation."""

    def __init__(self, why: str, at: Location) -> None:
        super().__init__(why)
        self.why, self.at = why, at


def apart(op: Op, structure: Structure) -> bool:
    """True if lines can be inserted around an operation."""
    statement = structure.statement(op)  # all of a flag is in one function of C++, which may be called twice
    return statement is not None and statement.alone and (op.in_cpp or statement.once)


def rotatable(loop: Op) -> bool:
    """True if the iterations of a loop can be told by number in the text of its program."""
    if loop.in_cpp:
        return loop_head(loop) is not None
    counted = control_of(loop).inductions(loop)
    if len(counted) != 1 or counted[0].arg is not loop.regions[0].args[0] or not counted[0].arg.name:
        return False
    return not loop.in_python or loop_head(loop) is not None
