"""Where flags go that order dependences, and how the text of a program says them.

Both ends of a dependence are lifted to the operations of their innermost common block, so that never half of a flag is
in an arm of a branch. There the intervals of each pair of pipes are stabbed with as few flags as possible. What a loop
carries backwards takes one flag for each pair of pipes, set before the loop and waited for after it, in rotation if
several iterations may be under way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import Edit, file_lines
from ptokit.ir.control import control_of, is_loop
from ptokit.ir.core import Block, Op
from ptokit.ir.facts import constant_of
from ptokit.records import dataclass
from ptokit.sanitize.findings.insertion import carried, shortest, stabbed, statements
from ptokit.sanitize.findings.source_text import (
    Statement,
    Structure,
    as_statement,
    barrier_code,
    compiled_for,
    cpp_statement,
    first_line,
    flag_code,
    indent,
    last_line,
    loop_head,
    ordinal_code,
    scope_code,
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


# Lines between the lines of a program, in its own language; everything else stays as it is.


_NUMBERED, _SET, _DRAIN, _PRIME, _STOP, _WAIT = range(6)
"""What is inserted before one line, in its order."""

_RANKS = {("set", False): _SET, ("wait", False): _WAIT, ("set", True): _PRIME, ("wait", True): _DRAIN}
"""Of the lines of a flag: the verb, and whether it is outside of the loop that carries it."""


class NoPlace(Exception):
    """Lines cannot be inserted around an operation."""

    def __init__(self, why: str, at: Location) -> None:
        super().__init__(why)
        self.why, self.at = why, at


class _Line(NamedTuple):
    """``only``: the macro of the kind of cores that has it, where a place in C++ is compiled for several."""

    file: str
    before: int
    rank: int
    text: str
    only: str = ""


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


def _why_not(op: Op, statement: Statement | None, file: str) -> str:
    """Why no line can be inserted around an operation."""
    if statement is not None and statement.file != file:
        return "a flag belongs here, which is not in the file that is synchronised"
    if op.in_cpp:
        return "a flag belongs beside this, which shares its line, or is no statement in braces"
    return "several operations come from this line, so that no flag can be written beside one"


_MACROS = {"cube": "__DAV_CUBE__", "vector": "__DAV_VEC__"}
"""What C++ is compiled with for a kind of cores."""


class Writing:
    """Makes the edits for flags and barriers, in a file."""

    def __init__(
        self, structure: Structure, placed: Placed, file: str, compiled: dict[str, set[int]], scopes: Iterable[Any]
    ) -> None:
        """``compiled``: of C++, the lines that each kind of cores has; ``scopes``: before what barriers go in them."""
        self.structure, self.file, self.compiled = structure, file, compiled
        self.lines: list[_Line] = []
        self._names = 0
        self._taken: set[str] | None = None
        self._known: dict[Any, str] = {}
        for barrier in placed.barriers:
            self._insert(barrier.before, False, _STOP, barrier_code(Pipe.ALL, barrier.before))
        for op, kind in scopes:
            self._insert(op, False, _STOP, scope_code(kind, op))
        for flag in placed.flags:
            self._flag(flag)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The lines to insert."""
        found: list[tuple[_Line, list[str]]] = []
        for line in sorted(dict.fromkeys(self.lines), key=lambda line: (line.file, line.before, line.rank)):
            if found and line.only and (*found[-1][0][:2], found[-1][0].only) == (*line[:2], line.only):
                found[-1][1].append(line.text)
            else:
                found.append((line, [line.text]))
        for line, texts in found:
            if line.only:
                texts[:] = [f"#ifdef {line.only}", *texts, "#endif"]
        return tuple(Edit(line.file, line.before, "\n".join(texts)) for line, texts in found)

    def _flag(self, flag: Flag) -> None:
        p, q = flag.pipes
        event: int | str = flag.number if flag.depth == 1 else self._rotating(flag)
        if flag.before.in_cpp and flag.around is None and last_line(flag.after, None) >= first_line(flag.before):
            raise NoPlace(_why_not(flag.before, None, ""), flag.before.location)
        if flag.at_once:
            self._insert(flag.before, False, _STOP, flag_code("set", (p, q, event), flag.before))
            self._insert(flag.before, False, _WAIT, flag_code("wait", (p, q, event), flag.before))
            return
        for verb, op, after in statements(flag.after, flag.before, flag.around):
            outside = op is flag.around
            rank = _RANKS[verb, outside]
            for one in range(flag.number, flag.number + flag.depth) if outside else (event,):
                self._insert(op, after, rank, flag_code(verb, (p, q, one), op))

    def _insert(self, op: Op, after: bool, rank: int, code: str) -> None:
        statement = self.structure.statement(op)
        if statement is None or not apart(op, self.structure) or statement.file != self.file:
            raise NoPlace(_why_not(op, statement, self.file), op.location)
        line = last_line(op, self.structure.following(op)) + 1 if after else first_line(op)
        self._line(op, line, rank, as_statement(code, op))

    def _line(self, like: Op, line: int, rank: int, code: str) -> None:
        file, function = like.location.file or "", self.structure.function(like)
        core = "" if function is None or not like.in_cpp else function.core
        others = [lines for other, lines in self.compiled.items() if other != core]
        only = _MACROS.get(core, "") if others and compiled_for(like, self.structure, others) else ""
        self.lines.append(_Line(file, line, rank, indent(file, first_line(like)) + code, only))

    # --- ids in rotation -----------------------------------------------------------------------------------------

    def _rotating(self, flag: Flag) -> str:
        """The id of an iteration, as the text says it."""
        loop = flag.home
        assert loop is not None
        key = loop.location if loop.in_cpp else loop, flag.depth, flag.number
        if key not in self._known:
            if loop.in_python or loop.in_cpp:
                head = loop_head(loop)
                assert head is not None
                said = f"{ordinal_code(head, loop)} % {flag.depth}"
                said += f" + {flag.number}" if flag.number else ""
                said = f"(event_t)({said})" if loop.in_cpp else said
                self._known[key] = said if head[1:] == ("0", "1") else self._variable(loop, said)
            else:
                self._known[key] = self._computed(loop, flag.depth, flag.number)
        return self._known[key]

    def _variable(self, loop: Op, said: str) -> str:
        """A variable for a long expression, in the first line of a loop in Python or C++."""
        first = loop.regions[0].ops[0]
        at = next((op for op in loop.regions[0].ops if first_line(op) > first_line(loop)), first)
        name = self._fresh().removeprefix("%")
        begin = cpp_statement(loop)
        line = first_line(loop) if begin is None else begin.opens
        self._line(at, line + 1, _NUMBERED, as_statement(f"{'event_t ' * loop.in_cpp}{name} = {said}", at))
        return name

    def _computed(self, loop: Op, depth: int, first: int) -> str:
        """Operations at the beginning of an iteration that compute its id, as far as the text has none."""
        body = loop.regions[0]
        variable, lower, _, step = control_of(loop).inductions(loop)[0]
        kind = str(variable.type)
        at, begin = body.ops[0], first_line(body.ops[0])
        name = f"%{variable.name}"
        plain = constant_of(lower) == 0 and constant_of(step) == 1
        known = self._remainder(body, depth) if plain and not first else None
        if known is not None:
            return known
        steps = []
        if constant_of(lower) != 0:
            steps.append(("arith.subi", f"%{lower.name}"))
        if constant_of(step) != 1:
            steps.append(("arith.divui", f"%{step.name}"))
        steps.append(("arith.remui", self._number(loop, depth, variable.type)))
        if first:
            steps.append(("arith.addi", self._number(loop, first, variable.type)))
        for verb, operand in steps:
            key = loop, verb, name, operand
            if key not in self._known:
                self._known[key] = made = self._fresh()
                self._line(at, begin, _NUMBERED, f"{made} = {verb} {name}, {operand} : {kind}")
            name = self._known[key]
        return name

    def _remainder(self, body: Block, depth: int) -> str | None:
        """A value at the beginning of a loop's body that is the number of the iteration modulo `depth`."""
        for op in body.ops:
            if not op.name.startswith("arith."):
                return None
            a, b = op.get("lhs"), op.get("rhs")
            taken = op.name in ("arith.remui", "arith.remsi") and a is body.args[0]
            if taken and b is not None and constant_of(b) == depth and op.result.name:
                return f"%{op.result.name}"
        return None

    def _number(self, loop: Op, number: int, kind: Any) -> str:
        """A constant that is known at a loop."""
        for op in self.structure.ops:
            alike = op.name == "arith.constant" and op.attrs.get("value") == number and op.result.type == kind
            if alike and op.result.name and self.structure.defined(op.result, loop):
                return f"%{op.result.name}"
        function = self.structure.function(loop)
        key = function, number, kind
        if key not in self._known:
            assert function is not None
            assert function.body is not None
            first = function.body.ops[0]
            self._known[key] = name = self._fresh()
            self._line(first, first_line(first), _NUMBERED - 1, f"{name} = arith.constant {number} : {kind}")
        return self._known[key]

    def _fresh(self) -> str:
        """A name that the program has not."""
        if self._taken is None:
            files = {op.location.file for op in self.structure.ops if op.location.file is not None}
            self._taken = {word for file in files for word in re.findall(r"\bsync\d+\b", "\n".join(file_lines(file)))}
        while f"sync{self._names}" in self._taken:
            self._names += 1
        self._names += 1
        return f"%sync{self._names - 1}"
