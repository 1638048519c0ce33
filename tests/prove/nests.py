"""Random programs of nested loops and branches with flags, most of them almost right, judged twice.

For all arguments by the prover, and for each of some arguments by the sanitizer.
A claim that is proved and that a run breaks is an error.

    python -m tests.prove.nests --count 1000 --seed 7 --log FILE
    python -m tests.prove.nests --count 1000 --kind clusters
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import ptokit
from ptokit.api.check import read
from ptokit.api.prove import Proving
from ptokit.diagnostics import Diagnostic
from ptokit.prove.control import Control
from ptokit.prove.report import Claim, claim_of
from ptokit.targets import target as target_named

from .clusters import alone, cluster, ring, signalled
from .kernels import SLICE, TILE, VIEW, add, flag, kernel, load, store

GRID = ((0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (1, 3), (2, 3), (4, 3))
"""Values of n and m."""

QUICK = ((0, 0), (1, 0), (0, 1), (2, 1), (2, 3))
"""Of these, the ones that find all faults of a few hundred programs, and two more."""

ALL = "pto.barrier #pto.pipe<PIPE_ALL>"
TILES = 3


@dataclass
class Nest:
    """A program that is made. ``last``: by tile, the pipes that have touched it since all were drained."""

    rng: random.Random
    last: dict[int, set[str]] = field(default_factory=dict)
    names: int = 0
    care: float = 0.95

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"%{prefix}{self.names}"

    def ordered(self, pipe: str, tiles: Sequence[int]) -> Iterator[str]:
        """Flags from all pipes that have touched some tiles, with few exceptions."""
        before = sorted({p for t in tiles for p in self.last.get(t, ())} - {pipe})
        for other in before:
            if self.rng.random() < self.care:
                number = self.rng.randrange(2)
                yield flag("set", other, pipe, number)
                yield flag("wait", other, pipe, number)
        for t in tiles:
            self.last.setdefault(t, set()).add(pipe)

    def work(self, variables: Sequence[str]) -> list[str]:
        """One instruction with the flags before it."""
        a, b = self.rng.sample(range(TILES), 2)
        lines = []
        row = "%c0"
        if variables and self.rng.random() < 0.5:
            turned, row = self.name("p"), self.name("q")
            lines += [f"{turned} = arith.remui {self.rng.choice(variables)}, %c2 : index"]
            lines += [f"{row} = arith.muli {turned}, %c16 : index"]
        kind = self.rng.choice(("load", "add", "add", "store"))
        if kind == "load":
            made = load(f"%t{a}", row)
            lines += [*self.ordered("MTE2", [a]), made.replace(f"%x_t{a}_{row[1:]}", self.name("x"))]
        elif kind == "add":
            lines += [*self.ordered("V", [a, b]), add(f"%t{a}", f"%t{b}")]
        else:
            made = store(f"%t{a}", row)
            lines += [*self.ordered("MTE3", [a]), made.replace(f"%y_t{a}_{row[1:]}", self.name("y"))]
        return lines

    def body(self, depth: int, variables: Sequence[str]) -> list[str]:
        """Statements that follow each other."""
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.random()
            if depth and kind < 0.3:
                lines += self.loop(depth, variables)
            elif depth and kind < 0.45:
                lines += self.branch(depth, variables)
            elif depth and kind < 0.6:
                lines += self.rotation(variables)
            elif kind < 0.68:
                self.last.clear()
                lines.append(ALL)
            else:
                lines += self.work(variables)
        return lines

    def loop(self, depth: int, variables: Sequence[str]) -> list[str]:
        variable = self.name("i")
        upper = self.rng.choice(["%n", "%m", "%c2", *variables])
        safe = self.rng.random()
        before, inside = [ALL], []
        self.last.clear()
        if safe < 0.5:
            inside.append(ALL)
        inside += self.body(depth - 1, [*variables, variable])
        after = [ALL] if self.rng.random() < self.care else []
        if after:
            self.last.clear()
        form = self.rng.choice((counted, counted, asked, turned, begun))
        return [*before, *form(self, variable, upper, inside), *after]

    def branch(self, depth: int, variables: Sequence[str]) -> list[str]:
        condition = self.name("b")
        left, right = self.rng.choice([*variables, "%n", "%m"]), self.rng.choice(["%m", "%c1", "%c2"])
        lines = [f"{condition} = arith.cmpi {self.rng.choice(('slt', 'eq', 'sge'))}, {left}, {right} : index"]
        start = {t: set(p) for t, p in self.last.items()}
        then = self.body(depth - 1, variables)
        ended, self.last = self.last, start
        other = self.body(depth - 1, variables) if self.rng.random() < 0.5 else []
        for t, pipes in ended.items():
            self.last.setdefault(t, set()).update(pipes)
        lines += [f"scf.if {condition} {{", *then, *(["} else {", *other] if other else []), "}"]
        return lines

    def rotation(self, variables: Sequence[str]) -> list[str]:
        """Two tiles in rotation, with flags that are primed before the loop and drained after it."""
        variable, event, tile = self.name("i"), self.name("e"), self.name("a")
        upper = self.rng.choice(["%n", "%m", "%c2"])
        slips = self.rng.random() > self.care
        pair = "%t0", "%t1"
        ids = (0, 1) if not slips else (0,)
        address = self.name("o")
        made = f"{tile} = pto.alloc_tile addr = {address} : !pto.tile_buf<vec, 16x32xf32>"
        view = self.name("x")
        lines = [ALL, *(flag("set", "V", "MTE2", k) for k in ids)]
        lines += [f"scf.for {variable} = %c0 to {upper} step %c1 {{"]
        lines += [f"{event} = arith.remui {variable}, %c2 : index"]
        lines += [
            f"{address}i = arith.muli {event}, %bytes : index",
            f"{address} = arith.index_cast {address}i : index to i64",
        ]
        lines += [made, flag("wait", "V", "MTE2", event)]
        lines += [load(tile, "%c0").replace(f"%x_{tile[1:]}_c0", view)]
        lines += [flag("set", "MTE2", "V", event), flag("wait", "MTE2", "V", event)]
        lines += [add("%t2", tile), flag("set", "V", "MTE2", event), "}"]
        lines += [flag("wait", "V", "MTE2", k) for k in ids]
        if self.rng.random() < self.care:
            self.last.clear()
            lines.append(ALL)
        else:
            for k in range(len(pair) + 1):
                self.last.setdefault(k, set()).update(("V", "MTE2"))
        return lines


@dataclass
class Graph(Nest):
    """A region of many blocks: loops and branches that only jumps make, and loops that carry tiles, arrays and numbers.

    ``pool``: tiles, those that loops carry too, with the numbers of what they may be; ``arrays``: the same of pointers.
    """

    pool: list[tuple[str, tuple[int, ...]]] = field(default_factory=lambda: [(f"%t{k}", (k,)) for k in range(TILES)])
    arrays: list[tuple[str, tuple[int, ...]]] = field(default_factory=lambda: [("%x", (TILES,)), ("%y", (TILES + 1,))])
    blocks: list[list[str]] = field(default_factory=lambda: [[]])

    def begin(self, label: str, *args: str) -> None:
        """What follows is in a block of its own."""
        self.blocks.append([f"^{label}({', '.join(args)}):" if args else f"^{label}:"])

    def add(self, *lines: str) -> None:
        self.blocks[-1] += lines

    def work(self, variables: Sequence[str]) -> list[str]:
        (a, these), (b, those) = self.rng.sample(self.pool, 2)
        kind = self.rng.choice(("load", "add", "add", "store"))
        if kind == "add":
            return [*self.ordered("V", [*these, *those]), add(a, b)]
        loads = kind == "load"
        usual = self.arrays[0 if loads else 1]
        array, which = usual if self.rng.random() < 0.8 else self.rng.choice(self.arrays)
        view, part, turned, row = (self.name(prefix) for prefix in "vxpq")
        number = self.rng.choice([*variables, "%c0"])
        return [
            f"{turned} = arith.remui {number}, %c2 : index",
            f"{row} = arith.muli {turned}, %c16 : index",
            f"{view} = pto.make_tensor_view {array}, shape = [%c32, %c32], strides = [%c32, %c1] : {VIEW}",
            f"{part} = pto.partition_view {view}, offsets = [{row}, %c0], sizes = [%c16, %c32] : {VIEW} -> {SLICE}",
            *self.ordered("MTE2" if loads else "MTE3", [*these, *which]),
            f"pto.tload ins({part} : {SLICE}) outs({a} : {TILE})"
            if loads
            else f"pto.tstore ins({a} : {TILE}) outs({part} : {SLICE})",
        ]

    def flow(self, depth: int, variables: Sequence[str]) -> None:
        """What follows each other in blocks, from the last one on."""
        variables = list(variables)
        for _ in range(self.rng.randint(1, 2)):
            kind = self.rng.random()
            if depth and kind < 0.35:
                self.cycle(depth, variables)
            elif depth and kind < 0.55:
                variables += self.fork(depth, variables)
            elif depth and kind < 0.63:
                self.add(*self.loop(1, variables))
            elif depth and kind < 0.7:
                self.add(*self.swapped(variables))
            elif kind < 0.75:
                self.last.clear()
                self.add(ALL)
            else:
                self.add(*self.work(variables))

    def asks(self, variables: Sequence[str]) -> str:
        """A condition."""
        made, other = self.name("b"), self.rng.choice(["%m", "%c1", "%c2"])
        how, number = self.rng.choice(("slt", "eq", "sge")), self.rng.choice([*variables, "%n", "%m"])
        self.add(f"{made} = arith.cmpi {how}, {number}, {other} : index")
        return made

    def fork(self, depth: int, variables: Sequence[str]) -> list[str]:
        """Two ways that meet; the number that says which one it was."""
        condition, number, met = self.asks(variables), self.name("g")[1:], self.name("h")
        both = self.rng.random() < 0.6
        otherwise = f"^right{number}" if both else f"^met{number}(%c2 : index)"
        self.add(f"cf.cond_br {condition}, ^left{number}, {otherwise}")
        start = {t: set(p) for t, p in self.last.items()}
        self.begin(f"left{number}")
        self.flow(depth - 1, variables)
        self.add(f"cf.br ^met{number}(%c1 : index)")
        ended, self.last = self.last, start
        if both:
            self.begin(f"right{number}")
            self.flow(depth - 1, variables)
            self.add(f"cf.br ^met{number}({self.rng.choice(('%c0', '%n'))} : index)")
        for t, pipes in ended.items():
            self.last.setdefault(t, set()).update(pipes)
        self.begin(f"met{number}", f"{met}: index")
        return [met]

    def cycle(self, depth: int, variables: Sequence[str]) -> None:
        """A loop that carries numbers, tiles or arrays, with further jumps to its beginning and its end."""
        rng, number = self.rng, self.name("g")[1:]
        upper, variable = rng.choice(["%n", "%m", "%c2", *variables]), self.name("i")
        names, firsts, kinds, handed = [variable], ["%c0"], ["index"], [""]
        pool, arrays = list(self.pool), list(self.arrays)
        carried = rng.choice(("", "", "tiles", "arrays", "further", "half"))
        a, b = self.name("a"), self.name("d")
        swaps = rng.random() < 0.7
        if carried == "tiles":
            (one, these), (other, those) = rng.sample(self.pool, 2)
            every = tuple({*these, *those})
            self.pool += [(a, every), (b, every)]
            names, firsts, kinds = [*names, a, b], [*firsts, one, other], [*kinds, TILE, TILE]
            handed += [b, a] if swaps else [a, b]
        elif carried == "arrays":
            (one, these), (other, those) = self.arrays[:2]
            every = tuple({*these, *those}) if swaps else ()
            self.arrays += [(a, every or these), (b, every or those)]
            names, firsts, kinds = [*names, a, b], [*firsts, one, other], [*kinds, "!pto.ptr<f32>", "!pto.ptr<f32>"]
            handed += [b, a] if swaps else [a, b]
        elif carried == "further":
            self.arrays += [(a, self.arrays[0][1])]
            names, firsts, kinds, handed = [*names, a], [*firsts, self.arrays[0][0]], [*kinds, "!pto.ptr<f32>"], ["", b]
        elif carried == "half":
            names, firsts, kinds, handed = [*names, a], [*firsts, "%c0"], [*kinds, "index"], ["", b]
        inner = [*variables, variable, *([a] if carried == "half" else [])]
        args = [f"{name}: {kind}" for name, kind in zip(names, kinds)]
        late = rng.random() < 0.5  # asks at the end of each iteration

        def goes_to(label: str, given: Sequence[str]) -> str:
            return f"^{label}{number}({', '.join(given)} : {', '.join(kinds)})"

        def following() -> list[str]:
            more = self.name("j")
            self.add(f"{more} = arith.addi {variable}, %c1 : index")
            given = [more, *handed[1:]]
            if carried in ("further", "half"):
                given[1] = self.name("d")
                step = (
                    "arith.subi %c1, " + f"{a} : index" if carried == "half" else f"pto.addptr {a}, %c32 : {kinds[1]}"
                )
                self.add(f"{given[1]} = {step}" + (f" -> {kinds[1]}" if carried == "further" else ""))
            return given

        self.last.clear()
        begins = "body" if late else "head"
        self.add(ALL)
        if late:
            some = self.name("s")
            self.add(f"{some} = arith.cmpi slt, %c0, {upper} : index")
            self.add(f"cf.cond_br {some}, {goes_to('body', firsts)}, ^end{number}")
            self.begin(f"body{number}", *args)
        else:
            self.add(f"cf.br {goes_to('head', firsts)}")
            self.begin(f"head{number}", *args)
            if rng.random() < 0.2:
                self.add(*self.work(inner))
            below = self.name("l")
            self.add(f"{below} = arith.cmpi slt, {variable}, {upper} : index")
            self.add(f"cf.cond_br {below}, ^body{number}, ^end{number}")
            self.begin(f"body{number}")
        if rng.random() < 0.5:
            self.add(ALL)
        self.flow(depth - 1, inner)
        jump = rng.random()
        if jump < 0.2:
            self.add(f"cf.cond_br {self.asks(inner)}, ^end{number}, ^rest{number}")
        elif jump < 0.4 and not late:
            given = following()
            self.add(f"cf.cond_br {self.asks(inner)}, {goes_to('head', given)}, ^rest{number}")
        if jump < 0.2 or (jump < 0.4 and not late):
            self.begin(f"rest{number}")
            self.flow(depth - 1, inner)
        given = following()
        if late:
            below = self.name("l")
            self.add(f"{below} = arith.cmpi slt, {given[0]}, {upper} : index")
            self.add(f"cf.cond_br {below}, {goes_to(begins, given)}, ^end{number}")
        else:
            self.add(f"cf.br {goes_to(begins, given)}")
        self.pool, self.arrays = pool, arrays
        self.begin(f"end{number}")
        if rng.random() < self.care:
            self.last.clear()
            self.add(ALL)

    def swapped(self, variables: Sequence[str]) -> list[str]:
        """A loop by the operation that says so, which carries two tiles and hands them on the other way round."""
        variable, result, a, b = (self.name(prefix) for prefix in "izad")
        (one, these), (other, those) = self.rng.sample(self.pool, 2)
        upper = self.rng.choice(["%n", "%m", "%c2", *variables])
        pool, every = list(self.pool), tuple({*these, *those})
        self.pool += [(a, every), (b, every)]
        self.last.clear()
        begins = f"{result}:2 = scf.for {variable} = %c0 to {upper} step %c1 iter_args({a} = {one}, {b} = {other})"
        lines = [ALL, f"{begins} -> ({TILE}, {TILE}) {{", *([ALL] if self.rng.random() < 0.5 else [])]
        for _ in range(self.rng.randint(1, 3)):
            lines += self.work([*variables, variable])
        handed = [b, a] if self.rng.random() < 0.7 else [a, b]
        lines += [f"scf.yield {', '.join(handed)} : {TILE}, {TILE}", "}"]
        self.pool = pool
        if self.rng.random() < self.care:
            self.last.clear()
            lines.append(ALL)
        return lines

    def region(self) -> list[str]:
        """All blocks; those that run before others in every execution may come after them in the text."""
        first, *others = self.blocks
        if self.rng.random() < 0.5:
            self.rng.shuffle(others)
        return ["scf.execute_region {", *first, *(line for block in others for line in block), "}"]


def counted(nest: Nest, variable: str, upper: str, body: Sequence[str]) -> list[str]:
    """A loop from 0, by the operation that says so."""
    return [f"scf.for {variable} = %c0 to {upper} step %c1 {{", *body, "}"]


def _ends(nest: Nest, variable: str, upper: str) -> tuple[str, str, list[str]]:
    """The names of the next number and of the condition that it is below the end, and the lines that make them."""
    following, below = nest.name("j"), nest.name("l")
    return (
        following,
        below,
        [
            f"{following} = arith.addi {variable}, %c1 : index",
            f"{below} = arith.cmpi slt, {following}, {upper} : index",
        ],
    )


def asked(nest: Nest, variable: str, upper: str, body: Sequence[str]) -> list[str]:
    """The same as a while loop."""
    following, below = nest.name("j"), nest.name("l")
    inner, result = nest.name("k"), nest.name("z")
    work: list[str] = []
    if nest.rng.random() < 0.3:  # is done before the first iteration, and after each
        nest.last.clear()
        work = [*([ALL] if nest.rng.random() < nest.care else ()), *nest.work(())]
        body = [*([ALL] if nest.rng.random() < nest.care else ()), *body]
    return [
        f"{result} = scf.while ({inner} = %c0) : (index) -> index {{",
        *work,
        f"{below} = arith.cmpi slt, {inner}, {upper} : index",
        f"scf.condition({below}) {inner} : index",
        "} do {",
        f"^bb0({variable}: index):",
        *body,
        f"{following} = arith.addi {variable}, %c1 : index",
        f"scf.yield {following} : index",
        "}",
    ]


def turned(nest: Nest, variable: str, upper: str, body: Sequence[str]) -> list[str]:
    """The same in blocks, as compilers leave them: it asks before the loop, and at the end of each iteration."""
    following, below, ends = _ends(nest, variable, upper)
    some, number = nest.name("s"), nest.name("g")[1:]
    return [
        f"{some} = arith.cmpi slt, %c0, {upper} : index",
        "scf.execute_region {",
        f"cf.cond_br {some}, ^body{number}(%c0 : index), ^end{number}",
        f"^body{number}({variable}: index):",
        *body,
        *ends,
        f"cf.cond_br {below}, ^body{number}({following} : index), ^end{number}",
        f"^end{number}:",
        "scf.yield",
        "}",
    ]


def begun(nest: Nest, variable: str, upper: str, body: Sequence[str]) -> list[str]:
    """The same in blocks: it asks at the beginning of each iteration."""
    following, below = nest.name("j"), nest.name("l")
    number = nest.name("g")[1:]
    inside = [
        f"^body{number}:",
        *body,
        f"{following} = arith.addi {variable}, %c1 : index",
        f"cf.br ^head{number}({following} : index)",
    ]
    after = [f"^end{number}:", "scf.yield"]
    blocks = [*after, *inside] if nest.rng.random() < 0.5 else [*inside, *after]
    return [
        "scf.execute_region {",
        f"cf.br ^head{number}(%c0 : index)",
        f"^head{number}({variable}: index):",
        f"{below} = arith.cmpi slt, {variable}, {upper} : index",
        f"cf.cond_br {below}, ^body{number}, ^end{number}",
        *blocks,
        "}",
    ]


def program(seed: int, depth: int = 3) -> str:
    """A random program of nested loops and branches."""
    rng = random.Random(seed)
    nest = Nest(rng)
    nest.care = rng.choice((0.7, 0.9, 0.97))
    lines = ["%bytes = arith.constant 2048 : index"]
    if rng.random() < 0.9:
        lines += [*(load(f"%t{k}", "%c0") for k in range(TILES)), ALL]
    lines += nest.body(depth, [])
    return kernel(*lines, ALL, params="%n: index, %m: index", rows="%c4096", tiles=TILES)


@dataclass
class Ahead(Nest):
    """A program of few barriers, so that flags decide."""

    def body(self, depth: int, variables: Sequence[str]) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.random()
            if depth and kind < 0.25:
                lines += self.loop(depth, variables)
            elif depth and kind < 0.35:
                lines += self.branch(depth, variables)
            elif depth and kind < 0.4:
                lines += self.rotation(variables)
            else:
                lines += self.work(variables)
        return lines


_PASSED = re.compile(r"_flag(_dyn)?\[|tload|tstore|tadds|partition_view|arith")


def ahead(seed: int) -> str:
    """A random program in which waits, with what comes after them on their pipe, stand before their sets."""
    rng = random.Random(seed)
    nest = Ahead(rng)
    nest.care = rng.choice((0.9, 0.97, 1))
    lines = "\n".join(nest.body(2, [])).split("\n")
    share = rng.choice((0.1, 0.3, 0.6))
    for at in range(len(lines)):
        queued = "tadds ins(%t" in lines[at] and "outs(%t" in lines[at]
        if (queued or re.search(r"(wait|set)_flag\[", lines[at])) and rng.random() < share:
            to = at
            while to > 0 and rng.random() < 0.8 and _PASSED.search(lines[to - 1]):
                to -= 1
            lines.insert(to, lines.pop(at))
    made = [*(load(f"%t{k}", "%c0") for k in range(TILES)), ALL, "%bytes = arith.constant 2048 : index", *lines, ALL]
    return kernel(*made, params="%n: index, %m: index", rows="%c4096", tiles=TILES)


def graph(seed: int) -> str:
    """A random program of one region of many blocks."""
    rng = random.Random(seed)
    nest = Graph(rng)
    nest.care = rng.choice((0.4, 0.7, 0.9))
    nest.add(*(load(f"%t{k}", "%c0") for k in range(TILES)), ALL)
    nest.flow(rng.choice((2, 2, 3)), [])
    nest.add("scf.yield")
    return kernel(*nest.region(), ALL, params="%n: index, %m: index", rows="%c4096", tiles=TILES)


CUBE = {
    "x": "zeros:f16:2048",
    "w": "zeros:f16:4096",
    "s": "zeros:f32:131072",
    "y": "zeros:f32:2048",
    "f": "zeros:i64:256",
}
"""Arrays of clusters; those of nests are alike."""


KINDS: dict[str, tuple[Callable[[int], str], str]] = {
    "nests": (program, "a2a3"),
    "small": (partial(program, depth=2), "a2a3"),
    "ahead": (ahead, "a2a3"),
    "graphs": (graph, "a2a3"),
    "rings": (ring, "a2a3"),
    "clusters": (cluster, "a5"),
    "alone": (alone, "a5"),
    "signals": (signalled, "a5"),
    "core signals": (partial(signalled, target="a2a3"), "a2a3"),
}
"""What makes a program of a kind, and its target."""


def ringed(text: str, target: str, n: int, m: int, ranks: int) -> list[Diagnostic]:
    """What a launch on several devices, of two blocks each, breaks."""
    rows = 2 * 2 * ((n + m) ** 2 + n + m) + ranks + 6
    large, small = f"zeros:f32:{ranks}x{2 * rows * 64}", f"zeros:i32:{ranks}x{2 * rows}"
    arrays = [large, large, "peer:box:+1", large, small, "peer:full:+1", small, "peer:free:-1"]
    given = [*arrays, "rank", "ranks", str(n), str(m)]
    report = ptokit.sanitize(text, given, target=target, ranks=ranks, blocks=2)
    assert report.ran, report
    return list(report.errors)


SUSPECTED, LARGEST = 4, 40
"""Of the prover's suspicions so many are tried, with numbers that are not larger."""


