"""The discrete-event run against a second model that counts cycle by cycle and shares no code with it."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from ptokit.machine.signals import CoreId
from ptokit.targets import A2A3
from ptokit.targets.base import B1, Figure, Part
from ptokit.timing.engine import run
from ptokit.timing.model import Cost
from ptokit.timing.state import EVERY, PIPES, Issued, Item, LaunchItems, What

# A launch as both models take it: cores are lists of steps.

MTE2, M, V, MTE3 = 1, 3, 4, 6
UNIT = 840
"""Bytes per cycle of L2 and of global memory: multiples of it, shared by up to eight, take whole cycles."""


@dataclass(frozen=True)
class Step:
    """Work on a pipe (cycles, then bytes through memory), a flag set or waited for, a barrier."""

    kind: str
    pipe: int
    cycles: int = 0
    nbytes: int = 0
    place: int = 0
    write: bool = False
    flag: tuple[int, int, int] = (0, 0, 0)
    latency: int = 0  # of the cycles


# The second model. Time advances by one cycle; nothing is predicted.


@dataclass
class Queue:
    steps: list[tuple[Step, int]] = field(default_factory=list)
    free: int = 0  # for the next work
    over: int = 0  # all results are there
    busy: int = 0
    start: int = 0
    fetching: bool = False


@dataclass
class Ticking:
    steps: list[Step]
    at: int = 0
    ready: int = 0
    queues: dict[int, Queue] = field(default_factory=lambda: {p: Queue() for p in range(1, len(PIPES))})
    flags: dict[tuple[int, int, int], int] = field(default_factory=dict)

    setting: list[tuple[int, tuple[int, int, int]]] = field(default_factory=list)  # flags that results will set

    def deliver(self, now: int) -> None:
        for when, flag in self.setting:
            if when <= now:
                self.flags[flag] = self.flags.get(flag, 0) + 1
        self.setting = [(when, flag) for when, flag in self.setting if when > now]

    @property
    def over(self) -> bool:
        return self.at == len(self.steps) and not any(q.steps or q.fetching for q in self.queues.values())


def ticks(cores: list[list[Step]], rate: int) -> tuple[int, list[dict[int, int]]]:
    """The end, and busy cycles of each core by pipe."""
    state = [Ticking(steps) for steps in cores]
    begins: list[tuple[int, int, int, Step]] = []
    through_l2: list[int] = []
    through_gm: list[int] = []
    there: dict[int, int] = {}
    now = end = 0
    while not all(core.over for core in state):
        for begin in sorted(b for b in begins if b[0] == now):
            _, number, pipe, step = begin
            begins.remove(begin)
            queue = state[number].queues[pipe]
            sharing = 1 + sum(e > now for e in through_l2)
            share = min(rate, UNIT / sharing)
            known = step.place in there
            over = now + round(step.nbytes / share)
            if not known:
                share = min(share, UNIT / (1 + sum(e > now for e in through_gm)))
                through_gm.append(now + round(step.nbytes / share))
                over = over if step.write else through_gm[-1]
                there[step.place] = 0 if step.write else over
            elif not step.write:
                over = max(over, there[step.place])
            through_l2.append(over)
            queue.busy += over - max(queue.start, queue.over)
            queue.free, queue.over, queue.fetching = over, over, False
            end = max(end, over)
        moved = True
        while moved:
            moved = False
            for number, core in enumerate(state):
                core.deliver(now)
                moved = _scalar(core, now) or moved
                for pipe, queue in core.queues.items():
                    while queue.steps and not queue.fetching and queue.free <= now and queue.steps[0][1] <= now:
                        step = queue.steps[0][0]
                        if step.kind == "wait" and not core.flags.get(step.flag):
                            break
                        if step.kind == "drain" and queue.over > now:
                            break
                        queue.steps.pop(0)
                        moved = True
                        if step.kind == "wait":
                            core.flags[step.flag] -= 1
                        elif step.kind == "set":
                            core.setting.append((max(now, queue.over), step.flag))
                            core.deliver(now)
                        elif step.kind == "work":
                            queue.start = now
                            if step.nbytes:
                                queue.fetching = True
                                begins.append((now + step.cycles, number, pipe, step))
                            else:
                                end = max(end, now + step.cycles)
                                queue.busy += max(0, now + step.cycles - max(now, queue.over))
                                queue.over = max(queue.over, now + step.cycles)
                                queue.free = now + step.cycles - step.latency
        now += 1
        assert now < 1_000_000
    return end, [{p: q.busy for p, q in core.queues.items()} for core in state]


def _scalar(core: Ticking, now: int) -> bool:
    if core.at == len(core.steps) or core.ready >= now:
        return False
    step = core.steps[core.at]
    if step.kind == "barrier":
        if any(q.steps or q.fetching or max(q.free, q.over) > now for q in core.queues.values()):
            return False
        core.ready = now
    elif step.pipe == 0 and step.kind == "wait":
        if not core.flags.get(step.flag):
            return False
        core.flags[step.flag] -= 1
        core.ready = now
    else:
        core.ready += 1
        core.queues[step.pipe].steps.append((step, core.ready))
    core.at += 1
    return True


# The same for the engine.


def launch_of(cores: list[list[Step]]) -> LaunchItems:
    items: list[Item] = []
    known: dict[Hashable, Item] = {}
    found = LaunchItems(items, [], False)
    words = {"work": What.WORK, "set": What.SET, "wait": What.WAIT, "barrier": What.BARRIER, "drain": What.BARRIER}
    for number, steps in enumerate(cores):
        issued = Issued(CoreId(number, "", number, -1))
        found.cores.append(issued)
        for step in steps:
            key = replace(step, place=0)
            if key not in known:
                what = words[step.kind]
                pipe = EVERY if step.kind == "barrier" else step.pipe
                cost = None
                if what is What.WORK:
                    cost = Cost(PIPES[step.pipe], step.cycles, "device", step.nbytes, RATE, "x", step.write)
                    cost = cost._replace(latency=float(step.latency))
                placed = bool(step.nbytes)
                item = known[key] = Item(what, pipe, step.kind, 1, len(items), cost, step.flag)
                item.memory, item.place = "x" if placed else "", placed
                items.append(item)
            issued.items.append(known[key].number)
            if step.nbytes:
                issued.places.append(step.place)
    return found


RATE = 420


def small_part() -> Part:
    rate, one = Figure(UNIT), Figure(1)
    part = replace(B1, cores=1, l2_bytes=Figure(1 << 40), l2_read=rate, l2_write=rate, l2_both=rate)
    return replace(part, gm=rate, gm_share=one, gm_rows=one, gm_alone=one)


def random_launch(rng: random.Random) -> list[list[Step]]:
    """Cores that load, compute and store with flags between, some with barriers, some that wait in the scalar unit."""
    cores = []
    for _ in range(rng.randint(1, 4)):
        steps: list[Step] = []
        buffers = rng.randint(1, 3)
        pipes = rng.sample([MTE2, 2, M, V, 5, MTE3], rng.randint(2, 5))
        chain = list(pairwise(pipes))
        for b in range(buffers):
            steps += [Step("set", dst, flag=(dst, src, b)) for src, dst in chain]
        for k in range(rng.randint(1, 8)):
            b = k % buffers
            for n, pipe in enumerate(pipes):
                if n:
                    steps.append(Step("wait", pipe, flag=(pipes[n - 1], pipe, b)))
                if n + 1 < len(pipes):
                    steps.append(Step("wait", pipe, flag=(pipes[n + 1], pipe, b)))
                for _ in range(rng.randint(1, 2)):
                    moves = pipe in (MTE2, MTE3) and rng.random() < 0.8
                    nbytes = UNIT * rng.randint(1, 20) if moves else 0
                    place = rng.randrange(3)
                    cycles = rng.randint(1, 40)
                    latency = rng.randint(0, cycles) if pipe == V else 0
                    steps.append(Step("work", pipe, cycles, nbytes, place, pipe == MTE3, latency=latency))
                    if rng.random() < 0.2:
                        steps.append(Step("drain", pipe))
                if n:
                    steps.append(Step("set", pipe, flag=(pipe, pipes[n - 1], b)))
                if n + 1 < len(pipes):
                    steps.append(Step("set", pipe, flag=(pipe, pipes[n + 1], b)))
            if rng.random() < 0.15:
                steps.append(Step("work", MTE2, rng.randint(1, 40), UNIT * rng.randint(1, 20), rng.randrange(3)))
            if rng.random() < 0.15:
                steps.append(Step("barrier", 0))
            if rng.random() < 0.15:
                steps += [Step("set", pipes[0], flag=(pipes[0], 0, 7)), Step("wait", 0, flag=(pipes[0], 0, 7))]
        cores.append(steps)
    return cores


def compare(seed: int) -> None:
    cores = random_launch(random.Random(seed))
    end, busy = ticks(cores, RATE)
    found = run(launch_of(cores), small_part(), A2A3, starts=False)
    assert not found.stuck, seed
    assert max(found.works.end) == pytest.approx(end), seed
    for core, expected in zip(found.cores, busy):
        assert {p: pytest.approx(core.busy[p]) for p in expected} == expected, seed


def test_small_launches_take_as_long_as_cycle_by_cycle() -> None:
    for seed in range(40):
        compare(seed)


@pytest.mark.campaign
def test_many_launches_take_as_long_as_cycle_by_cycle() -> None:
    for seed in range(40, 4000):
        compare(seed)


def test_a_wait_that_nothing_ends_is_told() -> None:
    found = run(launch_of([[Step("wait", V, flag=(MTE2, V, 0)), Step("work", V, 5)]]), small_part(), A2A3)
    assert [(core, item.name) for core, item in found.stuck] == [(0, "wait")]


def test_a_buffer_id_holds_the_next_pipe() -> None:
    """MTE2 has buffer 3 for 100 cycles; V gets it then, though its work was issued before."""
    items = [
        *(Item(What.GET, pipe, "get_buf", 1, n, key=3) for n, pipe in enumerate((MTE2, V))),
        *(Item(What.RELEASE, pipe, "rls_buf", 1, n + 2, key=3) for n, pipe in enumerate((MTE2, V))),
        Item(What.WORK, MTE2, "load", 1, 4, cost=Cost(PIPES[MTE2], 100, "device")),
        Item(What.WORK, V, "add", 1, 5, cost=Cost(PIPES[V], 10, "device")),
    ]
    issued = Issued(CoreId(0, "", 0, -1))
    issued.items.extend([0, 4, 2, 1, 5, 3])
    found = run(LaunchItems(items, [issued], False), small_part(), A2A3, starts=False)
    begun = dict(zip(found.works.item, found.works.start))
    assert begun[4] == 2
    assert begun[5] == 102
