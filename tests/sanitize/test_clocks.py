"""What is known of many cores, against dictionaries; and that knowing costs what differs, counted instead of timed."""

from __future__ import annotations

import cProfile
import pstats
import random

import numpy as np
import pytest

from ptokit.sanitize.simulation.clocks import WIDTH, Clock

from .mini import Mini
from .test_cross_core import ALL, TYPES


class Known:
    """A clock as a dictionary of all cores."""

    def __init__(self, core: int, parts: dict[int, tuple[int, ...]] | None = None) -> None:
        self.core, self.parts = core, parts or {core: (0,) * WIDTH}

    def join(self, other: Known) -> None:
        for core, part in other.parts.items():
            self.parts[core] = tuple(map(max, self.parts.get(core, part), part))


def test_random_clocks_know_what_dictionaries_know() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        cores = [*rng.sample(range(rng.choice([3, 20, 300, 5000])), 3), 0, 15, 16]
        pairs = [(Clock(core), Known(core)) for core in dict.fromkeys(cores)]
        for _ in range(150):
            clock, known = rng.choice(pairs)
            match rng.randrange(3):
                case 0:
                    at = rng.randrange(WIDTH)
                    clock.own[at] += 1
                    known.parts[known.core] = tuple(clock.own)
                case 1:
                    other, told = rng.choice(pairs)
                    clock.join(other)
                    known.join(told)
                case _:
                    pairs[rng.randrange(len(pairs))] = clock.copy(), Known(known.core, dict(known.parts))
            assert {clock.core: tuple(clock.own), **dict(clock.far.items())} == known.parts
            core = rng.choice(cores)
            part = known.parts.get(core, (0,) * WIDTH)
            at = rng.randrange(WIDTH)
            assert clock.knows(core, at, part[at])
            assert not clock.knows(core, at, part[at] + 1)


SLOTS = """
%far = arith.constant 4096 : index
%next = arith.addi %block, %c1 : index
%s_v = pto.make_tensor_view %sig, shape = [%c1, %far], strides = [%far, %c1] : !pto.tensor_view<?x?xi32>
%s = pto.partition_view %s_v, offsets = [%c0, %block], sizes = [%c1, %c1] : !pto.tensor_view<?x?xi32> -> \
!pto.partition_tensor_view<1x1xi32>
%t = pto.partition_view %s_v, offsets = [%c0, %next], sizes = [%c1, %c1] : !pto.tensor_view<?x?xi32> -> \
!pto.partition_tensor_view<1x1xi32>
%n1 = arith.constant 1 : i32
"""
CHAIN = f"""{SLOTS}other
pto.twait(%s, %n1 {TYPES})
end
load a x
set MTE2 MTE3 0
wait MTE2 MTE3 0
store a x
barrier ALL
pto.tnotify(%t, %n1 {TYPES})
"""
MEETINGS = f"{SLOTS}pto.tnotify(%s, %n1 {TYPES})\n{ALL}\npto.tnotify(%s, %n1 {TYPES})\n{ALL}\n{ALL}"

ROUND = "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\npto.sync.wait <PIPE_MTE3>, 0"
RENDEZVOUS = f"{SLOTS}load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\n{ROUND}\n{ROUND}"


def calls(program: Mini, blocks: int) -> int:
    """Calls of functions that a launch takes."""
    profile = cProfile.Profile()
    profile.enable()
    assert program.sanitize(blocks=blocks, args={"sig": np.zeros(4097, np.int32)}).clean
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("body", [CHAIN, MEETINGS, RENDEZVOUS])
def test_chains_of_signals_and_meetings_cost_the_same_for_each_block(body: str) -> None:
    program = Mini(body, params="%sig: !pto.ptr<i32>")
    calls(program, 2)
    few, some, many = (calls(program, blocks) for blocks in (64, 128, 256))
    assert many - some < 2.3 * (some - few)
