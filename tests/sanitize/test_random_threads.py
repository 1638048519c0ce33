"""The sanitizer against all interleavings of the threads of random small launches.

The model knows no sets of accesses: it lets two threads at a time go on one access after the other in every order that
syncthreads allows, and two accesses race if some state lets either of them come next. The others never hold the two up,
since every thread comes to every syncthreads.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

ACTING = (0, 1, 32, 33)
"""Threads that do something: two of each of two warps."""

HEAD = """\
module attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
func.func @k(%x: !pto.ptr<i32, gm>) attributes {pto.kernel} {
%n = arith.constant 64 : i32
%u = arith.constant 1 : i32
%z = arith.constant 0 : i64
%ub = pto.castptr %z : i64 -> !pto.ptr<i32, ub>
pto.simt_launch @body<<<%n, %u, %u>>>(%ARG) : (!pto.ptr<i32, SPACE>) -> ()
pto.barrier #pto.pipe<PIPE_ALL>
return
}
func.func @body(%out: !pto.ptr<i32, SPACE>) attributes {pto.simt_entry} {
%tx = pto.get_tid_x : i32
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%i0 = arith.constant 0 : i32
%i1 = arith.constant 1 : i32
%i2 = arith.constant 2 : i32
%i3 = arith.constant 3 : i32
%i4 = arith.constant 4 : i32
%i30 = arith.constant 30 : i32
%low = arith.andi %tx, %i1 : i32
%shifted = arith.shrui %tx, %i4 : i32
%high = arith.andi %shifted, %i2 : i32
%me = arith.ori %low, %high : i32
%rest = arith.andi %tx, %i30 : i32
%acting = arith.cmpi eq, %rest, %i0 : i32
"""
LAUNCH = 7
"""Line of the launch."""


@dataclass(frozen=True)
class Access:
    """One access of one thread. ``turn``: which execution of its line it is; ``value``: what a store writes."""

    line: int
    turn: int
    kind: str  # load, store, atomic, sync
    place: int = 0
    value: int = 0


@dataclass(frozen=True)
class Statement:
    """``places`` and ``values``: by thread."""

    kind: str
    mask: int = 0
    shift: int = -1  # place of a thread: its number plus this; -1: `place` for all
    place: int = 0
    value: int = -1  # -1: the number of the thread

    def text(self, name: str) -> list[str]:
        """One line each."""
        if self.kind == "sync":
            return ["pto.syncthreads"]
        out = [
            f"%{name}m = arith.constant {self.mask} : i32",
            f"%{name}b = arith.shrui %{name}m, %me : i32",
            f"%{name}l = arith.andi %{name}b, %i1 : i32",
            f"%{name}c = arith.cmpi eq, %{name}l, %i1 : i32",
            f"%{name}g = arith.andi %{name}c, %acting : i1",
            f"scf.if %{name}g {{",
        ]
        if self.shift < 0:
            out.append(f"%{name}p = arith.constant {self.place} : index")
        else:
            out += [
                f"%{name}s = arith.constant {self.shift} : i32",
                f"%{name}t = arith.addi %me, %{name}s : i32",
                f"%{name}r = arith.andi %{name}t, %i3 : i32",
                f"%{name}p = arith.index_castui %{name}r : i32 to index",
            ]
        if self.value >= 0:
            out.append(f"%{name}v = arith.constant {self.value} : i32")
        value = f"%{name}v" if self.value >= 0 else "%me"
        match self.kind:
            case "load":
                out.append(f"%{name}w = pto.load %out[%{name}p] : !pto.ptr<i32, SPACE> -> i32")
            case "store":
                out.append(f"pto.store {value}, %out[%{name}p] : !pto.ptr<i32, SPACE>, i32")
            case "atomic":
                pointer = "!pto.ptr<i32, SPACE>"
                out.append(f"%{name}q = pto.addptr %out, %{name}p : {pointer} -> {pointer}")
                out.append(f"%{name}w = pto.atomic_add %{name}q, {value} signed : {pointer}, i32 -> i32")
        return [*out, "}"]

    def of(self, me: int, line: int, turn: int) -> Access | None:
        """What a thread does."""
        if self.kind == "sync":
            return Access(line, turn, "sync")
        if not self.mask >> me & 1:
            return None
        place = self.place if self.shift < 0 else (me + self.shift) % 4
        return Access(line, turn, self.kind, place, me if self.value < 0 else self.value)


@dataclass
class Sample:
    """A launch: its text, and what each acting thread does."""

    text: str
    threads: list[list[Access]]
    blocks: int
    shared: bool  # by the blocks


def draw(seed: int) -> Sample:
    """A random launch."""
    rng = random.Random(seed)
    shared = rng.random() < 0.7
    lines = HEAD.splitlines()
    threads: list[list[Access]] = [[] for _ in ACTING]
    count = 0
    for _ in range(rng.randint(1, 3)):
        turns = rng.choice((1, 1, 2))
        body: list[tuple[int, Statement]] = []
        if turns > 1:
            lines.append(f"scf.for %loop{count} = %c0 to %c2 step %c1 {{")
        for _ in range(rng.randint(1, 3)):
            kind = rng.choice(("load", "store", "store", "atomic", "atomic", "sync"))
            mask = rng.choice((1, 2, 4, 8, 3, 5, 10, 15, 15, rng.randint(1, 15)))
            shift = rng.choice((-1, -1, 0, 0, 1, 2))
            statement = Statement(kind, mask, shift, rng.randint(0, 2), rng.choice((-1, 5, 6)))
            text = statement.text(f"s{count}_")
            count += 1
            lines += text
            body.append((len(lines) - (kind != "sync"), statement))
        if turns > 1:
            lines.append("}")
        for turn in range(turns):
            for line, statement in body:
                for me, thread in enumerate(threads):
                    access = statement.of(me, line, turn)
                    if access is not None:
                        thread.append(access)
    text = "\n".join([*lines, "return", "}", "}"])
    text = text.replace("%ARG", "%x" if shared else "%ub").replace("SPACE", "gm" if shared else "ub")
    return Sample(text, threads, rng.choice((1, 2)), shared)


def together(first: list[Access], second: list[Access], *, meet: bool) -> set[tuple[Access, Access]]:
    """Pairs of accesses of two threads of which either may come next, in some state."""
    found: set[tuple[Access, Access]] = set()
    seen, stack = {(0, 0)}, [(0, 0)]
    while stack:
        i, j = stack.pop()
        a = first[i] if i < len(first) else None
        b = second[j] if j < len(second) else None
        if a is not None and b is not None and a.kind != "sync" != b.kind:
            found.add((a, b))
        nexts = []
        if meet and a is not None and b is not None and a.kind == b.kind == "sync":
            nexts.append((i + 1, j + 1))
        if a is not None and not (meet and a.kind == "sync"):
            nexts.append((i + 1, j))
        if b is not None and not (meet and b.kind == "sync"):
            nexts.append((i, j + 1))
        for state in nexts:
            if state not in seen:
                seen.add(state)
                stack.append(state)
    return found


def harmful(a: Access, b: Access) -> bool:
    """True if the order of two accesses may matter."""
    if a.place != b.place or a.kind == b.kind == "load" or a.kind == b.kind == "atomic":
        return False
    return not (a.kind == b.kind == "store" and (a.line, a.turn, a.value) == (b.line, b.turn, b.value))


Pairs = dict[str, set[tuple[int, int]]]


def expected(sample: Sample) -> tuple[Pairs, bool]:
    """Pairs of lines by rule, and whether two blocks race."""
    pairs: Pairs = {"RACE-THREADS": set(), "RACE-WARP": set()}
    for i, j in combinations(range(len(ACTING)), 2):
        rule = "RACE-WARP" if ACTING[i] // 32 == ACTING[j] // 32 else "RACE-THREADS"
        for a, b in together(sample.threads[i], sample.threads[j], meet=True):
            if harmful(a, b):
                pairs[rule].add((min(a.line, b.line), max(a.line, b.line)))
    blocks = False
    if sample.shared and sample.blocks > 1:
        for one in sample.threads:
            for other in sample.threads:
                met = together(one, other, meet=False)
                blocks |= any(a.place == b.place and {a.kind, b.kind} not in ({"load"}, {"atomic"}) for a, b in met)
    return pairs, blocks


def compare(seed: int) -> bool:
    """Compare the two; True if there was something to find."""
    sample = draw(seed)
    read = parse_module(sample.text, "t.pto")
    assert [str(d) for d in read.diagnostics if d.severity == "error"] == [], sample.text
    report = sanitize(read.module, "a5", [np.zeros(8, np.int32)], sample.blocks, causes=False)
    found: Pairs = {"RACE-THREADS": set(), "RACE-WARP": set()}
    blocks = False
    for d in report.diagnostics:
        if d.rule in found:
            notes = [n.location.line for n in d.notes if n.location.line and n.message == "the other access"]
            line, other = d.location.line, (notes or [d.location.line])[0]
            found[d.rule].add((min(line, other), max(line, other)))
        elif d.rule.startswith("RACE"):
            assert d.rule.startswith("RACE-XCORE"), d
            assert d.location.line == LAUNCH
            blocks = True
    pairs, between = expected(sample)
    listing = "\n".join(f"{k + 1:3} {line}" for k, line in enumerate(sample.text.splitlines()))
    told = f"{seed}\n{listing}\n{report}"
    assert found["RACE-THREADS"] == pairs["RACE-THREADS"], told
    assert found["RACE-WARP"] <= pairs["RACE-WARP"], told
    assert pairs["RACE-WARP"] - pairs["RACE-THREADS"] <= found["RACE-WARP"], told
    assert blocks == between, told
    return between or any(pairs.values())


def test_random_launches() -> None:
    shown = sum(compare(seed) for seed in range(40))
    assert 10 < shown < 40


@pytest.mark.campaign
def test_many_random_launches() -> None:
    shown = sum(compare(seed) for seed in range(10_000))
    assert 2000 < shown < 9800
