"""Events: what an instruction returns, `Event` objects with flags of their own, and TSYNC, which waits for either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ptokit.diagnostics import DiagnosticError, lookup
from ptokit.ir import Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.order.sync_rules import between_cores, tag_pipe
from ptokit.isa.site import Info, ScalarInfo, Site, TileInfo
from ptokit.targets import Target
from ptokit.types.enums import EVENT_ID_COUNT, SECOND_CORE, Pipe
from ptokit.types.tile import TileSpec

from . import rules
from .rules import refusal
from .tensors import GlobalTensor, Partition
from .tiles import Tile
from .trace import Trace, current


class RecordEvent:
    """Handle of a recorded instruction. `TSYNC` orders what follows after it.

    An event is recorded as the operands that its instruction wrote, because that is what ``pto.tsync`` names. An
    instruction takes events as trailing arguments too: ``TADD(z, x, y, e0, e1)`` waits for them first.
    """

    def __init__(self, name: str, written: Sequence[Value], op: Op | None = None) -> None:
        self.name = name
        self.written = list(written)
        self.op = op

    def wait(self) -> None:
        """Same as ``TSYNC(event)``."""
        TSYNC(self)

    def __repr__(self) -> str:
        return f"<event of {self.name}>"


class _Counters:
    """Event ids in turn for every ordered pair of pipes, per kernel (memory-model-and-sync 5.1)."""

    def __init__(self) -> None:
        self._next: WeakKeyDictionary[Trace, dict[tuple[Pipe, Pipe], int]] = WeakKeyDictionary()

    def take(self, trace: Trace, pair: tuple[Pipe, Pipe]) -> int:
        """The next id of a pair; after seven comes zero."""
        counts = self._next.setdefault(trace, {})
        number = counts.get(pair, 0)
        counts[pair] = (number + 1) % EVENT_ID_COUNT
        return number


_COUNTERS = _Counters()


class Event(RecordEvent):
    """The library's ``Event<SrcOp, DstOp>``: a flag from the pipe of one operation to that of another.

    ``Event("TLOAD", "TADD")`` or ``Event["TLOAD", "TADD"]()``. The event id is the next of eight for the pair of pipes,
    fixed when the object is made; ``event_id`` chooses it. `Record` sets the flag after what the source pipe has been
    given, `Wait` (or `TSYNC`, or the event as a trailing argument) lets the destination pipe wait for it. Between
    operations of one pipe, waiting is a barrier, on a5 for MTE2 and MTE3 only.

    Raises `DiagnosticError`: EVENT-PIPE, EVENT-ORDER, EVENT-XCORE, FLAG-RANGE.
    """

    def __init__(self, src_op: Any, dst_op: Any, event_id: int | None = None) -> None:
        trace = current("Event")
        super().__init__("Event", [])
        self.src_op, self.dst_op = _tag(src_op), _tag(dst_op)
        self.src_pipe, self.dst_pipe = _pipe(self.src_op), _pipe(self.dst_op)
        self.crosses = between_cores(self.src_op, self.dst_pipe, trace.target)
        if self.crosses and event_id is None:
            message = f"an event from {self.src_op} to {self.dst_op} crosses cores and needs an id of its own"
            raise _refused("EVENT-XCORE", message, hint=f'Event("{self.src_op}", "{self.dst_op}", 0)')
        if event_id is not None and not 0 <= event_id < EVENT_ID_COUNT and not self.crosses:
            raise _refused("FLAG-RANGE", f"event id {event_id} is outside 0..{EVENT_ID_COUNT - 1}")
        pair = (self.src_pipe, self.dst_pipe)
        self.event_id = _COUNTERS.take(trace, pair) if event_id is None else event_id
        self.recorded = False

    def __class_getitem__(cls, ops: tuple[Any, Any]) -> Callable[..., Event]:
        return lambda event_id=None: cls(*ops, event_id)

    def Record(self, handle: RecordEvent | None = None) -> Event:
        """Set the flag once the source pipe has done what it was given; ``handle``: the instruction meant."""
        trace = current("Event.Record")
        if handle is not None and handle.op is not None:
            pipe = pipe_of(handle.op, trace.target)
            if pipe is not None and pipe is not self.src_pipe:
                message = f"{handle.name} runs on {pipe.text}, the event records {self.src_op} on {self.src_pipe.text}"
                raise _refused("EVENT-PIPE", message)
        self.recorded = True
        if self.crosses:
            self._signal(trace)
        elif self.src_pipe is not self.dst_pipe and self._has_flag(trace.target):
            trace.emit("pto.set_flag", {}, self._flag())
        return self

    Init = Record

    def Wait(self) -> None:
        """Let the destination pipe wait for the flag."""
        trace = current("Event.Wait")
        if not self.recorded:
            raise _refused("EVENT-ORDER", f"{self!r} is waited for before it is recorded", hint="call Record() first")
        if self.crosses:
            trace.emit("pto.sync.wait", {}, {"pipe": self.dst_pipe, "event_id": self.event_id})
        elif self.src_pipe is self.dst_pipe:
            if _has_barrier(trace.target, self.src_pipe):
                trace.emit("pto.barrier", {}, {"pipe": self.src_pipe})
        elif self._has_flag(trace.target):
            trace.emit("pto.wait_flag", {}, self._flag())
        else:
            trace.emit("pto.barrier", {}, {"pipe": Pipe.ALL})

    def wait(self) -> None:
        """Same as `Wait`."""
        self.Wait()

    def _has_flag(self, target: Target) -> bool:
        """True if the event is a flag; elsewhere all pipes wait where it is waited for."""
        pipes = target.event_pipes
        return pipes is None or {self.src_pipe.name, self.dst_pipe.name} <= pipes

    def _flag(self) -> dict[str, Any]:
        return {"src_pipe": self.src_pipe, "dst_pipe": self.dst_pipe, "event_id": self.event_id}

    def _signal(self, trace: Trace) -> None:
        ids = [self.event_id, self.event_id + SECOND_CORE] if trace.target.flags_name_subcore else [self.event_id]
        for number in ids:
            trace.emit("pto.sync.set", {}, {"pipe": self.src_pipe, "event_id": number, "ffts_mode": 2})

    def __repr__(self) -> str:
        return f"<Event {self.src_op} to {self.dst_op}, id {self.event_id}>"


def pipe_of(op: Op, target: Target) -> Pipe | None:
    """The pipe that executes a recorded instruction."""
    instr = instr_of(op)
    if instr is None:
        return None
    infos: dict[str, Info | None] = {}
    for operand in instr.operands:
        value = op.get(operand.name)
        if value is None:
            infos[operand.name] = None
        elif isinstance(value.type, TileSpec):
            infos[operand.name] = TileInfo.static(value.shown, value.type)
        else:
            infos[operand.name] = ScalarInfo(value.shown, str(value.type))
    return instr.pipe_of(Site(instr, target, infos, op.attrs))


def _tag(op: Any) -> str:
    """An operation tag: a string, or the function of an instruction."""
    return op if isinstance(op, str) else getattr(op, "__name__", repr(op))


def _pipe(tag: str) -> Pipe:
    pipe = tag_pipe(tag)
    if pipe is None:
        hint = "instructions of several pipes have several tags: TSTORE_VEC, TMOV_M2L, …"
        raise _refused("EVENT-PIPE", f"{tag} is no operation with one pipe", hint=hint)
    return pipe


def _refused(rule: str, message: str, *, hint: str | None = None) -> DiagnosticError:
    return refusal(lookup(rule), message, hint=hint)


def TSYNC(*events: Any, op: Any = None) -> None:
    """Wait for the instructions of the given events, or those that wrote the given tiles and views.

    ``TSYNC(op="TLOAD")`` is the library's ``TSYNC<Op>()``: a barrier on the pipe of an operation. Without anything to
    wait for it orders nothing (TSYNC-EMPTY). Raises `DiagnosticError` (LANG-SYNC, TSYNC-A5-01).
    """
    trace = current("TSYNC")
    if op is not None:
        _barrier(trace, op)
        if not events:
            return
    written: dict[Value, None] = {}
    waited = False
    for event in events:
        if isinstance(event, Event):
            event.Wait()
            waited = True
        elif isinstance(event, RecordEvent):
            written.update(dict.fromkeys(event.written))
        elif isinstance(event, Tile | Partition):
            written[event.value] = None
        elif isinstance(event, GlobalTensor):
            written[event.whole().value] = None
        else:
            raise refusal(rules.SYNC, f"TSYNC waits for events, tiles and views, not {event!r}")
    if written or not waited:
        trace.emit("pto.tsync", {"events": list(written)})


def _has_barrier(target: Target, pipe: Pipe) -> bool:
    return target.barrier_pipes is None or pipe.name in target.barrier_pipes


def _barrier(trace: Trace, op: Any) -> None:
    """TSYNC<Op>: some libraries have it for some pipes only, and for all of them together."""
    pipe = Pipe.ALL if op is Pipe.ALL else op if isinstance(op, Pipe) else _pipe(_tag(op))
    if pipe is not Pipe.ALL and not _has_barrier(trace.target, pipe):
        had = ", ".join(f"PIPE_{name}" for name in sorted(trace.target.barrier_pipes or ()))
        message = f"TSYNC<{_tag(op)}> is a barrier on {pipe.text}; {trace.target.name} has it for {had} and PIPE_ALL"
        raise _refused("TSYNC-A5-01", message)
    trace.emit("pto.barrier", {}, {"pipe": pipe})
