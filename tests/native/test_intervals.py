"""What native code believes a number to lie between holds for all numbers that the program makes of it."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native.analyses import interval, iterations
from ptokit.plan.steps import FunctionPlan, Relations

from ..run.kernels import compiled


def planned(body: str) -> tuple[Any, FunctionPlan]:
    function = compiled("%p: !pto.ptr<i64>, %n: index", body, prelude="").plan.functions["k"]
    return SimpleNamespace(relations=Relations(function)), function


def kernel(loops: list[tuple[int, int, int]], formula: list[tuple[str, str, str]]) -> str:
    """Loops inside each other, and sums and products of their variables."""
    numbers = sorted({n for loop in loops for n in loop})
    lines = [f"%c{n} = arith.constant {n} : index" for n in numbers]
    lines += [f"scf.for %i{k} = %c{a} to %c{b} step %c{s} {{" for k, (a, b, s) in enumerate(loops)]
    lines += [f"%{name} = arith.{op} {x} : index" for name, op, x in formula]
    last = formula[-1][0] if formula else f"i{len(loops) - 1}"
    lines += [f"%w = arith.index_cast %{last} : index to i64", "pto.store_scalar %w, %p[%n] : !pto.ptr<i64>, i64"]
    return "\n".join([*lines, *["}"] * len(loops)]) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_all_numbers_lie_between(seed: int) -> None:
    rng = random.Random(seed)
    loops = [(rng.randrange(3), rng.randrange(3, 14), rng.randrange(1, 5)) for _ in range(rng.choice([1, 2]))]
    names, formula = [f"i{k}" for k in range(len(loops))], []
    for k in range(rng.randrange(3)):
        a, b = rng.choice(names), rng.choice(names)
        formula.append((f"t{k}", rng.choice(["addi", "subi", "muli"]), f"%{a}, %{b}"))
        names.append(f"t{k}")
    w, function = planned(kernel(loops, formula))
    apply = {"addi": int.__add__, "subi": int.__sub__, "muli": int.__mul__}
    seen = []
    for values in itertools.product(*(range(*loop) for loop in loops)):
        known = {f"i{k}": value for k, value in enumerate(values)}
        for name, op, given in formula:
            a, b = given.replace("%", "").split(", ")
            known[name] = apply[op](known[a], known[b])
        seen.append(known[names[-1] if formula else f"i{len(loops) - 1}"])
    (store,) = (step for step in function.walk() if step.word == "store_scalar")
    found = interval(w, store["value"])
    assert found is not None
    assert found[0] <= min(seen)
    assert max(seen) <= found[1]
    if not formula:
        assert found == (min(seen), max(seen))
    inner = [step for step in function.walk() if step.word == "for"][-1]
    assert iterations(inner) == len(range(*loops[-1]))


def test_what_only_the_run_knows() -> None:
    body = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\nscf.for %i = %c0 to %n step %c1 {\n"
    body += "%w = arith.index_cast %i : index to i64\npto.store_scalar %w, %p[%i] : !pto.ptr<i64>, i64\n}\n"
    w, function = planned(body)
    steps = {step.word: step for step in function.walk()}
    assert interval(w, steps["store_scalar"]["value"]) is None
    assert iterations(steps["for"]) is None
