"""What watching costs, counted instead of timed; and that shortcuts change nothing."""

from __future__ import annotations

import cProfile
import gc
import pstats
import random
import tracemalloc

import numpy as np
import pytest

from ptokit.diagnostics.render import render
from ptokit.sanitize import observe
from ptokit.sanitize.memory import gm
from ptokit.sanitize.simulation import clocks

from .mini import Mini, output
from .test_model import TILES, draw

LOOP = """
set V MTE2 0
set MTE3 V 0
scf.for %i = %c0 to %n step %c1 {
wait V MTE2 0
load a x
set MTE2 V 0
wait MTE2 V 0
wait MTE3 V 0
adds a b
set V MTE2 0
set V MTE3 0
wait V MTE3 0
store b y
set MTE3 V 0
}
wait V MTE2 0
wait MTE3 V 0
"""


def loop(times: int) -> Mini:
    return Mini(f"%n = arith.constant {times} : index\n{LOOP}")


def calls(times: int) -> int:
    """Calls of functions that a loop of so many iterations takes."""
    program = loop(times)
    assert program.found() == {}
    profile = cProfile.Profile()
    profile.enable()
    program.sanitize()
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_work_grows_with_the_length_of_the_loop_only() -> None:
    short, long, longer = calls(10), calls(50), calls(250)
    per_iteration = (long - short) / 40
    assert (longer - long) / 200 <= 1.02 * per_iteration


def peak(program: Mini) -> int:
    """Most bytes held while a program is watched, beyond what stays."""
    program.sanitize()
    gc.collect()
    tracemalloc.start()
    program.sanitize()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_the_length_of_the_loop() -> None:
    assert peak(loop(600)) - peak(loop(280)) < 60_000  # 320 accesses that nobody forgets take four times as much


def unrolled(times: int) -> Mini:
    """So many tiles, in turn at four places."""
    body = (f"load t{k} x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nstore t{k} y\nbarrier ALL" for k in range(times))
    return Mini("\n".join(body), tiles={f"t{k}": k % 4 * 8192 for k in range(times)})


def test_a_tile_whose_bytes_others_have_taken_costs_little() -> None:
    assert peak(unrolled(80)) - peak(unrolled(40)) < 40 * 60_000  # a number for each byte of the buffer: 180,000


class Unsettled(clocks.Touch):
    """Accesses that never say that nothing has changed."""

    settled = property(lambda self: -1, lambda self, value: None)  # type: ignore[assignment]


class Unfollowed(observe._Known):
    followed = property(lambda self: -1, lambda self, value: None)  # type: ignore[assignment]


class Forgetful(dict):  # type: ignore[type-arg]
    """Holds nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        pass


def varied(rng: random.Random) -> str:
    """A loop with faults of all kinds: windows that overlap, data read before it is written, one block of two only."""
    lines = [line for line in draw(rng) if rng.random() < 0.8]
    start, stop = sorted(rng.sample(range(len(lines)), 2))
    inner = lines[start:stop]
    if rng.random() < 0.5:
        inner = ["first", *inner, "end"]
    return "\n".join([*lines[:start], "for 4", *inner, "end", *lines[stop:]])


@pytest.mark.parametrize("seed", range(12))
def test_shortcuts_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Mini(varied(random.Random(seed)), tiles=TILES)

    def text() -> str:
        report = program.sanitize(blocks=2, order="profile", args={"y": output()})
        return render(report.diagnostics)

    quick = text()
    from ptokit.sanitize.memory import gm

    monkeypatch.setattr(gm, "Touch", Unsettled)
    monkeypatch.setattr(observe, "Touch", Unsettled)
    monkeypatch.setattr(observe, "_Known", Unfollowed)
    watch = observe.CoreObserver.watch

    def forgetful(self: observe.CoreObserver, core: object, buffers: observe.Buffers) -> None:
        watch(self, core, buffers)  # type: ignore[arg-type]
        self._flags = Forgetful()

    monkeypatch.setattr(observe.CoreObserver, "watch", forgetful)
    add = gm.Memory.add

    def never_latest(self: gm.Memory, *args: object, **how: object) -> None:
        add(self, *args, **how)  # type: ignore[arg-type]
        for latest in self._latest.values():
            latest[-1] = NEVER

    monkeypatch.setattr(gm.Memory, "add", never_latest)
    assert text() == quick


class Never:
    """A record that is never before anything."""

    def before(self, clock: object) -> bool:
        return False


NEVER = Never()


def test_the_faults_are_varied() -> None:
    rules = {
        d.rule
        for seed in range(12)
        for d in Mini(varied(random.Random(seed)), tiles=TILES).sanitize(blocks=2, args={"y": output()}).diagnostics
    }
    assert {"RACE-RAW", "RACE-WAR", "RACE-WAW", "UNINIT-READ", "UB-OVERLAP", "RACE-XCORE-WAW"} <= rules


def test_values_do_not_depend_on_it() -> None:
    y = output()
    loop(5).sanitize(args={"x": np.full((16, 32), 3, np.float32), "y": y})
    assert (np.asarray(y) == 4).all()
