"""Checks of reserved buffers and asynchronous transfers (assembly 13.10, 14)."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostics, Note
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView, Type, is_memref

from .core import Function, Module, Op
from .facts import Facts
from .survey import Survey, Surveys
from .views import Breach, Breaches

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
            yield Breach("AS-1", f"{name} {wrong}; a transfer takes one packed row of a known size", value=value)
            return
    dst, src = ends["dst"].type, ends["src"].type
    assert isinstance(dst, _FLAT)
    assert isinstance(src, _FLAT)
    if dst.dtype is not src.dtype:
        yield Breach("AS-1", f"dst has element type {dst.dtype}, src {src.dtype}", value=ends["src"])
    elif dst.dims != src.dims:
        yield Breach("AS-1", f"dst is {_shape(dst.dims)}, src {_shape(src.dims)}", value=ends["src"])


def prefetch(op: Op, facts: Facts) -> Breaches:
    """AS-1 of prefetch_async."""
    wrong = _not_flat(op["src"].type)
    if wrong:
        yield Breach("AS-1", f"src {wrong}; a prefetch takes one packed row of a known size", value=op["src"])


_FLAT = (MemRef, TensorView, PartitionView)


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
