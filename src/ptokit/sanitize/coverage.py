"""Who places tiles and orders pipes, and so what the sanitizer checks and what it leaves unchecked."""

from __future__ import annotations

from typing import Any

from ptokit.ir.core import Module, Op
from ptokit.ir.facts import instr_of
from ptokit.records import dataclass
from ptokit.types.enums import SECOND_CORE
from ptokit.types.values import Ptr


class LaunchMode:
    """Whether the program places tiles and orders pipes itself (memory-model-and-sync 4).

    ``placed``: it gives tiles addresses. ``by_compiler``: it leaves the order of the pipes of a core to the compiler.
    ``stated``: that was said, not inferred. ``adds_flags``: it was said that the compiler adds them.
    ``between_cores``: it orders cores. ``unsure``: flags between cores that several pipes give or take.
    ``others_may_end``: waits of it may end by other signals than in the order of a launch. ``ranks``: devices of the
    launch, 0 where there is one.
    """

    def __init__(self, module: Module, stated: str | None, vector_cores: int, ranks: int = 0) -> None:
        self.vector_cores, self.ranks = vector_cores, ranks
        ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
        instrs = [instr for op in ops if (instr := instr_of(op)) is not None]
        ordered = any(instr.order.only and not instr.order.between_cores for instr in instrs)
        addressed = any(isinstance(v.type, Ptr) and v.type.space == "ub" for op in ops for v in op.results)
        self.placed = any(op.name == "pto.tassign" or (op.name in ALLOCATIONS and op.get("addr")) for op in ops)
        self.waits_for_work = any(instr.name == "TSYNC" for instr in instrs)
        self.between_cores = any(instr.order.between_cores for instr in instrs)
        self.unsure = _unsure(ops)
        asking = {instr.name for instr in instrs} & {"TWAIT", "TTEST"}
        self.others_may_end = bool(asking or self.unsure)
        self.by_compiler = not self.placed and not addressed and not ordered
        self.stated = stated is not None
        self.adds_flags = stated == "auto-sync"
        if stated is not None:
            self.by_compiler = stated != "manual"
            self.placed = stated == "manual" or (stated == "auto-sync" and self.placed)


_GIVE, _TAKE = (
    frozenset((f"sync.{verb}", *(f"{other}_{place}_block" for place in ("cross", "intra"))))
    for verb, other in (("set", "set"), ("wait", "wait"))
)


def _unsure(ops: list[Op]) -> frozenset[int]:
    """Flags between cores, without the number of a core in them, that several pipes give or several take."""
    found: set[int] = set()
    for names in (_GIVE, _TAKE):
        pipes: dict[int, set[Any]] = {event: set() for event in range(SECOND_CORE)}
        for op in ops:
            instr = instr_of(op)
            if instr is not None and instr.name in names:
                event = op.attrs.get("event_id")
                for one in pipes if event is None else (event % SECOND_CORE,):
                    pipes[one].add(op.attrs.get("pipe"))
        found.update(event for event, several in pipes.items() if len(several) > 1)
    return frozenset(found)


ALLOCATIONS = ("pto.alloc_tile", "pto.alloc_multi_tile")


@dataclass(frozen=True)
class Gap:
    """Something that was not checked. ``accepted``: whoever asked for the run said that this is left to others."""

    what: str
    why: str
    accepted: bool = False

    def __str__(self) -> str:
        return f"{self.what} {'left alone' if self.accepted else 'NOT CHECKED'}: {self.why}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {"what": self.what, "why": self.why, "accepted": self.accepted}


@dataclass(frozen=True)
class Coverage:
    """What a run under observation checked, in words, and what it did not."""

    checked: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def complete(self) -> bool:
        """True if nothing was left unchecked, except what is said to be left to others."""
        return all(gap.accepted for gap in self.gaps)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        out: dict[str, Any] = {"complete": self.complete, "checked": list(self.checked)}
        return {**out, "unchecked": [gap.as_json() for gap in self.gaps]}


NOTHING = Coverage(gaps=(Gap("the run", "the kernel was refused before it"),))
"""Of a kernel that has not run."""

PIPES, RANKS, BLOCKS, CORES, FLAGS, DATA, BOUNDS = (
    "order of pipes",
    "order of ranks",
    "order of blocks",
    "order of cores",
    "flags",
    "data",
    "bounds",
)


def coverage(mode: LaunchMode, *, in_order: bool, explained: bool, complete: bool) -> Coverage:
    """What is checked of a program. ``in_order``: the target completes one instruction after the other. ``explained``:
    the flags that a manual version needs were asked for. ``complete``: every core came to its end."""
    gaps = []
    ranks = [RANKS] if mode.ranks else []
    if mode.by_compiler and not in_order:
        checked = [*ranks, CORES if mode.between_cores else BLOCKS, DATA, BOUNDS]
        why = "the program has no addresses and no flags and leaves it to the compiler (auto mode)"
        why = "the compiler adds the flags (auto-sync mode)" if mode.adds_flags else why
        gaps.append(Gap(PIPES, why, accepted=mode.stated or explained))
    else:
        checked = [PIPES, *ranks, CORES, FLAGS, DATA, BOUNDS]
    if not complete:
        gaps.append(Gap("the rest of the run", "a core did not come to its end"))
    return Coverage(tuple(checked), tuple(gaps))


def listed(words: tuple[str, ...]) -> str:
    """``a, b and c``."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
