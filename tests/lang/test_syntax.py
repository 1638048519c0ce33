"""Control flow of kernels as plain Python: what is compiled does what Python does with the same function."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f32, i32, i64

from .support import check, finding_of, kernel, ops

OUT = 24


def made(text: str, file: str = "", **names: Any) -> Callable[..., None]:
    """The function ``f`` of a text, which can be read like one in a file."""
    file = file or f"<test {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"pto": pto, "__name__": __name__, **names}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def both(f: Callable[..., None], n: int) -> tuple[np.ndarray, np.ndarray]:
    """What Python leaves in y, and what the kernel does."""
    x = np.arange(40, dtype=np.int64) * 7 % 23
    ours, theirs = np.zeros(OUT, np.int64), np.zeros(OUT, np.int64)
    f(x, theirs, n)
    pto.kernel(target="a5")(f)(x, ours, n)
    return ours, theirs


def agrees(f: Callable[..., None], *sizes: int) -> None:
    for n in sizes or (0, 1, 2, 5, 9):
        ours, theirs = both(f, n)
        assert np.array_equal(ours, theirs), (n, ours, theirs)


def test_variables_that_a_loop_changes() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        total, last = 0, 100
        for i in range(1, n):
            total += i * i
            last = total - last
        y[0] = total
        y[1] = last

    agrees(f)


@pytest.mark.parametrize("step", [1, 3, -1, -4])
def test_ranges(step: int) -> None:
    text = f"""
def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):
    k = 0
    for i in range(n, {20 if step > 0 else -3}, {step}):
        y[k] = i + 5
        k += 1
