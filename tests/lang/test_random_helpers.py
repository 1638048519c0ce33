"""Functions that a kernel calls, random ones: what is compiled and interpreted does what Python does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto

from .test_syntax import OUT, Writer, agrees


class Helpers(Writer):
    """Kernels with functions of their module and of their own: early returns, defaults, keywords, loops, closures."""

    def function(self) -> str:
        rng, self.lines, self.helpers = self.rng, ["import ptokit as pto"], list[str]()
        for number in range(rng.randrange(1, 3)):
            self.say(0, f"def h{number}(p, q={rng.randrange(5)}, *, r=1):")
            self.body(1, ["p", "q", "r"])
            self.say(1, f"return h0({self.value(['p', 'q'])}, r=q)" if number else f"return {self.value(['p', 'q'])}")
            self.helpers.append(f"h{number}")
        self.say(0, "def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):")
        self.say(1, "a, b, c, k = 0, 1, n, 0")
        if rng.random() < 0.5:
            self.say(1, f"def g(p, q={rng.choice(['n', 'c', '4'])}, r=2):")
            self.body(2, ["p", "q", "a", "b"])  # which change where it is called
            self.say(2, f"return {self.value(['p', 'q', 'a', 'b'])}")
            self.helpers.append("g")
        self.block(1, 3, False, [])
        self.lines += [f"    y[{20 + i}] = {name}" for i, name in enumerate("abc")]
        return "\n".join(self.lines) + "\n"

    def value(self, names: list[str], depth: int = 2) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([*names, str(rng.randrange(7))])
        a, b = self.value(names, depth - 1), self.value(names, depth - 1)
        chosen = f"({a} if {self.holds(names, depth - 1)} else {b})"
        return rng.choice(
            [f"({a} + {b})", f"({a} - {b})", f"({a} % {rng.choice([2, 5, -3])})", f"min({a}, {b})", chosen]
        )

    def holds(self, names: list[str], depth: int = 1) -> str:
        rng, a, b = self.rng, self.value(names, 1), self.value(names, 0)
        simple = rng.choice([f"{a} < {b}", f"{a} % 3 == {rng.randrange(3)}", f"0 <= {a} < {b}", a])
        if depth == 0 or rng.random() < 0.7:
            return simple
        return rng.choice([f"({simple} and {b} > 1)", f"({simple} or {self.holds(names, 0)})", f"not {simple}"])

    def body(self, depth: int, names: list[str]) -> None:
        rng = self.rng
        for _ in range(rng.randrange(1, 4)):
            changed = rng.choice("pq")
            kind = rng.choice(["return", "assign", "loop", "branch"])
            if kind == "assign":
                self.say(depth, f"{changed} = {self.value(names)}")
            elif kind == "loop":
                self.say(depth, f"for i in range({self.value(names, 0)} % 4):")
                self.say(depth + 1, f"{changed} += {self.value([*names, 'i'], 1)} % 9")
                self.say(depth + 1, f"if {self.holds([*names, 'i'])}:")
                self.say(depth + 2, rng.choice(["break", "continue"]))
            else:
                self.say(depth, f"if {self.holds(names)}:")
                self.say(depth + 1, f"return {self.value(names)}" if kind == "return" else f"{changed} += 1")
                self.say(depth, "else:")
                self.say(depth + 1, rng.choice(["pass", f"{changed} = {self.value(names)}", "return 5"]))

    def number(self, loops: list[str], depth: int = 2) -> str:
        if depth == 0 or self.rng.random() > 0.25:
            return super().number(loops, depth)
        a, b = super().number(loops, depth - 1), super().number(loops, 0)
        arguments = self.rng.choice([a, f"{a}, {b}", f"q={b}, p={a}", f"{a}, r={b}"])
        return f"({self.rng.choice(self.helpers)}({arguments}) % 64)"


def compare(seeds: range, folder: Path) -> None:
    for seed in seeds:
        text = Helpers(random.Random(seed)).function()
        file = folder / f"helpers_{seed}.py"  # functions of a text are taken for those of a library
        file.write_text(text, encoding="utf-8")
        scope: dict[str, Callable[..., None]] = {}
        exec(compile(text, str(file), "exec"), scope)
        try:
            agrees(scope["f"], 0, 3, 8)
            x, ours, theirs = np.arange(40, dtype=np.int64) * 7 % 23, np.zeros(OUT, np.int64), np.zeros(OUT, np.int64)
            scope["f"](x, theirs, 3)
            pto.kernel(target="a5")(scope["f"]).interpret(x, ours, 3)
            assert np.array_equal(ours, theirs), "interpreted"
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error


def test_helpers_do_what_python_does(tmp_path: Path) -> None:
    compare(range(8), tmp_path)


@pytest.mark.campaign
def test_many_helpers_do_what_python_does(tmp_path: Path) -> None:
    compare(range(100, 700), tmp_path)
