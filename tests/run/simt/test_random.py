"""Random programs of threads, against one thread after the other in Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from .programs import launch, load, run, store

THREADS, LIMIT = 40, 1 << 32

Values = list[int]
Meaning = Callable[[Values], None]


def signed(x: int) -> int:
    return (x + LIMIT // 2) % LIMIT - LIMIT // 2


BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "xori": lambda a, b: a ^ b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "maxsi": max,
    "minsi": min,
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "slt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a % LIMIT < b % LIMIT,
}


class Program:
    """Text and meaning: the n-th value is ``%vn``, at first the thread's number and its elements of x and y."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 3
        self.names = 0
        self.text: list[str] = [
            "  %v0 = arith.addi %tx, %tx : i32",
            load("%v1", "%x").rstrip(),
            load("%v2", "%y").rstrip(),
            "  %seven = arith.constant 3 : i32",
            "  %c0 = arith.constant 0 : i32",
            "  %c1 = arith.constant 1 : i32",
        ]
        seen = [0, 1, 2]
        self.meaning = self.block(self.text, seen, 8, 0)
        self.last = seen[-1]

    def fresh(self) -> str:
        self.names += 1
        return f"%t{self.names}"

    def value(self) -> int:
        self.count += 1
        return self.count - 1

    def block(self, out: list[str], seen: list[int], size: int, depth: int) -> Meaning:
        """Statements whose values are seen by those that follow."""
        parts = [self.statement(out, seen, depth) for _ in range(size)]

        def carry_out(values: Values) -> None:
            for part in parts:
                part(values)

        return carry_out

    def statement(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        rng = self.rng
        kind = rng.random()
        a, b = rng.choice(seen), rng.choice(seen)
        if depth < 3 and kind < 0.2:
            return self.branch(out, seen, depth, a, b)
        if depth < 3 and kind < 0.35:
            return self.loop(out, seen, depth, a, b)
        name, new = rng.choice([*BINARY]), self.value()
        out.append(f"  %v{new} = arith.{name} %v{a}, %v{b} : i32")
        seen.append(new)
        fn = BINARY[name]

        def carry_out(values: Values) -> None:
            values[new] = signed(fn(values[a], values[b]))

        return carry_out

    def branch(self, out: list[str], seen: list[int], depth: int, a: int, b: int) -> Meaning:
        how, condition, new = self.rng.choice([*COMPARE]), self.fresh(), self.value()
        out += [f"  {condition} = arith.cmpi {how}, %v{a}, %v{b} : i32", f"  %v{new} = scf.if {condition} -> (i32) {{"]
        ways = []
        for end in ("  } else {", "  }"):
            inside = [*seen]
            part = self.block(out, inside, self.rng.randint(1, 3), depth + 1)
            given = inside[-1]
            out += [f"  scf.yield %v{given} : i32", end]
            ways.append((part, given))
        seen.append(new)
        compare = COMPARE[how]

        def carry_out(values: Values) -> None:
            part, given = ways[0] if compare(values[a], values[b]) else ways[1]
            part(values)
            values[new] = values[given]

        return carry_out

    def loop(self, out: list[str], seen: list[int], depth: int, a: int, b: int) -> Meaning:
        """As many turns as the two low bits of a value say, which hand a value on."""
        turns, new, carried, k = self.fresh(), self.value(), self.value(), self.value()
        out += [
            f"  {turns} = arith.andi %v{a}, %seven : i32",
            f"  %v{new} = scf.for %v{k} = %c0 to {turns} step %c1 iter_args(%v{carried} = %v{b}) -> (i32) : i32 {{",
        ]
        inside = [*seen, carried, k]
        part = self.block(out, inside, self.rng.randint(1, 3), depth + 1)
        given = inside[-1]
        out += [f"  scf.yield %v{given} : i32", "  }"]
        seen.append(new)

        def carry_out(values: Values) -> None:
            values[carried] = values[b]
            for turn in range(values[a] & 3):
                values[k] = turn
                part(values)
                values[carried] = values[given]
            values[new] = values[carried]

        return carry_out


def check(seed: int) -> None:
    """Threads of two blocks compute as one thread after the other does."""
    program, rng = Program(seed), np.random.default_rng(seed)
    kept = program.count
    body = "\n".join([*program.text, store(f"%v{program.last}").rstrip()])
    x, y = (rng.integers(-(2**31), 2**31, THREADS).astype(np.int32) for _ in range(2))
    x[::3] = np.arange(len(x[::3]))
    out = np.zeros(THREADS, np.int32)
    run(launch(body, (THREADS, 1, 1), x="i32", y="i32", out="i32"), x, y, out)
    for thread in range(THREADS):
        values = [0] * kept
        values[:3] = 2 * thread, int(x[thread]), int(y[thread])
        program.meaning(values)
        assert int(out[thread]) == values[program.last], f"seed {seed}, thread {thread}\n{body}"


@pytest.mark.parametrize("seed", range(15))
def test_random_threads(seed: int) -> None:
    check(seed)


@pytest.mark.campaign
def test_many_random_threads() -> None:
    for seed in range(100, 1500):
        check(seed)
