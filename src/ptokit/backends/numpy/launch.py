"""Launches on NumPy: the functions of a kernel as Python code in memory, functions of threads among them.

Control flow is that of lanes (`ptokit.machine.lanes`): a branch is both of its ways, one after the other, each for
the lanes that take it; results and values that loops carry are put together by who was there.

Line numbers of the code say where in the program it is. A launch whose cores wait for each other, on one device or
several, has a stream of its own for every core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.ir.core import Function, Op
from ptokit.ir.launch import Role
from ptokit.machine.buffers import Buffer
from ptokit.machine.chunk import Chunk, Cluster, Flight, Stream, core_ids, cores_of_blocks
from ptokit.machine.global_memory import Pointer
from ptokit.machine.lanes import Diverge, Fault
from ptokit.machine.signals import Board, Semaphores, block_text, deadlock
from ptokit.machine.threads import ACCESSES, bound
from ptokit.plan.effects import Work, stores_last
from ptokit.plan.steps import Plan, Region, Step
from ptokit.run.arguments import Argument, buffers_of
from ptokit.run.backends import Again, Kept, Launched, Printed
from ptokit.run.program import Program

from .text import Text, Writer

# Functions of threads as Python source: values are arrays of lanes, and who takes which way is asked of the threads.


class ThreadWriter(Writer):
    """Writes one function."""

    def write(self) -> None:
        function = self.function.function
        params = ", ".join(["m", *(self.bind(p, "a") for p in function.params)])
        self.line(f"def {self.out.threads[function.name]}({params}):")
        self.depth += 1
        self.region(self.function.body, [])
        self.line("return")
        self.depth -= 1

    def hand(self, targets: Sequence[str], values: Sequence[str], op: Op, path: str) -> None:
        if path:
            values = [f"{path}.kept({target}, {value})" for target, value in zip(targets, values)]
        self.assign(targets, values, op)

    def path(self, text: str, op: Op) -> str:
        """The name of a path."""
        name = self.fresh("p")
        self.line(f"{name} = m.{text}", op)
        return name

    def unknown(self, names: Sequence[str]) -> None:
        """Names that have no value yet."""
        if names:
            self.line(f"{' = '.join(names)} = None")

    # --- steps ---------------------------------------------------------------------------------------------------

    def do(self, step: Step) -> None:
        targets, args = ", ".join(map(self.bind, step.results)), self.refs(step.operands)
        text = f"m.{step.word}({', '.join(args)})"
        if step.word in ACCESSES:
            text = f"{self.const(bound(step), 'I')}({', '.join(['m', *args])})"
        self.line(f"{targets} = {text}" if targets else text, step.op)

    def instruction(self, step: Step) -> None:
        text = f"{self.const(bound(step), 'I')}({', '.join(['m', *self.refs(step.operands)])})"
        targets = ", ".join(map(self.bind, step.results))
        self.line(f"{targets} = {text}" if targets else text, step.op)

    def compute(self, step: Step) -> None:
        if not step.operands:
            self.names[step.result] = self.const(bound(step)(None))
            return
        text = f"{self.const(bound(step))}({', '.join(['m.active', *self.refs(step.operands)])})"
        self.line(f"{', '.join(map(self.bind, step.results))} = {text}", step.op)

    def call(self, step: Step) -> None:
        text = f"{self.out.threads[step.callee]}({', '.join(['m', *self.refs(step.operands)])})"
        targets = ", ".join(map(self.bind, step.results))
        self.line(f"{targets} = {text}" if targets else text, step.op)

    # --- control flow --------------------------------------------------------------------------------------------

    def loop(self, step: Step) -> None:
        (body,) = step.regions
        bounds, init = self.refs(step.operands[:3]), self.refs(step.operands[3:])
        path = self.path(f"loop({', '.join(bounds)})", step.op)
        iv, *carried = body[0].args
        names = [self.bind(value) for value in carried]
        self.assign(names, init, step.op)
        self.line(f"for {self.bind(iv)} in {path}:", step.op)
        self.inside(body, names, path)
        self.names.update(zip(step.results, names))

    def loop_while(self, step: Step) -> None:
        (before,), after = step.regions
        path = self.path("rounds()", step.op)
        names = [self.bind(value) for value in before.args]
        self.assign(names, self.refs(step.operands), step.op)
        results = [self.bind(result) for result in step.results]
        self.unknown(results)
        self.line("while True:", step.op)
        self.depth += 1
        for inner in before.steps:
            if inner.word != "condition":
                self.step(inner)
                continue
            met, *handed = self.refs(inner.operands)
            self.line(f"{path}.part({met})", inner.op)
            ended = [f"{path}.ended({name}, {value})" for name, value in zip(results, handed)]
            self.assign(results, ended, inner.op)
            self.line(f"if not {path}.goes(): break", inner.op)
            self.names.update(zip(after[0].args, handed))
        self.region(after, names, path)
        self.depth -= 1

    def branch(self, step: Step) -> None:
        self.ways(step, (0,))

    def switch(self, step: Step) -> None:
        self.ways(step, step.cases)

    def ways(self, step: Step, cases: Sequence[int]) -> None:
        """A branch: the first region where none of the cases is met."""
        names = [self.bind(result) for result in step.results]
        self.unknown(names)
        path = self.path(f"ways({self.ref(step.operands[0])}, {tuple(cases)})", step.op)
        for k, region in enumerate(step.regions):
            self.line(f"if {path}.enter({k}):", step.op)
            self.inside(region, names, path)
        self.line(f"{path}.leave()", step.op)

    def blocks(self, region: Region, targets: Sequence[str], path: str) -> None:
        last = [block.steps[-1] for block in region if block.steps and block.steps[-1].word in ("yield", "return")]
        ends = [self.fresh() for _ in last[0].operands] if last else []
        self.unknown([self.bind(arg) for block in region[1:] for arg in block.args] + ends)
        op = region[0].steps[-1].op
        places, chosen = self.path(f"places({len(region)})", op), self.fresh("b")
        self.line(f"for {chosen} in {places}:")
        self.depth += 1
        for k, block in enumerate(region):
            self.line(f"if {chosen} == {k}:")
            self.depth += 1
            for step in block.steps:
                if step.word == "branch":
                    self._leads(step, region, places)
                elif step.word in ("yield", "return"):
                    self.hand(ends, self.refs(step.operands), step.op, places)
                    self.line("pass")
                else:
                    self.step(step)
            self.depth -= 1
        self.depth -= 1
        if last and last[0].word == "return":
            self.line(f"return {', '.join(ends)}")
        else:
            self.hand(targets, ends, op, path)

    def _leads(self, step: Step, region: Region, places: str) -> None:
        """A branch at the end of a block: who goes where, with which arguments."""
        if not step.cases:
            (way,) = step.ways
            self.hand([self.names[arg] for arg in region[way.block].args], self.refs(way.operands), step.op, places)
            self.line(f"{places}.go({way.block})", step.op)
            return
        path = self.path(f"ways({self.ref(step.operands[0])}, {step.cases})", step.op)
        handed = []  # before one way changes what another one hands over
        for way in step.ways:
            handed.append([self.fresh() for _ in way.operands])
            self.assign(handed[-1], self.refs(way.operands), step.op)
        for k, (way, values) in enumerate(zip(step.ways, handed)):
            self.line(f"if {path}.enter({k}):", step.op)
            self.depth += 1
            self.hand([self.names[arg] for arg in region[way.block].args], values, step.op, path)
            self.line(f"{places}.go({way.block})", step.op)
            self.depth -= 1
        self.line(f"{path}.leave()", step.op)


# Launches on NumPy: the functions of a kernel as Python code in memory, for the blocks of a chunk at a time.


KEPT_BYTES = 1 << 26  # memory that is read and changed: of more no copy is kept, and blocks run one at a time


class Source(Text):
    """The code of a plan."""

    def __init__(self, plan: Plan, *, watch: bool = False, at_once: bool = True) -> None:
        """``watch``: every step is told to the machine's observer; ``at_once``: loops may be done at once."""
        super().__init__(plan, watch=watch, at_once=at_once)
        for function in plan.functions.values():
            Writer(self, function).write()
        for function in plan.threads.values():
            ThreadWriter(self, function).write()


