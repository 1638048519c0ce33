"""Random programs of nested loops and branches with flags, most of them almost right, judged twice.

For all arguments by the prover, and for each of some arguments by the sanitizer.
A claim that is proved and that a run breaks is an error.

    python -m tests.prove.nests --count 1000 --seed 7 --log FILE
    python -m tests.prove.nests --count 1000 --clusters
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ptokit.api.check import read
from ptokit.api.prove import Proving
from ptokit.prove.control import Control
from ptokit.prove.report import Claim, claim_of
from ptokit.targets import target as target_named

from .clusters import cluster
from .kernels import add, flag, kernel, load, store

GRID = ((0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (1, 3), (2, 3), (4, 3))
"""Values of n and m."""

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


def program(seed: int) -> str:
    """A random program."""
    rng = random.Random(seed)
    nest = Nest(rng)
    nest.care = rng.choice((0.7, 0.9, 0.97))
    lines = ["%bytes = arith.constant 2048 : index"]
    if rng.random() < 0.9:
        lines += [*(load(f"%t{k}", "%c0") for k in range(TILES)), ALL]
    lines += nest.body(3, [])
    return kernel(*lines, ALL, params="%n: index, %m: index", rows="%c4096", tiles=TILES)


ARRAYS = {"a2a3": ("zeros:f32:131072",) * 2, "a5": ("zeros:f16:2048", "zeros:f16:4096", "zeros:f32:2048")}
"""Of nests, and of clusters."""


def judged(
    text: str, grid: Sequence[tuple[int, int]] = GRID, target: str = "a2a3"
) -> tuple[dict[Claim, str], dict[Claim, str]]:
    """By claim: what the prover says ("" if it is proved), and the first run that breaks it."""
    source = read(text, name="nest", target=target)
    source.diagnostics.raise_if_errors()
    work = Proving(source.module, target_named(target))
    prover = Control(work.program, by_compiler=work.by_compiler, blocks=1)
    prover.prove()
    said = {claim: "; ".join(f"line {line}: {why}" for why, line in prover.reasons(claim)) for claim in Claim}
    broken: dict[Claim, str] = {}
    for n, m in grid:
        report = work.launch([*ARRAYS[target], str(n), str(m)], 1)
        for d in report.errors:
            claim = claim_of(d.rule)
            if claim is not None:
                broken.setdefault(claim, f"n={n} m={m}: {d.rule} line {d.location.line}: {d.message}")
    return said, broken


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--clusters", action="store_true", help="programs of two kinds of cores")
    options.add_argument("--log", help="a file of JSON lines, which is continued")
    given = options.parse_args()
    log = Path(given.log) if given.log else None
    known = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    lines = {line["seed"]: line for line in map(json.loads, known)}
    for seed in range(given.seed, given.seed + given.count):
        if seed in lines:
            continue
        said, broken = judged(cluster(seed), target="a5") if given.clusters else judged(program(seed))
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
