"""A kernel as one LLVM function: its blocks, loops and calls; what a step does is in the modules beside it.

Functions that are called are written in the place of the call. Values that loops and branches carry have memory on the
stack, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from ptokit.ir.core import Value
from ptokit.isa.site import Site, TileInfo
from ptokit.isa.table import Role
from ptokit.plan.steps import Block, Data, FunctionPlan, Operand, Plan, Relations, Step, constant, walk, without_form
from ptokit.targets import Target
from ptokit.types.dtypes import FLOAT_TYPES
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import Align, Scalar

from . import callbacks, copies, elided_copies, scalars, steps, tiles, views
from .analyses import Places
from .code import Code, Num
from .module import STATE_BLOCKS, STATE_CALLBACK, STATE_HANDLE, STATE_MEMORY, NativeModule
from .moves import Nest
from .tiles import Contents
from .values import Compound, GmPointer, NotNativeError, Replacement, Slots, Tile, View

MOST_STEPS = 20_000
"""Of a kernel with what it calls; more take longer to compile than they save."""

UNSET = -(1 << 63)
"""In the state: a loop that has not begun yet."""


class Writer:
    """Writes the function ``i32 @block(ptr state, i64 block, ptr arguments)``."""

    name = "@block"

    def __init__(self, plan: Plan, entry: FunctionPlan, target: Target, into: NativeModule) -> None:
        self.plan, self.entry, self.target, self.module = plan, entry, target, into
        self.code = Code()
        self.values: dict[Value, Any] = {}
        self.function = entry  # that is being written
        self.active: list[FunctionPlan] = []
        self.steps = 0
        self.returns: list[tuple[str, steps.Carrier | None]] = []
        self.memory = self.code.value(f"load ptr, ptr {self.word(STATE_MEMORY)}")
        self.words = ""  # memory in which operands are handed to Python
        self.most_words = 1
        self.prologue = len(self.code.lines)
        self.contents = Contents()
        self.everything = False
        self.pending = steps.Pending(self)
        self._accesses: tuple[list[copies.Access] | None] | None = None
        self.replacements: dict[Num, Replacement] = {}  # what is read instead of tiles, by where those begin
        self.replaced: list[tuple[str, int, int, str]] = []  # bytes of buffers, and the address of what is read instead
        self.sweeps: list[tuple[Step, list[tuple[int, int]]]] = []  # loops around, and bytes that they write

    # --- values --------------------------------------------------------------------------------------------------

    def word(self, number: int) -> str:
        """The address of a word of the state."""
        return self.code.at("%state", 8 * number)

    def number(self, operand: Operand) -> Num:
        """A scalar of 64 bits."""
        known = constant(operand)
        return int(known) if isinstance(known, int) else self.scalar(operand)

    def scalar(self, operand: Operand) -> Num:
        """The register or number that holds a scalar."""
        found = self.found(operand)
        if not isinstance(found, str | int):
            raise _unknown(operand)
        return found

    def text(self, operand: Operand) -> str:
        """A scalar as an operand of LLVM code."""
        known, type = constant(operand), without_form(operand).type
        if known is None:
            return str(self.scalar(operand))
        assert isinstance(type, Scalar)
        if isinstance(known, bool):
            return "true" if known else "false"
        if type.name in FLOAT_TYPES:
            return str(callbacks.word(known, type.name))
        return ("true" if known & 1 else "false") if type.name == "i1" else str(known)

    def get(self, operand: Operand) -> Any:
        """What is known of a value that is no scalar."""
        found = self.found(operand)
        if not isinstance(found, Compound):
            raise _unknown(operand)
        return found

    def found(self, operand: Operand | None) -> Any:
        """What is known of a value; None for one that native code does not know, and for what is none."""
        value = without_form(operand)
        return self.values.get(value) if isinstance(value, Value) else None

    def set(self, value: Value, what: Any) -> None:
        self.values[value] = what

    def either(self, operand: Operand) -> Any:
        """A scalar's text, or what is known of another value."""
        return self.text(operand) if isinstance(without_form(operand).type, Scalar) else self.get(operand)

    def needs(self, value: Value) -> bool:
        """True for a value that loops and calls have to hand on."""
        return True

    # --- the function --------------------------------------------------------------------------------------------

    def write(self) -> str:
        """The text of the function."""
        self.parameters()
        self.body(self.entry, None)
        self.code.leave("ret i32 0")
        if self.words:
            self.code.slots.append(f"  {self.words} = alloca [{self.most_words} x i64], align 16")
        if self.everything:
            self.contents.wanted.append((0, self.module.memory))
        self.code.lines[self.prologue : self.prologue] = self.contents.clears(self.memory, self.module.memory)
        return self.code.text(
            f"define internal i32 {self.name}(ptr noalias %state, i64 %block, ptr noalias %arguments) {{"
        )

    def parameters(self) -> None:
        """The arguments: see `program.argument_words`."""
        at = 0
        for param in self.entry.function.params:
            at = views.parameter(self, param, at)

    def body(self, function: FunctionPlan, results: steps.Carrier | None) -> None:
        """What a function does, up to its return; ``results`` takes what it returns."""
        if function in self.active:
            raise NotNativeError("call", f"@{function.function.name} calls itself")
        before, self.function = self.function, function
        self.active.append(function)
        for step in walk(function.body):
            if step.word == "for":
                number = self.module.loops.get(step)
                if number is None:
                    number = self.module.loops[step] = self.module.words(1)
                self.code.store("i64", UNSET, self.word(number))
        for step in function.first:
            _WORDS[step.word](self, step)
        done = self.code.label("return")
        self.returns.append((done, results))
        if len(function.body) > 1:
            steps.graph(self, function.body, None)
        else:
            self.block(function.body[0])
        self.pending.flush()
        self.code.place(done)
        self.returns.pop()
        self.active.pop()
        self.function = before

    def block(self, block: Block) -> None:
        for step in block.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotNativeError("this kernel", f"it has more than {MOST_STEPS} steps")
        if step.word == "instruction":
            self.instruction(step)
            return
        method = _WORDS.get(step.word)
        if method is None:
            raise NotNativeError(step.name, "it is not translated")
        method(self, step)

    def instruction(self, step: Step) -> None:
        """An instruction of the table."""
        steps.write(self, step)

    # --- the text around a step ----------------------------------------------------------------------------------

    @property
    def relations(self) -> Relations:
        """How the steps of the function that is being written stand to each other."""
        return self.module.related(self.function)

    def accesses(self) -> list[copies.Access] | None:
        """All accesses of the function to on-chip memory, where the text says what they are."""
        if self._accesses is None:
            self._accesses = (copies.accesses(self),)
        return self._accesses[0]

    @cached_property
    def places(self) -> Places:
        """Where all tiles may lie, those among them that the function makes further down."""
        return Places(self.plan, self.target)

    @cached_property
    def simple_tiles(self) -> bool:
        """True if the steps of one function are all that touches its tiles."""
        return elided_copies.simple(self)

    def source(self, tile: Tile) -> Tile | View:
        """Where the bytes of a tile are read: those of what is read instead, or its own."""
        replacement = self.replacements.get(tile.start)
        return tile if replacement is None else replacement.what

    def elided(self, step: Step, tile: Tile, source: Replacement) -> bool:
        """True if a copy into a tile need not be made. Others read the source from now on."""
        if elided_copies.elided(self, step, source):
            self.replacements[tile.start] = source
            return True
        return False

    def settle(self, tile: Tile) -> None:
        """Make a copy that has been left out, for a step that reads the tile itself."""
        replacement = self.replacements.get(tile.start)
        if replacement is not None:
            replacement.copy()

    def settle_for(self, step: Step) -> None:
        """Before Python carries a step out, which reads and writes tiles themselves."""
        assert step.instr is not None
        for operand in step.instr.operands:
            for tile in filter(lambda found: isinstance(found, Tile), map(self.found, step.group(operand.name))):
                if operand.role is not Role.OUT:
                    self.settle(tile)
                if operand.role is not Role.IN:
                    self.replacements.pop(tile.start, None)

    def direct(self, step: Step, tile: Tile, rows: Nest, cols: Nest) -> int | None:
        """The elements from row to row of a view to which a store's results go at once; None if they do not."""
        return elided_copies.pitch(self, step, tile, rows, cols)

    def settled(self, tile: Operand) -> TileSpec:
        """The type of a tile, with the valid region that it always has."""
        spec = self.function.settled.get(tile, tile.type)
        assert isinstance(spec, TileSpec)
        return spec

    def site(self, step: Step) -> Site:
        """An instruction with what is known about its operands, settled valid regions among it."""
        site, more = step.site, {}
        assert site is not None
        for name, info in site.operands.items():
            if isinstance(info, TileInfo) and (tile := step.get(name)) in self.function.settled:
                spec = self.settled(tile)
                more[name] = replace(info, vr=spec.valid_row, vc=spec.valid_col)
        return replace(site, operands={**site.operands, **more}) if more else site

    @cached_property
    def configures(self) -> bool:
        """True if the program sets registers of copies to other numbers than 1, which would mean nothing."""
        return any(_configures(step) for function in self.plan.functions.values() for step in walk(function.body))

    @cached_property
    def streams(self) -> bool:
        """True if the program has unaligned streams, which alone read what operations on registers keep."""
        steps = (step for function in self.plan.functions.values() for step in walk(function.body))
        return any(isinstance(v.type, Align) for step in steps for v in (*step.values, *step.results))

    def element(self, pointer: GmPointer, start: Num, *, write: bool) -> bool:
        """One element of global memory is met, `start` bytes after its first one; false if that is not to happen."""
        return True

    # --- what memory holds ---------------------------------------------------------------------------------------

    def reads_space(self, loc: TileType) -> None:
        """Any bytes of a buffer may be read."""
        start = self.module.space(loc)
        self.contents.read(start, start + self.module.spaces[loc][1])

    def reads_region(self, tile: Tile) -> None:
        """A number depends on the valid region of a tile."""

    def reads_stack(self) -> None:
        """A number depends on what an array on the stack holds."""

    def reads_everything(self) -> None:
        """Any bytes may be read: the tile is one that only the run knows."""
        self.everything = True

    def touch(self, tile: Tile) -> None:
        """A tile is read."""
        span = tile.span
        if span is None:
            self.reads_everything()
        else:
            self.contents.read(*span)

    def overwrite(self, tile: Tile, rows: Num, cols: Num) -> None:
        """A region of a tile is written, whatever happens."""
        if tile.span is not None and tile.parent is None and (rows, cols) == (tile.spec.rows, tile.spec.cols):
            self.contents.write(*tile.span)

    def table(self, *key: Any) -> str:
        """The address of a table (`lookups.table_of`)."""
        word = self.module.tables.get(key)
        if word is None:
            word = self.module.tables[key] = self.module.words(1)
        return self.code.load("ptr", self.word(word))

    # --- Python --------------------------------------------------------------------------------------------------

    def refuse_if(self, wrong: str, step: Step) -> None:
        """Where an i1 is true, Python does the step, and finds out what is wrong with it."""
        if wrong == "false":
            return
        self.pending.flush()
        code = self.code
        bad, good = code.label("bad"), code.label("good")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        callbacks.refuse(self, step)
        code.place(good)

    @contextmanager
    def unless(self, wrong: str, step: Step, *, reads: bool = True) -> Iterator[None]:
        """Native code of an instruction; where an i1 is true, Python carries it out (see `callbacks.instruction`)."""
        if wrong == "false":
            yield
            return
        code = self.code
        bad, good, done = code.label("slow"), code.label("fast"), code.label("done")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        callbacks.instruction(self, step, reads=reads)
        code.jump(done)
        code.place(good)
        yield
        code.jump(done)
        code.place(done)

    def check(self, step: Step) -> None:
        """Ask the rules that the text leaves open."""
        if step.rules:
            self.pending.flush()
            callbacks.check(self, step)

    def compute(self, step: Step, type: str) -> str:
        """A scalar that Python computes."""
        self.pending.flush()
        return callbacks.compute(self, step, type)

    def call_back(self, site: int, words: Sequence[tuple[int, str, object]]) -> str:
        """Hand words (position, type, operand) to a place in Python; the status, not 0 if it failed."""
        code = self.code
        if not self.words:
            self.words = code.fresh("words")
        self.most_words = max(self.most_words, self.module.sites[site].words)
        for position, kind, operand in words:
            code.store(kind, operand, code.at(self.words, 8 * position), 8)
        callback = code.load("ptr", self.word(STATE_CALLBACK))
        handle = code.load("i64", self.word(STATE_HANDLE))
        return code.value(f"call i32 {callback}(i64 {handle}, i64 {site}, ptr {self.words})")

    def leave_unless(self, status: str) -> None:
        """Give up the block if a status is not 0."""
        code = self.code
        bad, good = code.label("failed"), code.label("good")
        code.branch(code.value(f"icmp eq i32 {status}, 0"), good, bad, rare=True)
        code.place(bad)
        code.leave(f"ret i32 {status}")
        code.place(good)


