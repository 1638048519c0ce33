"""Checks of transfers between devices and cores, and of reserved buffers (assembly 13.10, 14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Diagnostics, Doubt, Note, Scope, define
from ptokit.types.enums import SyncAllMode, TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView, Type, is_memref

from .core import Function, Module, Op, Value
from .facts import Facts
from .structure_checks import Survey, Surveys
from .views import Breach, Breaches

# Checks of what passes between devices and cores: transfers, signals, barriers, caches, prefetches.


def _rule(id: str, what: str, function: str, example: str = "", **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "example": example, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "CM-1",
    "Memory of a transfer between devices is a view with dimensions from 1; they are open only in put and get, "
    "and there only in slices. Both ends have one element type, in put and get one shape.",
    "PTO.cpp verifyCommGlobalLike, TPutOp, TGetOp",
    "func.func @k(%d: !pto.partition_tensor_view<16x16xf32>, %s: "
    "!pto.partition_tensor_view<{16x16xf32|16x8xf32}>, %t: !pto.tile_buf<vec, 16x16xf32> ) {\n"
    "  pto.comm.tput(%d, %s, buf(%t) : !pto.partition_tensor_view<16x16xf32>, "
    "!pto.partition_tensor_view<{16x16xf32|16x8xf32}>, !pto.tile_buf<vec, 16x16xf32>) {atomicType = "
    "#pto<atomic_type atomic_none>}\n"
    "  return\n"
    "}",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "CM-2",
    "Tiles of a transfer lie in vec, have the element type of the memory, and are of one type.",
    "PTO.cpp verifyCommStagingTileLike, verifyCommPingPongSameType",
    "func.func @k(%d: !pto.partition_tensor_view<16x16xf32>, %s: !pto.partition_tensor_view<16x16xf32>, %t: "
    "!pto.tile_buf<vec, 16x16xf32> ) {\n"
    "  %u = pto.alloc_tile : !pto.tile_buf<{vec|mat}, 16x16xf32> pto.comm.tput(%d, %s, buf(%t, %u) : "
    "!pto.partition_tensor_view<16x16xf32>, !pto.partition_tensor_view<16x16xf32>, !pto.tile_buf<vec, "
    "16x16xf32>, !pto.tile_buf<{vec|mat}, 16x16xf32>)\n"
    "  return\n"
    "}",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "CM-3",
    "The memory of a group's members has one type, which fits the root's, and the root is one of them.",
    "PTO.cpp verifyCommGlobalGroup, TBroadcastOp, CommTGatherOp, CommTScatterOp, TReduceOp",
    "func.func @k(%d: !pto.partition_tensor_view<16x16xf32>, %s: !pto.partition_tensor_view<16x16xf32>, %t: "
    "!pto.tile_buf<vec, 16x16xf32> ) {\n"
    "  pto.comm.tbroadcast(%d, recv(%t), group(%d, %s) : "
    "!pto.partition_tensor_view<16x16xf32>, !pto.tile_buf<vec, 16x16xf32>, "
    "!pto.partition_tensor_view<16x16xf32>, !pto.partition_tensor_view<16x16xf32>) {root = {1|2}}\n"
    "  return\n"
    "}",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "CM-4",
    "A signal is a view of i32 with stated dimensions; it is set to and compared with an i32.",
    "PTO.cpp verifyCommSignalLike",
    "%o = arith.constant 1 : {i32|i64} pto.comm.tnotify(%n, %o : !pto.tensor_view<1xi32>, {i32|i64}) "
    "{notifyOp = #pto<notify_op set>}",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "SYNCALL-1",
    "A soft syncall has a workspace in global memory of at least 16 i32, and may say how many cores there are, as "
    "an i32; a hard one has neither.",
    "PTO.cpp SyncAllOp",
    "pto.syncall(%p : !pto.ptr<{i32|f32}>) mode = #pto.sync_all_mode<soft>, core_type = #pto.sync_core_type<aiv_only>",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "CMO-1",
    "The cache lines to invalidate are those of global memory.",
    "PTO.cpp CmoCacheInvalidOp",
    "pto.cmo.cacheinvalid %p single_cache_line : !pto.ptr<i32, {gm|vec}>",
    evidence="ptokit",
    on="a2a3",
)

View = TensorView | PartitionView


def _memory(op: Op, name: str, *, open_slices: bool = False) -> Breaches:
    type = op[name].type
    if is_memref(type):
        return
    yield from _dims(name, op[name], open_slices)


def _dims(name: str, value: Value, open_slices: bool, rule: str = "CM-1") -> Breaches:
    type = value.type
    if not isinstance(type, View):
        yield Breach(rule, f"{name} has type {value.shown_type}, which is no view", value=value)
        return
    for size in type.dims:
        if size == DYNAMIC and not (open_slices and isinstance(type, PartitionView)):
            yield Breach(rule, Doubt(f"{name} has an open dimension: {value.shown_type}"), value=value)
            return
        if size != DYNAMIC and size <= 0:
            yield Breach(rule, f"{name} has a dimension of {size}", value=value)
            return


def _tiles(op: Op, memory: str, *names: str) -> Breaches:
    like, first = op[memory].type, op[names[0]]
    for name in names:
        value = op.get(name)
        if value is None or not isinstance(value.type, TileSpec):
            continue
        if value.type.loc is not TileType.Vec:
            yield Breach("CM-2", f"{name} lies in {value.type.loc.text}, not vec", value=value)
        elif isinstance(like, View) and value.type.dtype is not like.dtype:
            yield Breach("CM-2", f"{name} has element type {value.type.dtype}, {memory} {like.dtype}", value=value)
        elif value.type != first.type:
            yield Breach("CM-2", f"{name} is {value.shown_type}, {names[0]} {first.shown_type}", value=value)


def _pair(op: Op, facts: Facts) -> Breaches:
    for name in ("dst", "src"):
        yield from _memory(op, name, open_slices=True)
    dst, src = op["dst"].type, op["src"].type
    if isinstance(dst, View) and isinstance(src, View) and (dst.dtype is not src.dtype or dst.dims != src.dims):
        yield Breach("CM-1", f"dst is {op['dst'].shown_type}, src {op['src'].shown_type}")
    yield from _tiles(op, "src", "ping", "pong")


def _collective(memory: str, *tiles: str) -> Callable[[Op, Facts], Breaches]:
    def check(op: Op, facts: Facts) -> Breaches:
        yield from _memory(op, memory)
        yield from _tiles(op, memory, *tiles)
        members, root = op.group("members"), op.attrs.get("root", 0)
        for k, member in enumerate(members):
            yield from _dims(f"member {k}", member, False)
            if member.type != members[0].type:
                first = members[0].shown_type
                yield Breach("CM-3", f"member {k} has type {member.shown_type}, the first {first}", value=member)
        if isinstance(root, int) and root >= len(members):
            yield Breach("CM-3", f"root {root} of {len(members)}")
        mine, theirs = op[memory].type, members[0].type if members else None
        if isinstance(mine, View) and isinstance(theirs, View):
            same = mine == theirs if op.name == "pto.comm.tbroadcast" else mine.dtype is theirs.dtype
            if not same:
                yield Breach(
                    "CM-3", f"{memory} is {op[memory].shown_type}, the members' memory {members[0].shown_type}"
                )

    return check


def _signal(op: Op, facts: Facts) -> Breaches:
    signal, value = op["signal"], op["value"]
    if not isinstance(signal.type, View):
        return
    yield from _dims("the signal", signal, False, "CM-4")
    if signal.type.dtype.name != "i32":
        yield Breach("CM-4", f"the signal holds {signal.type.dtype}", value=signal)
    if isinstance(value.type, Scalar) and value.type.name not in ("i32", "ui32", "si32"):
        yield Breach("CM-4", f"{value.shown} has type {value.shown_type}", value=value)


_CELLS = 16


def _syncall(op: Op, facts: Facts) -> Breaches:
    mode, workspace, used = op.attrs.get("mode"), op.get("workspace"), op.get("used")
    if mode is SyncAllMode.Hard:
        if workspace is not None or used is not None:
            yield Breach("SYNCALL-1", "a hard syncall takes no operands")
        return
    if mode is not SyncAllMode.Soft:
        return  # an older text, which does not say it
    if workspace is None:
        yield Breach("SYNCALL-1", "a soft syncall without a workspace")
        return
    yield from _cells(workspace)
    if used is not None and isinstance(used.type, Scalar) and used.type.name != "i32":
        yield Breach("SYNCALL-1", f"the number of cores has type {used.shown_type}", value=used)


def _cells(workspace: Value) -> Breaches:
    type = workspace.type
    if not isinstance(type, Ptr | View):
        yield Breach("SYNCALL-1", f"the workspace has type {workspace.shown_type}", value=workspace)
        return
    if isinstance(type, Ptr) and (type.space or "gm") != "gm":
        yield Breach("SYNCALL-1", f"the workspace lies in {type.space}", value=workspace)
    if not type.dtype.is_integer or type.dtype.bits != 32:
        yield Breach("SYNCALL-1", f"the workspace holds {type.dtype}", value=workspace)
    if isinstance(type, Ptr) or DYNAMIC in type.dims:
        return
    count = 1
    for size in type.dims:
        count *= size
    if count < _CELLS:
        yield Breach("SYNCALL-1", f"the workspace has {count} elements, fewer than {_CELLS}", value=workspace)


def _lines(op: Op, facts: Facts) -> Breaches:
    addr = op.get("addr")
    if addr is not None and isinstance(addr.type, Ptr) and (addr.type.space or "gm") != "gm":
        yield Breach("CMO-1", f"{addr.shown} points into {addr.type.space}", value=addr)


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {
    "pto.comm.tput": _pair,
    "pto.comm.tget": _pair,
    "pto.comm.tbroadcast": _collective("src", "ping", "pong"),
    "pto.comm.tgather": _collective("dst", "ping", "pong"),
    "pto.comm.tscatter": _collective("src", "ping", "pong"),
    "pto.comm.treduce": _collective("dst", "ping", "pong", "acc"),
    **dict.fromkeys(("pto.tnotify", "pto.twait", "pto.ttest"), _signal),
    "pto.syncall": _syncall,
    "pto.cmo.cacheinvalid": _lines,
}
"""By operation."""


# Checks of reserved buffers and asynchronous transfers (assembly 13.10, 14).


_RESERVE, _IMPORT = "pto.reserve_buffer", "pto.import_reserved_buffer"
_SESSION_LIMITS = {
    "sync_id": (0, 7),
    "block_bytes": (1, None),
    "comm_block_offset": (0, None),
    "queue_num": (1, None),
    "channel_group_idx": (0, 2**32 - 1),
}


def check_buffers(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Report RB-1, RB-2 and PM-1."""
    for survey in surveys.values():
        reserved, imported = survey.named(_RESERVE), survey.named(_IMPORT)
        for op in reserved:
            for message in _wrong_reserve(op):
                found.error("RB-1", message, op.location)
        for rule, group in (("RB-1", reserved), ("RB-2", imported)):
            first: dict[tuple[object, object], Op] = {}
            for op in group:
                other = first.setdefault((op.attrs.get("name"), op.attrs.get("peer_func")), op)
                if other is not op:
                    message = f"a second {op.name.removeprefix('pto.')} of this name in one function"
                    found.error(rule, message, op.location, notes=[Note("the first", other.location)])
        for op in imported:
            _peer(module, surveys, op, found)
        _planned(survey, reserved, found)


