"""Random kernels that give tiles other names, in branches, loops, lists, dictionaries, attributes and helpers.

The same text runs as plain Python, with arrays for tiles: compiled and interpreted kernels do what it does, or are
refused where only the run could tell which tile a name means.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError

SIZES = (0, 1, 3)
WIDTH = 8
STORED = ("a", "b", "c", "bufs[0]", "bufs[1]", "bufs[-1]", "named['p']", "box.t", "box.u", "t0", "t1", "t2", "t3")
OUT = len(STORED) + 1

HEAD = """
from types import SimpleNamespace

def new(v):
    t = pto.Tile(pto.TileType.Vec, pto.i32, 1, 8)
    pto.TEXPANDS(t, v)
    return t

def first(p, q):
    return p

def chosen(p, q, k):
    if k % 2 == 1:
        return q
    return p

def turned(p, q):
    p, q = q, p
    pto.TADDS(p, p, 1)
    return p, q

def grown(tiles, v):
    t = tiles[0]
    for other in tiles[1:]:
        pto.TADD(t, t, other)
        t = other
    pto.TADDS(t, t, v)
    return t
"""


class Writer:
    """The text of a kernel."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.daring = self.rng.choice([0.0, 0.1, 0.4, 1.0])  # other names where the run decides

    def text(self) -> str:
        self.say(0, "def f(y: pto.Ptr[pto.i32], n: int):")
        self.say(1, f"g = pto.GlobalTensor(y, ({OUT}, {WIDTH}))")
        self.say(1, "t0, t1, t2, t3 = new(1), new(2), new(3), new(5)")
        self.say(1, "a, b, c, s = t0, t1, t2, 0")
        self.say(1, "bufs, named, box = [t0, t1, t2], {'p': t3}, SimpleNamespace(t=t1, u=t2)")
        self.block(1, 7, 0, [])
        for row, tile in enumerate(STORED):
            self.say(1, f"pto.TSTORE(g[{row} : {row + 1}], {tile})")
        self.say(1, f"y[{(OUT - 1) * WIDTH}] = s")
        return HEAD + "\n".join(self.lines) + "\n"

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, most: int, run: int, loops: list[str]) -> None:
        for _ in range(self.rng.randint(1, most)):
            self.statement(depth, run, loops)

    def tile(self) -> str:
        return self.rng.choice(["a", "b", "c", "a", "b", *STORED])

    def name(self) -> str:
        return self.rng.choice(["a", "b", "c", "bufs[0]", "bufs[1]", "named['p']", "box.t", "box.u"])

    def number(self, loops: list[str]) -> str:
        return self.rng.choice(["n", "s", "2", "1", *loops])

    def statement(self, depth: int, run: int, loops: list[str]) -> None:
        """One statement. ``run``: how many loops and branches around it the run decides."""
        rng = self.rng
        kinds = ["compute"] * 4 + ["alias"] * 4 + ["count", "if", "for", "known if", "known for", "while"]
        kind = rng.choice(kinds if depth < 5 else kinds[:9])
        if run and kind == "alias" and rng.random() > self.daring:
            kind = "compute"
        if kind == "compute":
            self.say(
                depth,
                rng.choice(["pto.TADD({0}, {1}, {2})", "pto.TADDS({0}, {1}, {3})", "pto.TMOV({0}, {1})"]).format(
                    self.tile(), self.tile(), self.tile(), rng.randrange(1, 5)
                ),
            )
        elif kind == "alias":
            self.say(depth, self.alias(loops))
        elif kind == "count":
            self.say(depth, f"s = (s + {self.number(loops)} + 1) % 7")
        elif kind == "if":
            self.say(depth, f"if {self.number(loops)} % 2 == {rng.randrange(2)}:")
            self.block(depth + 1, 3, run + 1, loops)
            if rng.random() < 0.5:
                self.say(depth, "else:")
                self.block(depth + 1, 2, run + 1, loops)
        elif kind == "for":
            self.loops += 1
            name = f"i{self.loops}"
            self.say(depth, f"for {name} in range({rng.choice(['n', 's', '3'])}):")
            self.block(depth + 1, 3, run + 1, [*loops, name])
            if rng.random() < 0.2:
                self.say(depth + 1, f"if {name} == {rng.randrange(3)}:")
                self.say(depth + 2, rng.choice(["break", "continue"]))
                self.block(depth + 1, 1, run + 2, loops)
        elif kind == "while":
            self.loops += 1
            self.say(depth, f"w{self.loops} = {rng.choice(['n', '2', 's'])}")
            self.say(depth, f"while w{self.loops} > 0:")
            self.say(depth + 1, f"w{self.loops} -= 1")
            self.block(depth + 1, 2, run + 1, loops)
        elif kind == "known if":
            self.say(depth, f"if {rng.choice(['a is b', 'bufs[0] is t0', 'len(bufs) > 3', 'box.t is not t1'])}:")
            self.block(depth + 1, 2, run, loops)
        else:
            self.loops += 1
            over = rng.choice(["pto.static_range(2)", "(0, 3)"])
            tiles = rng.random() < 0.4
            self.say(depth, f"for v{self.loops} in {'list(bufs)' if tiles else over}:")
            self.say(depth + 1, f"pto.TADDS({f'v{self.loops}' if tiles else 'a'}, c, 1)")
            self.block(depth + 1, 2, run, loops)

    def alias(self, loops: list[str]) -> str:
        one, other, name = self.tile(), self.tile(), self.name()
        return self.rng.choice(
            [
                f"{name} = {one}",
                f"{name} = {one}",
                f"{name}, {self.name()} = {one}, {other}",
                "a, b = b, a",
                "bufs[0], bufs[1] = bufs[1], bufs[0]",
                "bufs = [*bufs[1:], bufs[0]]",
                f"bufs.append({one})",
                f"bufs.insert(0, {one})",
                f"{name} = new({self.rng.randrange(9)})",
                f"{name} = first({one}, {other})",
                f"{name} = chosen({one}, {other}, {self.number(loops)})",
                f"{name}, c = turned({one}, {other})",
                f"{name} = grown([{one}, {other}], 1)",
                f"{name} = {one} if {self.number(loops)} % 2 else {other}",
                f"box = SimpleNamespace(t={one}, u={other})",
                f"named.update(p={one})",
            ]
        )


