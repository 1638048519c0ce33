"""A kernel as machine code: made once, launched over blocks on several threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ptokit.ir.core import Function, Module, Op
from ptokit.isa.numerics.unary import table16
from ptokit.run.chunk import Chunk
from ptokit.run.effects import Effects
from ptokit.run.memory import Buffer, Pointer, Tensor
from ptokit.run.printed import Printed
from ptokit.targets import Target
from ptokit.types.values import MemRef, Ptr, Scalar

from . import compiler, maths
from .cache import cached
from .callbacks import word
from .function import UNSET, Writer
from .module import STATE_BLOCK, NativeModule
from .workers import Worker

_RUN = f"""define i32 @ptokit_run(ptr noalias %state, i64 %first, i64 %last, ptr noalias %arguments) {{
entry:
  br label %head
head:
  %block = phi i64 [ %first, %entry ], [ %next, %good ]
  %more = icmp slt i64 %block, %last
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i64, ptr %state, i64 {STATE_BLOCK}
  store i64 %block, ptr %at
  %status = call i32 @block(ptr %state, i64 %block, ptr %arguments)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %good, label %failed
good:
  %next = add nsw i64 %block, 1
  br label %head
failed:
  ret i32 %status
done:
  ret i32 0
}}
"""


class NativeProgram:
    """Machine code of a kernel. Raises `NotNativeError` if it cannot be compiled."""

    def __init__(self, module: Module, entry: Function, target: Target, effects: Effects, *, extended: bool) -> None:
        self.entry, self.target, self.extended = entry, target, extended
        maths.FMA = compiler.has("fma")
        self.module = NativeModule(target)
        writer = Writer(module, entry, target, effects, extended=extended, into=self.module)
        body = writer.write()
        self.text = self.module.text(body + "\n" + _RUN, compiler.triple())
        self.loaded = compiler.Loaded(cached(self.text, compiler.identity(), compiler.object_code))
        self._tables = [(word, table16(*key)) for key, word in self.module.tables.items()]
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def _worker(self, matmul: str, blocks: int) -> Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            chunk = Chunk(self.target, 1, blocks, matmul, extended=self.extended)
            worker = Worker(self.module, chunk, [(word, table.ctypes.data) for word, table in self._tables])
        worker.chunk.total, worker.chunk.matmul_mode = blocks, matmul
        return worker

    def launch(self, values: Sequence[Any], blocks: int, matmul: str, threads: int, printed: Printed) -> Failure | None:
        """Run all blocks; the failure of the lowest one that failed."""
        words, buffers = argument_words(self.entry, values)
        threads = 1  # until it is known which blocks write apart
        cuts = [blocks * k // threads for k in range(threads + 1)]
        spans = [(first, last) for first, last in pairwise(cuts) if first < last]
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
        failed = next((run.failure for run in runs if run.failure is not None), None)
        for run in runs:
            run.worker.keep_printed()
            for block, texts in run.worker.printed:
                printed.add(block, texts)
            run.worker.end()
        with self._lock:
            self._idle += [run.worker for run in runs]
        return failed


class Failure:
    """What went wrong in a block, where, and the loop variables at that time, by operation."""

    def __init__(self, error: BaseException, op: Op, block: int, loops: dict[Op, int]) -> None:
        self.error, self.op, self.block, self.loops = error, op, block, loops


class _Run:
    """The blocks of one thread."""

    def __init__(self, program: NativeProgram, worker: Worker, first: int, last: int) -> None:
        self.program, self.worker, self.first, self.last = program, worker, first, last
        self.failure: Failure | None = None

    def go(self, words: np.ndarray) -> None:
        worker = self.worker
        with np.errstate(all="ignore"):
            status = self.program.loaded.call(worker.state.ctypes.data, self.first, self.last, words.ctypes.data)
        if status:
            module = worker.module
            error = worker.error or OverflowError("a number is beyond the 64 bits of index")
            now = {op: int(worker.state[word]) for op, word in module.loops.items()}
            loops = {op: value for op, value in now.items() if value != UNSET}
            self.failure = Failure(error, module.sites[worker.failed].op, worker.block, loops)


def argument_words(entry: Function, values: Sequence[Any]) -> tuple[np.ndarray, list[Buffer | None]]:
    """The arguments as words, in the order in which `views.parameter` takes them, and their buffers."""
    words: list[int] = []
    buffers: list[Buffer | None] = []
    for param, value in zip(entry.params, values):
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
