"""Pipes between a cube core and its vector cores against all executions of random small programs.

The model is a queue for each pipe of each core and nothing else: a push waits until all vector cores have freed its
slot, a pop until the push is done, flags as ever. Whatever may happen next is tried, and two accesses race if some
state lets either of them come next.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

from ..run.pipe_texts import ACC, MAT, PART, VIEW

CUBE_TILE, WHOLE, HALF = ACC.format(""), f"{PART}<32x32xf32>", f"{PART}<16x32xf32>"
VEC = "!pto.tile_buf<vec, 16x32xf32>"
ROWS = 2


@dataclass(frozen=True)
class Step:
    """``key``: the flag, or the number of a push, pop or free. ``places``: (row or slot, half)."""

    kind: str  # work, push, pop, free, set, wait
    pipe: str
    line: int
    write: bool = False
    places: frozenset[tuple[str, int, int]] = frozenset()
    key: tuple[object, ...] = ()


class Program:
    """A random program: its text, and what each core does."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.slots = rng.choice((1, 2))
        self.turns = rng.randint(1, 3)
        self.lines: list[str] = []
        self.names = 0
        cube = self.function("aic", "cube", ("FIX", "MTE2"))
        vector = self.function("aiv", "vector", ("V", "MTE2", "MTE3"))
        self.text = "\n".join(self.lines)
        self.cores = [cube, vector, [self.other(step) for step in vector]]

    def add(self, *lines: str) -> int:
        self.lines += lines
        return len(self.lines)

    def other(self, step: Step) -> Step:
        """The same on the other vector core."""
        places = frozenset((what, number, 1) for what, number, _ in step.places)
        return Step(step.kind, step.pipe, step.line, step.write, places, step.key)

    def function(self, core: str, kind: str, pipes: tuple[str, ...]) -> list[Step]:
        rng, size = self.rng, 4096 * self.slots
        self.add(
            f"func.func @k_{core}(%y: !pto.ptr<f32>) attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}} {{",
            *(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 16, 32, 64)),
            *(f"%at{n} = arith.constant {n} : i64" for n in (0, 65536)),
            "%one = arith.constant 1.0 : f32",
            f"%y_v = pto.make_tensor_view %y, shape = [%c64, %c32], strides = [%c32, %c1] : {VIEW}<?x?xf32>",
        )
        if core == "aic":
            self.add(
                '%buf = pto.import_reserved_buffer {name = "fifo", peer_func = @k_aiv} -> i32',
                f"%tile = pto.alloc_tile addr = %at0 : {CUBE_TILE}",
                f"%mat = pto.alloc_tile addr = %at0 : {MAT.replace('f16', 'f32')}",
            )
        else:
            self.add(
                f'%buf = pto.reserve_buffer {{name = "fifo", size = {size}, location = #pto.address_space<vec>, '
                "auto = false, base = 0} -> i32",
                f"%tile = pto.alloc_tile addr = %at65536 : {VEC}",
                "%s64 = pto.get_subblock_idx",
                "%s = arith.index_cast %s64 : i64 to index",
                "%h = arith.muli %s, %c16 : index",
            )
        words = f"c2v_consumer_buf = %buf : i32, slot_num = {self.slots}"
        self.add(
            f"pto.{core}_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 4096, slot_num = {self.slots}}} "
            f"({words.split(', slot_num')[0]})"
        )
        steps: list[Step] = []
        for k in range(self.turns):
            self.some(steps, core, pipes)
            if core == "aic":
                line = self.add(f"pto.tpush_to_aiv(%tile : {CUBE_TILE}) {{id = 0, split = 1}}")
                places = frozenset(("slot", k % self.slots, half) for half in (0, 1))
                steps.append(Step("push", "FIX", line, True, places, (k,)))
                continue
            line = self.add(f"%got{k} = pto.tpop_from_aic {{id = 0, split = 1}} -> {VEC}")
            steps.append(Step("pop", "V", line, key=(k,)))
            if rng.random() < 0.5:
                line = self.add(f"pto.tadds ins(%got{k}, %one : {VEC}, f32) outs(%tile : {VEC})")
                steps.append(Step("work", "V", line, False, frozenset((("slot", k % self.slots, 0),))))
            self.some(steps, core, pipes)
            line = self.add("pto.tfree_from_aic {id = 0, split = 1}")
            steps.append(Step("free", "V", line, key=(k,)))
        self.some(steps, core, pipes)
        self.add("return", "}")
        return steps

    def some(self, steps: list[Step], core: str, pipes: tuple[str, ...]) -> None:
        """A transfer of rows, and perhaps flags around it."""
        rng = self.rng
        if rng.random() < 0.45:
            return
        row, load = rng.randrange(ROWS), rng.random() < 0.5
        main = "FIX" if core == "aic" else "V"
        pipe = "MTE2" if load else "FIX" if core == "aic" else "MTE3"
        if pipe != main and rng.random() < 0.75:
            self.flags(steps, main, pipe)
        self.names += 1
        view = f"%p{self.names}"
        if core == "aic":
            self.add(
                f"{view}o = arith.constant {32 * row} : index",
                f"{view} = pto.partition_view %y_v, offsets = [{view}o, %c0], sizes = [%c32, %c32] : "
                f"{VIEW}<?x?xf32> -> {WHOLE}",
            )
            mat = MAT.replace("f16", "f32")
            text = f"tload ins({view} : {WHOLE}) outs(%mat : {mat})"
            text = text if load else f"tstore ins(%tile : {CUBE_TILE}) outs({view} : {WHOLE})"
        else:
            self.add(
                f"{view}f = arith.constant {32 * row} : index",
                f"{view}o = arith.addi {view}f, %h : index",
                f"{view} = pto.partition_view %y_v, offsets = [{view}o, %c0], sizes = [%c16, %c32] : "
                f"{VIEW}<?x?xf32> -> {HALF}",
                f"{view}a = arith.constant {69632 + 2048 * self.names} : i64",
                f"{view}t = pto.alloc_tile addr = {view}a : {VEC}",
            )
            text = f"tload ins({view} : {HALF}) outs({view}t : {VEC})"
            text = text if load else f"tstore ins({view}t : {VEC}) outs({view} : {HALF})"
        halves = (0, 1) if core == "aic" else (0,)
        places = frozenset(("row", row, half) for half in halves)
        steps.append(Step("work", pipe, self.add(f"pto.{text}"), not load, places))
        if pipe != main and rng.random() < 0.75:
            self.flags(steps, pipe, main)

    def flags(self, steps: list[Step], source: str, to: str) -> None:
        self.names += 1
        event = self.names % 8
        for verb, pipe in (("set", source), ("wait", to)):
            line = self.add(f"pto.{verb}_flag[<PIPE_{source}>, <PIPE_{to}>, <EVENT_ID{event}>]")
            steps.append(Step(verb, pipe, line, key=(source, to, event)))