def _wrong_reserve(op: Op) -> list[str]:
    size, base, location = op.attrs.get("size", 0), op.attrs.get("base"), op.attrs.get("location")
    out = []
    if size <= 0:
        out.append(f"size is {size}")
    if location not in ("vec", "mat"):
        out.append(f"location is {location}, not vec or mat")
    if op.attrs.get("auto") is False and base is None:
        out.append("base is missing; auto = false leaves the place to the program")
    if base is not None and base < 0:
        out.append(f"base is {base}")
    return out


def _peer(module: Module, surveys: Surveys, op: Op, found: Diagnostics) -> None:
    name, peer = op.attrs.get("name"), str(op.attrs.get("peer_func", "")).removeprefix("@")
    function = _reachable(module, surveys, op, peer)
    if function is None:
        found.error("RB-2", f"there is no function @{peer}, or more than one that other modules see", op.location)
    elif function.body is None or not any(o.attrs.get("name") == name for o in surveys[function].named(_RESERVE)):
        note = Note(f"@{peer}", function.location)
        found.error("RB-2", f'@{peer} reserves no buffer "{name}"', op.location, notes=[note])


def _reachable(module: Module, surveys: Surveys, op: Op, name: str) -> Function | None:
    """The function of this name in the module that `op` stands in, else the only public one in the others."""
    own = next((f.part for f, survey in surveys.items() if op in survey.named(op.name)), None)
    named = [f for f in module.functions if f.name == name]
    here = [f for f in named if f.part is own]
    seen = here[:1] or [f for f in named if f.visibility != "private"]
    return seen[0] if len(seen) == 1 else None


