"""Random programs of threads, with what one thread does as Python functions.

A program is a function that threads execute and functions that it calls: arithmetic, branches, loops of each kind,
switches, branches between blocks with returns in several of them, and stores under any of these.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .programs import load, store

THREADS, LIMIT = 40, 1 << 32
PTR = "!pto.ptr<i32, gm>"


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


class Returned(Exception):
    """A function returns."""


@dataclass
class Frame:
    """A function that one thread executes: its values, and what the thread stores, by slot."""

    values: dict[int, int]
    slots: dict[int, int] = field(default_factory=dict)


Meaning = Callable[[Frame], None]
CONSTANTS = [
    *(f"  %i{k} = arith.constant {k} : i32" for k in range(4)),
    "  %c0 = arith.constant 0 : index",
    "  %c1 = arith.constant 1 : index",
]


class Body:
    """Text and meaning of a function: the n-th value is ``%vn``, of which the first are given.

    ``callees``: functions of two numbers that it may call, by name.
    """

    def __init__(self, rng: random.Random, given: int, callees: dict[str, Callable[[Frame, int, int], int]]) -> None:
        self.rng, self.callees = rng, callees
        self.count, self.names = given, 0
        self.text: list[str] = []

    def fresh(self, what: str = "t") -> str:
        self.names += 1
        return f"%{what}{self.names}"

    def value(self) -> int:
        self.count += 1
        return self.count - 1

    def block(self, out: list[str], seen: list[int], size: int, depth: int) -> Meaning:
        """Statements whose values are seen by those that follow."""
        parts = [self.statement(out, seen, depth) for _ in range(size)]

        def carry_out(frame: Frame) -> None:
            for part in parts:
                part(frame)

        return carry_out

    def some(self, out: list[str], seen: list[int], depth: int) -> tuple[Meaning, int]:
        """A few statements in a region, and the value that it hands on."""
        inside = [*seen]
        part = self.block(out, inside, self.rng.randint(1, 3), depth + 1)
        return part, self.rng.choice(inside[-2:])

    def statement(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        rng = self.rng
        kinds = [self.number] * 5 + [self.choice]
        if depth < 3:
            kinds += [self.branch, self.loop, self.loop_while, self.switch, self.store_if, self.in_place]
        if self.callees:
            kinds.append(self.call)
        return rng.choice(kinds)(out, seen, depth)

    def number(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        a, b = self.rng.choice(seen), self.rng.choice(seen)
        name, new = self.rng.choice([*BINARY]), self.value()
        out.append(f"  %v{new} = arith.{name} %v{a}, %v{b} : i32")
        seen.append(new)
        fn = BINARY[name]

        def carry_out(frame: Frame) -> None:
            frame.values[new] = signed(fn(frame.values[a], frame.values[b]))

        return carry_out

    def condition(self, out: list[str], seen: list[int]) -> tuple[str, Callable[[Frame], bool]]:
        a, b, how, name = self.rng.choice(seen), self.rng.choice(seen), self.rng.choice([*COMPARE]), self.fresh()
        out.append(f"  {name} = arith.cmpi {how}, %v{a}, %v{b} : i32")
        return name, lambda frame: COMPARE[how](frame.values[a], frame.values[b])

    def few(self, out: list[str], seen: list[int]) -> tuple[str, Callable[[Frame], int]]:
        """A number from 0 to 3."""
        a, name = self.rng.choice(seen), self.fresh()
        out.append(f"  {name} = arith.andi %v{a}, %i3 : i32")
        return name, lambda frame: frame.values[a] & 3

    def choice(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        a, b, new = self.rng.choice(seen), self.rng.choice(seen), self.value()
        name, met = self.condition(out, seen)
        out.append(f"  %v{new} = arith.select {name}, %v{a}, %v{b} : i32")
        seen.append(new)

        def carry_out(frame: Frame) -> None:
            frame.values[new] = frame.values[a if met(frame) else b]

        return carry_out

    def branch(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        name, met = self.condition(out, seen)
        new = self.value()
        out.append(f"  %v{new} = scf.if {name} -> (i32) {{")
        ways = []
        for end in ("  } else {", "  }"):
            part, given = self.some(out, seen, depth)
            out += [f"  scf.yield %v{given} : i32", end]
            ways.append((part, given))
        seen.append(new)

        def carry_out(frame: Frame) -> None:
            part, given = ways[0 if met(frame) else 1]
            part(frame)
            frame.values[new] = frame.values[given]

        return carry_out

    def store_if(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        """A branch of some threads, which store what they find there."""
        name, met = self.condition(out, seen)
        slot, at, place = self.rng.randrange(3), self.fresh(), self.fresh()
        out.append(f"  scf.if {name} {{")
        part, given = self.some(out, seen, depth)
        out += [
            f"  {at} = arith.constant {slot * THREADS} : index",
            f"  {place} = arith.addi {at}, %i : index",
            store(f"%v{given}", at=place).rstrip(),
            "  }",
        ]

        def carry_out(frame: Frame) -> None:
            if met(frame):
                part(frame)
                frame.slots[slot] = frame.values[given]

        return carry_out

    def switch(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        name, number = self.few(out, seen)
        index, new = self.fresh(), self.value()
        out += [f"  {index} = arith.index_cast {name} : i32 to index", f"  %v{new} = scf.index_switch {index} -> i32"]
        cases = sorted(self.rng.sample(range(4), self.rng.randint(1, 3)))
        ways = {}
        for case in [*cases, None]:
            out.append("  default {" if case is None else f"  case {case} {{")
            part, given = self.some(out, seen, depth)
            out += [f"  scf.yield %v{given} : i32", "  }"]
            ways[case] = part, given
        seen.append(new)

        def carry_out(frame: Frame) -> None:
            part, given = ways.get(number(frame), ways[None])
            part(frame)
            frame.values[new] = frame.values[given]

        return carry_out

    def in_place(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        new = self.value()
        out.append(f"  %v{new} = scf.execute_region -> i32 {{")
        part, given = self.some(out, seen, depth)
        out += [f"  scf.yield %v{given} : i32", "  }"]
        seen.append(new)

        def carry_out(frame: Frame) -> None:
            part(frame)
            frame.values[new] = frame.values[given]

        return carry_out

    def loop(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        """As many iterations as a number of each thread says, or as many for all."""
        b, new, carried, k = self.rng.choice(seen), self.value(), self.value(), self.value()
        if self.rng.random() < 0.3:
            upper, times = "%i2", lambda frame: 2
        else:
            upper, times = self.few(out, seen)
        lower, pace = self.rng.choice((0, 1)), self.rng.choice((1, 1, 2))
        out.append(
            f"  %v{new} = scf.for %v{k} = %i{lower} to {upper} step %i{pace} "
            f"iter_args(%v{carried} = %v{b}) -> (i32) : i32 {{"
        )
        part, given = self.some(out, [*seen, carried, k], depth)
        out += [f"  scf.yield %v{given} : i32", "  }"]
        seen.append(new)

        def carry_out(frame: Frame) -> None:
            frame.values[carried] = frame.values[b]
            for at in range(lower, times(frame), pace):
                frame.values[k] = at
                part(frame)
                frame.values[carried] = frame.values[given]
            frame.values[new] = frame.values[carried]

        return carry_out

    def loop_while(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        limit, times = self.few(out, seen)
        b = self.rng.choice(seen)
        first, count, more, after, new, done = (self.value() for _ in range(6))
        out.append(
            f"  %v{new}, %v{done} = scf.while (%v{first} = %v{b}, %v{count} = %i0) : (i32, i32) -> (i32, i32) {{"
        )
        head, handed = self.some(out, [*seen, first, count], depth)
        go = self.fresh()
        out += [
            f"  {go} = arith.cmpi slt, %v{count}, {limit} : i32",
            f"  scf.condition({go}) %v{handed}, %v{count} : i32, i32",
            "  } do {",
            f"  ^bb0(%v{more}: i32, %v{after}: i32):",
        ]
        body, given = self.some(out, [*seen, more, after], depth)
        grown = self.fresh()
        out += [
            f"  {grown} = arith.addi %v{after}, %i1 : i32",
            f"  scf.yield %v{given}, {grown} : i32, i32",
            "  }",
        ]
        seen += [new, done]

        def carry_out(frame: Frame) -> None:
            v, most = frame.values, times(frame)
            v[first], v[count] = v[b], 0
            while True:
                head(frame)
                if v[count] >= most:
                    break
                v[more], v[after] = v[handed], v[count]
                body(frame)
                v[first], v[count] = v[given], v[after] + 1
            v[new], v[done] = v[handed], v[count]

        return carry_out

    def call(self, out: list[str], seen: list[int], depth: int) -> Meaning:
        name = self.rng.choice([*self.callees])
        a, b, new = self.rng.choice(seen), self.rng.choice(seen), self.value()
        types = f"(i32, i32, {PTR}, index) -> i32"
        out.append(f"  %v{new} = func.call @{name}(%v{a}, %v{b}, %out, %i) : {types}")
        seen.append(new)
        callee = self.callees[name]

        def carry_out(frame: Frame) -> None:
            frame.values[new] = callee(frame, frame.values[a], frame.values[b])

        return carry_out


class Function(Body):
    """A function of two numbers: a region of one block, or several with branches between them."""

    def __init__(self, rng: random.Random, name: str, callees: dict[str, Callable[[Frame, int, int], int]]) -> None:
        super().__init__(rng, 2, callees)
        self.text = [f"func.func @{name}(%v0: i32, %v1: i32, %out: {PTR}, %i: index) -> i32 {{", *CONSTANTS]
        if rng.random() < 0.3:
            part, given = self.some(self.text, [0, 1], 1)
            self.text += [f"  return %v{given} : i32", "}"]
            self.steps: list[Meaning] = [part]
            self.result = given
            self.graph = None
        else:
            self.graph = self._blocks(self.text)
            self.text.append("}")

    def _blocks(self, out: list[str]) -> Callable[[Frame], int]:
        """A loop made of branches, with a switch and a return inside of it."""
        rng, seen = self.rng, [0, 1]
        before, given = self.some(out, seen, 2)
        limit, times = self.few(out, seen)
        value, count, taken, after = (self.value() for _ in range(4))
        out += [f"  cf.br ^head(%v{given}, %i0 : i32, i32)", f"^head(%v{value}: i32, %v{count}: i32):"]
        inside = [*seen, value, count]
        head, handed = self.some(out, inside, 1)
        go = self.fresh()
        out += [
            f"  {go} = arith.cmpi slt, %v{count}, {limit} : i32",
            f"  cf.cond_br {go}, ^body, ^done(%v{handed} : i32)",
            "^body:",
        ]
        body, changed = self.some(out, inside, 1)
        flag, number = self.few(out, [*inside, 0])
        early = rng.random() < 0.5
        target = "^early" if early else f"^next(%v{value} : i32)"
        out += [
            f"  cf.switch {flag} : i32, [",
            f"    default: ^next(%v{changed} : i32),",
            f"    0: {target},",
            f"    2: ^next(%v{handed} : i32)",
            "  ]",
        ]
        last, end = (lambda frame: None), value
        if early:
            out.append("^early:")
            last, end = self.some(out, inside, 2)
            out.append(f"  return %v{end} : i32")
        grown = self.fresh()
        out += [
            f"^next(%v{taken}: i32):",
            f"  {grown} = arith.addi %v{count}, %i1 : i32",
            f"  cf.br ^head(%v{taken}, {grown} : i32, i32)",
            f"^done(%v{after}: i32):",
            f"  return %v{after} : i32",
        ]

        def run(frame: Frame) -> int:
            v = frame.values
            before(frame)
            most = times(frame)
            v[value], v[count] = v[given], 0
            while True:
                head(frame)
                if v[count] >= most:
                    return v[handed]
                body(frame)
                chosen = number(frame)
                if chosen == 0 and early:
                    last(frame)
                    return v[end]
                v[value] = v[{0: value, 2: handed}.get(chosen, changed)]
                v[count] += 1

        return run

    def __call__(self, frame: Frame, a: int, b: int) -> int:
        mine = Frame({0: a, 1: b}, frame.slots)
        if self.graph is not None:
            return self.graph(mine)
        for part in self.steps:
            part(mine)
        return mine.values[self.result]


class Program(Body):
    """What threads execute: their values are at first their number twice and their elements of x and y."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        callees: dict[str, Callable[[Frame, int, int], int]] = {}
        functions: list[str] = []
        for k in range(rng.randint(0, 2)):
            made = Function(rng, f"f{k}", dict(callees))
            callees[f"f{k}"] = made
            functions += made.text
        self.functions = "\n".join(functions)
        super().__init__(rng, 3, callees)
        self.text = [
            "  %v0 = arith.addi %tx, %tx : i32",
            load("%v1", "%x").rstrip(),
            load("%v2", "%y").rstrip(),
            *CONSTANTS,
        ]
        seen = [0, 1, 2]
        self.meaning = self.block(self.text, seen, 8, 0)
        self.last = seen[-1]
        place = self.fresh()
        self.text += [
            f"  %three = arith.constant {3 * THREADS} : index",
            f"  {place} = arith.addi %three, %i : index",
            store(f"%v{self.last}", at=place).rstrip(),
        ]

    def of(self, thread: int, x: int, y: int) -> dict[int, int]:
        """What a thread stores, by slot."""
        frame = Frame({0: 2 * thread, 1: x, 2: y})
        self.meaning(frame)
        frame.slots[3] = frame.values[self.last]
        return frame.slots