class TooLarge(Exception):
    pass


def model(program: Program) -> set[frozenset[tuple[int, int]]]:
    """Pairs of (core kind, line) whose order is open: 0 the cube core, 1 vector cores."""
    queues = [(c, pipe) for c, steps in enumerate(program.cores) for pipe in dict.fromkeys(s.pipe for s in steps)]
    items = [[s for s in program.cores[c] if s.pipe == pipe] for c, pipe in queues]

    def count(state: tuple[int, ...], core: int, kind: str, key: tuple[object, ...] | None = None) -> int:
        return sum(
            step.kind == kind and (key is None or step.key == key)
            for (c, _), queue, at in zip(queues, items, state)
            if c == core
            for step in queue[:at]
        )

    def enabled(state: tuple[int, ...], core: int, step: Step) -> bool:
        match step.kind:
            case "wait":
                return count(state, core, "set", step.key) > count(state, core, "wait", step.key)
            case "push":
                (k,) = step.key
                assert isinstance(k, int)
                return all(count(state, vector, "free") + program.slots > k for vector in (1, 2))
            case "pop":
                (k,) = step.key
                assert isinstance(k, int)
                return count(state, 0, "push") > k
        return True

    found = set()
    start = (0,) * len(queues)
    seen, stack = {start}, [start]
    while stack:
        state = stack.pop()
        possible = [
            (q, queues[q][0], items[q][at])
            for q, at in enumerate(state)
            if at < len(items[q]) and enabled(state, queues[q][0], items[q][at])
        ]
        quiet = [one for one in possible if not one[2].places]
        for q, core, a in possible:
            for r, other, b in possible:
                if q < r and (a.write or b.write) and a.places & b.places:
                    found.add(frozenset(((min(core, 1), a.line), (min(other, 1), b.line))))
        # What touches no memory keeps nothing else from happening, and is done at once.
        for q, _, _ in quiet[:1] or possible:
            to = (*state[:q], state[q] + 1, *state[q + 1 :])
            if to not in seen:
                if len(seen) > 20_000:
                    raise TooLarge
                seen.add(to)
                stack.append(to)
    return found


def compare(seed: int) -> bool | None:
    """Compare the two: whether there are races; None if there are too many states."""
    program = Program(seed)
    try:
        expected = {frozenset(line for _, line in pair) for pair in model(program)}
    except TooLarge:
        return None
    read = parse_module(program.text, "k.pto")
    assert [str(d) for d in read.diagnostics if d.severity == "error"] == [], program.text
    report = sanitize(read.module, "a5", [np.zeros((64, 32), np.float32)], 1, mode="manual", causes=False)
    found = {frozenset((d.location.line, d.notes[0].location.line)) for d in report.diagnostics if "RACE" in d.rule}
    listing = "\n".join(f"{k + 1:3} {line}" for k, line in enumerate(program.text.splitlines()))
    told = f"{seed}\n{listing}\n{report}\nmissing {expected - found}, too many {found - expected}"
    assert not {"DEADLOCK", "PIPE-LEFT", "PIPE-FREED"} & {d.rule for d in report.diagnostics}, told
    assert found == expected, told
    return bool(expected)


def test_random_pipes() -> None:
    shown = [compare(seed) for seed in range(30)]
    assert shown.count(True) > 3
    assert shown.count(False) > 3


@pytest.mark.campaign
def test_many_random_pipes() -> None:
    shown = [compare(seed) for seed in range(6_000)]
    assert shown.count(True) > 1000
    assert shown.count(False) > 1000
