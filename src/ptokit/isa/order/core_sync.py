"""Order between cores beyond flags: SYNCALL, signals, the scalar unit's cache (memory-model-and-sync 5, 6).

The assembler has no text for these; the words here are ptokit's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, family
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import CmpMode, NotifyOp, Pipe, SyncAllMode, SyncCoreType

from ..machine import Machine, ViewOperand
from ..meaning.words import Ordering
from ..numerics.arith import element
from ..table import (
    BETWEEN_CORES,
    ORDERING,
    WAITING,
    Attr,
    Instr,
    Kind,
    Operand,
    Role,
    Sync,
    grammar,
    instruction,
    ptr,
    scalar,
    view,
)

# What a core that waits for others, or asks for them, is told: whether it is over, and what for in words.


@dataclass(frozen=True)
class Waiting:
    """A wait: called, whether it is over. ``reason``: what it is for, in words."""

    over: Callable[[], Any]
    reason: Callable[[], str]

    def __call__(self) -> Any:
        return self.over()

    @property
    def why(self) -> str:
        """What the wait is for, in words."""
        return self.reason()


@dataclass(frozen=True)
class Asked(Waiting):
    """A question: called, its answer. A core that is told no lets the others go on, asks again, and goes on itself."""


# Order between cores beyond flags: SYNCALL, signals in global memory, the scalar unit's cache (memory-model-and-sync
# 5.5, 6.2; compute-layout-irregular 4).


rule = family("compute-layout-irregular 4")

CORE_KINDS = {SyncCoreType.AIVOnly: "vector", SyncCoreType.AICOnly: "cube", SyncCoreType.Mix: ""}
"""Kind of the cores that a SYNCALL joins; "" means all."""

COMPARE: dict[CmpMode, Callable[[Any, Any], Any]] = {
    CmpMode.EQ: np.equal,
    CmpMode.NE: np.not_equal,
    CmpMode.LT: np.less,
    CmpMode.GT: np.greater,
    CmpMode.GE: np.greater_equal,
    CmpMode.LE: np.less_equal,
}

_SIGNS = dict(zip((CmpMode.EQ, CmpMode.NE, CmpMode.LT, CmpMode.GT, CmpMode.GE, CmpMode.LE), "== != < > >= <=".split()))


SYS_04 = rule(
    "SYS-04",
    """
        with vector_section():
            SYNCALL(SyncAllMode.Hard, core_type=SyncCoreType.{AIVOnly|AICOnly})
    """,
    scope=Scope.SYNC,
)(
    """
    SYNCALL inside a section, or a function of one kernel kind, joins cores of that kind.

    The core arrives at a meeting that nobody of its kind is expected at.
    """,
    "joined = o.attrs.get('core_type', SyncCoreType.Mix)",
    "CORE_KINDS[joined] in ('', core) if core",
    "{joined.name} joins {CORE_KINDS[joined]} cores, and a {core} core runs it",
)


def syncall(
    m: Machine, workspace: Any, used: Any, *, mode: SyncAllMode | None = None, core_type: SyncCoreType
) -> Callable[[], bool]:
    """True once every core of the type has arrived as often as this one."""
    return m.rendezvous(CORE_KINDS[core_type], 0 if used is None else int(used))


SYNCALL = instruction(
    Instr(
        "SYNCALL",
        "syncall",
        "Wait until every core of a type has arrived; all pipes are drained first.",
        (Operand("workspace", Role.IN, ptr().kind, optional=True), scalar("used", optional=True, type="i32")),
        (
            Attr("mode", SyncAllMode, None, "mode", "sync_all_mode", dotted=True),
            Attr(
                "core_type",
                SyncCoreType,
                SyncCoreType.Mix,
                "core_type",
                "sync_core_type",
                dotted=True,
                older="coreType",
            ),
        ),
        pipe=Pipe.S,
        rules=(SYS_04,),
        meaning=Ordering(syncall),
        order=replace(WAITING, does=Sync.MEET),
        form=grammar(
            "<? ~( <? %workspace <? , %used ?> : T(workspace) <? T?(used) ?> ?> ) ?> "
            "<? mode = A!(mode) , core_type = A!(core_type) ?> {}"
        ),
        source="memory-model-and-sync 5.5; compute-layout-irregular 4",
        cpp="SYNCALL<!core_type>()",
    )
)


def elements(signal: ViewOperand) -> np.ndarray:
    """Offsets of the signals of a tensor from its first, (1, 1, n)."""
    where = np.zeros(1, np.int64)
    for size, step in zip(signal.shape, signal.stride):
        where = (where[:, None] + np.arange(size) * step).reshape(-1)
    return where[None, None]


def signal_values(signal: ViewOperand) -> np.ndarray:
    """What the signals of a tensor are now, (blocks, 1, n)."""
    signal.check_bounds()
    return signal.gather(elements(signal), _describe)


def _describe(block: int, row: int, col: int) -> str:
    return f"signal {col}"


def _replace(memory: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    memory[where] = values


def tnotify(m: Machine, signal: ViewOperand, value: Any, *, op: NotifyOp) -> None:
    """Set every signal to the value, or add it."""
    signal.check_bounds()
    signal.begin_store(whole=False)
    put = _replace if op is NotifyOp.Set else np.add.at
    where = elements(signal)
    values = np.broadcast_to(element(DTYPES["i32"], value), (max(1, np.size(value)), 1, where.shape[2]))
    signal.scatter(where, values, put, m.blocks, _describe)


def twait(m: Machine, signal: ViewOperand, value: Any, *, cmp: CmpMode) -> Waiting:
    """True once every signal compares as asked."""
    return Waiting(partial(_compares, signal, value, cmp), partial(_expected, signal, value, cmp))


def ttest(m: Machine, signal: ViewOperand, value: Any, *, cmp: CmpMode) -> Asked:
    """True if every signal compares as asked now."""
    return Asked(partial(_compares, signal, value, cmp), partial(_expected, signal, value, cmp))


def _compares(signal: ViewOperand, value: Any, cmp: CmpMode) -> bool:
    return bool(COMPARE[cmp](signal_values(signal), value).all())


def _expected(signal: ViewOperand, value: Any, cmp: CmpMode) -> str:
    """``element 3 of %flags to be >= 2; it is 1``: of several signals the first that does not compare."""
    values = signal_values(signal)
    wrong = np.flatnonzero(~COMPARE[cmp](values, value).reshape(-1))
    at = int(wrong[0]) if wrong.size else 0
    wanted = int(np.asarray(value).reshape(-1)[0])
    where = signal.element_text(int(elements(signal).reshape(-1)[at]))
    return f"{where} to be {_SIGNS[cmp]} {wanted}; it is {int(values.reshape(-1)[at])}"


SIGNAL = rule(
    "SIGNAL-01",
    "x: Ptr[{i32|f32}]; TTEST(GlobalTensor(x, (1, 1)), 1)",
    source="memory-model-and-sync 5.5",
    evidence="static_assert",
)(
    "Signals in global memory are of type i32.",
    "o.views[0].dtype.name == 'i32'",
    "the signal has element type {o.views[0].dtype}",
)


_CMP = (Attr("cmp", CmpMode, CmpMode.EQ, "cmp", "wait_cmp", older="cmpMode"),)


_SIGNAL = "~( %signal , %value : T(signal) , T(value) ) {}"


def _signal(name: str, summary: str, role: Role, run: Callable[..., Any], result: str = "", **more: Any) -> Instr:
    newest = f"comm.{name.lower()}"
    forms = _SIGNAL, "%signal , %value {} : ( T(signal) , T(value) )", _SIGNAL
    source = "memory-model-and-sync 5.5"
    operands = (view("signal", role), scalar("value", type="i32"))
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            operands,
            pipe=Pipe.S,
            rules=(SIGNAL,),
            meaning=Ordering(run),
            form=grammar(*(form + result for form in forms), spellings=(newest,), newest=newest),
            source=source,
            **more,
        )
    )


TNOTIFY = _signal(
    "TNOTIFY",
    "Set signals in global memory, or add to them; all pipes are drained afterwards, none before.",
    Role.OUT,
    tnotify,
    attrs=(Attr("op", NotifyOp, NotifyOp.Set, "notifyOp", "notify_op"),),
    order=replace(BETWEEN_CORES, does=Sync.TELL),
    cpp="comm::TNOTIFY(signal, value, op)",
)
TWAIT = _signal(
    "TWAIT",
    "Wait until every signal compares with a value as asked.",
    Role.IN,
    twait,
    attrs=_CMP,
    order=replace(WAITING, does=Sync.HEAR),
    cpp="comm::TWAIT(signal, value, cmp:WaitCmp)",
)
TTEST = _signal(
    "TTEST",
    "Ask whether every signal compares with a value as asked; gives an i1.",
    Role.IN,
    ttest,
    attrs=_CMP,
    order=WAITING,
    produces=(Operand("seen", Role.OUT, Kind.SCALAR, type="i1"),),
    result=" -> R",
    cpp="",
)


_SEEN = replace(BETWEEN_CORES, does=Sync.SEEN)


DCCI = instruction(
    Instr(
        "dcci",
        "dcci",
        "Clean and invalidate the scalar unit's cache: the 64-byte line a pointer is in, or all of it.",
        (Operand("ptr", Role.IN, ptr().kind, optional=True),),
        (
            Attr("cache", str, "SINGLE_CACHE_LINE", "cache", words=("SINGLE_CACHE_LINE", "ENTIRE_DATA_CACHE")),
            Attr(
                "where",
                str,
                None,
                "dst",
                words=tuple(f"CACHELINE_{w}" for w in ("ALL", "UB", "OUT", "ATOMIC")),
                optional=True,
            ),
        ),
        pipe=Pipe.S,
        meaning=Ordering(),
        order=_SEEN,
        form=grammar("%ptr N(cache) <? , N(where) ?> {} : T(ptr)", "<? ~( %ptr : T(ptr) ) ?> {}"),
        source="memory-model-and-sync 6.2",
    )
)
CMO_CACHEINVALID = instruction(
    Instr(
        "cmo.cacheinvalid",
        "cmo.cacheinvalid",
        "Invalidate the scalar unit's cache: the 64-byte line that an address is in, or all of it.",
        (Operand("addr", Role.IN, ptr().kind, optional=True),),
        attrs=(Attr("space", str, None, "space", "address_space", dotted=True),),
        pipe=Pipe.S,
        meaning=Ordering(),
        order=_SEEN,
        form=grammar("%addr single_cache_line : T(addr) {}", "all A!(space) {}"),
        source="PTOAS 2026-08 PTOOps.td",
    )
)
FENCE_BARRIER_ALL = instruction(
    Instr(
        "fence.barrier_all",
        "fence.barrier_all",
        "Wait until all earlier accesses to a memory are seen by all: of this core, global memory, or both.",
        attrs=(Attr("scope", str, None, "scope", "fence_scope", dotted=True),),
        pipe=Pipe.ALL,
        meaning=Ordering(),
        order=replace(ORDERING, between_cores=True, does=Sync.SEEN),
        form=grammar("A!(scope) {}"),
        source="PTOAS 2026-08 PTOOps.td",
    )
)
DSB = instruction(
    Instr(
        "dsb",
        "dsb",
        "Wait until what the scalar unit has written is in memory.",
        (),
        (Attr("memory", str, None, "mem", words=("ALL", "DDR", "UB", "SEQ"), optional=True),),
        pipe=Pipe.S,
        meaning=Ordering(),
        order=_SEEN,
        form=grammar("<? N(memory) ?> {}"),
        source="memory-model-and-sync 6.2",
    )
)
