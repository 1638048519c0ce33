"""What goes wrong on one core is reported whatever happens to another: flags that stay set, deadlocks, faults."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from .mini import Mini

SET, WAIT = "set MTE2 V 0", "wait MTE2 V 1"
ORDER = "wait V S 2\nset V S 2"
FAULT = "%far = arith.constant 100000 : index\n%v = pto.load_scalar %x[%far] : !pto.ptr<f32> -> f32"
ALL = "pto.syncall"
SIGNAL = "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}"
AWAIT = "pto.sync.wait <PIPE_MTE2>, 0"


class Case(NamedTuple):
    """What block 0 and the other blocks do, and the findings: rule → lines, the first of ``first`` being 2."""

    name: str
    first: str
    other: str
    found: dict[str, list[set[int]]]
    blocks: int = 2


CASES = [
    Case("a flag that stays set, beside a deadlock", SET, WAIT, {"DEADLOCK": [{5}], "FLAG-UNMATCHED": [{2}]}),
    Case("the other way round", WAIT, SET, {"DEADLOCK": [{2}], "FLAG-UNMATCHED": [{5}]}),
    Case("beside a wait before its set", SET, ORDER, {"FLAG-ORDER": [{5, 6}], "FLAG-UNMATCHED": [{2}]}),
    Case("beside a fault", SET, FAULT, {"GM-OOB": [{6}], "FLAG-UNMATCHED": [{2}]}),
    Case("a deadlock beside a fault", WAIT, FAULT, {"GM-OOB": [{6}], "DEADLOCK": [{2}]}),
    Case("a deadlock beside a wait before its set", WAIT, ORDER, {"FLAG-ORDER": [{5, 6}], "DEADLOCK": [{2}]}),
    Case("who waits for the faulty block is not at fault", ALL, f"{FAULT}\n{ALL}", {"GM-OOB": [{6}]}),
    Case("nor who waits for the stuck one", ALL, f"{ORDER}\n{ALL}", {"FLAG-ORDER": [{5, 6}]}),
    Case(
        "nor is the flag that the stuck core would have taken",
        f"{SIGNAL}\n{AWAIT}",
        f"{ORDER}\n{SIGNAL}\n{AWAIT}",
        {"FLAG-ORDER": [{6, 7}]},
    ),
    Case("a signal that nobody takes", SIGNAL, f"{SIGNAL}\n{AWAIT}", {"XFLAG-UNMATCHED": [{2}]}),
    Case(
        "a signal that nobody takes, beside a deadlock",
        SIGNAL,
        f"{SIGNAL}\n{AWAIT}\n{WAIT}",
        {"DEADLOCK": [{7}], "XFLAG-UNMATCHED": [{2}]},
    ),
    Case(
        "a flag of a stuck core may have had its wait after",
        f"{SET}\n{WAIT}\nwait MTE2 V 0",
        "fill a",
        {"DEADLOCK": [{3}]},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_core_is_judged_by_itself(case: Case) -> None:
    program = Mini(f"first\n{case.first}\nend\nother\n{case.other}\nend")
    found = program.found(blocks=case.blocks)
    assert {rule: at for rule, at in found.items() if rule != "SY-3"} == case.found
