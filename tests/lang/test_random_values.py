"""Random kernels on numbers whose surroundings change between launches: compiled, interpreted and plain Python agree.

Helpers with nested returns, decorated ones and closures, classes with private names, properties and super(), conditions
in arithmetic; between launches variables, attributes, items, arrays, defaults, functions and static arguments change.
"""

from __future__ import annotations

import ast
import linecache
import random
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

OUT = 6
SCOPE = """
import functools
import types
import numpy as np
import ptokit as pto

A, B, C = {numbers}
LIST = [{numbers}, [{numbers}]]
TABLE = {{"a": {number}, "b": ({number}, [{number}])}}
ARRAY = np.array([{numbers}])
SPACE = types.SimpleNamespace(a={number}, other=0)


class Base:
    factor = {number}

    def __init__(self, start):
        self.__start = start
        self.kept = start if start > {number} else {number}

    def value(self, p):
{value}

    def __scaled(self, p):
        return (self.__start * self.factor + p) % 31

    @property
    def twice(self):
        return self.__start * 2


class Derived(Base):
    def __init__(self, start):
        super().__init__(start + {number})
        self.__start = {number}

    def value(self, p):
        if p % 2 == {number} % 2:
            return super().value(p) + self.__start
        return super().value(p + 1) - self.factor


OBJECT = Derived({number})


def repeated(function):
    @functools.wraps(function)
    def called(*args, again={number}):
        if again > 3:
            return function(*args) + again
        return function(*args)

    return called


def closure(value):
    def get(p=0):
        return value + p

    def put(other):
        nonlocal value
        value = other

    return get, put


get, put = closure({number})


def h0(p, q={number}):
{h0}


def h1(p, q={number}, *, r={number}):
{h1}


@repeated
def h2(p):
{h2}


def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int, s: pto.Static):
{kernel}
"""


