"""Functions of threads as Python source: values are arrays of lanes, and who takes which way is asked of the threads.

Control flow is that of lanes (`ptokit.machine.lanes`): a branch is both of its ways, one after the other, each for
the lanes that take it; results and values that loops carry are put together by who was there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.ir.core import Op
from ptokit.machine.threads import ACCESSES, bound
from ptokit.plan.steps import Region, Step

from .text import Writer


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
