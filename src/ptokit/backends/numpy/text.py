"""A plan as Python source: straight-line code that calls the machine, once for each step.

One step is one line, so a line number of the code names the operation that failed, and the loop variables can be read
from the frame. Scalars are Python numbers; those that depend on the block index may be `lanes` values and go
through functions that know them. Everything that is no number is data that the code names: it makes no objects itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ptokit.ir.core import Op, Value
from ptokit.isa.table import Kind
from ptokit.machine import arithmetic, lanes
from ptokit.machine.lanes import Fault
from ptokit.machine.loops import NotSteadyError, countdowns, evenly
from ptokit.machine.observer import TOLD, watched
from ptokit.machine.tiles import bound
from ptokit.plan.steps import Callee, Data, Form, FunctionPlan, Operand, Plan, Region, Step
from ptokit.types.codecs import wrap

_ATTRIBUTES = frozenset(("block_idx", "total", "subblock", "subblocks"))
"""What is known of a machine without asking it."""


class Text:
    """Lines of code, the names they refer to, and the operation of each line."""

    def __init__(self, plan: Plan, *, watch: bool, at_once: bool) -> None:
        self.plan, self.watch, self.at_once = plan, watch, at_once and not watch
        self.lines: list[str] = []
        self.ops: dict[int, Op] = {}
        self.loops: dict[str, tuple[str, range]] = {}  # loop variable -> what findings call it, the lines of the loop
        self.names: dict[str, Any] = {
            "uniform": lanes.uniform,
            "truth": lanes.truth,
            "spread": lanes.spread,
            "column": lanes.column,
            "wrapped": wrap,
            "NotSteadyError": NotSteadyError,
            "Fault": Fault,
        }
        loops = [step for function in plan.functions.values() for step in function.walk() if step.word == "for"]
        found = {step: evenly(step) for step in loops} if watch else {}
        self.even = {step: even for step, even in found.items() if even is not None}  # for the observer
        self.tests = frozenset(test for even in self.even.values() for test in even.tests)
        self.counter = itertools.count()
        self.functions = {name: f"f_{k}" for k, name in enumerate(plan.functions)}  # Python takes some names for others
        self.threads = {name: f"t_{k}" for k, name in enumerate(plan.threads)}

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class Writer:
    """Writes one function."""

    def __init__(self, out: Text, function: FunctionPlan) -> None:
        self.out, self.plan, self.function = out, out.plan, function
        self.names: dict[Value, str] = {}
        self.machine = "m"  # what instructions run on
        self.around: frozenset[Value] = frozenset()  # values from outside a loop that is done at once
        self.depth = 0
        self.level = 0  # of loops

    # --- lines and names -----------------------------------------------------------------------------------------

    def line(self, text: str, op: Op | None = None) -> None:
        self.out.lines.append("    " * self.depth + text)
        if op is not None:
            self.out.ops[len(self.out.lines)] = op

    def watch(self, text: str) -> None:
        """A line for the observer."""
        if self.out.watch:
            self.line(text)

    def fresh(self, prefix: str = "v") -> str:
        return f"{prefix}{next(self.out.counter)}"

    def const(self, value: Any, prefix: str = "k") -> str:
        """Name of an object the code refers to."""
        name = self.fresh(prefix)
        self.out.names[name] = value
        return name

    def bind(self, value: Value, prefix: str = "v") -> str:
        name = self.names[value] = self.fresh(prefix)
        return name

    def ref(self, operand: Operand) -> str:
        """Expression for an operand; numbers that are known are written out."""
        match operand:
            case Data():
                return self._literal(operand.value)
            case Form():
                return f"{operand.how}({self.names[operand.value]})"
            case Callee():
                return self.out.threads[operand.name]
            case tuple():
                return "(" + "".join(f"{self.ref(item)}, " for item in operand).rstrip() + ")"
            case _:
                return self.names[operand]

    def refs(self, operands: Sequence[Operand]) -> list[str]:
        return [self.ref(operand) for operand in operands]

    def _literal(self, value: Any) -> str:
        kind = type(value)  # members of enumerations are numbers, too
        if value is None or kind in (bool, str):
            return repr(value)
        if kind is int:
            return repr(value) if value >= 0 else f"({value})"
        if kind is float and not math.isnan(value):
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        return self.const(value)

    def assign(self, targets: Sequence[str], values: Sequence[str], op: Op) -> None:
        if targets:
            self.line(f"{', '.join(targets)} = {', '.join(values)}", op)

    def varies(self, operand: Operand) -> bool:
        return isinstance(operand, Value) and operand in self.plan.varying

    # --- structure -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        function = self.function.function
        params = ", ".join(["m", *(self.bind(p, "a") for p in function.params)])
        self.line(f"def {self.out.functions[function.name]}({params}):")
        self.depth += 1
        if self.function.alone:
            self.line("if m.subblock: return")
        for step in self.function.first:
            self.step(step)
        self.region(self.function.body, [])
        self.line("return")
        if self.plan.launch.waits:
            self.line("yield")  # makes it a generator
        self.depth -= 1

    def hand(self, targets: Sequence[str], values: Sequence[str], op: Op, path: str) -> None:
        """What a region hands on. ``path``: the name of that on which lanes came there."""
        self.assign(targets, values, op)

    def region(self, region: Region, targets: Sequence[str], path: str = "") -> None:
        """Steps whose yield assigns to `targets`."""
        if len(region) > 1:
            self.blocks(region, targets, path)
            return
        before = len(self.out.lines)
        for step in region[0].steps:
            if step.word == "yield":
                self.hand(targets, self.refs(step.operands), step.op, path)
            else:
                self.step(step)
        if len(self.out.lines) == before:
            self.line("pass")

    def inside(self, region: Region, targets: Sequence[str], path: str = "") -> None:
        """The same, one level in."""
        self.depth += 1
        self.region(region, targets, path)
        self.depth -= 1

    def blocks(self, region: Region, targets: Sequence[str], path: str) -> None:
        """A region of several blocks: a Python loop in which each follows its number."""
        for block in region[1:]:
            for arg in block.args:
                self.bind(arg)
        chosen = self.fresh("b")
        self.line(f"{chosen} = 0")
        self.line("while True:")
        self.depth += 1
        self.level += 1
        self.watch(f"m.nest.again({self.level})")
        for k, block in enumerate(region):
            self.line(f"if {chosen} == {k}:")
            self.depth += 1
            for step in block.steps:
                if step.word == "branch":
                    self._branch(step, region, chosen)
                elif step.word == "yield":
                    self.assign(targets, self.refs(step.operands), step.op)
                    self.line("break")
                else:
                    self.step(step)
            self.depth -= 1
        self.depth -= 1
        self.watch(f"m.nest.leave({self.level})")
        self.level -= 1

    def _branch(self, step: Step, region: Region, chosen: str) -> None:
        """A branch at the end of a block: the arguments of the next block, and its number."""
        if step.cases:
            flag = self.fresh("c")
            self.line(f"{flag} = {self.ref(step.operands[0])}", step.op)
        tests = [f"{'elif' if k else 'if'} {flag} == {case}:" for k, case in enumerate(step.cases)]
        for test, way in zip([*tests, "else:" if tests else "if True:"], [*step.ways[1:], step.ways[0]]):
            self.line(test)
            self.depth += 1
            args = [self.names[arg] for arg in region[way.block].args]
            self.assign(args, self.refs(way.operands), step.op)
            self.line(f"{chosen} = {way.block}", step.op)
            self.depth -= 1

    def step(self, step: Step) -> None:
        if not step.core:
            self.written(step)
            return
        self.line(f"if m.{step.core}:", step.op)
        self.depth += 1
        self.written(step)
        self.depth -= 1
        missing = [self.names[r] for r in step.results if r in self.names]
        if missing:
            self.line(f"else: {' = '.join(missing)} = 0")

    def written(self, step: Step) -> None:
        """A step, whichever core does it."""
        getattr(self, _WORDS.get(step.word, "do"))(step)

    # --- what the machine does -----------------------------------------------------------------------------------

    def do(self, step: Step) -> None:
        """A method of the machine."""
        args = ", ".join(self.refs(step.operands))
        targets = ", ".join(self.bind(r) for r in step.results)
        if self.out.watch and step.word in TOLD:
            text = f"{self.const(watched(step), 'O')}({', '.join(['m', args])})"
        else:
            text = f"m.{step.word}" if step.word in _ATTRIBUTES else f"m.{step.word}({args})"
        self.line(f"{targets} = {text}" if targets else text, step.op)

    def instruction(self, step: Step) -> None:
        instr = step.instr
        assert instr is not None
        args = self.refs(step.operands)
        for k, (operand, given) in enumerate(zip(instr.operands, step.operands)):
            value = given.value if isinstance(given, Form) else given
            if operand.kind is not Kind.PTR and isinstance(value, Value) and value in self.around:
                args[k] = f"{self.machine}.of_each_iteration({args[k]})"
        call = self.const(watched(step) if self.out.watch else bound(step).call, "I")
        text = f"{call}({', '.join([self.machine, *args])})"
        text = f"yield from m.hold({text})" if instr.order.waits else text
        targets = [*map(self.bind, step.results), *["_"] * (len(instr.returned) - len(step.results))]
        listed = "," if instr.results < 0 else ""  # a list of one, too
        self.line(f"{', '.join(targets)}{listed} = {text}" if targets else text, step.op)

    def compute(self, step: Step) -> None:
        args = self.refs(step.operands)
        if step in self.out.tests:
            moves = step.name in ("cmpi", "minsi", "maxsi", "minui", "maxui")
            self.line(f"m.observer.compared(m, {args[0]}, {args[1] if moves else 0})")
        text = None
        if len(step.results) == 1:
            many = step.results[0] in self.plan.varying or self.machine != "m"  # of several blocks or iterations
            text = arithmetic.inline(step.op, args, varying=many)
        if text is None:
            text = f"{self.const(bound(step).call)}({', '.join(args)})"
        self.line(f"{', '.join(self.bind(r) for r in step.results)} = {text}", step.op)

    # --- control flow --------------------------------------------------------------------------------------------

    def loop(self, step: Step) -> None:
        """A loop that counts."""
        op, (body,) = step.op, step.regions
        bounds, init = step.operands[:3], step.operands[3:]
        iv, *carried = body[0].args
        names = [self.bind(v) for v in carried]
        self.assign(names, self.refs(init), op)
        refs = ", ".join(self.refs(bounds))
        pace = bounds[2]
        counted = not any(map(self.varies, bounds)) and isinstance(pace, Data) and pace.value > 0
        taken = countdowns(step, self.plan.varying) if counted and self.out.at_once else None
        iterations = f"range({refs})" if counted else f"m.loop({refs})"
        if taken is not None:
            iterations = self._all_iterations(step, names, taken, refs)
        if step in self.out.even:
            iterations = f"m.observer.iterations(m, {self.const(self.out.even[step])}, {iterations})"
        name = self.bind(iv, "i")
        first = len(self.out.lines) + 1
        for arg, carrier in zip(carried, names):
            self.names[arg] = carrier
        self.line(f"for {name} in {iterations}:", op)
        self.depth += 1
        self.level += 1
        self.watch(f"m.nest.iteration({self.level}, {iv.shown if iv.name else 'i'!r}, {name})")
        self.region(body, names)
        self.depth -= 1
        if taken is not None:
            self.depth -= 2
        self.out.loops[name] = iv.shown if iv.name else name, range(first, len(self.out.lines) + 1)
        self.watch(f"m.nest.leave({self.level})")
        self.level -= 1
        for result, value in zip(step.results, names):
            self.names[result] = value

    def _all_iterations(self, step: Step, names: list[str], taken: list[int], bounds: str) -> str:
        """The loop with many iterations at once, if the run shows that it can be (`ptokit.machine.loops`).

        What is written next is for the other case. Returns the expression for the iterations that it has to do.
        """
        (block,) = step.regions[0]
        machine, part = self.fresh("b"), self.fresh("r")
        self.line(f"for {part}, {machine} in m.parts({bounds}):", step.op)
        self.depth += 1
        self.line(f"if {machine} is not None:")
        self.line("    try:")
        self.depth += 2
        self.machine, self.around = machine, frozenset(self.names) - set(block.args)
        self.names[block.args[0]] = f"{machine}.iv"
        for arg, name, by in zip(block.args[1:], names, taken):
            self.names[arg] = f"{machine}.countdown({name}, {by})" if by else name
        for inner in block.steps:
            if inner.word != "yield":
                self.step(inner)
        self.machine, self.around = "m", frozenset()
        self.line(f"if not {machine}.finish(): {machine} = None")
        rest = [f"{name} = {machine}.left({name}, {by})" for name, by in zip(names, taken) if by]
        if rest:
            self.line(f"else: {'; '.join(rest)}")
        self.depth -= 2
        self.line(f"    except (NotSteadyError, Fault): {machine} = None")
        self.line(f"if {machine} is None:")
        self.depth += 1
        return part

    def loop_while(self, step: Step) -> None:
        (before,), after = step.regions
        names = [self.bind(v) for v in before.args]
        self.assign(names, self.refs(step.operands), step.op)
        results = [self.bind(r) for r in step.results]
        self.names.update(zip(after[0].args, results))
        self.line("while True:", step.op)
        self.depth += 1
        self.level += 1
        for inner in before.steps:
            if inner.word == "condition":
                truth, *values = self.refs(inner.operands)
                self.assign(results, values, inner.op)
                self.line(f"if not {truth}: break", inner.op)
            else:
                self.step(inner)
        self.watch(f"m.nest.again({self.level})")
        self.region(after, names)
        self.depth -= 1
        self.watch(f"m.nest.leave({self.level})")
        self.level -= 1

    def branch(self, step: Step) -> None:
        names = [self.bind(r) for r in step.results]
        self.line(f"if {self.ref(step.operands[0])}:", step.op)
        self.inside(step.regions[0], names)
        if len(step.regions) > 1:
            self.line("else:")
            self.inside(step.regions[1], names)

    def switch(self, step: Step) -> None:
        names = [self.bind(r) for r in step.results]
        chosen = self.fresh("c")
        self.line(f"{chosen} = {self.ref(step.operands[0])}", step.op)
        for k, (case, region) in enumerate(zip(step.cases, step.regions[1:])):
            self.line(f"{'elif' if k else 'if'} {chosen} == {case}:")
            self.inside(region, names)
        self.line("else:" if step.cases else "if True:")
        self.inside(step.regions[0], names)

    def in_place(self, step: Step) -> None:
        self.region(step.regions[0], [self.bind(r) for r in step.results])

    def scope(self, step: Step) -> None:
        self.line("m.begin_scope()", step.op)
        self.watch("m.observer.scope(m, begins=True)")
        self.region(step.regions[0], [])
        self.watch("m.observer.scope(m, begins=False)")

    def call(self, step: Step) -> None:
        self.watch("m.nest.enter()")
        args = ", ".join(["m", *self.refs(step.operands)])
        targets = ", ".join(self.bind(r) for r in step.results)
        text = f"{'yield from ' if self.plan.launch.waits else ''}{self.out.functions[step.callee]}({args})"
        self.line(f"{targets} = {text}" if targets else text, step.op)
        self.watch("m.nest.back()")

    def ret(self, step: Step) -> None:
        self.line(f"return {', '.join(self.refs(step.operands))}", step.op)


_WORDS = {
    "instruction": "instruction",
    "compute": "compute",
    "for": "loop",
    "while": "loop_while",
    "if": "branch",
    "switch": "switch",
    "region": "in_place",
    "scope": "scope",
    "call": "call",
    "return": "ret",
}
"""What writes the words of steps; all others are methods of the machine."""
