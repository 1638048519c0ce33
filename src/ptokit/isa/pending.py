"""Operations that text can hold and no part of ptokit executes yet: they are read, carried and printed.

Here: arrays of event ids (assembly 8) and lowered forms of tiles (assembly 7.1).
"""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Pipe

from .table import Attr, Instr, Kind, Operand, Role, instruction, scalar, scalars, src, view


def pending(text: str, summary: str, *operands: Operand, attrs: tuple[Attr, ...] = (), **more: Any) -> Instr:
    """Put such an operation into the table."""
    more.setdefault("source", "assembly 8, 9")
    return instruction(Instr(text, text, summary, operands, attrs, implemented=False, **{"pipe": Pipe.S, **more}))


def number(name: str, default: int | None = None) -> Attr:
    """An attribute that is an integer."""
    return Attr(name, int, default, name)


def flag(name: str) -> Attr:
    """An attribute that is true or false."""
    return Attr(name, bool, None, name)


def handle(name: str, *, optional: bool = False) -> Operand:
    """A value whose type ptokit only carries: a pipe, a session, an array of events."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, or_ptr=True)


# ------------------------------------------------------ events (8)

DECLARE_EVENTID_ARRAY = pending(
    "declare_eventid_array", "A local array of event ids.", results=1, ordering=True, grammar=("{} -> R",)
)
EVENTID_ARRAY_GET = pending(
    "eventid_array_get",
    "Read an event id of an array.",
    handle("array"),
    scalar("index"),
    results=1,
    ordering=True,
    grammar=("%array ~[ %index:index ] {} : T(array) R=index",),
)
EVENTID_ARRAY_SET = pending(
    "eventid_array_set",
    "Write an event id of an array.",
    handle("array"),
    scalar("index"),
    scalar("event"),
    ordering=True,
    grammar=("%array ~[ %index:index ] , %event:index {} : T(array)",),
)
# --------------------------------------------------- lowered forms (7.1)

TILE_BUF_ADDR = pending(
    "tile_buf_addr",
    "Pointer to a tile's bytes.",
    src("tile"),
    results=1,
    source="assembly 7.1",
    grammar=("%tile {} : T(tile) -> R~",),
)
TENSOR_VIEW_ADDR = pending(
    "tensor_view_addr",
    "Pointer to the first element of a view.",
    view("src"),
    results=1,
    grammar=("%src {} : T(src) -> R~",),
    source="PTOAS e32488c9, VPTOOps.td",
)
BIND_TILE = pending(
    "bind_tile",
    "A memref with the layout of a tile.",
    src("source"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    results=1,
    source="assembly 7.1",
    grammar=("%source <? , %valid_row:index , %valid_col:index ?> {} : T(source) -> R",),
)
POINTER_CAST = pending(
    "pointer_cast",
    "A memref at byte addresses.",
    scalars("addrs"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    results=1,
    source="assembly 7.1",
    grammar=("~( %addrs*:i64 ) <? ( %valid_row:index , %valid_col:index ) ?> {} : R",),
)
DECLARE_TILE_MEMREF = pending(
    "declare_tile_memref", "A memref without an address.", results=1, source="assembly 7.1", grammar=("{} -> R",)
)
