"""What families of instructions have in common beside what they compute: order, and the hardware they run on."""

from __future__ import annotations

from enum import Enum

from ptokit.records import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """What an instruction orders, and what it waits for."""

    only: bool = False  # it states an order between pipes, cores or instructions, and does nothing else
    between_cores: bool = False  # it orders cores, not the pipes of one
    waits: bool = False  # for another core: ``run`` returns a function that gives the result once the wait is over
    by_compiler: bool = False  # in Auto mode the compiler issues it, and a program must not


UNORDERED = Order()
ORDERING = Order(only=True)
BETWEEN_CORES = Order(between_cores=True)
WAITING = Order(between_cores=True, waits=True)


class Engine(Enum):
    """What carries out an instruction that is more than one operation of its pipe."""

    SEVERAL_PIPES = "several pipes, with EVENT_ID0 between them"
    SIMT = "the SIMT unit, which needs bytes of the unified buffer"
