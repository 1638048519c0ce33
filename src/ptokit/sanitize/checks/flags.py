"""Flags, barriers, tokens, signals and unit flags: as items of the simulation and in program order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.order.sync_rules import (
    BUFFER_IDS,
    bad_pair,
    flag_pipes,
    held_pipe,
    no_flag,
    out_of_range,
    reserved,
    unit_flag,
)
from ptokit.isa.table import Instr, Sync
from ptokit.machine.lanes import uniform
from ptokit.targets import Target
from ptokit.types.enums import Pipe

from ..findings.insertion import COMPOSITE_PIPES
from ..findings.races import Draft, Findings
from ..findings.source_text import flag_code, flag_text
from ..memory.gm import Memory
from ..simulation.clocks import COMPONENTS, Touch
from ..simulation.core import (
    UNIT,
    AwaitSignal,
    Barrier,
    Core,
    FlagKey,
    GetToken,
    Item,
    ReleaseToken,
    SetFlag,
    Signal,
    Use,
    WaitFlag,
    WaitWork,
    Work,
    units_of,
)
from .core import ObservedCore

# Flags and tokens in program order: what is set twice, never consumed, or not held (memory-model-and-sync 11.7).


def alias_pipes(also: frozenset[str], target: Target) -> frozenset[str]:
    """The source pipes for which FLAG-ALIAS is looked at."""
    every = frozenset(pipe.name for pipe in COMPONENTS)
    return every if "FLAG-ALIAS" in also else target.one_flag_per_id


class ProgramOrder:
    """The flags and tokens of one core, as the scalar unit issues them."""

    def __init__(self, core: Core, findings: Findings, *, alias: frozenset[str] = frozenset()) -> None:
        self.core, self.findings = core, findings
        self._alias = alias  # source pipes
        self._sets: dict[FlagKey, list[SetFlag]] = {}  # not waited for yet
        self._ahead: dict[FlagKey, int] = {}  # waits that stand before their sets
        self._reused: set[FlagKey] = set()
        self._held: dict[tuple[Pipe, int], GetToken] = {}
        self._taken: dict[int, dict[Pipe, GetToken]] = {}  # by token and pipe, the last

    def issue(self, item: Item) -> bool:
        """The next item. False if it breaks the protocol of tokens and is to be ignored."""
        match item:
            case SetFlag():
                self._set(item)
            case WaitFlag():
                waiting = self._sets.get(item.key)
                if waiting:
                    waiting.pop(0)
                else:
                    self._ahead[item.key] = self._ahead.get(item.key, 0) + 1
            case GetToken():
                return self._get(item)
            case ReleaseToken():
                return self._release(item)
            case _:
                pass
        return True

    def _set(self, item: SetFlag) -> None:
        key = item.key
        if self._ahead.get(key):
            self._ahead[key] -= 1
            return
        if key[0].name in self._alias:
            self._aliased(item)
        waiting = self._sets.setdefault(key, [])
        if waiting:
            first = waiting[-1]
            self._reused.add(key)

            def make() -> Draft:
                message = (
                    f"{flag_code('set', key, item.op)} again, before the flag was waited for: one of the sets is lost"
                )
                hint = "use another event id, or wait for the first set before this one"
                return Draft(message, item.op.location, hint, [Note("set here", first.op.location)])

            self.findings.add("FLAG-REUSE", (first.op, item.op, key), self.core, item, make)
        waiting.append(item)

    def _aliased(self, item: SetFlag) -> None:
        """FLAG-ALIAS: the id is set for another destination of the same pipe."""
        for key, waiting in self._sets.items():
            if waiting and key[0] is item.key[0] and key[2] == item.key[2] and key[1] is not item.key[1]:
                make = partial(_alias, item, waiting[-1])
                self.findings.add("FLAG-ALIAS", (waiting[-1].op, item.op), self.core, item, make)

    def hidden(self, item: Item) -> None:
        """A composite instruction uses EVENT_ID0 of the pairs of its pipes itself: they must be clear (2.1)."""
        for key, waiting in self._sets.items():
            if waiting and key[2] == 0 and key[0] in COMPOSITE_PIPES and key[1] in COMPOSITE_PIPES:
                make = partial(_hidden, key, item, waiting[-1])
                self.findings.add("FLAG-REUSE", (waiting[-1].op, item.op, key), self.core, item, make)

    def _get(self, item: GetToken) -> bool:
        holder = self._held.get((item.pipe, item.token))
        if holder is None:
            self._held[item.pipe, item.token] = item
            before = self._taken.setdefault(item.token, {})
            item.after = tuple(before.values())
            before[item.pipe] = item
            return True

        def make() -> Draft:
            message = f"{item.pipe.text} takes token {item.token}, which it already holds"
            return Draft(message, item.op.location, "rls_buf first", [Note("taken here", holder.op.location)])

        self.findings.add("BUF-PROTOCOL", (item.op, item.token), self.core, item, make)
        return False

    def _release(self, item: ReleaseToken) -> bool:
        item.taken = self._held.pop((item.pipe, item.token), None)
        if item.taken is not None:
            return True

        def make() -> Draft:
            message = f"{item.pipe.text} gives back token {item.token}, which it does not hold"
            return Draft(message, item.op.location, "get_buf first, with the same pipe and token")

        self.findings.add("BUF-PROTOCOL", (item.op, item.token), self.core, item, make)
        return False

    def finish(self) -> None:
        """Report what is still set at the end of the kernel."""
        for key, item in self._unmatched():
            self.findings.add("FLAG-UNMATCHED", (item.op, key), self.core, item, partial(_unmatched, key, item))

    def _unmatched(self) -> Iterator[tuple[FlagKey, SetFlag]]:
        for key, waiting in self._sets.items():
            if waiting and key not in self._reused:
                yield key, waiting[-1]


def _alias(item: SetFlag, other: SetFlag) -> Draft:
    flag = flag_code("set", item.key, item.op)
    message = f"{flag} while ({flag_text(other.key, other.op)}), of the same pipe and id, is set"
    return Draft(message, item.op.location, "use another event id", [Note("set here", other.op.location)])


def reuse_race(findings: Findings, core: Core, item: SetFlag, wait: WaitFlag | None) -> None:
    """FLAG-REUSE-RACE: nothing orders the previous wait of a flag before it is set again."""

    def make() -> Draft:
        message = f"{flag_code('set', item.key, item.op)} may happen before the flag has been waited for the last time"
        back = f"{item.key[1].text} before {item.key[0].text}"
        hint = f"order {back} with a flag the other way round, or use two ids in turn"
        notes = [] if wait is None else [Note("the wait is here", wait.op.location)]
        return Draft(message, item.op.location, hint, notes)

    findings.add("FLAG-REUSE-RACE", (item.op, item.key), core, item, make)


def _hidden(key: FlagKey, item: Item, source: SetFlag) -> Draft:
    message = f"{item.name} uses flag ({flag_text(key, item.op)}) itself, while it is set"
    hint = "wait for the flag first, or use another event id"
    return Draft(message, item.op.location, hint, [Note("set here", source.op.location)])


def _unmatched(key: FlagKey, item: SetFlag) -> Draft:
    message = f"{flag_code('set', key, item.op)} is never waited for: the flag is still set when the kernel ends"
    return Draft(message, item.op.location, f"add {flag_code('wait', key, item.op)} at the end, or remove the set")


# Flags, barriers, tokens and signals of a program as items of the simulation.


_FLAGS: dict[Sync | None, str] = {Sync.SET: "set_flag", Sync.WAIT: "wait_flag"}
"""What findings call it."""


def synchronise(
    o: ObservedCore, op: Op, instr: Instr, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]
) -> None:
    """A flag, barrier, token or signal."""
    if instr.order.does is Sync.WITHIN:
        o.scope_order.barrier(attrs["kind"])
    if o.in_order and not instr.order.between_cores:
        if instr.order.does in _FLAGS and operands.get("event") is not None:  # the check knows the ids of others
            _in_range(o, op, _FLAGS[instr.order.does], int(uniform(operands["event"])))
        return
    item = _item(o, op, instr, kind, operands, attrs)
    if item is not None:
        o.push(item)
    if isinstance(item, SetFlag | WaitFlag) and operands.get("event") is None:
        o.flags[op] = type(item), item.name, item.pipe, item.key


def _item(
    o: ObservedCore, op: Op, instr: Instr, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]
) -> Item | None:
    name = instr.name
    event = operands.get("event")
    number = attrs.get("event_id", 0) if event is None else int(uniform(event))
    match instr.order.does:
        case Sync.SET | Sync.WAIT:
            src, dst = flag_pipes(attrs, kind)
            return _flag(o, op, _FLAGS[instr.order.does], src, dst, number, kind)
        case Sync.BARRIER:
            pipe = held_pipe(attrs, kind)
            return None if pipe is None else Barrier(op, name, pipe)
        case Sync.TAKE | Sync.RELEASE:
            pipe = held_pipe(attrs, kind)
            if pipe is None or pipe is Pipe.ALL:
                return None
            token = int(uniform(operands["buf"])) if "buf" in operands else attrs["id"]
            if not 0 <= token < BUFFER_IDS:
                message = f"{name}: token {token} is outside 0..{BUFFER_IDS - 1}"
                o.report("BUF-PROTOCOL", op, token, partial(Draft, message, op.location))
                return None
            return (GetToken if instr.order.does is Sync.TAKE else ReleaseToken)(op, name, pipe, token=token)
        case Sync.WORK:
            return WaitWork(op, name, Pipe.S, works=o.producers.of(operands["events"]))
        case Sync.SIGNAL:
            if _no_flag(o, op, name, number):
                return None
            mode = attrs.get("ffts_mode")
            return Signal(op, name, attrs["pipe"], event=number, mode=2 if mode is None else mode)
        case Sync.AWAIT:
            if _no_flag(o, op, name, number):
                return None
            return AwaitSignal(op, name, attrs["pipe"], event=number)
        case _:
            return None


def _no_flag(o: ObservedCore, op: Op, name: str, number: int) -> bool:
    """True if there is no flag between cores of this id. That, and what is odd about an id, is reported."""
    outside, odd = no_flag(number, o.target), reserved(number, o.target)
    for rule, message in (("XFLAG-RANGE", outside), ("XFLAG-RESERVED", odd)):
        if message is not None:
            o.report(rule, op, number, partial(Draft, f"{name}: {message}", op.location))
    return outside is not None


def _in_range(o: ObservedCore, op: Op, name: str, number: int) -> bool:
    """True if there is a flag of this id; else it is reported."""
    message = out_of_range(number)
    if message is not None:
        o.report("FLAG-RANGE", op, number, partial(Draft, f"{name}: {message}", op.location))
    return message is None


def _flag(
    o: ObservedCore, op: Op, name: str, src: Pipe | None, dst: Pipe | None, number: int, kind: str
) -> Item | None:
    """A set or a wait; one with a wrong id or pipe is reported and ignored."""
    if not _in_range(o, op, name, number):
        return None
    if (message := bad_pair(src, dst, kind)) is not None:
        o.report("FLAG-PIPE", op, number, partial(Draft, f"{name}: {message}", op.location))
        return None
    if src is None or dst is None:
        return None
    if name == "set_flag":
        return SetFlag(op, name, src, key=(src, dst, number))
    return WaitFlag(op, name, dst, key=(src, dst, number))


# Unit flags of the accumulator: which an instruction uses, what it waits for in words, and flags that are left set.


_ACCUMULATOR = "L0C"


def unit_flags(pipe: Pipe, attrs: Mapping[str, Any], touches: list[Touch]) -> Use | None:
    """The unit flags that a product or a drain looks at and changes, if it does."""
    changes = unit_flag(attrs)
    if changes is None:
        return None
    here = [t for t in touches if not isinstance(t.space, Memory) and t.space.name == _ACCUMULATOR]
    units = sorted({unit for touch in here for unit in units_of(touch.where)})
    return Use(tuple(units), until_set=pipe is Pipe.FIX, changes=changes) if units else None


def unit_text(core: Core, work: Work) -> str:
    """What an instruction waits for."""
    unit = core.units.missing(work.use)[0]
    where = f"L0C bytes {unit * UNIT:#x}..{(unit + 1) * UNIT - 1:#x}"
    setter = core.units.setters.get(unit)
    if setter is None:
        return f"the unit flag of {where}, which no product before it has set"
    return f"the unit flag of {where}, set in line {setter.op.location.line}, to be cleared"


def unit_hint(core: Core, work: Work) -> str:
    """How to mend that."""
    if work.use.until_set:
        return "let the last product before it set them: unit_flag(check_and_set), AccPhase.Final"
    return "let the last drain of what is there clear them: unit_flag(check_and_clear), STPhase.Final"


def left_set(core: Core, findings: Findings) -> None:
    """UNIT-FLAG-LEFT: flags that are set when a core has ended."""
    for work in dict.fromkeys(core.units.setters.values()):
        findings.add("UNIT-FLAG-LEFT", work.op, core, work, partial(_left, work))


def _left(work: Work) -> Draft:
    message = f"the unit flags that {work.name} sets are still set when the kernel ends"
    return Draft(message, work.op.location, "let the last drain clear them: unit_flag(check_and_clear), STPhase.Final")
