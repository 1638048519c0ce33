"""How long a launch takes with flags and barriers, by the model of `ptokit time`.

Flags are inserted into the program that has been read, each with ids of its own, timed, and taken out again: nothing is
written or read, and ids do not run out. Of C++, where a compiler decides what statements become, marks between the
statements are compiled first, and flags take the place of some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from ptokit.diagnostics import Location
from ptokit.ir.control import control_of
from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.sanitize.findings.insertion import interleaved, statements
from ptokit.sanitize.findings.race import ordering
from ptokit.sanitize.findings.source_text import Structure, flag_code, issues
from ptokit.timing.state import NotPredicted
from ptokit.types.enums import Pipe

from .dependences import Barrier, Flag, Path, Placed
from .numbering import of_text, place_of
from .placing import NoPlace
from .report import Predicted
from .writing import RANKS, STOP, WAIT, Writing

_OWN = 1000
"""The first id of flags that are timed."""


class Launch(Protocol):
    """A launch of versions of a program; ``said``: which one."""

    @property
    def said(self) -> str: ...

    def cycles(self, module: Module, entry: Function) -> float: ...


class Part(NamedTuple):
    """A set of a flag or a wait for it, and beside which operation it is. ``rank``: of what is inserted in one place.

    ``rotates``: for one of its ids after the other, else for all. ``told``: the source is told of the last wait before.
    """

    flag: Flag
    verb: str
    op: Op
    after: bool
    rank: int
    rotates: bool = False
    told: bool = False

    @property
    def place(self) -> Hashable:
        """What is equal for parts in one place of a text in C++, which have the same number of ids."""
        home = self.flag.home
        around = (home.location[:3], self.flag.depth) if self.rotates and home is not None else None
        return self.flag.core, self.op.location[:3], bool(self.op.regions), self.after, self.rank, around


def parts_of(flags: Iterable[Flag]) -> list[Part]:
    """The sets and waits of flags, those in one place as they follow each other."""
    found = []
    for flag in flags:
        if flag.at_once:
            found += [Part(flag, "set", flag.before, False, STOP), Part(flag, "wait", flag.before, False, WAIT)]
            continue
        for verb, op, after in statements(flag.after, flag.before, flag.around):
            outside = op is flag.around
            told = verb == "set" and ("prime" if outside else "set") in flag.told
            found.append(Part(flag, verb, op, after, RANKS[verb, outside], flag.depth > 1 and not outside, told))
    return sorted(found, key=lambda part: part.rank)


class Timer:
    """Times a program with flags and barriers. Raises `NotPredicted` where there is no launch."""

    def __init__(self, structure: Structure, module: Module, entry: Function, launch: Launch) -> None:
        self.structure, self.module, self.entry, self.launch = structure, module, entry, launch
        self.timed = 0
        self._known: dict[Hashable, float] = {}
        if not self.cycles(Placed()):
            raise NotPredicted(f"nothing is issued with {launch.said}")

    def cycles(self, placed: Placed) -> float:
        """From the first start of a core to the last end."""
        key = frozenset(map(identity, placed.flags)), frozenset(barrier.before for barrier in placed.barriers)
        if key not in self._known:
            self.timed += 1
            self._known[key] = self._time(placed)
        return self._known[key]

    def everywhere(self, accesses: Iterable[Op]) -> float:
        """With a barrier of all pipes before each instruction."""
        return self.cycles(Placed([], [Barrier(op, "") for op in dict.fromkeys(map(self.structure.outside, accesses))]))

    def _time(self, placed: Placed) -> float:
        before: dict[Op, list[Op]] = {}
        after: dict[Op, list[Op]] = {}
        for barrier in placed.barriers:
            stop = ordering("barrier", (Pipe.ALL,), 0, barrier.before.location)
            before.setdefault(barrier.before, []).append(stop)
        own = _own_ids(placed.flags)
        begin: dict[Op, list[Op]] = {}
        for part in parts_of(placed.flags):
            flag, first = part.flag, own[part.flag]
            events: Sequence[int | Value] = range(first, first + flag.depth)
            if part.rotates:
                start, ops, event = _rotated(flag, first)
                begin.setdefault(start, []).extend(ops)
                events = [event]
            made = _told(part, first, part.op.location)
            made += [ordering(part.verb, flag.pipes, event, part.op.location) for event in events]
            (after if part.after else before).setdefault(part.op, []).extend(made)
        for start, ops in begin.items():
            before[start] = [*ops, *before.get(start, ())]
        with _changed(map(self.structure.block, (*before, *after)), lambda ops: interleaved(ops, before, after)):
            return self.launch.cycles(self.module, self.entry)


Marked = tuple[Module, Function, list[list[Op]]]
"""A program that was compiled with marks, and the operations that each of these has become."""


class TextTimer(Timer):
    """Times a program in C++. ``alone``: times it without flags; ``marked``: compiles it with marks for some parts."""

    def __init__(self, alone: Timer, structure: Structure, marked: Callable[[Sequence[Part]], Marked]) -> None:
        self.structure, self.launch, self.alone, self.marked = structure, alone.launch, alone, marked
        self.timed = 0
        self._known = {}
        self._parts: dict[Hashable, Part] = {}
        self._places: dict[Op, Hashable] = {}  # of operations that are marks

    def everywhere(self, accesses: Iterable[Op]) -> float:
        return self.alone.everywhere(accesses)

    def _time(self, placed: Placed) -> float:
        if placed.barriers:
            raise NotPredicted("flags beside barriers are not timed in programs in C++")
        flags = of_text(placed.flags)
        own = _own_ids(flags)
        here: dict[Hashable, list[Part]] = {}
        for part in parts_of(flags):
            here.setdefault(part.place, []).append(part)
        if here.keys() - self._parts.keys():
            self._parts |= {place: parts[0] for place, parts in here.items()}
            self.module, self.entry, marks = self.marked(list(self._parts.values()))
            self._places = {op: place for place, ops in zip(self._parts, marks) for op in ops}
            self._marked = Structure(self.module.functions)
            if not self._places:
                raise NotPredicted("nothing comes of marks between its statements")

        def flagged(ops: Sequence[Op]) -> list[Op]:
            found: list[Op] = []
            for op in ops:
                if op not in self._places:
                    found.append(op)
                for part in here.get(self._places.get(op), ()):
                    found += _instead(op, part, own[part.flag])
            return found

        with _changed(map(self._marked.block, self._places), flagged):
            return self.launch.cycles(self.module, self.entry)


class Marks(Writing):
    """Lines in a text of C++ that mark the places of some parts. Raises `NotPredicted` where a line has no place."""

    def __init__(self, structure: Structure, file: str, compiled: dict[str, set[int]], parts: Sequence[Part]) -> None:
        super().__init__(structure, Placed(), file, compiled, ())
        self.count = len(parts)
        try:
            for number, part in enumerate(parts):  # compilers keep a set where it is, with the id of the iteration
                event: int | str = self._rotating(part.flag) if part.rotates else 0
                code = flag_code("set", (*part.flag.pipes, event), part.op)
                self._insert(part.op, part.after, part.rank, f"{code} /* mark {number} */")
        except NoPlace as error:
            raise NotPredicted(f"line {error.at.line}: {error.why}") from None

    def found(self, text: str, module: Module, file: str) -> list[list[Op]]:
        """The operations that each mark of a text has become, which was compiled from a file."""
        lines = {k: int(mark[1]) for k, line in enumerate(text.splitlines(), 1) if (mark := _MARK.search(line))}
        found: list[list[Op]] = [[] for _ in range(self.count)]
        for op in Structure(module.functions).ops:
            if op.location.file == file and op.location.line in lines and issues(op):
                found[lines[op.location.line]].append(op)
        return found


_MARK = re.compile(r"/\* mark (\d+) \*/")


def _instead(mark: Op, part: Part, first: int) -> Iterator[Op]:
    """What sets or waits for a flag in the place of a mark."""
    pipes, event = part.flag.pipes, mark.get("event")
    yield from _told(part, first, mark.location)
    if not part.rotates:
        yield from (ordering(part.verb, pipes, first + k, mark.location) for k in range(part.flag.depth))
    elif event is None:
        yield ordering(part.verb, pipes, first + mark.attrs["event_id"], mark.location)
    else:
        number = Value(event.type)
        yield Op("arith.constant", {}, {"value": first}, [number], location=mark.location)
        made = Value(event.type)
        yield Op("arith.addi", {"lhs": event, "rhs": number}, {}, [made], location=mark.location)
        yield ordering(part.verb, pipes, made, mark.location)


def _told(part: Part, first: int, at: Location) -> list[Op]:
    """What tells the source of a flag of the last wait for it."""
    back = part.flag.pipes[::-1]
    return [ordering(verb, back, first + part.flag.depth, at) for verb in (("set", "wait") if part.told else ())]


@contextmanager
def _changed(blocks: Iterable[Block], change: Callable[[list[Op]], list[Op]]) -> Iterator[None]:
    """Blocks have other operations while this is open."""
    kept = [(block, list(block.ops)) for block in {id(block): block for block in blocks}.values()]
    try:
        for block, ops in kept:
            block.ops[:] = change(ops)
        yield
    finally:
        for block, ops in kept:
            block.ops[:] = ops


def _own_ids(flags: Iterable[Flag]) -> dict[Flag, int]:
    """The first id of each flag, which no other one has."""
    found, number = {}, _OWN
    for flag in flags:
        found[flag] = number
        number += flag.depth + 1  # the last one is of what tells its source of waits
    return found


def _rotated(flag: Flag, first: int) -> tuple[Op, list[Op], Value]:
    """The id of an iteration: before which operation it is computed, by which ones."""
    assert flag.home is not None
    body = flag.home.regions[0]
    variable, lower, _, step = control_of(flag.home).inductions(flag.home)[0]
    start, ops = body.ops[0], list[Op]()

    def constant(number: int) -> Value:
        made = Value(variable.type)
        ops.append(Op("arith.constant", {}, {"value": number}, [made], location=start.location))
        return made

    def computed(name: str, a: Value, b: Value) -> Value:
        made = Value(variable.type)
        ops.append(Op(f"arith.{name}", {"lhs": a, "rhs": b}, {}, [made], location=start.location))
        return made

    value = computed("divui", computed("subi", variable, lower), step)
    return start, ops, computed("addi", computed("remui", value, constant(flag.depth)), constant(first))


def identity(flag: Flag) -> Hashable:
    """What decides how long a launch takes with a flag; of C++, what is equal for all flags of one place."""
    if flag.before.in_cpp:
        return place_of(flag), flag.depth, flag.at_once, flag.told
    return flag.core, flag.pipes, flag.after, flag.before, flag.around, flag.depth, flag.at_once, flag.told


def predicted(timer: Timer, least: Placed, accesses: Iterable[Iterable[Path]]) -> Predicted:
    """How long the fewest flags take, and barriers everywhere. ``accesses``: of each kind of core."""
    count = timer.cycles(least)
    return Predicted(
        count, count, timer.everywhere(path[-1] for paths in accesses for path in paths), timer.launch.said
    )