def _planned(survey: Survey, reserved: list[Op], found: Diagnostics) -> None:
    """PM-1: something for the assembler to place beside a buffer that the program has placed."""
    fixed = next((op for op in reserved if op.attrs.get("auto") is False), None)
    if fixed is None:
        return
    for op in survey.ops:
        if op.name == "memref.alloc" or (op.name == "pto.alloc_tile" and op.get("addr") is None):
            found.error(
                "PM-1",
                f"the buffer is placed by the program (auto = false), but {op.result.shown} by the assembler",
                fixed.location,
                hint="place all tiles, or write auto = true",
                notes=[Note(f"{op.result.shown} has no address", op.location)],
            )
            return


# ---------------------------------------------------------------------------------------- asynchronous transfers


def session(op: Op, facts: Facts) -> Breaches:
    """AS-1 of build_async_session."""
    scratch, workspace = op["scratch"], op["workspace"]
    if isinstance(scratch.type, TileSpec):
        if scratch.type.loc is not TileType.Vec:
            yield Breach("AS-1", f"scratch lies in {scratch.type.loc.text}, not vec", value=scratch)
        elif scratch.type.nbytes < 8:
            yield Breach("AS-1", f"scratch has {scratch.type.nbytes} bytes, fewer than 8", value=scratch)
    elif not is_memref(scratch.type):
        yield Breach("AS-1", f"scratch has type {scratch.shown_type}, which is no tile", value=scratch)
    element = workspace.type.dtype if isinstance(workspace.type, Ptr | MemRef) else None
    if element is None or element.bits != 8 or not element.is_integer:
        yield Breach(
            "AS-1", f"the workspace has type {workspace.shown_type}, not bytes in global memory", value=workspace
        )
    for name, (low, high) in _SESSION_LIMITS.items():
        number = op.attrs.get(name)
        if isinstance(number, int) and (number < low or (high is not None and number > high)):
            limit = f"at least {low}" if high is None else f"{low}..{high}"
            yield Breach("AS-1", f"{name} is {number}, not {limit}")