class Kernels:
    """Texts of modules with a kernel, and of changes to what it reads."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def literal(self) -> str:
        return str(self.rng.randrange(7))

    def outside(self) -> str:
        """A number that Python knows while the kernel is compiled."""
        rng = self.rng
        items = ["LIST[0]", "LIST[1]", "LIST[3][0]", "len(LIST[3])"]
        items += ['TABLE["a"]', 'TABLE["b"][1][0]', "int(ARRAY[1])"]
        objects = [
            "SPACE.a",
            "OBJECT.twice",
            "OBJECT.kept",
            "OBJECT.factor",
            "Base.factor",
            "get()",
            'getattr(SPACE, "a")',
        ]
        statics = ["s[0]", "len(s)", "s[1].a"]
        return rng.choice([*"ABC", *items, *objects, *(statics if self.static else [])])

    static = False

    def number(self, names: list[str], depth: int = 2, *, calls: tuple[str, ...] = ()) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice([*names, *names, self.literal(), self.outside()])
        a, b = (self.number(names, depth - 1, calls=calls) for _ in "ab")
        c = self.condition(names, depth - 1)
        kinds = [f"({a} {rng.choice('+-*&|^')} {b})", f"({a} {rng.choice(['//', '%'])} {rng.choice([2, 3, -5])})"]
        kinds += [f"({a} if {c} else {b})", f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"(-{a})", f"(~({a} + 0))"]
        kinds += [f"(({c}) + {a})", f"(({c}) * {b})", f"(-({c}))", f"(({c}) - ({self.condition(names, 0)}))"]
        kinds += [f"divmod({a}, 3)[{rng.randrange(2)}]", f"(({c}) and {a}) % 64", f"(({c}) or {b}) % 64"]
        kinds += [f"round({a} % 9)", f"({a} % 8 << {rng.randrange(3)})", f"(5 if isinstance({a}, int) else {b})"]
        kinds += [f"(False if {c} else {a} % 16)", f"(True if {c} else {a} % 16)", f"sum([{a}, {b}])"]
        if calls and rng.random() < 0.5:
            called = rng.choice(calls)
            return f"({called}({a} % 32{self.more(called, b)}) % 97)"
        return rng.choice(kinds)

    def more(self, called: str, value: str) -> str:
        options = {"h0": ["", f", {value} % 8"], "h1": ["", f", r={self.literal()}"], "h2": ["", ", again=5"]}
        return self.rng.choice(options.get(called, [""]))

    def condition(self, names: list[str], depth: int = 1) -> str:
        rng = self.rng
        a, b = self.number(names, 0), self.number(names, min(depth, 1))
        simple = rng.choice([f"{a} < {b}", f"{a} % 3 == {rng.randrange(3)}", f"0 <= {a} < {b}", f"{a} > 2 != {b} > 1"])
        if depth == 0:
            return f"({simple})"
        other = self.condition(names, depth - 1)
        return rng.choice([f"({simple})", f"({simple} and {other})", f"({simple} or {other})", f"(not {simple})"])

    def function(self, names: list[str], *, depth: int = 1, calls: tuple[str, ...] = ()) -> str:
        """Statements that always return a number."""
        lines: list[str] = []
        for _ in range(self.rng.randrange(1, 3)):
            self.statement(lines, names, depth, 2, calls)
        lines.append(f"{'    ' * depth}return {self.number(names, calls=calls)} % 61")
        return "\n".join(lines)

    def statement(self, lines: list[str], names: list[str], depth: int, deeper: int, calls: tuple[str, ...]) -> None:
        rng, pad = self.rng, "    " * depth
        kind = rng.choice(["if", "if", "assign", "return"] if deeper else ["assign", "return"])
        if kind == "if":
            lines.append(f"{pad}{rng.choice(['if', 'if', 'for k in (1, 2, 3):if'])} {self.condition(names)}:")
            if ":if" in lines[-1]:
                head, test = lines.pop().split(":if", 1)
                lines.append(f"{head}:")
                depth += 1
                lines.append(f"{'    ' * depth}if p > k and{test}")
            self.statement(lines, names, depth + 1, deeper - 1, calls)
            if rng.random() < 0.5:
                lines.append(f"{'    ' * depth}else:")
                self.statement(lines, names, depth + 1, deeper - 1, calls)
        elif kind == "assign":
            lines.append(f"{pad}p = {self.number(names, calls=calls)} % 53")
        else:
            lines.append(f"{pad}return {self.number(names, calls=calls)} % 59")

    def module(self) -> str:
        rng = self.rng
        parts: dict[str, str] = {"h0": self.function(["p", "q"]), "h1": self.function(["p", "q", "r"], calls=("h0",))}
        parts["h2"] = self.function(["p"], calls=("h0", "h1"))
        parts["value"] = self.function(["p", "self.factor", "self.__scaled(p)", "self.twice"], depth=2)
        self.static = True
        names, lines = ["n", "a", "x[1]", "x[n]"], ["    a = n + 1", "    o = Derived(n)"]
        calls = ("h0", "h1", "h2", "OBJECT.value", "o.value", "get")
        for k in range(OUT - 1):
            if rng.random() < 0.3:
                lines.append(f"    for i in range({self.number(['n'], 0)} % 4):")
                lines.append(f"        a = (a + {self.number([*names, 'i'], 1)}) % 41")
            if rng.random() < 0.3:
                lines += [f"    if {self.condition(names)}:", f"        a = {self.number(names, 1, calls=calls)} % 37"]
            lines.append(f"    y[{k}] = {self.number(names, calls=calls)}")
        lines.append(f"    y[{OUT - 1}] = o.twice + o.kept")
        parts["kernel"] = "\n".join(lines)
        self.static = False
        text = SCOPE.replace("{numbers}", "{number}, {number}, {number}")
        while "{number}" in text:
            text = text.replace("{number}", self.literal(), 1)
        return text.format(**parts)

    def change(self) -> str:
        """A statement that changes something that the kernel may read."""
        rng, c = self.rng, self.literal()
        simple = [
            f"{rng.choice('ABC')} = {c}",
            f"LIST[0] = {c}",
            f"LIST[3][0] = {c}",
            "LIST[3].append(1)",
            "LIST = LIST[:]",
        ]
        simple += [
            f'TABLE["a"] = {c}',
            f'TABLE["b"][1][0] = {c}',
            f"ARRAY[1] = {c}",
            f"ARRAY = np.array([{c}, {c}, 2])",
        ]
        simple += [f"SPACE.a = {c}", f"SPACE.other = {c}", f"OBJECT.kept = {c}", f"OBJECT._Base__start = {c}"]
        simple += [f"Base.factor = {c}", f"Derived.factor = {c}", f"OBJECT.factor = {c}", f"OBJECT = Derived({c})"]
        simple += [
            f"put({c})",
            f"get, put = closure({c})",
            f"h0.__defaults__ = ({c},)",
            f'h1.__kwdefaults__["r"] = {c}',
        ]
        simple += [f"s[0] = {c}", f"s[1].a = {c}", "s.append(1)", f"s = [{c}, types.SimpleNamespace(a={c})]"]
        simple += [f"OBJECT._Derived__start = {c}", "pass", f"h2.__kwdefaults__['again'] = {c}"]
        simple += [
            "OBJECT.__class__ = Base",
            "h0, h2 = h2.__wrapped__, repeated(h0)",
            "Base.twice = property(lambda self: 4)",
        ]
        simple += [f"Base.value = lambda self, p: p + {c}", f"h0.__code__ = (lambda p, q: p - q + {c}).__code__"]
        return rng.choice(simple)


MOST = 30_000
"""Of `steps`: compiling such a program takes seconds, as functions are compiled where they are called."""


def steps(text: str) -> int:
    """About how many expressions and statements the kernel of a text has, where calls and loops are written out."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    of: dict[str, int] = {}

    def count(node: ast.AST) -> int:
        called = node.func if isinstance(node, ast.Call) else None
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        own = 1 + of.get(name, 0) + sum(map(count, ast.iter_child_nodes(node)))
        return 3 * own if isinstance(node, ast.For) else own

    for _ in range(4):  # so deep do functions call each other
        for function in functions:
            of[function.name] = sum(map(count, function.body))
    return of["f"]


