"""Flags, barriers, tokens and signals of a program as items of the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ptokit.ir.core import Op
from ptokit.isa.order.sync_rules import BUFFER_IDS, bad_pair, class_pipe, no_flag, out_of_range, reserved
from ptokit.isa.table import Instr
from ptokit.machine.lanes import uniform
from ptokit.types.enums import Pipe

from ..findings.folded import Draft
from ..simulation.events import AwaitSignal, Barrier, GetToken, Item, ReleaseToken, SetFlag, Signal, WaitFlag, WaitWork
from .core import ObservedCore


def synchronise(
    o: ObservedCore, op: Op, instr: Instr, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]
) -> None:
    """A flag, barrier, token or signal."""
    if instr.name == "mem_bar":
        o.scope_order.barrier(attrs["kind"])
    if o.in_order and not instr.order.between_cores:
        if instr.name in ("set_flag_dyn", "wait_flag_dyn"):  # the check knows the ids of others
            _in_range(o, op, instr.name.removesuffix("_dyn"), int(uniform(operands["event"])))
        return
    item = _item(o, op, instr.name, kind, operands, attrs)
    if item is not None:
        o.push(item)
    if isinstance(item, SetFlag | WaitFlag) and operands.get("event") is None:
        o.flags[op] = type(item), item.name, item.pipe, item.key


def _item(
    o: ObservedCore, op: Op, name: str, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]
) -> Item | None:
    event = operands.get("event")
    number = attrs.get("event_id", 0) if event is None else int(uniform(event))
    match name:
        case "set_flag" | "wait_flag" | "set_flag_dyn" | "wait_flag_dyn":
            return _flag(o, op, name.removesuffix("_dyn"), attrs["src_pipe"], attrs["dst_pipe"], number, kind)
        case "record_event" | "wait_event":
            src, dst = class_pipe(attrs["src_op"], kind), class_pipe(attrs["dst_op"], kind)
            flag = "set_flag" if name == "record_event" else "wait_flag"
            return _flag(o, op, flag, src, dst, number, kind)
        case "pipe_barrier":
            return Barrier(op, name, attrs["pipe"])
        case "barrier_sync":
            pipe = class_pipe(attrs["op"], kind)
            return None if pipe is None else Barrier(op, name, pipe)
        case "get_buf" | "rls_buf" | "get_buf_dyn" | "rls_buf_dyn":
            pipe = class_pipe(attrs["op"], kind)
            if pipe is None or pipe is Pipe.ALL:
                return None
            token = int(uniform(operands["buf"])) if "buf" in operands else attrs["id"]
            if not 0 <= token < BUFFER_IDS:
                message = f"{name}: token {token} is outside 0..{BUFFER_IDS - 1}"
                o.report("BUF-PROTOCOL", op, token, partial(Draft, message, op.location))
                return None
            return (GetToken if name.startswith("get_buf") else ReleaseToken)(op, name, pipe, token=token)
        case "sync.set" | "set_cross_block" | "set_intra_block":
            if _no_flag(o, op, name, number):
                return None
            mode = attrs.get("ffts_mode")
            return Signal(op, name, attrs["pipe"], event=number, mode=2 if mode is None else mode)
        case "sync.wait" | "wait_cross_block" | "wait_intra_block":
            if _no_flag(o, op, name, number):
                return None
            return AwaitSignal(op, name, attrs["pipe"], event=number)
        case "TSYNC":
            return WaitWork(op, name, Pipe.S, works=o.producers.of(operands["events"]))
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
