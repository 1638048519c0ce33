"""Analyses of plans: where pointers lead and tiles lie, what decides which memory is touched, intervals of numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ptokit.ir.core import Value
from ptokit.machine.words import slot_bytes
from ptokit.plan.effects import loaded, stored
from ptokit.plan.steps import CONTROL, FunctionPlan, Operand, Plan, Region, Relations, Step, constant, values_of
from ptokit.targets import Target
from ptokit.types.tile import TileSpec
from ptokit.types.values import MultiTile, Scalar

if TYPE_CHECKING:
    from .function import Writer


# Which values of a program may be which others: what loops, branches and calls hand on.


class Flows:
    """Of a whole plan. ``sources``: the values that a value may be; of one that a step computes there are none."""

    def __init__(self, plan: Plan) -> None:
        self.sources: dict[Value, list[Value]] = {}
        for function in plan.functions.values():
            self._branches(function.body)
            for step in function.walk():
                self._step(plan.functions, step)

    def _flow(self, targets: Sequence[Value], sources: Sequence[Operand]) -> None:
        for target, source in zip(targets, sources):
            self.sources.setdefault(target, []).extend(values_of((source,)))

    def _step(self, functions: dict[str, FunctionPlan], step: Step) -> None:
        """Which values a step hands on to which."""
        yielded = [end.operands for region in step.regions for end in ends(region, "yield")]
        match step.word:
            case "for":
                (_, *carried) = step.regions[0][0].args
                for values in (step.operands[3:], *yielded):
                    self._flow(carried, values)
                self._flow(step.results, carried)
            case "while":
                before, after = (region[0].args for region in step.regions)
                for values in (step.operands, *yielded):
                    self._flow(before, values)
                for end in ends(step.regions[0], "condition"):
                    self._flow(step.results, end.operands[1:])
                self._flow(after, step.results)  # native code carries them where it carries the results
            case "call":
                callee = functions.get(step.callee)
                if callee is not None:
                    self._flow(callee.function.params, step.operands)
                    for end in ends(callee.body, "return"):
                        self._flow(step.results, end.operands)
            case _:
                for values in yielded:
                    self._flow(step.results, values)
        for region in step.regions:
            self._branches(region)

    def _branches(self, region: Region) -> None:
        for branch in ends(region, "branch"):
            for way in branch.ways:
                self._flow(region[way.block].args, way.operands)


def ends(region: Region, word: str) -> Iterator[Step]:
    """The steps of that word at the ends of a region's blocks."""
    return (block.steps[-1] for block in region if block.steps and block.steps[-1].word == word)


# Between which numbers an integer of the program lies, where its text says so.


_DEPTH = 8


def interval(w: Writer, operand: Operand, depth: int = _DEPTH) -> tuple[int, int] | None:
    """The least and the greatest number that an operand can be: of constants, counts of loops and sums of them."""
    known = constant(operand)
    if isinstance(known, int):
        return int(known), int(known)
    if depth == 0 or not isinstance(operand, Value) or str(operand.type) not in ("index", "i64", "i32"):
        return None  # narrow types wrap
    loop = w.relations.around(operand)
    if loop is not None:
        return _of_loop(w, operand, loop, depth)
    step = w.relations.maker.get(operand)
    if step is None or step.word != "compute" or step.name not in ("addi", "subi", "muli", "index_cast"):
        return None
    found = [interval(w, given, depth - 1) for given in step.operands]
    if any(f is None for f in found):
        return None
    (low, high), *more = [f for f in found if f is not None]
    for a, b in more:
        if step.name == "addi":
            low, high = low + a, high + b
        elif step.name == "subi":
            low, high = low - b, high - a
        else:
            products = (low * a, low * b, high * a, high * b)
            low, high = min(products), max(products)
    return (low, high) if low >= -(1 << 31) and high < 1 << 31 else None