def judged(
    text: str, grid: Sequence[tuple[int, int]] = GRID, target: str = "a2a3"
) -> tuple[dict[Claim, str], dict[Claim, str]]:
    """By claim: what the prover says ("" if it is proved), and the first run that breaks it.

    It is also run for what the prover suspects. Runs end where a fault has been found, and nothing is proved that
    another one could break.
    """
    source = read(text, name="nest", target=target)
    source.diagnostics.raise_if_errors()
    work = Proving(source.module, target_named(target))
    names = [p.name for p in work.program.params][:-2]
    ranks = "ranks" in names
    prover = Control(work.program, by_compiler=work.by_compiler, blocks=None if ranks else 1, assume=work.assume)
    prover.prove()
    said = {claim: "; ".join(f"line {line}: {why}" for why, line in prover.reasons(claim)) for claim in Claim}
    broken: dict[Claim, str] = {}
    suspected = (prover.arguments(s) for s in prover.suspects()[:SUSPECTED])
    further = ((v["n"], v["m"]) for found in suspected for v, _ in found if max(v["n"], v["m"]) <= LARGEST)
    for n, m in chain(grid, further):
        if broken and (all(said.values()) or (n, m) not in grid):
            break
        if ranks:
            counts = (2, 3) if (n, m) in grid else (5,)
            found = [d for count in counts for d in ringed(text, target, n, m, count)]
        else:
            arrays = [CUBE[name] if "w" in names else "zeros:f32:131072" for name in names]
            found = list(work.launch([*arrays, str(n), str(m)], 1).errors)
        for d in found:
            claim = claim_of(d.rule)
            if claim is not None:
                broken.setdefault(claim, f"n={n} m={m}: {d.rule} line {d.location.line}: {d.message}")
    return said, broken


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--kind", choices=KINDS, default="nests")
    options.add_argument("--quick", action="store_true", help="run them for fewer arguments")
    options.add_argument("--log", help="a file of JSON lines, which is continued")
    given = options.parse_args()
    log = Path(given.log) if given.log else None
    known = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    lines = {line["seed"]: line for line in map(json.loads, known)}
    for seed in range(given.seed, given.seed + given.count):
        if seed in lines:
            continue
        make, target = KINDS[given.kind]
        said, broken = judged(make(seed), QUICK if given.quick else GRID, target)
        lines[seed] = {"seed": seed, "open": {c: w[:200] for c, w in said.items() if w}, "broken": broken}
        if log is not None:
            with log.open("a", encoding="utf-8") as out:
                out.write(json.dumps(lines[seed]) + "\n")
    table: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for line in lines.values():
        faulty = "faulty" if line["broken"] else "clean"
        table[f"{faulty}, {'open' if line['open'] else 'proved'}"] += 1
        wrong = [claim for claim in line["broken"] if claim not in line["open"]]
        if wrong:
            table["WRONG"] += 1
            print("WRONG", line)
        if line["open"] and not line["broken"]:
            reasons.update({f"{claim}: {re.sub(r'[0-9]+', 'N', why)[:100]}" for claim, why in line["open"].items()})
    for reason, count in reasons.most_common(12):
        print(f"{count:5} {reason}")
    print(f"{len(lines)} programs: {dict(sorted(table.items()))}")


if __name__ == "__main__":
    main()
