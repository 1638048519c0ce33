"""A kernel is proved: from its plan to reasons why claims are open, and arguments for which a run may show more."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import z3

from ptokit.run.program import Program

from .claims import Fragment, Suspect, line_of
from .control import Control
from .numbers import both, either, lifted, negated, simple
from .report import Claim, condition

MOST_BLOCKS = 65_535


def _of_numbers(make: Any) -> Any:
    def made(a: Any, b: Any) -> Any:
        if not (isinstance(a, z3.ArithRef) and isinstance(b, z3.ArithRef)):
            raise ValueError("arithmetic and comparisons are of numbers; and, or and not join comparisons")
        return make(a, b)

    return made


def _of_truths(make: Any) -> Any:
    return lambda *parts: make(*map(_truth, parts))


def _truth(value: Any) -> Any:
    if not isinstance(value, z3.BoolRef | bool):
        raise ValueError("a number is no condition: compare it")
    return value


def _divisor(value: Any) -> Any:
    if not z3.is_int_value(value) or value.as_long() <= 0:
        raise ValueError("numbers are divided by positive constants")
    return value


_WORDS: dict[str, Any] = {
    "and": _of_truths(both),
    "or": _of_truths(either),
    "not": _of_truths(negated),
    "number": z3.IntVal,
    "Add": _of_numbers(operator.add),
    "Sub": _of_numbers(operator.sub),
    "Mult": _of_numbers(operator.mul),
    "FloorDiv": _of_numbers(lambda a, b: a / _divisor(b)),
    "Mod": _of_numbers(lambda a, b: a % _divisor(b)),
    "Eq": _of_numbers(operator.eq),
    "NotEq": _of_numbers(operator.ne),
    "Lt": _of_numbers(operator.lt),
    "LtE": _of_numbers(operator.le),
    "Gt": _of_numbers(operator.gt),
    "GtE": _of_numbers(operator.ge),
}


class Prover(Control):
    """Of one kernel."""

    def __init__(self, program: Program, *, by_compiler: bool, blocks: int | None, assume: tuple[str, ...]) -> None:
        """Raises `ValueError` for an assumption that says nothing, or if they hold for no arguments."""
        super().__init__(program, program.cores.roles[0].kind, by_compiler=by_compiler, blocks=blocks)
        self.stated: tuple[Any, ...] = ()
        self._gone: dict[Claim, list[tuple[str, int]]] = {}
        self.start()
        names = {**self.params, "blocks": lifted(self.total)}
        self.stated = tuple(lifted(_truth(condition(text, names, _WORDS))) for text in assume)
        if self.stated and self.solver.solve((*self.assumed, *self.stated), model=True).none:
            raise ValueError(f"there are no arguments for which {' and '.join(assume)}")

    def start(self) -> Any:
        """Where the kernel begins, with what is assumed of its arguments."""
        state = super().start()
        state.facts = self.assumed = (*state.facts, *self.stated)
        return state

    def prove(self) -> None:
        """Go through the kernel. What is not followed leaves every claim open."""
        try:
            if self.program.cores.mixed:
                raise Fragment("cube and vector cores at once are not followed")
            self.run()
        except Fragment as fragment:
            for claim in Claim:
                self.leave_open(claim, fragment.reason, fragment.step)

    def suspects(self) -> list[Suspect]:
        """What may not hold, what there are arguments for first."""
        return sorted(self.found.suspects.values(), key=lambda s: s.model is None)

    def reasons(self, claim: Claim) -> list[tuple[str, int]]:
        """Why a claim is open, each with its line; empty if it is proved."""
        found = [(s.text, line_of(s.step)) for s in self.found.suspects.values() if s.claim is claim]
        found += [(gap.reason, gap.line) for gap in self.found.gaps if gap.claim is claim]
        if not found and claim in (Claim.BLOCKS, Claim.PIPES) and self._may_leave_views:
            found.append(("it holds only if no slice leaves its view, which is open or refuted", 0))
        return found

    @property
    def _may_leave_views(self) -> bool:
        return any(s.claim is Claim.BOUNDS for s in self.found.suspects.values())

    def needs(self) -> tuple[str, ...]:
        """What arrays have to hold, in words."""
        sizes = {p.name or f"argument {k}": p for k, p in enumerate(self.program.params)}
        found: dict[str, None] = {}
        for name, end, _ in self.found.needs.values():
            dtype = sizes[name].dtype if name in sizes else None
            size = 1 if dtype is None else max(1, dtype.size)
            found[f"{name} of {_in_words(end, size)} elements"] = None
        return tuple(found)

    # --- arguments -----------------------------------------------------------------------------------------------

    def arguments(self, suspect: Suspect) -> Iterator[tuple[dict[str, Any], int]]:
        """Arguments and numbers of blocks for which a suspicion may come true, small ones."""
        numbers = [p for p in self.params.values() if isinstance(p, z3.ArithRef)]
        if isinstance(self.total, z3.ExprRef):
            numbers.append(self.total)
        most = 1
        model = None
        while model is None and most < MOST_BLOCKS:
            limits = [n <= most for n in numbers]
            model = self.solver.solve((*suspect.facts, *limits), model=True).model
            most *= 4
        model = suspect.model if model is None else model
        if model is not None:
            values = {name: _valued(model, symbol) for name, symbol in self.params.items()}
            blocks = self.total if isinstance(self.total, int) else _valued(model, self.total)
            yield values, min(max(1, blocks), MOST_BLOCKS)

    def elements(self, name: str, size: int, values: dict[str, Any], blocks: int) -> int | None:
        """How many elements an array has to hold for some arguments; None where that is open."""
        pairs = [(symbol, lifted(values[each])) for each, symbol in self.params.items()]
        if isinstance(self.total, z3.ExprRef):
            pairs.append((self.total, lifted(blocks)))
        most = 0
        for argument, end, _ in self.found.needs.values():
            if argument == name:
                number = simple(z3.substitute(lifted(end), *pairs)) if pairs else simple(lifted(end))
                if not isinstance(number, int):
                    return None
                most = max(most, -(-number // max(1, size)))
        return most


def _in_words(end: Any, size: int) -> str:
    """So many elements as end in a byte."""
    if isinstance(end, int):
        return str(-(-end // size))
    end = z3.simplify(end, som=True)
    terms = []
    for term in end.children() if z3.is_add(end) else [end]:
        first, *rest = term.children() if z3.is_mul(term) else [term]
        if not z3.is_int_value(first) or first.as_long() % size:
            return f"({_spaced(end)})/{size}" if size > 1 else _spaced(end)
        number = first.as_long() // size
        factors = [_spaced(f) for f in rest]
        terms.append("*".join(factors if number == 1 and factors else [str(number), *factors]))
    return " + ".join(terms).replace("+ -", "- ")


def _spaced(e: Any) -> str:
    return " ".join(str(e).split())


def _valued(model: Any, symbol: Any) -> Any:
    value = model.eval(symbol, model_completion=True)
    return z3.is_true(value) if z3.is_bool(value) else value.as_long()
