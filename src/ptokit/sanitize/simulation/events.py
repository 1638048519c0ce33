"""What a core's scalar unit issues, in program order, as the order of pipes sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from .clocks import Clock

if TYPE_CHECKING:
    from ..memory.footprints import Touch
    from .givers import Source

Loops = tuple[tuple[str, Any], ...]
FlagKey = tuple[Pipe, Pipe, int]


OWN_FLAG = -1
"""Event id of the flags that instructions have inside; no program has it."""


@dataclass(slots=True, eq=False)
class Item:
    """One entry of a pipe's queue, or of the scalar unit's stream. ``pipe`` is the pipe that it holds up.

    ``seq`` counts in program order of the core; ``issue`` is what the scalar unit knew when it issued the item.
    """

    op: Op
    name: str
    pipe: Pipe
    loops: Loops = ()
    seq: int = 0
    issue: Clock | None = None


@dataclass(slots=True, eq=False)
class Work(Item):
    """An instruction that reads and writes memory."""

    touches: list[Touch] = field(default_factory=list)
    keep: bool = False  # somebody may wait for this very instruction
    done: Clock | None = None  # what is known when it has completed, if `keep`
    action: Callable[[], None] | None = None  # carries it out, where that may wait
    wakes: set[int] = field(default_factory=set)  # cores that wait for it
    clean: Any = None  # dcci: (memory or None for all, byte)
    use: Any = None  # of unit flags: see `units.Use`
    flow: Any = None  # what it makes of registers that may hold what nothing has written: see `registers.Flow`


@dataclass(slots=True, eq=False)
class Submit(Item):
    """The engine of a session gets a transfer to carry out."""

    session: Any = None
    work: Work | None = None


@dataclass(slots=True, eq=False)
class SetFlag(Item):
    """set_flag; ``pipe`` is the source."""

    key: FlagKey = (Pipe.S, Pipe.V, 0)


@dataclass(slots=True, eq=False)
class WaitFlag(Item):
    """wait_flag; ``pipe`` is the destination. ``source``: the set that ended it."""

    key: FlagKey = (Pipe.S, Pipe.V, 0)
    source: SetFlag | None = None


@dataclass(slots=True, eq=False)
class Barrier(Item):
    """pipe_barrier; PIPE_ALL holds up the scalar unit."""


@dataclass(slots=True, eq=False)
class WaitWork(Item):
    """The scalar unit waits for instructions (TSYNC of what they wrote, TWAIT of notifications); None: of which is not
    known yet, because the signals do not have the value that ``reason`` tells."""

    works: tuple[Work, ...] | None = ()
    reason: Callable[[], str] | None = None  # what for, in words
    sources: list[Source] = field(default_factory=list)  # of signals that others may give, too


@dataclass(slots=True, eq=False)
class Meet(Item):
    """SYNCALL: kind of the cores that meet and how many of them; ``times``: which of their meetings it is."""

    key: tuple[str, int] = ("", 0)
    times: int = 0


@dataclass(slots=True, eq=False)
class GetToken(Item):
    """get_buf. It waits until everything in `after`, the gets of its token before it in the program, is released."""

    token: int = 0
    after: tuple[GetToken, ...] = ()
    released: Clock | None = None  # what is known once the token is given back


@dataclass(slots=True, eq=False)
class ReleaseToken(Item):
    """rls_buf: gives back what `taken` took."""

    token: int = 0
    taken: GetToken | None = None


@dataclass(slots=True, eq=False)
class Signal(Item):
    """sync.set: a flag between cores."""

    event: int = 0
    mode: int = 2


@dataclass(slots=True, eq=False)
class AwaitSignal(Item):
    """sync.wait. On a2a3 it holds up the scalar unit, on a5 one pipe."""

    event: int = 0