def left(launch: Callable[..., Any], n: int, s: Any) -> Any:
    """What a launch stores, or the rule that it breaks."""
    x, y = np.arange(40, dtype=np.int64) * 7 % 23, np.zeros(OUT, np.int64)
    if isinstance(launch, FunctionType):
        numbers = [0] * OUT
        launch(x.tolist(), numbers, n, s)
        return list(map(int, numbers))
    try:
        launch(x, y, n, s)
    except DiagnosticError as error:
        return f"{error.diagnostics[0].rule}: {error.diagnostics[0].message}"
    except TypeError as error:  # a call that Python would refuse, where it does not come to it
        return f"TypeError: {error}"
    return y.tolist()


def disagreement(seed: int) -> tuple[str, bool]:
    """What differs in the program of a seed, "" for nothing; whether it was refused."""
    rng = random.Random(seed)
    kernels = Kernels(rng)
    text = kernels.module()
    while steps(text) > MOST:
        text = kernels.module()
    file = f"/nowhere/values_{seed}.py"  # functions of a text are taken for those of a library
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "random_values"}
    exec(compile(text, file, "exec"), scope)
    exec("s = [2, types.SimpleNamespace(a=3)]", scope)
    kernel = pto.kernel(target="a5")(scope["f"])
    refused, done = False, []
    for _ in range(4):
        n = rng.randrange(8)
        try:
            plain = left(scope["f"], n, scope["s"])
        except (TypeError, RecursionError):  # a change that the program does not bear
            break
        compiled, interpreted = (left(k, n, scope["s"]) for k in (kernel, kernel.interpret))
        refused |= isinstance(compiled, str)
        if interpreted != plain or (compiled != plain and not isinstance(compiled, str)):
            return f"seed {seed}, n = {n}, after {done}: {plain} in Python, {compiled}, {interpreted}\n{text}", refused
        change = kernels.change()
        done.append(change)
        exec(change, scope)
    return "", refused


def compare(seeds: range) -> None:
    """Fails at a difference, or if more than a tenth of the programs is refused."""
    refused = 0
    for seed in seeds:
        differs, no = disagreement(seed)
        refused += no
        assert not differs, differs
    assert refused <= len(seeds) // 10, f"{refused} refused"


def test_kernels_see_what_changes() -> None:
    compare(range(10))


@pytest.mark.campaign
def test_many_kernels_see_what_changes() -> None:
    compare(range(1000, 6500))
