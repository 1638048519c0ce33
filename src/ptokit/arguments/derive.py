"""Arguments for a kernel about which only its text is known: arrays as large as its views reach.

Every pointer parameter gets an array that holds the largest view made of it, every scalar a number: 0, what each core
supplies itself where the parameter is called so, or a size where it is the size of a view or the end of a loop. Arrays
that the kernel writes start with zeros, and so do arrays of integers of 16 bits and more, which are tables, indices and
lengths more often than not; others are random. The same text gives the same arguments on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from ptokit.diagnostics import Diagnostic, Note, Severity
from ptokit.ir.control import Edge, callee, control_of, edges
from ptokit.ir.core import Block, Function, Module, Op, Value, ordered
from ptokit.ir.facts import folded, packed_slice
from ptokit.ir.launch import Query, with_function
from ptokit.isa.exchange.core_pipes import SLOTS
from ptokit.isa.scalar.arithmetic import ARITHMETIC, Arithmetic
from ptokit.plan.effects import analyse
from ptokit.types.dtypes import SINGLES
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView

SIZE = 128
"""What a scalar is that decides the size of a view."""

ITERATIONS = 4
"""What a scalar is that decides how often a loop runs."""

ELEMENTS = 4096
"""Length of an array that no view is made of."""


class Guess(NamedTuple):
    """What a text does not tell: sizes of views, how often loops run, and how much longer arrays are than views."""

    size: int = SIZE
    iterations: int = ITERATIONS
    room: int = 1


GUESSES = (Guess(), Guess(64, 2), Guess(32, 2), Guess(16, 1), Guess(1, 1), Guess(room=8), Guess(1, 1, 64))
"""Tried one after the other until the kernel stays inside of its arrays and views."""

LEAVES = frozenset(("GM-OOB", "GM-SLICE", "PTR-A5-02"))
"""Rules of accesses that leave an array or a view."""

T = TypeVar("T")


def settled(
    module: Module,
    entry: Function,
    look: Callable[[list[str]], tuple[T, Iterable[Diagnostic]]],
    blocks: int = 1,
    seed: int = 0,
) -> tuple[T, list[str]]:
    """What `look` finds with derived arguments by which the kernel stays inside of its arrays, and these.

    If it leaves them with all, the first by which it leaves no array counts, or the first. ``blocks``, ``seed``: as of
    `derive`.
    """
    best: tuple[T, list[str]] | None = None
    worst = Severity.ERROR  # of what leaves by the best arguments so far
    tried: set[tuple[str, ...]] = set()
    for guess in GUESSES:
        texts = derive(module, entry, blocks, seed, guess=guess)
        numbers = tuple(text for param, text in zip(entry.params, texts) if isinstance(param.type, Scalar))
        decides = tuple(texts) if worst is Severity.ERROR else numbers  # longer arrays do not help a view
        if decides in tried:
            continue
        tried |= {tuple(texts), numbers}
        result, found = look(texts)
        left = {d.severity for d in found if d.rule in LEAVES}
        if not left:
            return result, texts
        if best is None or (worst is Severity.ERROR and Severity.ERROR not in left):
            best, worst = (result, texts), Severity.ERROR if Severity.ERROR in left else Severity.WARNING
    assert best is not None
    return best


def resting(found: Iterable[Diagnostic], entry: Function, texts: Sequence[str]) -> list[Diagnostic]:
    """The findings; those about the ends of arrays and views say that they rest on arguments made from the text."""
    given = ", ".join(f"{name} is {text}" for name, text in zip(entry.argument_names, texts))
    note = Note(f"the arguments are made from the text, which does not tell them: {given}")
    return [replace(d, notes=(*d.notes, note)) if d.rule in LEAVES else d for d in found]


_ARRAYS = (Ptr, MemRef, TensorView, PartitionView)
_DEEP = 8  # calls within calls that are followed for what sizes depend on
_RANDOM = 1 << 26  # elements: to draw more takes longer than most kernels run
_DOUBLINGS = 12  # times that a number is tried twice as large
_LARGEST = 1 << 30  # elements: what sizes that are not known can add up to


def derive(
    module: Module, entry: Function, blocks: int = 1, seed: int = 0, number: int = 0, guess: Guess | None = None
) -> list[str]:
    """One argument for each parameter of `entry`, in the grammar of ``--arg``.

    ``seed`` is that of random arrays; ``number`` is what integers are that nothing is known of: those in tables, and
    scalars that decide no size. ``guess``: what the text does not tell; by default the first of `GUESSES`.
    """
    module, guess = with_function(module, entry), guess or GUESSES[0]
    numbers = likely(module, entry, blocks, number, guess)
    elements_of = extents(module, entry, numbers, blocks)
    written = analyse(module, entry).written
    texts = []
    for position, param in enumerate(entry.params):
        if isinstance(param.type, Scalar):
            query = asked(param)
            texts.append(_number(param.type, numbers[param]) if query is None else query.value)
        elif isinstance(param.type, _ARRAYS):
            element = param.type.dtype
            elements = min(_LARGEST, max(1, elements_of.get(param, ELEMENTS)) * guess.room)
            shape = str(elements) if isinstance(param.type, Ptr) else _shape(param.type, elements)
            data = element.is_float or element.bits <= 8
            random = param not in written and data and element not in SINGLES and elements <= _RANDOM
            end = f":seed={seed + position}" if random else ""
            table = not data and element.is_integer and (number >= 0 or element.signed)
            word = "random" if random else f"full:{number}" if number and table else "zeros"
            texts.append(f"{word}:{element.name}:{shape}{end}")
        else:
            texts.append("0")
    return texts


def extents(module: Module, entry: Function, numbers: Mapping[Value, int], blocks: int = 1) -> dict[Value, int]:
    """How many elements views reach into each array of `entry`, for the numbers that its other parameters have."""
    reach = _Reach(with_function(module, entry), entry, dict(numbers), blocks)
    reach.walk()
    return reach.elements


def asked(param: Value) -> Query | None:
    """What a core itself supplies for a parameter, told by the names that compilers give where they pass it."""
    if not isinstance(param.type, Scalar) or param.type.name not in ("i32", "i64", "index"):
        return None
    return next((query for query in Query if re.search(rf"(^|[_.]){query.value}$", param.name)), None)


def _greatest(query: Query, blocks: int) -> int:
    """What a core supplies, at most."""
    return {Query.BLOCK_IDX: blocks - 1, Query.BLOCK_NUM: blocks, Query.SUBBLOCK_IDX: 1, Query.SUBBLOCK_NUM: 2}[query]


_SUPPLIED = {query.operation: query for query in Query}
_CASTS = frozenset(f"arith.{name}" for name in "index_cast index_castui extsi extui trunci".split())


def _shape(type: MemRef | TensorView | PartitionView, elements: int) -> str:
    """The sizes of a view; those its type leaves open are `SIZE`."""
    stated = [SIZE if n == DYNAMIC else n for n in type.dims]
    packed = not isinstance(type, MemRef) or type.strides is None
    return "x".join(map(str, stated)) if stated and packed else str(elements)


def _number(type: Scalar, value: int) -> str:
    if type.name == "i1":
        return "true" if value else "false"
    return f"{float(value or 1)}" if type.is_float else str(value)


def likely(
    module: Module, entry: Function, blocks: int, otherwise: int, guess: Guess | None = None
) -> dict[Value, int]:
    """A number for each scalar parameter; ``otherwise``: of those that decide no size."""
    guess = guess or GUESSES[0]
    numbers = {p: 0 for p in entry.params if isinstance(p.type, Scalar)}
    uses = _Uses(module, entry, set(numbers))
    for param in numbers:
        query = asked(param)
        if query is not None:
            numbers[param] = _greatest(query, blocks)
        else:
            is_size, is_end = param in uses.sizes, param in uses.iterations
            numbers[param] = guess.size if is_size else guess.iterations if is_end else otherwise
    reach = _Reach(module, entry, numbers, blocks)
    for param, least in reach.least().items():
        numbers[param] = max(numbers[param], least)
    numbers |= {param: reach.greatest.get(value, 0) for param, value in uses.equal.items() if asked(param) is None}
    return _enough(module, entry, blocks, numbers, uses)


def _enough(module: Module, entry: Function, blocks: int, numbers: dict[Value, int], uses: _Uses) -> dict[Value, int]:
    """The numbers, doubled where the kernel divides them so often that it begins before its arrays or runs no loop."""
    inside, tried = numbers, dict(numbers)
    for _ in range(_DOUBLINGS):
        reach = _Reach(module, entry, tried, blocks)
        reach.walk()
        if not reach.before and inside is numbers:
            inside = dict(tried)
        deciding = [uses.deciding(value) for value in (*reach.before, *reach.idle)]
        small = [p for p in tried if asked(p) is None and any(p in each for each in deciding)]
        if not small:
            return inside if reach.before else tried
        tried |= {p: max(1, 2 * tried[p]) for p in small}
    return inside


class _Uses:
    """Which scalar parameters decide the sizes of views, and which how often loops run; ``equal``: what parameters have
    to be for a branch that has no other side, or leads to other blocks."""

    def __init__(self, module: Module, entry: Function, params: set[Value]) -> None:
        self.sizes: set[Value] = set()
        self.iterations: set[Value] = set()
        self.equal: dict[Value, Value] = {}
        self._same: dict[Value, Value] = {p: p for p in params}  # parameters, by values that are no other number
        self._equality: dict[Value, tuple[Value, Value]] = {}
        self._from: dict[Value, frozenset[Value]] = {p: frozenset((p,)) for p in params}
        self._function(module, entry, 0)

    def _function(self, module: Module, function: Function, depth: int) -> None:
        for op in function.body.walk() if function.body is not None else ():
            if op.name == "pto.make_tensor_view":
                self._note(self.sizes, op.group("shape"))
            elif depth < _DEEP and (called := callee(op, module)) is not None:
                for value, param in zip(op.group("args"), called.params):
                    self._from[param] = self._from.get(param, frozenset()) | self._from.get(value, frozenset())
                self._function(module, called, depth + 1)
            self._note(self.iterations, [induction.upper for induction in control_of(op).inductions(op)])
            self._guard(op)
            if op.name.startswith("arith."):
                sources = frozenset().union(*(self._from.get(v, frozenset()) for v in op.values))
                for result in op.results:
                    self._from[result] = sources
        if function.body is not None and function.body.more:
            self._note(self.iterations, _ends_of_loops(function.body))

    def _guard(self, op: Op) -> None:
        """A comparison of a parameter with another number, and a branch that is taken where they are equal."""
        if op.name in _CASTS and op.values[0] in self._same:
            self._same[op.result] = self._same[op.values[0]]
        elif op.name == "arith.cmpi" and op.attrs.get("predicate") == "eq":
            for value, other in (op.values, op.values[::-1]):
                if value in self._same and not self.deciding(other):
                    self._equality[op.result] = (self._same[value], other)
        elif sum(bool(region.ops) for region in op.regions) < 2:
            for name in control_of(op).decides:
                for value in filter(self._equality.__contains__, op.group(name)):
                    self.equal.setdefault(*self._equality[value])

    def deciding(self, value: Value) -> frozenset[Value]:
        """The parameters that a number is computed from."""
        return self._from.get(value, frozenset())

    def _note(self, into: set[Value], values: Sequence[Value]) -> None:
        for value in values:
            into.update(self.deciding(value))


def _back(region: Block) -> list[tuple[Block, Block, Edge]]:
    """Where control goes back in loops that blocks form: from which block, to which, and what it hands over."""
    blocks = ordered(region)
    place = {id(block): k for k, block in enumerate(blocks)}
    leaving = (
        (block, to, edge) for block in blocks for to, edge in zip(block.ops[-1].successors, edges(block.ops[-1]))
    )
    return [(block, to, edge) for block, to, edge in leaving if place[id(to)] <= place[id(block)]]


def _ends_of_loops(region: Block) -> list[Value]:
    """The conditions of loops that blocks form: where control goes back, or where it has gone back to."""
    ends = {id(block): block.ops[-1] for back in _back(region) for block in back[:2]}
    deciding = (op for op in ends.values() if len(op.successors) > 1)
    return [value for op in deciding for name in control_of(op).decides for value in op.group(name)]


def _counted(region: Block) -> Iterator[tuple[Value, Value, Value]]:
    """Of loops that blocks form what counts iterations, how far it goes in each, and the end it is compared with."""
    made = {result: op for block in ordered(region) for op in block.ops for result in op.results}
    steps: dict[Value, Value] = {}
    for _, _, edge in _back(region):
        for given, arg in zip(edge.given, edge.taken):
            op = made.get(given)
            if op is not None and op.name == "arith.addi" and arg in op.values:
                steps[arg] = op.values[op.values[0] is arg]
    for condition in _ends_of_loops(region):
        compared = made.get(condition)
        for value, end in (compared.values, compared.values[::-1]) if compared is not None else ():
            while (op := made.get(value)) is not None and op.name in (*_CASTS, "arith.addi"):
                value = op.values[0]
            if value in steps:
                yield value, steps[value], end


class _Reach:
    """The greatest values of numbers, as far as the text tells, and how far views reach into parameters."""

    def __init__(self, module: Module, entry: Function, numbers: dict[Value, int], blocks: int) -> None:
        self.module, self.entry, self.blocks = module, entry, blocks
        self.greatest: dict[Value, int] = dict(numbers)
        self.origin: dict[Value, tuple[Value, int, int]] = {  # parameter, byte offset, bytes of an element
            p: (p, 0, p.type.dtype.size) for p in entry.params if isinstance(p.type, _ARRAYS)
        }
        self.views: dict[Value, tuple[list[Value], list[int]]] = {}  # sizes as values, and as numbers
        self.elements: dict[Value, int] = {}
        self.before: list[Value] = []  # offsets below 0
        self.idle: list[Value] = []  # ends of loops that do not run
        self._needed: dict[Value, int] = {}
        self._calls = 0
        self._inside = entry
        self._entry_of: dict[Value, Value] = {p: p for p in entry.params}  # by parameters of what it calls
        for p in entry.params:
            if isinstance(p.type, MemRef | TensorView | PartitionView):
                dims = tuple(SIZE if n == DYNAMIC else n for n in p.type.dims)
                seen = p.type if isinstance(p.type, MemRef) else MemRef(dims, p.type.dtype)
                self._touch(p, 0, dims, [SIZE if n == DYNAMIC else n for n in seen.strides_of(dims)])

    def walk(self) -> None:
        """Go through the text once, loops at their last iteration."""
        assert self.entry.body is not None
        self._region(self.entry.body)

    def least(self) -> dict[Value, int]:
        """What scalar parameters that are sizes of views have to be, so that the slices taken of them fit."""
        self.walk()
        return self._needed

    def _of(self, value: Value | None) -> int:
        return self.greatest.get(value, 0) if value is not None else 0

    def _region(self, region: Block) -> None:
        self._blocks(region)
        for count, step, end in _counted(region) if region.more else ():
            far = max(1, self._of(step))
            first = self._of(count)  # of one of the first iterations
            self.greatest[count] = max(first, first + (self._of(end) - 1 - first) // far * far)
            self._blocks(region)

    def _blocks(self, region: Block) -> None:
        for block in ordered(region):
            for op in block.ops:
                self._op(op)

    def _op(self, op: Op) -> None:
        match op.name:
            case "arith.constant":
                value = op.attrs["value"]
                self.greatest[op.result] = int(value) if isinstance(value, int) else 0
            case "arith.select":
                self._max(op.result, [op["true"], op["false"]])
            case _ if (query := _SUPPLIED.get(op.name)) is not None:
                self.greatest[op.result] = _greatest(query, self.blocks)
            case "pto.addptr":
                self._moved(op, self._offset(op.get("offset")))
            case "pto.castptr":
                self._moved(op, 0)
            case "pto.make_tensor_view":
                sizes = [self._of(v) for v in op.group("shape")]
                self.views[op.result] = (op.group("shape"), sizes)
                self._touch(op["ptr"], 0, sizes, [self._of(v) for v in op.group("strides")])
                self.origin[op.result] = self.origin.get(op["ptr"], (op["ptr"], 0, 1))
            case "pto.partition_view":
                self._slice(op)
            case _ if (memory := op.get("gm_slot_buffer") or op.get("gm_slot_tensor") or op.get("gm")) is not None:
                self._slots(op, memory)
            case _ if op.get("len_burst") is not None:
                self._copy(op)
            case "pto.load_scalar" | "pto.store_scalar":
                self._touch(op["ptr"], self._of(op.get("index")), (1,), (1,))
            case _ if (row := ARITHMETIC.get(op.name)) is not None and len(op.results) == 1:
                self._arithmetic(op, row)
            case _ if (called := callee(op, self.module)) is not None:
                self._call(op, called)
            case _:
                self._enter(op)

    def _arithmetic(self, op: Op, row: Arithmetic) -> None:
        """What the greatest operands make; a remainder is as large as the divisor lets it be."""
        a, *more = map(self._of, op.values)
        if not more:
            found = a
        elif row.does == "fmod":
            found = min(a, more[0] - 1) if more[0] > 0 else 0
        else:
            found = folded(op, self._of) or 0
        self.greatest[op.result] = int(found)
        if op.name in _CASTS and op.values[0] in self._entry_of:
            self._entry_of[op.result] = self._entry_of[op.values[0]]

    def _max(self, result: Value, values: Sequence[Value]) -> None:
        self.greatest[result] = max(map(self._of, values))

    def _carry(self, values: Sequence[Value], to: Sequence[Value]) -> None:
        for value, arg in zip(values, to):
            if value in self.origin:
                self.origin.setdefault(arg, self.origin[value])
            self.greatest[arg] = max(self._of(arg), self._of(value))

    def _enter(self, op: Op) -> None:
        """Regions once, loops in their last iteration; blocks that branches lead to get what these hand over."""
        for arg, *bounds in control_of(op).inductions(op):
            lower, upper, step = map(self._of, bounds)
            step = max(1, step)
            self.idle += [bounds[1]] if upper <= lower else []
            self.greatest[arg] = lower + max(0, upper - 1 - lower) // step * step
        for region in (*op.regions, None):
            for edge in edges(op):
                self._carry(edge.given, edge.taken)
            if region is not None:
                self._region(region)

    def _call(self, op: Op, function: Function) -> None:
        if self._calls > 1000:
            return
        assert function.body is not None
        self._calls += 1
        for value, param in zip(op.group("args"), function.params):
            if value in self._entry_of:
                self._entry_of[param] = self._entry_of[value]
        self._carry(op.group("args"), function.params)
        outside, self._inside = self._inside, function
        self._region(function.body)
        self._inside = outside

    def _moved(self, op: Op, offset: int) -> None:
        source = op.get("ptr") or op.get("value")
        if source in self.origin and isinstance(op.result.type, Ptr):
            param, at, size = self.origin[source]
            self.origin[op.result] = (param, at + offset * size, op.result.type.dtype.size)

    def _offset(self, value: Value | None) -> int:
        offset = self._of(value)
        if value is not None and offset < 0:
            self.before.append(value)
        return offset

    def _copy(self, op: Op) -> None:
        """Rows, and loops around them, with lengths and strides in bytes."""
        rows, loops = op.get("n_burst"), op.group("loops")
        for side, name in enumerate(("src", "dst")):
            axes = [(rows, op.get(f"{name}_stride")), *zip(loops[::3], loops[1 + side :: 3])]
            last = sum(max(0, self._of(n) - 1) * max(0, self._of(stride)) for n, stride in axes)
            self._reached(op[name], last + self._of(op["len_burst"]))

    def _slice(self, op: Op) -> None:
        """A slice that lies past its view: a parameter that is the view's size has to be larger."""
        source = op["source"]
        if source in self.views:
            values, sizes = self.views[source]
            for axis, (offset, size) in enumerate(zip(op.group("offsets"), op.group("sizes"))):
                end = self._offset(offset) + self._of(size)
                param = self._entry_of.get(values[axis]) if axis < len(sizes) else None
                if param is not None and end > sizes[axis]:
                    self._needed[param] = max(self._needed.get(param, 0), end)
        if isinstance(source.type, TensorView | PartitionView | MemRef) and source in self.origin:
            self.origin[op.result] = self.origin[source]
        packed = packed_slice(op, self._inside)
        if packed is not None:  # the last groups are moved as a whole
            self._touch(source, 0, packed.dims, packed.strides)

    def _slots(self, op: Op, memory: Value) -> None:
        """The slots of a pipe that goes through global memory, in both directions."""
        directions = op.attrs.get("dir_mask", 1)
        slots = op.attrs.get("slot_num") or SLOTS.get(directions, 8)
        unit = self.origin[memory][2] if memory in self.origin else 1
        count = slots * op.attrs.get("slot_size", 0) * (2 if directions == 3 else 1) // max(1, unit)
        self._touch(memory, 0, (count,), (1,))

    def _touch(self, pointer: Value, at: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
        if pointer in self.origin:
            last = at + sum(max(0, n - 1) * max(0, s) for n, s in zip(sizes, strides))
            self._reached(pointer, (last + 1) * self.origin[pointer][2])

    def _reached(self, pointer: Value, size: int) -> None:
        """So many bytes from a pointer on belong to its array."""
        if pointer not in self.origin:
            return
        param, offset, _ = self.origin[pointer]
        assert isinstance(param.type, _ARRAYS)
        elements = -(-(offset + size) // max(1, param.type.dtype.size))
        self.elements[param] = max(self.elements.get(param, 1), elements)
