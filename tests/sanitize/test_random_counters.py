"""Signals in global memory against all executions of random small launches.

The model is a machine whose blocks do one step after the other, in every order. What a wait tells is not said anywhere:
a block that waits goes on when the value of the signal allows it. Two accesses of one row race if some execution has
one of them first and some the other. An execution that gets stuck counts as far as it comes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

COLUMNS, ROWS, SIGNALS = 8, 2, 2
TILE = f"!pto.tile_buf<vec, 1x{COLUMNS}xf32>"
ROW, TENSOR = f"!pto.partition_tensor_view<1x{COLUMNS}xf32>", "!pto.tensor_view<?x?xf32>"
ONE, MANY = "!pto.partition_tensor_view<1x1xi32>", "!pto.tensor_view<?x?xi32>"
COMPARE = {"ge": int.__ge__, "eq": int.__eq__, "gt": int.__gt__, "ne": int.__ne__}


@dataclass(frozen=True)
class Step:
    """``place``: row or signal; ``value``: what is added, set or compared with."""

    kind: str  # store, load, add, set, wait
    place: int
    value: int = 0
    compare: str = "ge"
    line: int = 0


def draw(seed: int) -> tuple[str, list[list[Step]]]:
    """A random launch: its text, and the steps of each block."""
    rng = random.Random(seed)
    lines = [
        "module {",
        "func.func @k(%x: !pto.ptr<f32>, %s: !pto.ptr<i32>) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {",
        *(f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, 2, 3, COLUMNS})),
        *(f"%n{n} = arith.constant {n} : i32" for n in range(6)),
        "%value = arith.constant 1.0 : f32",
        "%at0 = arith.constant 0 : i64",
        "%at1 = arith.constant 1024 : i64",
        f"%t = pto.alloc_tile addr = %at0 : {TILE}",
        f"%u = pto.alloc_tile addr = %at1 : {TILE}",
        f"pto.texpands ins(%value : f32) outs(%t : {TILE})",
        "pto.barrier <PIPE_ALL>",
        "%blk = pto.get_block_idx",
        "%block = arith.index_cast %blk : i64 to index",
        f"%xv = pto.make_tensor_view %x, shape = [%c{ROWS}, %c{COLUMNS}], strides = [%c{COLUMNS}, %c1] : {TENSOR}",
        f"%sv = pto.make_tensor_view %s, shape = [%c{SIGNALS}, %c1], strides = [%c1, %c1] : {MANY}",
    ]
    for r in range(ROWS):
        lines.append(
            f"%x{r} = pto.partition_view %xv, offsets = [%c{r}, %c0], sizes = [%c1, %c{COLUMNS}] : {TENSOR} -> {ROW}"
        )
    for r in range(SIGNALS):
        lines.append(f"%s{r} = pto.partition_view %sv, offsets = [%c{r}, %c0], sizes = [%c1, %c1] : {MANY} -> {ONE}")
    amounts = rng.choice(((1,), (1,), (1, 2)))
    setting = rng.random() < 0.3
    blocks = []
    for block in range(rng.choice((2, 3, 3, 4))):
        lines += [f"%is{block} = arith.cmpi eq, %block, %c{block} : index", f"scf.if %is{block} {{"]
        steps = []
        kinds = rng.choice(
            (
                ("store", "add"),
                ("store", "add"),
                ("add",),
                ("wait", "load"),
                ("wait", "load"),
                ("wait", "load", "add"),
                ("wait", "add", "wait", "load"),
                ("store", "add", "wait", "load"),
                tuple(rng.choice(("store", "load", "add", "wait")) for _ in range(rng.randint(1, 4))),
            )
        )
        for kind in kinds:
            if kind == "add" and setting and rng.random() < 0.5:
                kind = "set"
            place = rng.choice((0, 0, 0, 1))
            value = rng.choice(amounts) if kind == "add" else rng.choice((1, 1, 2, 2, 3))
            compare = rng.choice(("ge", "ge", "ge", "eq", "gt", "ne"))
            value = 0 if kind == "wait" and compare in ("gt", "ne") else value
            match kind:
                case "store":
                    text = f"pto.tstore ins(%t : {TILE}) outs(%x{place} : {ROW})"
                case "load":
                    text = f"pto.tload ins(%x{place} : {ROW}) outs(%u : {TILE})"
                case "add" | "set":
                    op = "atomic_add" if kind == "add" else "set"
                    text = f"pto.comm.tnotify(%s{place}, %n{value} : {ONE}, i32) {{notifyOp = #pto<notify_op {op}>}}"
                case _:
                    text = f"pto.comm.twait(%s{place}, %n{value} : {ONE}, i32) {{cmp = #pto<wait_cmp {compare}>}}"
            lines.append(text)
            steps.append(Step(kind, place, value, compare, len(lines)))
            if kind in ("store", "load"):
                lines.append("pto.barrier <PIPE_ALL>")
        lines.append("}")
        blocks.append(steps)
    return "\n".join([*lines, "return", "}", "}"]), blocks


def model(blocks: list[list[Step]]) -> tuple[set[frozenset[int]], bool]:
    """Pairs of lines whose order is open, and whether every execution comes to its end."""
    accesses = [(b, k) for b, steps in enumerate(blocks) for k, s in enumerate(steps) if s.kind in ("store", "load")]
    orders: set[tuple[tuple[int, int], tuple[int, int]]] = set()  # (happens, while that has not happened yet)
    start = (0,) * len(blocks), (0,) * SIGNALS
    seen, stack, ends = {start}, [start], True
    while stack:
        at, values = stack.pop()
        moved = False
        for b, steps in enumerate(blocks):
            if at[b] == len(steps):
                continue
            step = steps[at[b]]
            if step.kind == "wait" and not COMPARE[step.compare](values[step.place], step.value):
                continue
            moved = True
            new = list(values)
            if step.kind in ("add", "set"):
                new[step.place] = step.value + (values[step.place] if step.kind == "add" else 0)
            if step.kind in ("store", "load"):
                orders |= {((b, at[b]), other) for other in accesses if other[0] != b and at[other[0]] <= other[1]}
            state = (*at[:b], at[b] + 1, *at[b + 1 :]), tuple(new)
            if state not in seen:
                seen.add(state)
                stack.append(state)
        ends &= moved or all(place == len(steps) for place, steps in zip(at, blocks))
    found = set()
    for one, other in orders:
        a, b = blocks[one[0]][one[1]], blocks[other[0]][other[1]]
        if (other, one) in orders and a.place == b.place and "store" in (a.kind, b.kind):
            found.add(frozenset((a.line, b.line)))
    return found, ends


def compare(seed: int) -> tuple[bool, bool] | None:
    """Compare the two: whether there are races, and whether waits order anything; None if the launch gets stuck."""
    text, blocks = draw(seed)
    read = parse_module(text, "t.pto")
    assert [str(d) for d in read.diagnostics if d.severity == "error"] == [], text
    args = [np.zeros((ROWS, COLUMNS), np.float32), np.zeros((SIGNALS, 1), np.int32)]
    report = sanitize(read.module, "a2a3", args, len(blocks), causes=False)
    if any(d.rule == "DEADLOCK" for d in report.diagnostics):
        return None
    expected, _ = model(blocks)
    found = set()
    for d in report.diagnostics:
        if d.rule.startswith("RACE"):
            assert d.rule.startswith("RACE-XCORE"), d
            found.add(frozenset((d.location.line, d.notes[0].location.line)))
    listing = "\n".join(f"{k + 1:3} {line}" for k, line in enumerate(text.splitlines()))
    told = f"{seed}\n{listing}\n{report}\nmissing {expected - found}, too many {found - expected}"
    assert found == expected, told
    free, _ = model([[s for s in steps if s.kind != "wait"] for steps in blocks])
    return bool(expected), free != expected


def test_random_counters() -> None:
    shown = [result for seed in range(100) if (result := compare(seed)) is not None]
    assert sum(races for races, _ in shown) > 20
    assert sum(ordered for _, ordered in shown) > 5


@pytest.mark.parametrize("seed", [8467, 12658, 14175, 14220, 20924, 600578, 600926, 610078, 611396, 613959])
def test_additions_that_a_value_has_used_up(seed: int) -> None:
    """What has led to a value that is set cannot lead to it again."""
    shown = compare(seed)
    assert shown is not None


@pytest.mark.campaign
def test_many_random_counters() -> None:
    shown = [result for seed in range(25_000) if (result := compare(seed)) is not None]
    assert len(shown) > 6000
    assert sum(races for races, _ in shown) > 2500
    assert sum(ordered for _, ordered in shown) > 1000
