"""Random messages between ranks, judged by a graph of what comes after what.

Every message has memory and a signal of its own on the rank that gets it. Its five steps (store, drain, notify; wait,
load) are mixed with those of others; some are left out or change places. A race is a store and a load of one message of
which neither is reached from the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.ir.launch import Peer, RankQuery
from ptokit.run import compile_program
from ptokit.run.arguments import divided
from ptokit.sanitize import sanitize
from ptokit.targets import target

COLUMNS = 8
TILE = f"!pto.tile_buf<vec, 1x{COLUMNS}xf32>"
ROW, ROWS = f"!pto.partition_tensor_view<1x{COLUMNS}xf32>", "!pto.tensor_view<?x?xf32>"
SIGNAL, SIGNALS = "!pto.partition_tensor_view<1x1xi32>", "!pto.tensor_view<?x?xi32>"


@dataclass
class Exchange:
    """Messages (sender, receiver), and the steps (kind, message, rank) in an order in which they can happen."""

    ranks: int
    messages: list[tuple[int, int]]
    steps: list[tuple[str, int, int]] = field(default_factory=list)


def exchange(rng: random.Random) -> Exchange:
    found = Exchange(rng.randint(2, 3), [])
    waiting: list[list[tuple[str, int, int]]] = []
    for m in range(rng.randint(1, 5)):
        sender, receiver = rng.sample(range(found.ranks), 2)
        found.messages.append((sender, receiver))
        out = [("store", m, sender), ("drain", m, sender), ("notify", m, sender)]
        back = [("wait", m, receiver), ("load", m, receiver)]
        if rng.random() < 0.12:
            del out[1]
        elif rng.random() < 0.08:
            out = [out[1], out[2], out[0]]
        if rng.random() < 0.08:
            back.reverse()
        elif rng.random() < 0.08:
            del back[0]
        early = [step for step in back if step[0] == "load" and rng.random() < 0.05]
        waiting.append([*early, *out, *(step for step in back if step not in early)])
    while any(waiting):
        one = rng.choice([steps for steps in waiting if steps])
        found.steps.append(one.pop(0))
    return found


def written(e: Exchange) -> tuple[str, dict[int, tuple[str, int]]]:
    """The kernel, and which step stands in which line."""
    count = len(e.messages)
    params = [f"%x{r}: !pto.ptr<f32>, %s{r}: !pto.ptr<i32>" for r in range(e.ranks)]
    lines = [
        "module {",
        f"func.func @k(%x: !pto.ptr<f32>, %s: !pto.ptr<i32>, {', '.join(params)}, %rank: index) "
        "attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {",
        *(
            f"%c{n} = arith.constant {n} : index"
            for n in sorted({0, 1, COLUMNS, count, *range(count), *range(e.ranks)})
        ),
        "%told = arith.constant 1 : i32",
        "%value = arith.constant 1.0 : f32",
        "%at0 = arith.constant 0 : i64",
        "%at1 = arith.constant 1024 : i64",
        f"%t = pto.alloc_tile addr = %at0 : {TILE}",
        f"%u = pto.alloc_tile addr = %at1 : {TILE}",
        f"pto.texpands ins(%value : f32) outs(%t : {TILE})",
        "pto.barrier <PIPE_ALL>",
    ]
    for r in ("", *map(str, range(e.ranks))):
        lines.append(
            f"%xv{r} = pto.make_tensor_view %x{r}, shape = [%c{count}, %c{COLUMNS}], strides = [%c{COLUMNS}, %c1] "
            f": {ROWS}"
        )
        lines.append(f"%sv{r} = pto.make_tensor_view %s{r}, shape = [%c{count}, %c1], strides = [%c1, %c1] : {SIGNALS}")
    places: dict[int, tuple[str, int]] = {}
    for rank in range(e.ranks):
        lines += [f"%is{rank} = arith.cmpi eq, %rank, %c{rank} : index", f"scf.if %is{rank} {{"]
        for k, (kind, m, where) in enumerate(e.steps):
            if where != rank:
                continue
            to = e.messages[m][1] if kind in ("store", "notify") else ""
            if kind in ("store", "load"):
                lines.append(
                    f"%v{k} = pto.partition_view %xv{to}, offsets = [%c{m}, %c0], sizes = [%c1, %c{COLUMNS}] "
                    f": {ROWS} -> {ROW}"
                )
            elif kind != "drain":
                lines.append(
                    f"%v{k} = pto.partition_view %sv{to}, offsets = [%c{m}, %c0], sizes = [%c1, %c1] "
                    f": {SIGNALS} -> {SIGNAL}"
                )
            lines.append(
                {
                    "store": f"pto.tstore ins(%t : {TILE}) outs(%v{k} : {ROW})",
                    "load": f"pto.tload ins(%v{k} : {ROW}) outs(%u : {TILE})",
                    "drain": "pto.barrier <PIPE_ALL>",
                    "notify": f"pto.comm.tnotify(%v{k}, %told : {SIGNAL}, i32) {{notifyOp = #pto<notify_op set>}}",
                    "wait": f"pto.comm.twait(%v{k}, %told : {SIGNAL}, i32) {{cmp = #pto<wait_cmp ge>}}",
                }[kind]
            )
            places[len(lines)] = kind, m
        lines.append("}")
    return "\n".join([*lines, "return", "}", "}"]), places


def arguments(e: Exchange) -> list[object]:
    count = len(e.messages)
    own = [np.zeros((e.ranks, count, COLUMNS), np.float32), np.zeros((e.ranks, count), np.int32)]
    peers = [Peer(name, r, absolute=True) for r in range(e.ranks) for name in ("x", "s")]
    return [*own, *peers, RankQuery.RANK]


def racing(e: Exchange) -> set[int]:
    """The messages whose store and load nothing orders."""
    after: dict[object, set[object]] = {}

    def edge(a: object, b: object) -> None:
        after.setdefault(a, set()).add(b)

    for rank in range(e.ranks):
        last: object = ("begin", rank)  # what the scalar unit has done
        moving: list[object] = []  # on pipes, by nobody waited for
        for kind, m, where in e.steps:
            if where != rank:
                continue
            if kind in ("store", "load"):
                edge(last, (kind, m))
                moving.append((kind, m))
                continue
            edge(last, (kind, m, rank))
            last = (kind, m, rank)
            if kind == "notify":
                edge(last, ("wait", m, e.messages[m][1]))
                edge(last, ("drained", m, rank))  # by the barrier after the signal
                last = ("drained", m, rank)
            if kind in ("drain", "notify"):
                for one in moving:
                    edge(one, last)
                moving = []

    def reached(start: object) -> set[object]:
        found, left = {start}, [start]
        while left:
            for node in after.get(left.pop(), set()) - found:
                found.add(node)
                left.append(node)
        return found

    return {
        m
        for m in range(len(e.messages))
        if ("load", m) not in reached(("store", m)) and ("store", m) not in reached(("load", m))
    }


def compare(seed: int) -> bool:
    """Whether there were races. Fails where the sanitizer says something else than the graph."""
    e = exchange(random.Random(seed))
    text, places = written(e)
    read = parse_module(text, "k.pto", target=target("a2a3"))
    read.diagnostics.raise_if_errors()
    report = sanitize(read.module, "a2a3", arguments(e), ranks=e.ranks, causes=False)
    found = set()
    for d in report.diagnostics:
        assert d.rule.startswith("RACE-XRANK"), (seed, d)
        lines = {d.location.line, *(note.location.line for note in d.notes)}
        pairs = {m for line in lines if line in places for kind, m in [places[line]] if kind in ("store", "load")}
        assert len(pairs) == 1, (seed, d)
        found |= pairs
    assert found == racing(e), (seed, text)
    program = compile_program(read.module, target("a2a3"))
    runs = []
    for _ in range(2):
        args = arguments(e)
        program.launch_ranks(divided(program.entry, args, e.ranks), 1)
        runs.append(b"".join(a.tobytes() for a in args[:2] if isinstance(a, np.ndarray)))
    assert runs[0] == runs[1]
    return bool(found)


def test_messages_between_ranks() -> None:
    raced = [compare(seed) for seed in range(24)]
    assert 6 <= sum(raced) <= 18


@pytest.mark.campaign
def test_many_messages_between_ranks() -> None:
    raced = [compare(1000 + seed) for seed in range(800)]
    assert 200 <= sum(raced) <= 600
