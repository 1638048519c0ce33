"""A program as machine code, and what `ptokit.run.backends` asks of the native backend.

Beside a kernel stands a second function, which does only what decides about global memory (`relevant`), and notes for
each block the first and the last byte of every argument that it writes or reads. Blocks are given to threads in ranges
whose extents lie apart; if there are none, one thread runs all blocks in order.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from ptokit.ir.core import Value
from ptokit.isa.meaning.words import Bursts, Move
from ptokit.machine.buffers import Buffer
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer, Tensor
from ptokit.machine.lanes import Fault
from ptokit.plan.effects import ELEMENT, Work, elements, loaded, stored
from ptokit.plan.steps import FunctionPlan, Step
from ptokit.run.backends import Launched, Printed, Unable
from ptokit.run.program import Program
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.values import MemRef, Ptr, Scalar

from . import code, compiler, copies, maths
from .analyses import Relevant
from .callbacks import word
from .code import Num
from .compiler import cached
from .conversions import table_of
from .function import UNSET, Writer
from .module import STATE_BLOCK, STATE_SEEN, NativeModule, Worker
from .values import GmPointer, NotNativeError, Tile, View
from .views import Checked, reach

# Which blocks may run at the same time: those that touch nothing of what others write.


WRITES, READS, SCALARS = range(3)
KINDS = 3
NOTHING = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
_PLAIN = frozenset((None, Layout.ND, Layout.DN))  # devices write other layouts beyond the view, too


class Scanner(Writer):
    """Writes ``i32 @scan(ptr state, i64 block, ptr arguments)``: 0 if the block's extents have been noted."""

    name = "@scan"

    @cached_property
    def relevant(self) -> Relevant:
        """What decides about global memory."""
        return Relevant(self.plan, self.module.related)

    def parameters(self) -> None:
        super().parameters()
        count = sum(not isinstance(p.type, Scalar) for p in self.entry.function.params)
        base = self.code.load("ptr", self.word(STATE_SEEN))
        mine = self.code.mul("%block", 16 * KINDS * max(1, count))
        self.seen = self.code.at(base, mine)

    def refuse_if(self, wrong: str, step: Step) -> None:
        """The launch will find out what is wrong."""
        if wrong == "false":
            return
        code = self.code
        bad, good = code.label("bad"), code.label("good")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        code.leave("ret i32 1")
        code.place(good)

    def compute(self, step: Step, type: str) -> str:
        raise NotNativeError(step.name, "a scan does not call back")

    def needs(self, value: Value) -> bool:
        return value in self.relevant.values

    def step(self, step: Step) -> None:
        if step in self.relevant.steps:
            super().step(step)

    def check(self, step: Step) -> None:
        pass

    @contextmanager
    def unless(self, wrong: str, step: Step, *, reads: bool = True) -> Iterator[None]:
        yield

    def element(self, pointer: GmPointer, start: Num, *, write: bool) -> bool:
        last = self.code.add(start, pointer.dtype.size - 1)
        self.note(pointer.memory.number, WRITES if write else SCALARS, start, last)
        return not write

    def reads_space(self, loc: object) -> None:
        raise NotNativeError("a scan", "what follows depends on on-chip memory")

    def reads_stack(self) -> None:
        raise NotNativeError("a scan", "what follows depends on what an array holds")

    def reads_region(self, tile: Tile) -> None:
        if tile.shape is not None:
            raise NotNativeError("a scan", "what follows depends on a valid region that may change")

    def note(self, number: Num, kind: int, first: Num, last: Num) -> None:
        """An argument's bytes from `first` to `last` are touched."""
        code = self.code
        at = code.at(self.seen, code.mul(code.add(code.mul(number, KINDS), kind), 16))
        for at_word, place, pick in ((0, first, "smin"), (8, last, "smax")):
            address = code.at(at, at_word)
            now = code.load("i64", address)
            code.store("i64", code.value(f"call i64 @llvm.{pick}.i64(i64 {now}, i64 {place})"), address)

    def instruction(self, step: Step) -> None:
        """What it touches of global memory; of results that something depends on nothing is known."""
        if any(self.needs(result) for result in step.results):
            raise NotNativeError(step.name, "a scan does not execute instructions")
        site = self.site(step)
        word = site.instr.meaning_at(site)
        if isinstance(word, Move) and word.combine:
            raise NotNativeError(step.name, "blocks add to the same memory")
        for kind, touched in ((WRITES, stored(step)), (READS, loaded(step))):
            for value in touched:
                what, checked = self.get(value), Checked(self)
                checked.need("sge", what.memory.number, 0)
                if isinstance(word, Bursts):
                    first, last = self._rows(checked, step, word, what, kind)
                elif isinstance(what, View) and isinstance(word, Move) and what.options <= _PLAIN:
                    first, last = _bytes(checked, what.dtype, *reach(checked, what))
                else:
                    first, last = 0, what.memory.size
                self.refuse_if(checked.any(), step)
                self.note(what.memory.number, kind, first, last)

    def _rows(self, checked: Checked, step: Step, word: Bursts, pointer: GmPointer, kind: int) -> tuple[Num, Num]:
        if self.configures:
            raise NotNativeError(step.name, "the program sets registers of copies")
        _, _, ends = copies.rows(checked, step, word)
        first = checked.mul(pointer.offset, pointer.dtype.size)
        return first, checked.add(checked.add(first, ends[0 if kind == WRITES else 1]), -1)