"""
    agrees(made(text))


def test_nested_loops_and_jumps() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        found = 0
        for i in range(n):
            if i == 3:
                continue
            for j in range(i + 2):
                if j > 4:
                    break
                if (i + j) % 2 == 0:
                    continue
                y[found] = 10 * i + j
                found = found + 1
                if found == 7:
                    return
            y[20] = found
        y[21] = 1

    agrees(f)


def test_while_loops() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        k, steps = n, 0
        while k > 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        y[0] = steps
        while True:
            steps -= 1
            if steps < 3:
                break
        y[1] = steps
        size = 8
        while size > 1:  # known while the kernel is compiled
            size //= 2
            y[size] = size

    agrees(f, 1, 2, 6, 7)


def test_branches_that_assign() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        if n > 4:
            a = 1
            b = n
        elif n > 1:
            a = n * 2
            b = 3
        else:
            a = b = 5
        y[0], y[1] = a, b
        if n == 2:
            return
        y[2] = 9

    agrees(f)


def test_variables_of_the_ways_that_have_not_left() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        for i in range(6):
            if i % 2 == 0:
                if i > n:
                    break
                v = i
            elif n == 5:
                continue
            else:
                v = 7
            y[i] = v + 1

    agrees(f)


def test_conditions() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        y[0] = 1 if n > 1 and 8 // n == 4 else 0
        y[1] = 1 if n == 0 or 8 // n > 2 else 0
        y[2] = 1 if not n else 2
        y[3] = 1 if 1 < n < 6 != 3 else 2
        y[4] = 7 if n % 2 else 8
        y[5] = n and 3 if n > 100 else 4
        y[6] = (n > 3) + 0 if False else 6

    agrees(f)


def test_assignments_in_expressions() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        if (k := n + 1) > 3 and n > 2:
            y[0] = k
        y[1] = abs(k := k * 2)
        y[2] = k if (k := k - 20) > 0 else -k
        y[3] = k
        y[4] = [j := i + n for i in range(3)][1] + j

    agrees(f)


def test_a_range_whose_step_only_the_run_knows() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        for i in range(0, 9, n):
            y[i] = 1
            if i > 5:
                break

    agrees(f, 1, 2, 5)
    x, y = np.zeros(40, np.int64), np.zeros(OUT, np.int64)
    finding = finding_of(lambda: pto.kernel(target="a5")(f)(x, y, -1))
    assert (finding.rule, finding.location.line) == ("RUN-ASSERT", f.__code__.co_firstlineno + 1)


def test_helpers_are_compiled_with_the_kernel() -> None:
    def clamp(v, low, high=9):
        if v < low:
            return low
        if v > high:
            return high
        return v

    def fill(y, at, n):
        for i in range(n):
            if i == 3:
                return
            y[at + i] = clamp(i * 4, 2)

    class Scale:
        factor = 3

        def of(self, v):
            return v * self.factor if v > 1 else v

    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        fill(y, 0, n)
        fill(y, 8, 2)
        y[20] = clamp(n, low=1)
        y[21] = Scale().of(n)
        y[22] = max(3, 4)

    agrees(f)


def test_static_loops_are_unrolled() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        for k, v in zip((1, 2, 5), "abc"):
            if v == "b":
                continue
            if n == k:
                break
            y[k] = ord(v)
        for k in pto.static_range(3):
            y[10 + k] = [4, 5, 6][k]

    agrees(f)
    assert not ops(kernel(f), "scf.for")


def test_a_helper_that_calls_itself_is_unrolled_as_far_as_it_goes() -> None:
    def halves(y, k):
        if k > 0:
            y[k] = k
            halves(y, k // 2)

    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        halves(y, 16)

    agrees(f)

    def endless(k):
        endless(k + 1)

    def g(n: int):
        endless(n)

    assert finding_of(lambda: kernel(g).trace()).rule == "LANG-CONTROL"


def test_assertions_are_checked_while_the_kernel_runs() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[i64], n: int):
        assert n < 5, "too many"
        y[0] = n

    y = np.zeros(1, np.int64)
    f(y, 4)
    assert y[0] == 4
    finding = finding_of(lambda: f(y, 5))
    assert finding.rule == "RUN-ASSERT"
    assert "too many" in finding.message

    def limit(n):
        return 5

    @pto.kernel(target="a5")
    def g(y: Ptr[i64], n: int):
        assert n < limit(n) or n == 9

    assert finding_of(lambda: g(y, 8)).message.endswith("n < limit(n) or n == 9")


def test_tiles_that_trade_places() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], y: Ptr[f32], n: int):
        a, b = (Tile(TileType.Vec, f32, 8, 8) for _ in pto.static_range(2))
        pto.TLOAD(a, GlobalTensor(x, (8, 8)))
        for _ in range(n):
            pto.TADDS(b, a, 1.0)
            a, b = b, a
        pto.TSTORE(GlobalTensor(y, (8, 8)), a)

    for n in (0, 1, 4):
        y = np.zeros((8, 8), np.float32)
        f(np.ones((8, 8), np.float32), y, n)
        assert (y == 1 + n).all()


def test_registers_that_a_loop_carries() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], y: Ptr[f32]):
        ub = pto.castptr(0, f32)
        pto.copy_gm_to_ubuf(x, ub, 0, 1, 1024, 0, 0, False, 0, 1024, 1024) if False else None
        with pto.vecscope():
            every = pto.pset_b32("PAT_ALL")
            total = pto.vbr(1.0, dtype=f32)
            for _ in range(3):
                total = pto.vadd(total, total, every)
            pto.vsts(total, ub, 0, every)

    (loop,) = ops(kernel(f.function), "scf.for")
    assert [str(v.type) for v in loop.results] == ["!pto.vreg<64xf32>"]


def test_pointers_that_move() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[i64], n: int):
        p = y
        for i in range(n):
            p[0] = i
            p = p + 2

    y = np.zeros(8, np.int64)
    f(y, 3)
    assert y.tolist() == [0, 0, 1, 0, 2, 0, 0, 0]


def test_tiles_are_called_as_their_variables_are() -> None:
    def pair():
        return [Tile(TileType.Vec, f32, 8, 8) for _ in pto.static_range(2)]

    def f(x: Ptr[f32]):
        bufs = pair()
        a, b = pair()
        first = bufs[0]
        for t in (*bufs, a, b, first):
            pto.TLOAD(t, GlobalTensor(x, (8, 8)))

    assert [load["dst"].name for load in ops(kernel(f), "pto.tload")] == ["bufs_0", "bufs_1", "a", "b", "bufs_0"]


def test_equal_functions_of_two_files_have_places_of_their_own() -> None:
    text = "def f(x: pto.Ptr[pto.f32]):\n    x[0] = 1.0\n"
    for file in ("<one>", "<two>"):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"pto": pto, "__name__": __name__}
        exec(compile(text, file, "exec"), scope)
        (store,) = ops(kernel(scope["f"]), "pto.store_scalar")
        assert store.location.file == file


@pytest.mark.parametrize("file", ["<ipython-input-3-d1e2>", "<python-input-7>", "cell.py"])
def test_helpers_that_were_typed_in_are_compiled_too(file: str) -> None:
    text = "def g(x, n):\n    for i in range(n):\n        x[i] = 1.0\n"
    text += "def f(x: pto.Ptr[pto.f32], n: int):\n    g(x, n)\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"pto": pto, "__name__": __name__}
    exec(compile(text, file, "exec"), scope)
    assert len(ops(kernel(scope["f"]), "scf.for")) == 1


# --- what cannot be compiled -----------------------------------------------------------------------------------------


def test_a_variable_that_only_one_way_gives_a_value() -> None:
    def f(x: Ptr[f32], y, n: int):
        if n > 3:
            at = 2
        x[at] = 0.0  # here

    finding = check(f, "LANG-SCOPE", "'at' has a value on one way that leads here, and none on the other")
    assert finding.location.column == 11


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n):\n        if i > 0:\n            x[i] = prev\n        prev = 1.0",
        "if n > 3:\n        x[0] = prev\n    prev = 1.0",
        "x[0] = HIDDEN\n    HIDDEN = 2.0",
        "a = 1.0\n    del a\n    x[0] = a",
    ],
)
def test_a_variable_without_a_value_yet(body: str) -> None:
    f = made(f"def f(x: pto.Ptr[pto.f32], n: int):\n    {body}\n", HIDDEN=1.0)
    finding = finding_of(lambda: kernel(f).trace())
    assert finding.rule == "LANG-SCOPE"
    assert "has no value at this place" in finding.message
    assert finding.location.length in (1, 4, 6)


def test_a_variable_of_different_kinds() -> None:
    def f(x: Ptr[f32], y, n: int):
        at = 2 if n > 3 else x  # here
        x[at] = 0.0

    check(f, "LANG-CARRIED", "cannot be chosen between while the kernel runs")


def test_a_number_that_changes_its_type_in_a_loop() -> None:
    def f(x: Ptr[f32], y, n: int):
        at = 1
        for i in range(n):  # here
            at = x[i]
        x[0] = at

    finding = check(f, "LANG-CARRIED", "'at' is index before the loop and f32 at the end of an iteration")
    assert finding.hint == "begin with pto.cast(1, pto.f32)"


def test_a_list_that_a_loop_changes() -> None:
    def f(x: Ptr[f32], y, n: int):
        seen = []
        for i in range(n):
            seen.append(i)  # here

    check(f, "LANG-CARRIED", "the loop changes what 'seen' holds")


def test_a_list_whose_items_a_branch_changes() -> None:
    def f(x: Ptr[f32], y, n: int):
        at = [1, 2]
        if n > 3:
            at[0] = 5  # here
        x[at[0]] = 0.0

    check(f, "LANG-CARRIED", "the branch changes what 'at' holds")


def test_a_value_returned_from_inside_a_loop() -> None:
    def first(x, n):
        for i in range(n):
            if x[i] > 1.0:
                return i
        return n

    def f(x: Ptr[f32], y, n: int):
        x[first(x, n)] = 0.0

    finding = finding_of(lambda: kernel(f).trace(f32, f32, 8))
    assert (finding.rule, finding.location.line) == ("LANG-CONTROL", first.__code__.co_firstlineno + 3)


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("try:\n        x[0] = 1.0\n    except ValueError:\n        pass", "try"),
        ("match n:\n        case 1:\n            pass", "match"),
        ("class A:\n        pass", "class cannot"),
        ("global zzz\n    zzz = 1", "global"),
        ("def g():\n        nonlocal n\n        n = 1\n    g()", "nonlocal"),
        ("for i in range(n):\n        pass\n    else:\n        x[0] = 1.0", "else of a loop"),
        ("for i in n:\n        pass", "is not something to loop over"),
        ("for i in range(0.5):\n        pass", "range needs integers, not 0.5"),
        ("for i in range(1, 2, 0):\n        pass", "the step of range is 0"),
        ("for i, j in range(n):\n        pass", "one name"),
        ("while 1 < 2:\n        pass", "has not ended after"),
        ("for i in x:\n        pass", "is not something to loop over"),
        ("for i in pto.GlobalTensor(x, (n, 4)):\n        pass", "is not something to loop over"),
        ("for i in __import__('itertools').count():\n        pass", "more than 100000 iterations"),
        ("if n > 3:\n        raise ValueError('large')", "only the run knows whether this is raised"),
        ("if n > 3 and (k := n) > 4:\n        x[k] = 1.0", ":= in an operand that may not be evaluated"),
        ("x[0] = 1.0 if n > 3 else (k := 2.0)", ":= in an operand that may not be evaluated"),
        ("for i in pto.static_range(n):\n        pass", "is not known while the kernel is compiled"),
    ],
)
def test_statements_that_no_kernel_has(statement: str, word: str) -> None:
    f = made(f"def f(x: pto.Ptr[pto.f32], n: int):\n    {statement}\n")
    finding = finding_of(lambda: kernel(f).trace())
    assert finding.rule == "LANG-CONTROL"
    assert word in finding.message
    assert finding.location.line >= 2


def test_columns_are_counted_in_characters() -> None:
    f = made("def f(x: pto.Ptr[pto.f32], n: int):\n    s = 'äöü'; global zzz\n    zzz = 1\n")
    at = finding_of(lambda: kernel(f).trace()).location
    assert (at.line, at.column, at.length) == (2, 16, len("global zzz"))


def test_a_kernel_without_source() -> None:
    names: dict[str, Any] = {"pto": pto}
    exec("def f(n: int):\n    pass\n", names)
    finding = finding_of(lambda: kernel(names["f"]).trace())
    assert finding.rule == "LANG-CONTROL"
    assert "the source of f cannot be read" in finding.message


def test_what_has_to_be_static() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[i32], n: int, width: pto.Static = 4):
        x[0] = pto.static(width) * 2
        x[1] = pto.static(n)

    finding = finding_of(lambda: f.trace())
    assert (finding.rule, finding.location.line) == ("LANG-SCALAR", f.function.__code__.co_firstlineno + 3)


# --- random programs -------------------------------------------------------------------------------------------------


class Writer:
    """Functions with random control flow on small numbers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.loops = 0

    def function(self) -> str:
        self.lines = ["def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):", "    a, b, c, k = 0, 1, n, 0"]
        self.block(1, 3, False, [])
        self.lines += [f"    y[{20 + i}] = {name}" for i, name in enumerate("abc")]
        return "\n".join(self.lines) + "\n"

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def number(self, loops: list[str], depth: int = 2) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(["a", "b", "c", "n", str(rng.randrange(6)), *loops])
        a, b = self.number(loops, depth - 1), self.number(loops, depth - 1)
        chosen = f"({a} if {self.test(loops, depth - 1)} else {b})"
        sums = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b} & 63)", f"x[({a}) % 40]"]
        extremes = [f"min({a}, {b})", f"max({a}, 3, {b})", f"abs({a})"]
        return rng.choice([*sums, chosen, *self.quotients(a), *extremes])

    def quotients(self, a: str) -> list[str]:
        divisor = self.rng.choice([-7, -2, 1, 2, 3, 4, 11])
        return [f"({a} // {divisor})", f"({a} % {divisor})", f"divmod({a}, {divisor})[{self.rng.randrange(2)}]"]

    def test(self, loops: list[str], depth: int = 2) -> str:
        rng = self.rng
        if depth > 0 and rng.random() < 0.3:
            a, b = self.test(loops, depth - 1), self.test(loops, depth - 1)
            return rng.choice([f"({a} and {b})", f"({a} or {b})", f"(not {a})"])
        a, b = self.number(loops, depth - 1 if depth > 0 else 0), self.number(loops, 0)
        simple = [f"{a} % 3 == {rng.randrange(3)}", f"{a} < {b}", f"{a} != {b}", f"({a} & 1)"]
        return rng.choice([*simple, f"2 < {a} <= {b}"])

    def block(self, depth: int, size: int, loop: bool, loops: list[str]) -> None:
        for _ in range(self.rng.randint(1, size)):
            self.statement(depth, size, loop, loops)

    def statement(self, depth: int, size: int, loop: bool, loops: list[str]) -> None:
        rng = self.rng
        kind = rng.choice(["assign", "assign", "store", "if", "if", "for", "while", "jump"])
        if depth > 4 and kind in ("if", "for", "while"):
            kind = "assign"
        name = rng.choice("abc")
        if kind == "assign":
            op = rng.choice(["=", "=", "+="])
            self.say(depth, f"{name} {op} {self.number(loops)} % 255 - 99")
        elif kind == "store":
            self.say(depth, f"y[k] = {self.number(loops)}")
            self.say(depth, "k = (k + 1) % 20")
        elif kind == "if":
            self.say(depth, f"if {self.test(loops)}:")
            self.block(depth + 1, size - 1 or 1, loop, loops)
            if rng.random() < 0.4:
                self.say(depth, "else:")
                self.block(depth + 1, size - 1 or 1, loop, loops)
        elif kind == "for":
            self.loops += 1
            i = f"i{self.loops}"
            bounds = rng.choice([f"{rng.randrange(4)}", f"{name} % 5", f"1, {name} % 6, 2", f"{name} % 6, -1, -1"])
            words = ["range", "range", "pto.static_range"] if bounds.isdigit() else ["range"]
            self.say(depth, f"for {i} in {rng.choice(words)}({bounds}):")
            self.block(depth + 1, size, True, [*loops, i])
        elif kind == "while":
            self.loops += 1
            w = f"w{self.loops}"
            self.say(depth, f"{w} = {name} % 4")
            self.say(depth, f"while {w} > 0:")
            self.say(depth + 1, f"{w} -= 1")
            self.block(depth + 1, size, True, loops)
        elif loop and rng.random() < 0.6:
            self.say(depth, f"if {self.test(loops)}:")
            self.say(depth + 1, rng.choice(["break", "continue"]))
        elif rng.random() < 0.3:
            self.say(depth, f"if {self.test(loops)}:")
            self.say(depth + 1, "return")
        else:
            self.say(depth, f"{name} = {self.number(loops)} & 127")


def random_programs(seeds: range) -> None:
    for seed in seeds:
        text = Writer(random.Random(seed)).function()
        f = made(text)
        try:
            agrees(f, 0, 3, 8)
            ours, theirs = (np.zeros(OUT, np.int64) for _ in range(2))
            x = np.arange(40, dtype=np.int64) * 7 % 23
            f(x, theirs, 3)
            pto.kernel(target="a5")(f).interpret(x, ours, 3)
            assert np.array_equal(ours, theirs), "interpreted"
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error


def test_random_control_flow_does_what_python_does() -> None:
    random_programs(range(40))


@pytest.mark.campaign
def test_much_random_control_flow_does_what_python_does() -> None:
    random_programs(range(1000, 4000))
