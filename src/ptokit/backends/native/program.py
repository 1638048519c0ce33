"""A kernel as machine code: made once, launched over blocks on several threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ptokit.ir.core import Value
from ptokit.plan.steps import Step
from ptokit.run.fault import Fault
from ptokit.run.machine.chunk import Chunk
from ptokit.run.machine.printed import Printed
from ptokit.run.memory.buffers import Buffer
from ptokit.run.memory.global_memory import Pointer, Tensor
from ptokit.run.program import Program
from ptokit.types.values import MemRef, Ptr, Scalar

from . import compiler, elements, maths
from .cache import cached
from .callbacks import word
from .function import UNSET, Writer
from .lookups import table_of
from .module import STATE_BLOCK, STATE_SEEN, NativeModule
from .scan import KINDS, NOTHING, Scanner, apart
from .values import NotNativeError
from .workers import Worker


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
        maths.FMA, elements.F16C = compiler.has("fma"), compiler.has("f16c")
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
        """Run them. Behind one that fails the next one begins, unless that was no fault of the program."""
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