def _bytes(checked: Checked, dtype: DType, first: Num, last: Num) -> tuple[Num, Num]:
    """The first and the last byte of elements."""
    if dtype.packed:
        half = [n >> 1 if isinstance(n, int) else checked.w.code.value(f"ashr i64 {n}, 1") for n in (first, last)]
        return half[0], half[1]
    return checked.mul(first, dtype.size), checked.add(checked.mul(last, dtype.size), dtype.size - 1)


def apart(seen: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Ranges of blocks, one for each thread: `seen` has (blocks, arguments, kinds, first and last element)."""
    written = seen[:, :, WRITES, 0] <= seen[:, :, WRITES, 1]
    scalars = seen[:, :, SCALARS, 0] <= seen[:, :, SCALARS, 1]
    if (written.any(axis=0) & scalars.any(axis=0)).any():
        return [(0, len(seen))]  # what the scan has read may change
    used = np.flatnonzero(written.any(axis=0))
    return _cut(seen[:, used], 0, len(seen), threads)


def _cut(seen: np.ndarray, first: int, last: int, threads: int) -> list[tuple[int, int]]:
    """Cut blocks [first, last) near the middle, where both sides lie apart, and the halves likewise."""
    if threads < 2 or last - first < 2:
        return [(first, last)]
    part = seen[first:last]
    low, high = part[..., 0], part[..., 1]
    before_low = np.minimum.accumulate(low, axis=0)[:-1]
    before_high = np.maximum.accumulate(high, axis=0)[:-1]
    after_low = np.minimum.accumulate(low[::-1], axis=0)[::-1][1:]
    after_high = np.maximum.accumulate(high[::-1], axis=0)[::-1][1:]
    fine = np.ones(last - first - 1, bool)
    for a, b in ((WRITES, WRITES), (WRITES, READS), (READS, WRITES)):
        below = before_high[:, :, a] < after_low[:, :, b]
        above = after_high[:, :, b] < before_low[:, :, a]
        fine &= (below | above).all(axis=1)
    cuts = np.flatnonzero(fine) + 1
    if not len(cuts):
        return [(first, last)]
    middle = (last - first) * (threads // 2) / threads
    cut = first + int(cuts[np.argmin(np.abs(cuts - middle))])
    return [*_cut(seen, first, cut, threads // 2), *_cut(seen, cut, last, threads - threads // 2)]


# A kernel as machine code: made once, launched over blocks on several threads.


def loop(name: str, body: str) -> str:
    """The function ``ptokit_{name}``, which calls another one for each block of a range."""
    return f"""define i32 @ptokit_{name}(ptr noalias %state, i64 %first, i64 %last, ptr noalias %arguments) {{
entry:
  br label %head
head:
  %block = phi i64 [ %first, %entry ], [ %next, %good ]
  %more = icmp slt i64 %block, %last
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i64, ptr %state, i64 {STATE_BLOCK}
  store i64 %block, ptr %at
  %status = call i32 @{body}(ptr %state, i64 %block, ptr %arguments)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %good, label %failed
good:
  %next = add nsw i64 %block, 1
  br label %head
failed:
  ret i32 %status
done:
  fence seq_cst
  ret i32 0
}}
"""


class NativeProgram:
    """Machine code of a kernel. Raises `NotNativeError` if it cannot be compiled."""

    def __init__(self, program: Program) -> None:
        self.entry, self.target, self.extended = program.entry, program.target, program.extended
        maths.FMA, code.F16C = compiler.has("fma"), compiler.has("f16c")
        self.module = NativeModule(program.target)
        plan, entry = program.plan, program.plan.functions[program.entry.name]
        body = Writer(plan, entry, program.target, self.module).write()
        self.scans = False
        try:
            body += "\n" + Scanner(plan, entry, program.target, self.module).write()
            self.scans = True
        except NotNativeError:
            pass  # then it is not known what blocks write
        runs = [loop("run", "block")] + [loop("scan", "scan")] * self.scans
        self.text = self.module.text("\n".join([body, *runs]), compiler.triple())
        self._tables = [(word, table_of(*key)) for key, word in self.module.tables.items()]
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    @cached_property
    def loaded(self) -> compiler.Loaded:
        """The code in memory: compiled when it is first wanted, or taken from the cache."""
        return compiler.Loaded(cached(self.text, compiler.identity(), compiler.object_code))

    def _worker(self, matmul: str, blocks: int) -> Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            chunk = Chunk(self.target, 1, blocks, matmul, extended=self.extended)
            worker = Worker(self.module, chunk, [(word, table.ctypes.data) for word, table in self._tables])
        worker.chunk.total, worker.chunk.matmul_mode = blocks, matmul
        return worker

    def launch(
        self, values: Sequence[Any], blocks: int, matmul: str, threads: int, printed: Printed, span: range
    ) -> list[Failure]:
        """Run the blocks `span` of `blocks`; the failures of those that failed."""
        words, buffers = argument_words(self.entry.params, values)
        spans = [(span.start, span.stop)]
        if len(span) == blocks:
            spans = self._spans(words, buffers, blocks, threads)
        runs = [_Run(self, self._worker(matmul, blocks), *span) for span in spans]
        for run in runs:
            run.worker.begin(buffers, blocks)
        others = [threading.Thread(target=run.go, args=(words,)) for run in runs[1:]]
        for thread in others:
            thread.start()
        try:
            runs[0].go(words)
        finally:
            for thread in others:
                thread.join()
        failed = [failure for run in runs for failure in run.failures]
        for run in runs:
            run.worker.keep_printed()
            for block, texts in run.worker.printed:
                printed.add(block, texts)
            run.worker.end()
        with self._lock:
            self._idle += [run.worker for run in runs]
        return failed

    def _spans(
        self, words: np.ndarray, buffers: list[Buffer | None], blocks: int, threads: int
    ) -> list[tuple[int, int]]:
        """Which blocks each thread runs: one of them all, unless blocks are known to write apart."""
        if threads < 2 or blocks < 2 or not self.scans or any(b is not None and b.partners for b in buffers):
            return [(0, blocks)]
        worker = self._worker("exact", blocks)
        seen = np.empty((blocks, max(1, len(buffers)), KINDS, 2), np.int64)
        seen[..., 0], seen[..., 1] = NOTHING
        worker.begin(buffers, blocks)
        worker.state[STATE_SEEN] = seen.ctypes.data
        status = self.loaded.scan(worker.state.ctypes.data, 0, blocks, words.ctypes.data)
        worker.end()
        with self._lock:
            self._idle.append(worker)
        return [(0, blocks)] if status else apart(seen, threads)


class Failure:
    """What went wrong in a block, where, and the loop variables at that time, by the step of the loop."""

    def __init__(self, error: BaseException, step: Step, block: int, loops: dict[Step, int]) -> None:
        self.error, self.step, self.block, self.loops = error, step, block, loops


class _Run:
    """The blocks of one thread."""

    def __init__(self, program: NativeProgram, worker: Worker, first: int, last: int) -> None:
        self.program, self.worker, self.first, self.last = program, worker, first, last
        self.failures: list[Failure] = []

    def go(self, words: np.ndarray) -> None:
        """Run them. After one that fails the next one begins, unless that was no fault of the program."""
        worker, first = self.worker, self.first
        with np.errstate(all="ignore"):
            while first < self.last:
                if not self.program.loaded.call(worker.state.ctypes.data, first, self.last, words.ctypes.data):
                    return
                failure = self._failure()
                self.failures.append(failure)
                if not isinstance(failure.error, Fault | OverflowError):
                    return
                worker.error, first = None, failure.block + 1

    def _failure(self) -> Failure:
        worker, module = self.worker, self.worker.module
        error = worker.error or OverflowError("a number is beyond the 64 bits of index")
        now = {loop: int(worker.state[word]) for loop, word in module.loops.items()}
        loops = {loop: value for loop, value in now.items() if value != UNSET}
        return Failure(error, module.sites[worker.failed].step, worker.block, loops)


def argument_words(params: Sequence[Value], values: Sequence[Any]) -> tuple[np.ndarray, list[Buffer | None]]:
    """The arguments as words, in the order in which `views.parameter` takes them, and their buffers."""
    words: list[int] = []
    buffers: list[Buffer | None] = []
    for param, value in zip(params, values):
        match param.type:
            case Scalar(name):
                words.append(word(value, name))
            case Ptr() | MemRef() if isinstance(value, Pointer) and value.buffer is not None:
                buffer = value.buffer
                address = buffer.mem.__array_interface__["data"][0]
                words += [address, buffer.mem.size, buffer.nelem, len(buffers)]
                buffers.append(buffer)
                if isinstance(value, Tensor):
                    words += [value.offset, *value.dims, *value.strides]
            case _:
                pass
    return np.array([w - (1 << 64) if w >= 1 << 63 else w for w in words] or [0], np.int64), buffers


# The native backend: what `ptokit.run.backends` asks for.


CALL_BACK = 15e-6


def prepare(program: Program) -> Native:
    """Machine code of a kernel. Raises `Unable`."""
    try:
        import llvmlite.binding  # noqa: F401
    except ImportError as error:
        raise Unable(f"native code needs llvmlite, which cannot be imported: {error}") from None
    if program.cores.waits or program.cores.mixed:
        raise Unable("its cores run beside each other and wait for each other")
    if program.launches_threads:
        raise Unable("it has operations of threads")

    try:
        made = NativeProgram(program)
    except NotNativeError as error:
        raise Unable(str(error)) from None
    return Native(program, made)


class Native:
    """A kernel as machine code."""

    def __init__(self, program: Program, made: Any) -> None:
        self.program, self.made = program, made

    def ready(self) -> None:
        """Compile what has not been compiled. Raises `Unable` if LLVM refuses it."""
        try:
            _ = self.made.loaded
        except (RuntimeError, OSError) as error:
            raise Unable(f"LLVM does not compile it: {error}") from None

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch."""
        threads = max(1, min(work.threads, len(work.span)))
        for failure in self.made.launch(work.values, work.blocks, work.matmul, threads, work.printed, work.span):
            if not isinstance(failure.error, Fault | OverflowError):
                raise failure.error
            here, place = self._function(failure.step), f"block {failure.block}"
            loops = {loop: value for loop, value in failure.loops.items() if self._function(loop) is here}
            where = [f"{loop.regions[0][0].args[0].shown} = {value}" for loop, value in loops.items()]
            work.faults.add(failure.block, self.program.diagnosis(failure.error, failure.step.op, place, where))
        work.progress(len(work.span), len(work.span))

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch on one thread will take, roughly: calls back into Python are what counts."""
        called = {step.op for step in self.made.module.called}
        total = 0.0
        for op, times in work.counts.items():
            each = CALL_BACK + elements(op) * ELEMENT if op in called else elements(op) * ELEMENT / 5
            total += times * blocks * each
        return total

    def _function(self, step: Step) -> FunctionPlan:
        """The function that a step stands in."""
        return next(f for f in self.program.plan.functions.values() if any(step is inner for inner in f.walk()))