class PythonCode:
    """Compiled functions. Raises `DiagnosticError` (TEXT-NESTING) where Python refuses them."""

    def __init__(self, source: Source, entry: Function, name: str) -> None:
        self.source, self.file = source, f"<ptokit {name}>"
        names = dict(source.names)
        exec(self._compiled(entry), names)
        self.function: Callable[..., Any] = names[source.functions[entry.name]]

    def _compiled(self, entry: Function) -> CodeType:
        """The code, which Python refuses where it is nested too deeply (TEXT-NESTING)."""
        try:
            return compile(self.source.text, self.file, "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 0
            places = [op.location for k, op in self.source.ops.items() if k <= line] or [entry.location]
            message = "what stands here is nested too deeply to be run"
            hint = "loops may be nested about 20 deep, branches 90; put inner ones into a function and call it"
            raise DiagnosticError(Diagnostic("TEXT-NESTING", Severity.ERROR, message, places[-1], hint)) from None

    def place(self) -> Location | None:
        """Of the operation that the code executes now."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        op = self.source.ops.get(frame.f_lineno) if frame is not None else None
        return None if op is None else op.location

    def waits_at(self, work: Any) -> Op | None:
        """The operation at which a generator of the code has stopped."""
        op, running = None, getattr(work, "gi_yieldfrom", None)
        while running is not None and getattr(running, "gi_frame", None) is not None:
            if running.gi_frame.f_code.co_filename == self.file:
                op = self.source.ops.get(running.gi_frame.f_lineno, op)
            running = running.gi_yieldfrom
        return op

    def failed_at(self, error: BaseException) -> tuple[Op | None, list[str]]:
        """The operation that raised an error, and the variables of the loops around it in words."""
        trace = error.__traceback__
        op, where = None, []
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_code.co_filename == self.file:
                op = self.source.ops.get(trace.tb_lineno, op)
                if frame.f_code.co_name in self.source.functions.values():  # threads have arrays
                    lines = self.source.loops.items()
                    around = [(var, name) for var, (name, inside) in lines if trace.tb_lineno in inside]
                    where = [f"{name} = {frame.f_locals[var]}" for var, name in around if var in frame.f_locals]
            trace = trace.tb_next
        return op, where


class OnNumPy:
    """A kernel as Python code."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def code(self) -> PythonCode:
        """The code for launches without an observer."""
        return PythonCode(Source(self.program.plan), self.program.entry, self.program.name)

    @cached_property
    def watched_code(self) -> PythonCode:
        """The code for launches with an observer."""
        program = self.program
        return PythonCode(Source(program.plan, watch=True), program.entry, f"{program.name}, watched")

    def ready(self) -> None:
        """Compile the code. Raises `DiagnosticError` where it is nested too deeply."""
        _ = self.code

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch will take, roughly."""
        return work.seconds(blocks, min(blocks, self.program.chunk_blocks))

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch. Raises `DiagnosticError` if cores wait for each other for ever."""
        program, span, observer = self.program, work.span, work.observer
        if work.ranks or program.cores.waits or program.cores.mixed:
            self.flight(work).run()
            return
        size = min(len(span), program.chunk_blocks if work.chunk is None else max(1, work.chunk))
        if (observer is not None and not observer.together) or not program.effects.lockstep:
            size = 1
        changed = self._changed_inputs(work.values) if size > 1 else []
        if sum(buffer.mem.size for buffer in changed) > KEPT_BYTES:
            size, changed = 1, []
        kept, first = Kept(changed), span.start
        while first < span.stop:
            indices = np.arange(first, min(first + size, span.stop))
            try:
                self._chunk(work, indices)
            except Again:
                kept.restore()
                work.printed.known, size, first = first, 1, span.start
                continue
            work.printed.flush()
            first += len(indices)
            work.progress(first - span.start, len(span))

    def _chunk(self, work: Launched, indices: np.ndarray) -> None:
        """Run blocks together, or in groups that take the same path. Raises `Again`."""
        pending = [indices]
        while pending:
            group = pending.pop()
            try:
                machine = work.workspace.chunk(len(group), work.blocks, work.matmul)
                machine.observer = work.observer
                self._run(machine, group, work.values, work.printed)
            except Diverge as split:
                parts = [group[split.keys == key] for key in np.unique(split.keys)]
                pending.extend(sorted(parts, key=lambda part: -int(part[0])))  # the lowest block comes first
            except DiagnosticError as error:
                if len(group) == 1:
                    work.faults.add(int(group[0]), error.diagnostics[0])
                elif any(b.before is not None for b in buffers_of(work.values)):
                    raise Again from None
                else:
                    pending.extend(group[k : k + 1] for k in reversed(range(len(group))))

    def _changed_inputs(self, values: list[Argument]) -> list[Buffer]:
        """The memory whose contents a block could not be run again on: it is written, and read as well."""
        entry, effects = self.program.entry, self.program.effects
        if stores_last(entry):
            return []
        both = effects.read & effects.written
        named = [v.buffer for p, v in zip(entry.params, values) if p in both and isinstance(v, Pointer)]
        shared = [b for b in buffers_of(values) if b.written and b.partners]
        return [b for b in dict.fromkeys([*named, *shared]) if b is not None]

    def _run(self, chunk: Chunk, indices: np.ndarray, values: list[Argument], printed: Printed) -> None:
        chunk.start(indices)
        code, chunk.memories = self.code_for(chunk), buffers_of(values)
        try:
            code.function(chunk, *values)
        except Diverge:
            chunk.printed.clear()  # it will be printed again
            raise
        except (Fault, OverflowError) as error:
            if len(indices) > 1:
                chunk.printed.clear()
            raise DiagnosticError(self.diagnose(error, chunk)) from None
        finally:
            for block, texts in zip(indices.tolist(), chunk.printed):
                printed.add(block, texts)

    def code_for(self, machine: Chunk) -> PythonCode:
        """The code for a machine, which then can tell where it is."""
        code = self.code if machine.observer is None else self.watched_code
        machine.place = lambda: code.place() or Location(self.program.module.file)
        return code

    def diagnose(self, error: Fault | OverflowError, chunk: Chunk) -> Diagnostic:
        """A fault with the operation, the block and the loop variables it happened at."""
        op, where = self.code_for(chunk).failed_at(error)
        block = chunk.block_number((error.block if isinstance(error, Fault) else None) or 0)
        return self.program.diagnosis(error, op, block_text(chunk.rank, block), where)

    # --- cores that wait for each other --------------------------------------------------------------------------

    def flight(self, work: Launched) -> CoresOfLaunch:
        """The cores of the blocks of a launch, on every device."""
        return CoresOfLaunch(self, work)

    def clusters(
        self,
        chunks: Callable[[int], list[Chunk]],
        semaphores: Semaphores[Any],
        devices: Sequence[list[Argument]],
        span: range,
    ) -> Iterator[Cluster]:
        """The streams of the cores of every block, made one block at a time, device by device.

        ``chunks``: machines for the cores of a block, by the number of its first core in the launch.
        """
        cores = self.program.cores
        printed = Printed(len(cores.roles), span.start)

        def work(chunk: Chunk, role: Role, device: int, place: int) -> Iterator[None]:
            return self._stream(chunk, devices[device], place, printed)

        def board() -> Board:
            return Board(cores.vectors, cores.reserved)

        return cores_of_blocks(cores.roles, chunks, semaphores, len(devices), span, work, board)

    def _stream(self, chunk: Chunk, values: list[Argument], place: int, printed: Printed) -> Iterator[None]:
        """The program of one core, which stops where it waits for another. Raises `DiagnosticError`."""
        code, chunk.memories = self.code_for(chunk), buffers_of(values)
        try:
            running = code.function(chunk, *values)
            if isinstance(running, Generator):  # anything else is what a function returns that waits for nobody
                yield from running
        except (Fault, OverflowError) as error:
            raise DiagnosticError(self.diagnose(error, chunk)) from None
        finally:
            printed.add(place, chunk.printed[0])
            chunk.printed = [[]]
            printed.done(place)

    def waits_at(self, stream: Stream) -> Op | None:
        """The operation at which a stream waits."""
        return self.code_for(stream.chunk).waits_at(stream.work)


class CoresOfLaunch(Flight):
    """Every core of the blocks of a launch, on every device.

    A core that fails ends; who waits for it never goes on, and all others run.
    """

    def __init__(self, code: OnNumPy, work: Launched) -> None:
        self.code, self.work = code, work
        program, roles = code.program, code.program.cores.roles
        self.devices, ranks = work.ranks or [work.values], len(work.ranks)
        self.semaphores: Semaphores[None] = Semaphores(core_ids(roles, work.blocks, ranks), program.target)
        self.failures: set[int] = set()
        self._passed: dict[tuple[int, int], tuple[Op | None, str]] = {}
        self._finished = 0
        clusters = code.clusters(self._machines, self.semaphores, self.devices, work.span)
        super().__init__(clusters, self._over, self._fault, self._release)

    def _machines(self, first: int) -> list[Chunk]:
        work = self.work
        machines = [work.workspace.core(work.blocks, work.matmul) for _ in self.code.program.cores.roles]
        for machine in machines:
            machine.observer = work.observer
        return machines

    def _over(self, cluster: Cluster) -> None:
        self._finished += 1
        self.work.workspace.give_back(stream.chunk for stream in cluster)
        self.work.progress(self._finished, len(self.work.span) * len(self.devices))

    def _fault(self, stream: Stream, error: Exception) -> None:
        if not isinstance(error, DiagnosticError):
            raise error
        place = stream.index // len(self.code.program.cores.roles)  # of the block in the launch
        if place not in self.failures:  # what comes of the first failure of a block is none of its own
            self.failures.add(place)
            self.work.faults.add(place if self.work.ranks else stream.block, error.diagnostics[0])

    def _release(self, stream: Stream) -> bool:
        if self.failures:
            return False
        forced = stream.chunk.go_on()
        if forced:
            event = self.semaphores.own(stream.index, stream.chunk.awaited)
            self._passed[stream.index, event] = self.code.waits_at(stream), stream.waits_for
        return forced

    def run(self) -> None:
        """Run all. Raises `DiagnosticError` if cores wait for each other for ever."""
        self.give_up(self.finish())

    def give_up(self, stuck: Sequence[Stream]) -> None:
        """End the streams that wait in vain. Raises `DiagnosticError` that says what for, if no other has failed."""
        held = [(stream.index, self.code.waits_at(stream), stream.waits_for) for stream in stuck]
        held = held or [(core, *self._passed[core, event]) for core, event in self.semaphores.owed()]
        for stream in stuck:  # what they have printed comes first
            stream.stop()
        if held and not self.failures:
            places = [(self.semaphores.cores[index], op, what) for index, op, what in held]
            raise DiagnosticError(deadlock(places, self.code.program.module.file))


prepare = OnNumPy