def transfer(op: Op, facts: Facts) -> Breaches:
    """AS-1 of tput_async and tget_async."""
    ends = {name: op[name] for name in ("dst", "src")}
    for name, value in ends.items():
        wrong = _not_flat(value.type)
        if wrong:
            told = f"{name} {wrong}; a transfer takes one packed row of a known size"
            yield Breach("AS-1", told, value=value, of_text=_open(value.type))
            return
    dst, src = ends["dst"].type, ends["src"].type
    assert isinstance(dst, _FLAT)
    assert isinstance(src, _FLAT)
    if dst.dtype is not src.dtype:
        yield Breach("AS-1", f"dst has element type {dst.dtype}, src {src.dtype}", value=ends["src"])
    elif dst.dims != src.dims:
        told = f"dst is {_shape(dst.dims)}, src {_shape(src.dims)}"
        yield Breach("AS-1", told, value=ends["src"], of_text=_open(dst) or _open(src))


def prefetch(op: Op, facts: Facts) -> Breaches:
    """AS-1 of prefetch_async."""
    wrong = _not_flat(op["src"].type)
    if wrong:
        told = f"src {wrong}; a prefetch takes one packed row of a known size"
        yield Breach("AS-1", told, value=op["src"], of_text=_open(op["src"].type))


_FLAT = (MemRef, TensorView, PartitionView)


def _open(type: Type) -> bool:
    return isinstance(type, _FLAT) and DYNAMIC in type.dims


def _not_flat(type: Type) -> str | None:
    """What is wrong with the operand of a transfer."""
    if not isinstance(type, _FLAT):
        return f"has type {type}, which is not in global memory"
    if not type.dims or DYNAMIC in type.dims:
        return f"has type {type}, whose size is not known"
    if isinstance(type, MemRef):
        strides = type.strides_of(type.dims)
        if DYNAMIC in (*strides, type.offset):
            return None
        if strides != MemRef(type.dims, type.dtype).strides_of(type.dims):
            return f"has strides {_shape(strides)}"
    return f"is {_shape(type.dims)}" if any(n != 1 for n in type.dims[:-1]) else None


def _shape(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims))


TRANSFERS = {
    "pto.build_async_session": session,
    "pto.tput_async": transfer,
    "pto.tget_async": transfer,
    "pto.prefetch_async": prefetch,
}