def _unknown(operand: Operand) -> NotNativeError:
    value = without_form(operand)
    name = f"%{value.name}" if isinstance(value, Value) else str(value.value)
    return NotNativeError(str(value.type), f"{name} is none that native code knows")


def _configures(step: Step) -> bool:
    """True for an instruction of the scalar pipe that takes numbers and gives nothing: it sets a register."""
    instr = step.instr
    if instr is None or instr.order.only or not instr.typed or instr.pipe is not Pipe.S or instr.produces:
        return False
    given = [operand for operand in step.operands if operand != Data(None)]
    return not given or any(constant(operand) != 1 for operand in given)


def _word_of_state(number: int) -> Callable[[Writer, Step], None]:
    return lambda w, step: w.set(step.result, w.code.load("i64", w.word(number)))


def _element(w: Writer, step: Step) -> None:
    """One of several tiles, or a number of an array."""
    (tiles.slot_of if isinstance(w.get(step.operands[0]), Slots) else scalars.element)(w, step)


_WORDS: dict[str, Callable[[Writer, Step], None]] = {
    "block_idx": lambda w, step: w.set(step.result, "%block"),
    "total": _word_of_state(STATE_BLOCKS),
    "subblock": lambda w, step: w.set(step.result, 0),
    "subblocks": lambda w, step: w.set(step.result, 1),
    "compute": scalars.write,
    "several": scalars.array,
    "element": _element,
    "set_element": scalars.set_element,
    **steps.WORDS,
    **views.WORDS,
    **tiles.WORDS,
}
