"""Intervals of numbers in loops whose ends are numbers of the loops around them."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native.analyses import interval
from ptokit.plan.steps import Relations

from ..run.kernels import compiled


def compare(seed: int) -> bool:
    """A nest of two loops, the inner one from or to the variable of the outer one; True if its number has limits."""
    rng = random.Random(seed)
    a, b, s, t, end = rng.randint(-6, 3), rng.randint(4, 9), rng.randint(1, 4), rng.randint(1, 5), rng.randint(-4, 14)
    from_outer = rng.random() < 0.6
    lower, upper = ("%i", "%cend") if from_outer else ("%cend", "%i")
    formula = [
        (rng.choice(["addi", "subi", "muli"]), rng.choice("ij"), rng.choice("ij")) for _ in range(rng.randint(0, 2))
    ]
    lines = [
        f"%c{name} = arith.constant {n} : index" for name, n in (("a", a), ("b", b), ("s", s), ("t", t), ("end", end))
    ]
    lines += ["scf.for %i = %ca to %cb step %cs {", f"scf.for %j = {lower} to {upper} step %ct {{"]
    lines += [f"%f{k} = arith.{op} %{x}, %{y} : index" for k, (op, x, y) in enumerate(formula)]
    last = f"f{len(formula) - 1}" if formula else "j"
    lines += [
        f"%w = arith.index_cast %{last} : index to i64",
        "pto.store_scalar %w, %p[%n] : !pto.ptr<i64>, i64",
        "}",
        "}",
    ]
    function = compiled("%p: !pto.ptr<i64>, %n: index", "\n".join(lines) + "\n", prelude="").plan.functions["k"]
    apply = {"addi": int.__add__, "subi": int.__sub__, "muli": int.__mul__}
    seen = []
    for i in range(a, b, s):
        for j in range(i, end, t) if from_outer else range(end, i, t):
            op, x, y = formula[-1] if formula else ("addi", "", "")
            values = {"i": i, "j": j}
            seen.append(apply[op](values[x], values[y]) if formula else j)
    (store,) = (step for step in function.walk() if step.word == "store_scalar")
    found = interval(SimpleNamespace(relations=Relations(function)), store["value"])
    if found is not None and seen:
        assert found[0] <= min(seen), (seed, found)
        assert max(seen) <= found[1], (seed, found)
    return found is not None


def test_all_numbers_lie_between() -> None:
    assert sum(compare(seed) for seed in range(150)) > 100


@pytest.mark.parametrize("factor", [1, 1 << 20, 1 << 31, 1 << 33])
def test_numbers_beyond_32_bits_have_no_limits(factor: int) -> None:
    """Sums of them might not fit, and what native code makes of limits is arithmetic on 64 bits."""
    body = f"""%c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c1 = arith.constant 1 : index
        %cf = arith.constant {factor} : index
        scf.for %i = %c0 to %c4 step %c1 {{
          %m = arith.muli %i, %cf : index
          %w = arith.index_cast %m : index to i64
          pto.store_scalar %w, %p[%n] : !pto.ptr<i64>, i64
        }}
    """
    function = compiled("%p: !pto.ptr<i64>, %n: index", body, prelude="").plan.functions["k"]
    (store,) = (step for step in function.walk() if step.word == "store_scalar")
    found = interval(SimpleNamespace(relations=Relations(function)), store["value"])
    assert found == (None if factor >= 1 << 31 else (0, 3 * factor))
