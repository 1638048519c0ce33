"""Several tiles of one type, arrays and structs of the scalar unit, event ids among them (PTOAS 2026-08, PTOOps)."""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Pipe

from ..operands import Kind
from ..pending import handle
from ..table import Attr, Instr, Operand, agreed, grammar, index, instruction, scalar, scalars

_SOURCE = "PTOAS 2026-08 PTOOps.td"
_PATH = (Attr("path", list, None, "path"),)


def _own(text: str, summary: str, *operands: Operand, attrs: tuple[Attr, ...] = (), **more: Any) -> Instr:
    """An operation that the executor itself implements."""
    return instruction(Instr(text, text, summary, operands, attrs, pipe=Pipe.S, **more))


ALLOC_MULTI_TILE = _own(
    "alloc_multi_tile",
    "Allocate several tiles of one type, at one byte address if one is given.",
    agreed(scalar("addr", optional=True, type="i64")),
    agreed(index("valid_row", optional=True)),
    agreed(index("valid_col", optional=True)),
    source=_SOURCE,
    form=grammar("<? addr = %addr:i64 ?> <? valid_row = %valid_row:index ?> <? valid_col = %valid_col:index ?> {} : R"),
)
MULTI_TILE_GET = _own(
    "multi_tile_get",
    "One of several tiles.",
    handle("source"),
    agreed(index("slot")),
    source=_SOURCE,
    form=grammar("%source ~[ %slot:index ] {} : T(source) -> R:tile"),
)
DECLARE_LOCAL_ARRAY = _own(
    "declare_local_array", "An array of numbers on the stack.", source=_SOURCE, form=grammar("{} -> R")
)
LOCAL_ARRAY_GET = _own(
    "local_array_get",
    "Read an element of an array on the stack.",
    handle("array"),
    agreed(scalars("indices")),
    source=_SOURCE,
    form=grammar("%array ~[ %indices*:index ] {} : T(array) -> R"),
)
LOCAL_ARRAY_SET = _own(
    "local_array_set",
    "Write an element of an array on the stack.",
    handle("array"),
    agreed(scalars("indices")),
    scalar("value"),
    source=_SOURCE,
    form=grammar("%array ~[ %indices*:index ] , %value {} : T(array) , T(value)"),
)
DECLARE_STRUCT = _own("declare_struct", "A struct of numbers on the stack.", source=_SOURCE, form=grammar("{} -> R"))
STRUCT_GET = _own(
    "struct_get",
    "Read a field of a struct, by the positions that lead to it.",
    handle("source"),
    attrs=_PATH,
    source=_SOURCE,
    form=grammar("%source ~[ L(path) ] {} : T(source) -> R"),
)
STRUCT_SET = _own(
    "struct_set",
    "Write a field of a struct, by the positions that lead to it.",
    handle("source"),
    Operand("value", kind=scalar("value").kind, also=(Kind.PTR,)),
    attrs=_PATH,
    source=_SOURCE,
    form=grammar("%source ~[ L(path) ] , %value {} : T(source) , T(value)"),
)
DECLARE_EVENTID_ARRAY = _own(
    "declare_eventid_array",
    "A local array of event ids, at first 0.",
    source="assembly 8",
    form=grammar("{} -> R"),
)
EVENTID_ARRAY_GET = _own(
    "eventid_array_get",
    "Read an event id of an array.",
    handle("array"),
    agreed(index("index")),
    source="assembly 8",
    form=grammar("%array ~[ %index:index ] {} : T(array) R=index"),
)
EVENTID_ARRAY_SET = _own(
    "eventid_array_set",
    "Write an event id of an array.",
    handle("array"),
    agreed(index("index")),
    index("event"),
    source="assembly 8",
    form=grammar("%array ~[ %index:index ] , %event:index {} : T(array)"),
)