def _of_loop(w: Writer, value: Value, loop: Step, depth: int) -> tuple[int, int] | None:
    """Of the variable of a loop whose ends are known, or of a count of lanes that its iterations take from."""
    if loop.word != "for":
        return None
    args = loop.regions[0][0].args
    if value not in args:
        return None
    if value is not args[0]:
        return _counted(w, loop, args.index(value), depth)
    ends = [interval(w, end, depth - 1) for end in loop.operands[:2]]
    if ends[0] is None or ends[1] is None:
        return None
    step = constant(loop.operands[2])
    low, high = ends[0][0], max(ends[0][0], ends[1][1] - 1)
    if isinstance(step, int) and step > 1 and ends[0][0] == ends[0][1]:
        high = low + (high - low) // step * step
    return low, high


def iterations(loop: Step) -> int | None:
    """How many iterations a loop has, if its text says so."""
    lower, upper, step = map(constant, loop.operands[:3])
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return max(0, -((lower - upper) // step))
    return None


def _counted(w: Writer, loop: Step, number: int, depth: int) -> tuple[int, int] | None:
    """Of an argument of a loop's iterations, where each takes a register's lanes off it."""
    (body, *more) = loop.regions[0]
    first, count = interval(w, loop.operands[2 + number], depth - 1), iterations(loop)
    last = body.steps[-1]
    if more or last.word != "yield" or first is None or count is None or first[0] < 0:
        return None
    taker = w.relations.maker.get(last.operands[number - 1])
    instr = None if taker is None else taker.instr
    if taker is None or instr is None or not instr.counts or taker.get(instr.operands[0].name) is not body.args[number]:
        return None
    return max(0, first[0] - instr.counts * max(0, count - 1)), first[1]


# Where the tiles of a program may lie, by all of its text: also those that it makes or moves further down.


class Place(NamedTuple):
    """So many bytes of a buffer that begin at `first`, at `last`, or in between.

    ``space``: the buffer, or what identifies the memory of a tile without an address.
    """

    space: Hashable
    first: int
    last: int
    nbytes: int

    @property
    def end(self) -> int:
        return self.last + self.nbytes

    def meets(self, other: Place) -> bool:
        """True if both may share bytes."""
        return self.space == other.space and self.first < other.end and other.first < self.end


class Places:
    """Of all tiles of a plan: where only the run knows, anywhere in the buffer."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self.target = target
        self._of: dict[Operand, frozenset[Place]] = {}
        self._sources = Flows(plan).sources
        self._made: dict[Value, Step] = {}
        for function in plan.functions.values():
            for step in function.walk():
                self._made.update(dict.fromkeys(step.results, step))
        values = [v for v in dict.fromkeys((*self._made, *self._sources)) if isinstance(v.type, TileSpec | MultiTile)]
        changed = True
        while changed:
            changed = False
            for value in values:
                found = self._found(value)
                if found != self._of.get(value):
                    self._of[value] = found
                    changed = True
        self._shared = _shared({v: found for v, found in self._of.items() if isinstance(v.type, TileSpec)})

    def meet(self, a: Operand, b: Operand) -> bool:
        """True if two values are tiles that may share bytes."""
        return any(x.meets(y) for x in self._of.get(a, ()) for y in self._of.get(b, ()))

    def alone(self, tile: Value) -> bool:
        """True if no other tile of the program ever lies on a byte of this one."""
        return tile not in self._shared

    def _found(self, value: Value) -> frozenset[Place]:
        """Where a value may lie, by where those may lie that it comes from."""
        if value in self._sources:
            return self._union(self._sources[value])
        step, spec = self._made[value], value.type
        if isinstance(spec, MultiTile):
            return frozenset(self._at(step, slot, spec.slot) for slot in range(spec.count))
        assert isinstance(spec, TileSpec)
        match step.word:
            case "tile" | "rebind":
                return frozenset((self._at(step, 0, spec),))
            case "alias" | "numbers":
                return frozenset(place._replace(nbytes=spec.nbytes) for place in self._union([step["src"]]))
            case "window":
                return frozenset(Place(p.space, p.first, p.end - 1, 1) for p in self._union([step["source"]]))
            case "element":
                return self._union(step.values[:1])
        return frozenset((self._anywhere(spec.loc, spec),))

    def _union(self, values: Iterable[Value]) -> frozenset[Place]:
        return frozenset(place for value in values for place in self._of.get(value, ()))

    def _at(self, step: Step, slot: int, spec: TileSpec) -> Place:
        """Where a tile is put, or a slot of several."""
        if step.get("addr") is None:
            return Place((step, slot), 0, 0, spec.nbytes)
        known = constant(step["addr"])
        if not isinstance(known, int):
            return self._anywhere(spec.loc, spec)
        first = known + slot * slot_bytes(spec)
        return Place(spec.loc, first, first, spec.nbytes)

    def _anywhere(self, space: Hashable, spec: TileSpec) -> Place:
        return Place(space, 0, self.target.capacity[spec.loc], spec.nbytes)


def _shared(places: dict[Value, frozenset[Place]]) -> set[Value]:
    """The values that may share bytes with another one."""
    spaces: dict[Hashable, list[tuple[int, int, Value]]] = {}
    for value, found in places.items():
        for place in found:
            spaces.setdefault(place.space, []).append((place.first, place.end, value))
    out: set[Value] = set()
    for ranges in spaces.values():
        ranges.sort(key=lambda item: item[:2])
        _, reached, owner = ranges[0]
        for first, end, value in ranges[1:]:
            if first < reached:
                out |= {value, owner}
            if end > reached:
                reached, owner = end, value
    return out


# What decides which global memory a kernel touches: accesses, control flow around them, and what both depend on.


class Relevant:
    """Steps and values of a plan that decide about global memory. All others have no effect on it.

    A loop is one of them if an access is inside it, or if one depends on what it hands on; of the values that it
    carries only those count on which something depends.
    """

    def __init__(self, plan: Plan, relations: Callable[[FunctionPlan], Relations]) -> None:
        self.plan = plan
        self.steps: set[Step] = set()
        self.values: set[Value] = set()
        self._relations: dict[Step, Relations] = {}  # of the function that a step stands in
        self._functions: dict[Step, str] = {}
        self._needed: dict[Value, Step] = {}  # the step that gives a value, or has it as argument of a region
        self._sources = Flows(plan).sources
        self._calls: dict[str, list[Step]] = {}
        self._waiting: list[Step | Value] = []
        for name, function in plan.functions.items():
            found = relations(function)
            self._needed |= found.maker
            self._needed |= {v: found.owners[block] for v, block in found.takes.items() if block in found.owners}
            for step in function.walk():
                self._relations[step], self._functions[step] = found, name
                if step.word == "call":
                    self._calls.setdefault(step.callee, []).append(step)
        for step in self._relations:
            if step.word == "return" or _touched(step):
                self._need(step)
        self._close()

    # --- what is needed ------------------------------------------------------------------------------------------

    def _need(self, found: Step | Value) -> None:
        known: set[Step] | set[Value] = self.steps if isinstance(found, Step) else self.values
        if found not in known:
            known.add(found)  # type: ignore[arg-type]
            self._waiting.append(found)

    def _close(self) -> None:
        while self._waiting:
            found = self._waiting.pop()
            if isinstance(found, Step):
                self._needed_by(found)
                continue
            owner = self._needed.get(found)
            if owner is not None:
                self._need(owner)
            for source in self._sources.get(found, ()):
                self._need(source)

    def _needed_by(self, step: Step) -> None:
        for value in values_of(_decides(step)):
            self._need(value)
        relations, function = self._relations[step], self._functions[step]
        block, _ = relations.places.get(step, (None, 0))
        owner = relations.owners.get(block) if block is not None else None
        for around in self._calls.get(function, ()) if owner is None else (owner,):
            self._need(around)
        for branch in ends(relations.regions[block], "branch") if block is not None else ():
            self._need(branch)


def _decides(step: Step) -> Sequence[Operand]:
    """The operands on which it depends what a step does to control flow and to global memory."""
    match step.word:
        case "for":
            return step.operands[:3]
        case "while":
            return [end.operands[0] for end in ends(step.regions[0], "condition")]
        case "if" | "switch" | "branch":
            return step.operands[:1]
        case "load_scalar" | "store_scalar":
            return [step["ptr"], step["index"]]
    if step.word in CONTROL:
        return ()
    memory = _touched(step)
    if not memory or step.instr is None:
        return step.operands
    return [*memory, *(v for v in step.values if isinstance(v.type, Scalar) and step.instr.typed)]


def _touched(step: Step) -> list[Value]:
    """The views and pointers through which a step reads or writes global memory."""
    return [*stored(step), *loaded(step)]
