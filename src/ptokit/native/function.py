"""A kernel as one LLVM function: its blocks, loops and calls; what an operation does is in the modules beside it.

Functions that are called are written in the place of the call. Values that loops and branches carry have memory on the
stack, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.run.machine.calls import left_to_check
from ptokit.run.machine.scalars import FLOAT_TYPES, constant
from ptokit.run.planning.carried_tiles import carried_tiles
from ptokit.run.planning.effects import Effects
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe, TileType
from ptokit.types.values import Scalar

from . import callbacks, control, forwarding, instructions, scalars, standing_tiles, tiles, views
from .code import Code, Num
from .contents import Contents
from .module import STATE_BLOCKS, STATE_CALLBACK, STATE_HANDLE, STATE_MEMORY, NativeModule
from .settled import settled, with_regions
from .values import Compound, GmPointer, NotNativeError, Tile, View

MOST_OPERATIONS = 20_000
"""Of a kernel with what it calls; more take longer to compile than they save."""

UNSET = -(1 << 63)
"""In the state: a loop that has not begun yet."""


class Writer:
    """Writes the function ``i32 @block(ptr state, i64 block, ptr arguments)``."""

    name = "@block"

    def __init__(
        self, module: Module, entry: Function, target: Target, effects: Effects, *, extended: bool, into: NativeModule
    ) -> None:
        self.source, self.entry, self.target, self.effects = module, entry, target, effects
        self.extended, self.module = extended, into
        self.code = Code()
        self.values: dict[Value, Any] = {}
        self.facts = Facts(entry)
        self.settled = settled(entry, self.facts)  # types of tiles with the valid regions that they always have
        self.function = entry
        self.active: list[str] = []
        self.carried_tiles: set[Value] = set()
        self.operations = 0
        self.returns: list[tuple[str, control.Carrier | None]] = []
        self.memory = self.code.value(f"load ptr, ptr {self.word(STATE_MEMORY)}")
        self.words = ""  # memory in which operands are handed to Python
        self.most_words = 1
        self.prologue = len(self.code.lines)
        self.contents = Contents()
        self.everything = False
        self.pending = instructions.Pending(self)
        self._accesses: tuple[list[forwarding.Access] | None] | None = None
        self.stands_for: dict[Num, Tile | View] = {}  # what is read instead of tiles, by where those begin
        self.late: dict[Num, Callable[[], None]] = {}  # the copies that have not been made
        self.standing: list[tuple[str, int, int, str]] = []  # bytes of buffers, and the address of what stands for them
        self.sweeps: list[tuple[Op, list[tuple[int, int]]]] = []  # loops around, and bytes that they are sure to write

    # --- values --------------------------------------------------------------------------------------------------

    def word(self, number: int) -> str:
        """The address of a word of the state."""
        return self.code.at("%state", 8 * number)

    def number(self, value: Value) -> Num:
        """A scalar of 64 bits."""
        known = self.facts.constants.get(value)
        if isinstance(known, int):
            return int(known)
        return self.scalar(value)

    def scalar(self, value: Value) -> Num:
        """The register or number that holds a scalar."""
        found = self.values.get(value)
        if not isinstance(found, str | int):
            raise NotNativeError(str(value.type), f"%{value.name} is none that native code knows")
        return found

    def text(self, value: Value) -> str:
        """A scalar as an operand of LLVM code."""
        known = self.facts.constants.get(value)
        if known is None:
            return str(self.scalar(value))
        assert isinstance(value.type, Scalar)
        if isinstance(known, bool):
            return "true" if known else "false"
        if value.type.name in FLOAT_TYPES:
            return str(callbacks.word(constant(float(known), value.type.name), value.type.name))
        return ("true" if known & 1 else "false") if value.type.name == "i1" else str(known)

    def get(self, value: Value) -> Any:
        """What stands for a value that is no scalar."""
        found = self.values.get(value)
        if not isinstance(found, Compound):
            raise NotNativeError(str(value.type), f"%{value.name} is none that native code knows")
        return found

    def set(self, value: Value, what: Any) -> None:
        self.values[value] = what

    def either(self, value: Value) -> Any:
        """A scalar's text, or what stands for another value."""
        return self.text(value) if isinstance(value.type, Scalar) else self.get(value)

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
        self.code.lines[self.prologue : self.prologue] = self.contents.clears(self.memory)
        return self.code.text(
            f"define internal i32 {self.name}(ptr noalias %state, i64 %block, ptr noalias %arguments) {{"
        )

    def parameters(self) -> None:
        """The arguments: see `launch.argument_words`."""
        at = 0
        for param in self.entry.params:
            at = views.parameter(self, param, at)

    def body(self, function: Function, results: control.Carrier | None) -> None:
        """What a function does, up to its return; ``results`` takes what it returns."""
        if function.name in self.active:
            raise NotNativeError("func.call", f"@{function.name} calls itself")
        assert function.body is not None
        kept = self.facts, self.settled, self.function, self.carried_tiles
        if self.active:
            self.facts = Facts(function)
            self.settled = settled(function, self.facts)
        self.function, self.carried_tiles = function, carried_tiles(function)
        self.active.append(function.name)
        for op in function.body.walk():
            if op.name == "scf.for":
                number = self.module.loops.get(op)
                if number is None:
                    number = self.module.loops[op] = self.module.words(1)
                self.code.store("i64", UNSET, self.word(number))
        for op in function.body.walk():
            if op.name == "pto.alloc_tile":
                tiles.fixed(self, op)
        done = self.code.label("return")
        self.returns.append((done, results))
        if function.body.more:
            control.graph(self, function.body, None)
        else:
            self.block(function.body)
        self.pending.flush()
        self.code.place(done)
        self.returns.pop()
        self.active.pop()
        self.facts, self.settled, self.function, self.carried_tiles = kept

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Op) -> None:
        self.operations += 1
        if self.operations > MOST_OPERATIONS:
            raise NotNativeError("this kernel", f"it has more than {MOST_OPERATIONS} operations")
        if op.name == "arith.select" and not isinstance(op.result.type, Scalar):
            control.select(self, op)
            return
        if op.name.startswith("arith."):
            if op.name != "arith.constant":
                scalars.write(self, op)
            return
        method = _METHODS.get(op.name)
        if method is None:
            self.instruction(op)
        else:
            method(self, op)

    def instruction(self, op: Op) -> None:
        """An instruction of the table."""
        instructions.write(self, op)

    def accesses(self) -> list[forwarding.Access] | None:
        """All accesses of the function to on-chip memory, where the text says what they are."""
        if self._accesses is None:
            self._accesses = (forwarding.accesses(self),)
        return self._accesses[0]

    @cached_property
    def simple_tiles(self) -> bool:
        """True if the text says where all tiles lie."""
        return standing_tiles.simple(self)

    def stands(self, op: Op, tile: Tile, source: Tile | View) -> bool:
        """True if a copy into a tile need not be made: products read the source."""
        return standing_tiles.stands(self, op, tile, source)

    @cached_property
    def users(self) -> dict[Value, list[Op]]:
        """The operations of the function that have a value as operand, in the order of the text."""
        found: dict[Value, list[Op]] = {}
        for op in forwarding.everything(self):
            for value in dict.fromkeys(op.values):
                found.setdefault(value, []).append(op)
        return found

    @cached_property
    def owners(self) -> dict[Block, Op]:
        """The operation that a list of operations belongs to."""
        return {block: op for op in self.blocks for region in op.regions for block in region.blocks}

    @cached_property
    def blocks(self) -> dict[Op, tuple[Block, int]]:
        """The list that an operation stands in, and where."""
        assert self.function.body is not None
        return {op: (block, k) for block in forwarding.blocks(self.function.body) for k, op in enumerate(block.ops)}

    def site(self, op: Op) -> Site:
        """An instruction with what is known about its operands."""
        return with_regions(callbacks.site_of(self, op), op, self.settled)

    @cached_property
    def configures(self) -> bool:
        """True if the program sets registers of copies to other numbers than 1, which would mean nothing."""
        bodies = [f.body for f in self.source.functions if f.body is not None]
        return any(_configures(op, self.facts) for body in bodies for op in body.walk())

    def begin_scope(self, op: Op) -> None:
        """A vector scope begins."""
        callbacks.forget_stream(self, op)

    def element(self, pointer: GmPointer, start: Num, *, write: bool) -> bool:
        """One element of global memory is met, `start` bytes behind its first one; false if that is not to happen."""
        return True

    # --- what memory holds ---------------------------------------------------------------------------------------

    def reads_space(self, loc: TileType) -> None:
        """Any bytes of a buffer may be read."""
        start = self.module.space(loc)
        self.contents.read(start, start + self.module.spaces[loc][1])

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

    def table(self, name: str, dtype: DType) -> str:
        """The address of the results of a function for every element of a 16-bit type."""
        word = self.module.tables.get((name, dtype))
        if word is None:
            word = self.module.tables[name, dtype] = self.module.words(1)
        return self.code.load("ptr", self.word(word))

    # --- Python --------------------------------------------------------------------------------------------------

    def refuse_if(self, wrong: str, op: Op) -> None:
        """Where an i1 is true, Python does the operation, and finds out what is wrong with it."""
        if wrong == "false":
            return
        self.pending.flush()
        code = self.code
        bad, good = code.label("bad"), code.label("good")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        callbacks.refuse(self, op)
        code.place(good)

    @contextmanager
    def unless(self, wrong: str, op: Op, instr: Instr, *, reads: bool = True) -> Iterator[None]:
        """Native code of an instruction; where an i1 is true, Python carries it out (see `callbacks.instruction`)."""
        if wrong == "false":
            yield
            return
        code = self.code
        bad, good, done = code.label("slow"), code.label("fast"), code.label("done")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        callbacks.instruction(self, op, instr, reads=reads)
        code.jump(done)
        code.place(good)
        yield
        code.jump(done)
        code.place(done)

    def check(self, op: Op, instr: Instr, site: Site) -> None:
        """Check the rules that wait for sizes which only the run knows, in the eyes of the check before it."""
        if left_to_check(instr, callbacks.site_of(self, op)):
            self.pending.flush()
            callbacks.check(self, op, instr, site)

    def compute(self, op: Op, type: str) -> str:
        """A scalar that Python computes."""
        self.pending.flush()
        return callbacks.compute(self, op, type)

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


def _configures(op: Op, facts: Facts) -> bool:
    """True for an instruction of the scalar pipe that takes numbers and gives nothing: it sets a register."""
    instr = instr_of(op)
    if instr is None or instr.ordering or not instr.typed or instr.pipe is not Pipe.S or instr.produces:
        return False
    numbers = [facts.constants.get(value) for value in op.values]
    return not numbers or any(number != 1 for number in numbers)


def _word_of_state(number: int) -> Callable[[Writer, Op], None]:
    return lambda w, op: w.set(op.result, w.code.load("i64", w.word(number)))


_METHODS: dict[str, Callable[[Writer, Op], None]] = {
    "pto.get_block_idx": lambda w, op: w.set(op.result, "%block"),
    "pto.get_block_num": _word_of_state(STATE_BLOCKS),
    "pto.get_subblock_idx": lambda w, op: w.set(op.result, 0),
    "pto.get_subblock_num": lambda w, op: w.set(op.result, 1),
    **control.METHODS,
    **views.METHODS,
    **tiles.METHODS,
}
