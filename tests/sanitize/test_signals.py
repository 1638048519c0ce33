"""Flags between cores of a cluster, on queues filled by hand: a cube core and its two vector cores."""

from __future__ import annotations

import pytest

from ptokit.ir.core import Op
from ptokit.sanitize.simulation.clocks import Clock
from ptokit.sanitize.simulation.core import AwaitSignal, Core, Signal, Work
from ptokit.sanitize.simulation.queues import Simulation
from ptokit.sanitize.simulation.signals import Hub
from ptokit.targets import target
from ptokit.types.enums import Pipe

OP = Op("pto.test")


class Cluster:
    """Cube core 0, vector cores 1 and 2 of block 0. ``known``: clock at each instruction, by its name."""

    def __init__(self, on: str) -> None:
        profile = target(on)
        self.cores = [Core(0, "cube", 0, 0, profile, profile=False)]
        self.cores += [Core(1 + i, "vector", 0, i, profile, profile=False) for i in range(2)]
        self.known: dict[str, Clock] = {}
        self.overflows = 0
        self.hub = Hub(self.cores, self._overflow)
        self.simulation = Simulation(self.cores, self.hub, self._execute)

    def _overflow(self, core: Core, item: Signal) -> None:
        self.overflows += 1

    def _execute(self, core: Core, work: Work, clock: Clock) -> None:
        self.known[work.name] = clock.copy()

    def work(self, core: int, pipe: Pipe, name: str) -> None:
        self.simulation.push(self.cores[core], Work(OP, name, pipe))

    def signal(self, core: int, pipe: Pipe, event: int, mode: int = 2) -> None:
        self.simulation.push(self.cores[core], Signal(OP, "sync.set", pipe, event=event, mode=mode))

    def wait(self, core: int, pipe: Pipe, event: int) -> None:
        self.simulation.push(self.cores[core], AwaitSignal(OP, "sync.wait", pipe, event=event))

    def after(self, name: str, core: int, component: int) -> bool:
        """True if the instruction knows the first one of a component of another core."""
        return self.known[name].knows(core, component, 1)


V, MTE3, FIX = 1, 5, 6  # components


def test_a_cube_core_signals_both_vector_cores() -> None:
    c = Cluster("a2a3")
    c.wait(2, Pipe.MTE2, 3)
    c.work(2, Pipe.V, "second")
    assert "second" not in c.known
    c.work(0, Pipe.FIX, "product")
    c.signal(0, Pipe.FIX, 3)
    c.wait(1, Pipe.MTE2, 3)
    c.work(1, Pipe.V, "first")
    assert c.after("first", 0, FIX)
    assert c.after("second", 0, FIX)
    assert not c.hub.left({0, 1, 2})


def test_a_cube_core_waits_for_both_vector_cores() -> None:
    c = Cluster("a2a3")
    c.wait(0, Pipe.MTE2, 1)
    c.work(0, Pipe.M, "product")
    c.work(1, Pipe.V, "one")
    c.signal(1, Pipe.V, 1)
    assert "product" not in c.known
    c.work(2, Pipe.V, "two")
    c.signal(2, Pipe.V, 1)
    assert c.after("product", 1, V)
    assert c.after("product", 2, V)


def test_vector_cores_of_a_cluster_meet() -> None:
    c = Cluster("a2a3")
    c.work(1, Pipe.MTE3, "store")
    c.signal(1, Pipe.MTE3, 0, mode=1)
    c.wait(1, Pipe.MTE2, 0)
    c.work(1, Pipe.V, "early")
    assert "early" not in c.known
    c.signal(2, Pipe.MTE3, 0, mode=1)
    c.wait(2, Pipe.MTE2, 0)
    c.work(2, Pipe.V, "late")
    assert "early" in c.known
    assert c.after("late", 1, MTE3)


def test_a5_names_one_vector_core_and_holds_one_pipe() -> None:
    c = Cluster("a5")
    c.work(0, Pipe.FIX, "product")
    c.signal(0, Pipe.FIX, 2 + 16)
    c.wait(1, Pipe.V, 2)
    c.wait(2, Pipe.V, 2)
    c.work(1, Pipe.V, "first")
    c.work(1, Pipe.MTE2, "other pipe")
    c.work(2, Pipe.V, "second")
    assert "first" not in c.known
    assert not c.after("other pipe", 0, FIX)
    assert c.after("second", 0, FIX)


@pytest.mark.parametrize(("sub", "event"), [(1, 4), (2, 20)])
def test_a5_vector_cores_arrive_under_their_own_ids(sub: int, event: int) -> None:
    c = Cluster("a5")
    c.signal(sub, Pipe.MTE3, 4)
    c.wait(0, Pipe.MTE1, 24 - event)
    c.work(0, Pipe.MTE1, "blocked")
    c.wait(0, Pipe.MTE2, event)
    c.work(0, Pipe.MTE2, "goes on")
    assert ("blocked" in c.known, "goes on" in c.known) == (False, True)


def test_counts_are_four_bits() -> None:
    c = Cluster("a2a3")
    for _ in range(15):
        c.signal(0, Pipe.FIX, 0)
    assert c.overflows == 0
    c.signal(0, Pipe.FIX, 0)
    assert c.overflows == 2  # on both vector cores
    assert len(c.hub.left({0, 1, 2})) == 32


def test_a_rendezvous_that_never_comes_about_is_left_over() -> None:
    c = Cluster("a2a3")
    c.signal(1, Pipe.V, 1)
    assert [index for index, _ in c.hub.left({0, 1, 2})] == [1]
    assert c.hub.left({0, 1}) == []  # core 2 may still come