def plain_words() -> Any:
    """What a kernel needs of ptokit to run as plain Python."""

    def put(to: np.ndarray, values: Any) -> None:
        to[...] = values

    class View:
        def __init__(self, memory: np.ndarray, shape: tuple[int, int]) -> None:
            self.data = memory.reshape(shape)

        def __getitem__(self, rows: slice) -> np.ndarray:
            return self.data[rows]

    return SimpleNamespace(
        i32=0,
        Ptr={0: int},
        TileType=SimpleNamespace(Vec=0),
        static_range=range,
        Tile=lambda *a: np.zeros((1, WIDTH), np.int32),
        GlobalTensor=View,
        TEXPANDS=put,
        TADD=lambda d, p, q: put(d, p + q),
        TADDS=lambda d, p, v: put(d, p + np.int32(v)),
        TMOV=put,
        TSTORE=put,
    )


def launched(text: str, file: Path, words: Any, n: int, way: Callable[[Any], Any]) -> np.ndarray:
    made = sys.modules["tiles_of_tests"] = ModuleType("tiles_of_tests")
    made.__dict__["pto"] = words
    exec(compile(text, str(file), "exec"), made.__dict__)
    y = np.zeros(OUT * WIDTH, np.int32)
    way(made.__dict__["f"])(y, n)
    return y


def verdict(seed: int, folder: Path) -> str:
    """ "equal" or "refused". Fails for everything else."""
    text = Writer(seed).text()
    file = folder / f"tiles_{seed}.py"
    file.write_text(text, encoding="utf-8")
    with np.errstate(over="ignore"):
        right = [launched(text, file, plain_words(), n, lambda f: f) for n in SIZES]
    first = text.count("\n", 0, text.index("def f(")) + 1
    for n, wanted in zip(SIZES, right):
        theirs = launched(text, file, pto, n, lambda f: pto.kernel(target="a5")(f).interpret)
        assert np.array_equal(theirs, wanted), ("interpreted", n, theirs.tolist(), wanted.tolist())
        try:
            ours = launched(text, file, pto, n, pto.kernel(target="a5"))
        except DiagnosticError as error:
            (finding,) = error.diagnostics
            assert finding.rule in ("LANG-CARRIED", "LANG-SCOPE", "LANG-SCALAR", "LANG-CONTROL"), finding
            notes = [note.location.line for note in finding.notes]
            assert finding.location.line > first or max(notes, default=0) > first, finding
            return f"refused {finding.rule}"
        assert np.array_equal(ours, wanted), (n, ours.tolist(), wanted.tolist())
    return "equal"


def run(seeds: range, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        try:
            found[verdict(seed, folder)] += 1
        except BaseException as error:
            said = f"seed {seed}: {type(error).__name__}: {error}\n{Writer(seed).text()[len(HEAD) :]}"
            raise AssertionError(said) from error
    return found


def test_random_names_of_tiles(tmp_path: Path) -> None:
    found = run(range(25), tmp_path)
    assert found["equal"] > 5, found
    assert found["refused LANG-CARRIED"] + found["refused LANG-SCOPE"] > 2, found


@pytest.mark.campaign
def test_many_random_names_of_tiles(tmp_path: Path) -> None:
    found = run(range(1000, 5000), tmp_path)
    assert found["equal"] > 800, found
