"""Places where the code calls back into Python: what is handed over, and what is done with it.

Known parts of operands are kept in Python; the code hands over the others as 64-bit words, which come back as the
objects that the NumPy backend would have: `ptokit.machine.tiles.Tile`, `View`, `Pointer` … on the same bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.isa.table import Role
from ptokit.machine.global_memory import Pointer as RunPointer
from ptokit.machine.global_memory import View as RunView
from ptokit.machine.lanes import plain
from ptokit.machine.local_memory import SPACES
from ptokit.machine.local_memory import LocalPointer as RunLocalPointer
from ptokit.machine.tiles import Tile as RunTile
from ptokit.machine.tiles import Window, bound
from ptokit.plan.steps import Data, Operand, Step, without_form
from ptokit.types.dtypes import FLOAT_TYPES
from ptokit.types.values import LogicalMask, LogicalVector, Mask, Ptr, Scalar, VReg

from . import values
from .code import Num
from .module import Action, CallSite, memory_at
from .scalars import FLOATS, llvm_type
from .tiles import valid
from .values import LAYOUTS, GmPointer, LocalPointer, NotNativeError, Register, Slots, Stack, Tile, View

if TYPE_CHECKING:
    from .function import Writer

VECTORS = VReg | Mask | LogicalVector | LogicalMask
Decode = Callable[[Any, list[int]], Any]


class Packing:
    """The words of one place, and how they become operands."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        self.words: list[tuple[int, str, object]] = []
        self.size = 0  # words; a register takes several of them
        self.operands: list[Decode] = []
        self.results: list[int] = []  # the first words that take results
        self.places: set[int] = set()  # words that say where something lies

    def add(self, kind: str, what: object, size: int = 1) -> int:
        """One more operand to hand over; the number of its first word."""
        first = self.size
        self.words.append((first, kind, what))
        self.size += size
        return first

    def number(self, n: Num) -> Callable[[list[int]], int]:
        """How to get a 64-bit number."""
        if isinstance(n, int):
            return lambda words: n
        k = self.add("i64", n)
        return lambda words: words[k]

    def place(self, n: Num) -> Callable[[list[int]], int]:
        """How to get a number that says where something lies, at which no rule of sizes looks."""
        if not isinstance(n, int):
            self.places.add(self.size)
        return self.number(n)

    def scalar(self, text: str, type: str) -> Decode:
        code = self.w.code
        kind = llvm_type(type)
        if kind == "i1":
            k = self.add("i64", code.value(f"zext i1 {text} to i64"))
            return lambda worker, words: bool(words[k])
        k = self.add("i64", text if kind == "i64" else code.value(f"sext {kind} {text} to i64"))
        if type in FLOATS:
            size, dtype = int(kind[1:]) // 8, np.dtype(FLOAT_TYPES[type])
            return lambda worker, words: plain(np.array([words[k]]).astype(f"i{size}").view(dtype)[0])
        return lambda worker, words: words[k]

    def operand(self, given: Operand) -> Decode:
        given = without_form(given)
        if isinstance(given, tuple):
            parts = [self.operand(part) for part in given]
            return lambda worker, words: tuple([part(worker, words) for part in parts])
        if isinstance(given, Data):
            return lambda worker, words: given.value
        if isinstance(given.type, Scalar):
            return self.scalar(self.w.text(given), given.type.name)
        return self.compound(self.w.get(given))

    def compound(self, what: Any) -> Decode:
        number = self.number
        if isinstance(what, GmPointer):
            which, offset, dtype = self.place(what.memory.number), self.place(what.offset), what.dtype
            return lambda worker, words: RunPointer(worker.buffer(which(words), dtype), offset(words), dtype)
        if isinstance(what, LocalPointer):
            place, space, kind = number(what.address), what.space, what.dtype
            return lambda worker, words: RunLocalPointer(space, place(words), kind)
        if isinstance(what, View):
            return self._view(what)
        if isinstance(what, Tile):
            return self._tile(what)
        if isinstance(what, Slots):
            tiles = [self._tile(tile) for tile in what.tiles]
            return lambda worker, words: [tile(worker, words) for tile in tiles]
        if isinstance(what, Stack):  # of an index that it has not, what else it has makes no difference
            return lambda worker, words: []
        return self._register(what)

    def _register(self, what: Register) -> Decode:
        """An array (1, lanes), or the image of a predicate."""
        kind, value = values.handed(self.w.code, what)
        first, size = self.add_vector(kind, value, what.type), -(-values.handed_bytes(what.type) // 8)
        return lambda worker, words: values.array_of(what.type, words[first : first + size])

    def add_vector(self, kind: str, value: str, type: Any) -> int:
        """Room for the bytes of a vector; the number of its first word."""
        return self.add(kind, value, -(-values.handed_bytes(type) // 8))

    def _view(self, what: View) -> Decode:
        number, dtype = self.number, what.dtype
        which, offset, layout = self.place(what.memory.number), self.place(what.offset), number(what.layout)
        dims, strides = [number(n) for n in what.dims], [number(n) for n in what.strides]

        def decode(worker: Any, words: list[int]) -> RunView:
            buffer, start = worker.buffer(which(words), dtype), offset(words)
            sizes, steps = tuple([n(words) for n in dims]), tuple([n(words) for n in strides])
            return RunView(buffer, start, sizes, steps, dtype, LAYOUTS[layout(words)])

        return decode

    def _tile(self, what: Tile) -> Decode:
        rows, cols = (self.number(n) for n in valid(self.w, what))
        name, spec = what.name, what.type
        if what.parent is not None:
            parent, row, col, type = self._tile(what.parent), self.number(what.row), self.number(what.col), what.type
            return lambda worker, words: Window(
                parent(worker, words), type, row(words), col(words), rows(words), cols(words), name
            )
        start = self.place(what.start)
        address = None if what.address is None else self.number(what.address)

        def decode(worker: Any, words: list[int]) -> RunTile:
            place = None if address is None else address(words)
            return RunTile(worker.storage(start(words), spec), spec, rows(words), cols(words), name, place)

        return decode


def _site(w: Writer, step: Step, packing: Packing, action: Action) -> int:
    w.module.sites.append(CallSite(step, max(1, packing.size), packing.operands, action))
    return len(w.module.sites) - 1


def _packed(w: Writer, step: Step) -> Packing:
    packing = Packing(w)
    packing.operands = [packing.operand(operand) for operand in step.operands]
    return packing


def refuse(w: Writer, step: Step) -> None:
    """Give up the block, for the reason that Python finds when it does the step."""
    if step.word == "instruction":
        packing, action = _instruction(w, step)
    else:
        packing, action = _packed(w, step), _carried_out(step)
    status = w.call_back(_site(w, step, packing, action), packing.words)
    w.code.leave(f"ret i32 {w.code.value(f'or i32 {status}, 1')}")


def _carried_out(step: Step) -> Action:
    if step.word == "for":  # only its bounds can be wrong
        return lambda worker, operands, words: next(iter(worker.chunk.loop(*operands[:3])), None)
    return lambda worker, operands, words: worker.chunk.carry_out(step, *operands)


def compute(w: Writer, step: Step, type: str) -> str:
    """A scalar that Python computes, or loads."""
    packing, result = _packed(w, step), step.result.type
    assert isinstance(result, Scalar)

    def action(worker: Any, operands: list[Any], words: Any) -> None:
        words[0] = word(worker.chunk.carry_out(step, *operands), result.name)

    status = w.call_back(_site(w, step, packing, action), packing.words)
    w.leave_unless(status)
    return _taken(w, 0, type)


def word(value: Any, type: str) -> int:
    """A scalar as a word: an integer, or the bits of a float."""
    if type in FLOATS:
        bits = np.asarray(value).astype(FLOAT_TYPES[type])
        return int(bits.reshape(1).view(f"i{bits.dtype.itemsize}")[0])
    number = int(value)
    return number if type == "i1" else ((number + (1 << 63)) % (1 << 64)) - (1 << 63)


def _taken(w: Writer, k: int, type: str) -> str:
    """A scalar that Python left in word `k`."""
    code = w.code
    word = code.load("i64", code.at(w.words, 8 * k))
    return word if type == "i64" else code.value(f"trunc i64 {word} to {type}")


# Instructions --------------------------------------------------------------------------------------------------------


def _instruction(w: Writer, step: Step) -> tuple[Packing, Action]:
    packing, instr = _packed(w, step), step.instr
    assert instr is not None
    results: list[tuple[int, Any]] = []
    for result in step.results:
        if isinstance(result.type, Scalar | Ptr):
            results.append((packing.add("i64", 0), result.type))
        elif isinstance(result.type, VECTORS):
            kind = f"<{values.handed_bytes(result.type)} x i8>"
            results.append((packing.add_vector(kind, "zeroinitializer", result.type), result.type))
        else:
            raise NotNativeError(instr.name, f"its result is of type {result.type}")
    given = len(step.results)
    single = len(instr.returned) + any(o.posted for o in instr.produces) * (given > len(instr.returned)) == 1

    def action(worker: Any, operands: list[Any], words: Any) -> None:
        worker.begin_block()
        found = worker.chunk.carry_out(step, *operands)
        worker.settle(operands)
        if not results:
            return
        given = (found,) if single else found
        for (k, type), value in zip(results, given):
            if isinstance(type, Scalar):
                words[k] = word(np.ravel(value)[0] if isinstance(value, np.ndarray) else value, type.name)
            elif isinstance(type, Ptr):
                words[k] = int(value.address)
            else:
                place = ctypes.addressof(words.contents) + 8 * k
                memory_at(place, values.handed_bytes(type))[:] = values.bytes_of(type, value)

    packing.results = [k for k, _ in results]
    return packing, action


def instruction(w: Writer, step: Step, *, reads: bool = True) -> None:
    """An instruction that Python carries out. ``reads``: it is not known yet what it reads."""
    instr = step.instr
    assert instr is not None
    if instr.run is None:
        raise NotNativeError(instr.name, "it is not translated")
    if len(step.results) > len(instr.produces) or any(o.place and o.role is not Role.IN for o in instr.operands):
        raise NotNativeError(instr.name, "it gives tiles another place")
    written = {step.get(o.name) for o in instr.operands if o.role is Role.OUT}
    for value in step.values if reads else ():
        if not isinstance(value.type, Scalar):
            what = w.get(value)
            if isinstance(what, Tile):
                w.touch(what)
            elif isinstance(what, LocalPointer) and value not in written:
                w.reads_space(SPACES[what.space])
    packing, action = _instruction(w, step)
    w.leave_unless(w.call_back(_site(w, step, packing, action), packing.words))
    for k, result in zip(packing.results, step.results):
        if isinstance(result.type, Scalar):
            w.set(result, _taken(w, k, llvm_type(result.type.name)))
        elif isinstance(result.type, Ptr):
            w.set(result, LocalPointer(result.type.space or "gm", _taken(w, k, "i64"), result.type.dtype))
        else:
            w.set(result, values.taken_back(w.code, result.type, w.code.at(w.words, 8 * k)))


def carried_out(w: Writer, step: Step, action: Action) -> None:
    """A call without operands."""
    packing = Packing(w)
    w.leave_unless(w.call_back(_site(w, step, packing, action), packing.words))


def check(w: Writer, step: Step) -> None:
    """Rules that the text leaves open: Python asks them when something has changed that they have looked at."""
    asking = bound(step).asking
    assert asking is not None
    packing = Packing(w)
    spans = []
    for operand in step.operands:
        first = packing.size
        packing.operands.append(packing.operand(operand))
        spans.append(range(first, packing.size))
    kept = [(k, operand) for k, kind, operand in packing.words if kind == "i64"]  # no rule looks into a register

    def action(worker: Any, operands: list[Any], words: Any) -> None:
        looked: dict[int, set[str]] = {}
        for number, field in asking.ask(worker.chunk, operands):
            looked.setdefault(number, set()).add(field)
        for number, span in enumerate(spans):
            fields = looked.get(number, set())
            for k in span:
                matters = bool(fields & _PLACES) if k in packing.places else bool(fields)
                words[k] = -1 if matters or asking.live else 0

    code = w.code
    known = w.module.words(1 + 2 * packing.size)
    new, good = code.label("new"), code.label("checked")
    changed: Num = 0
    for k, operand in kept:
        last, mask = (code.load("i64", w.word(known + 1 + 2 * k + of)) for of in range(2))
        other = code.value(f"and i64 {mask}, {code.value(f'xor i64 {last}, {operand}')}")
        changed = code.value(f"or i64 {changed}, {other}")
    seen = code.compare("ne", code.load("i64", w.word(known)), 0)
    code.branch(code.both(seen, code.compare("eq", changed, 0)), good, new, rare=True)
    code.place(new)
    w.leave_unless(w.call_back(_site(w, step, packing, action), packing.words))
    for k, operand in kept:
        code.store("i64", operand, w.word(known + 1 + 2 * k))
        code.store("i64", code.load("i64", code.at(w.words, 8 * k)), w.word(known + 2 + 2 * k))
    code.store("i64", 0 if asking.live else 1, w.word(known))
    code.place(good)


_PLACES = frozenset(("addr", "origin", "data"))
"""What a rule looks at where it matters where something lies."""
