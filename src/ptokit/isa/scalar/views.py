"""Views, tile allocation and aliasing, scalars and their arrays: operations the executor knows by name.

Text forms: assembly section 7. Their pipe is the scalar unit; none of them moves tile data.
"""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Layout, Pipe

from ..meaning.words import Shown, Unrun
from ..table import (
    Attr,
    Instr,
    Kind,
    Operand,
    address,
    agreed,
    grammar,
    handle,
    index,
    inout,
    instruction,
    ptr,
    scalar,
    scalars,
    src,
    view,
)

# Views of global memory, tile allocation and aliasing, scalars: operations the executor itself implements.


def _scalar_unit(name: str, text: str, summary: str, *operands: Operand, **more: object) -> Instr:
    """An operation of the scalar unit with a text form of its own, named like the operation."""
    more.setdefault("source", "PTOAS 2026-08 PTOOps.td")
    return instruction(
        Instr(name, text, summary, operands, pipe=Pipe.S, **more)  # type: ignore[arg-type]
    )


MAKE_TENSOR_VIEW = _scalar_unit(
    "MAKE_TENSOR_VIEW",
    "make_tensor_view",
    "Describe a tensor in global memory: shape and strides in elements.",
    ptr(),
    agreed(scalars("shape")),
    agreed(scalars("strides")),
    attrs=(Attr("layout", Layout, None, "layout", "layout", dotted=True),),
    form=grammar("%ptr , shape = [ %shape*:index ] <? , ?> strides = [ %strides*:index ] {} : R"),
)
PARTITION_VIEW = _scalar_unit(
    "PARTITION_VIEW",
    "partition_view",
    "Slice a tensor view: offsets and sizes in elements, no data movement.",
    view("source"),
    scalars("offsets"),
    agreed(scalars("sizes")),
    form=grammar(
        "%source , offsets = [ %offsets*:index ] , sizes = [ %sizes*:index ] {} : T(source) R>=partition",
        misfits={"source": "PV-1"},
    ),
)
GET_TENSOR_VIEW_DIM = _scalar_unit(
    "GET_TENSOR_VIEW_DIM",
    "get_tensor_view_dim",
    "Size of one dimension of a tensor view, in elements.",
    view("source"),
    agreed(index("index")),
    form=grammar("%source , %index:index {} : T(source) -> R"),
)
GET_TENSOR_VIEW_STRIDE = _scalar_unit(
    "GET_TENSOR_VIEW_STRIDE",
    "get_tensor_view_stride",
    "Stride of one dimension of a tensor view, in elements.",
    view("source"),
    agreed(index("index")),
    form=grammar("%source , %index:index : T(source) -> R {}"),
)
TENSOR_VIEW_ADDR = _scalar_unit(
    "tensor_view_addr",
    "tensor_view_addr",
    "Pointer to the first element of a view, or the view as a memref.",
    view("src"),
    form=grammar("%src {} : T(src) -> R~"),
    source="PTOAS e32488c9, VPTOOps.td",
)
TILE_BUF_ADDR = _scalar_unit(
    "tile_buf_addr",
    "tile_buf_addr",
    "Pointer to a tile's first byte.",
    src("tile"),
    form=grammar("%tile {} : T(tile) -> R~"),
    source="assembly 7.1; PTOAS e32488c9, VPTOOps.td",
)
ALLOC_TILE = _scalar_unit(
    "ALLOC_TILE",
    "alloc_tile",
    "Allocate a tile buffer, at a byte address if one is given.",
    agreed(scalar("addr", optional=True, type="i64")),
    agreed(index("valid_row", optional=True)),
    agreed(index("valid_col", optional=True)),
    form=grammar(
        "<? addr = %addr:i64 ?> <? valid_row = %valid_row:index ?> <? valid_col = %valid_col:index ?> {} : R:tile"
    ),
)
DECLARE_TILE = _scalar_unit(
    "DECLARE_TILE", "declare_tile", "A tile without an address; TASSIGN binds it.", form=grammar("{} -> R:tile")
)
TASSIGN = _scalar_unit(
    "TASSIGN",
    "tassign",
    "Bind a tile to a byte address of its buffer.",
    src("tile"),
    agreed(scalar("addr", type="i64")),
    form=grammar("%tile , %addr:i64 {} : T(tile) -> R"),
)
SUBSET = _scalar_unit(
    "SUBSET",
    "subset",
    "A window of a tile that shares its storage.",
    src("source"),
    agreed(scalars("offsets")),
    meaning=Shown("source"),
    attrs=(Attr("sizes", list, None, "sizes"),),
    form=grammar("%source ~[ %offsets*:index ] sizes [ L(sizes) ] {} : T(source) R=subset", misfits={"source": "SS-1"}),
)
SUBVIEW = _scalar_unit(
    "SUBVIEW",
    "subview",
    "A window of a tile that shares its storage, of the written size; valid as far as the type or the sizes say.",
    src("source"),
    agreed(scalars("offsets")),
    agreed(index("valid_row", optional=True)),
    agreed(index("valid_col", optional=True)),
    meaning=Shown("source"),
    attrs=(Attr("sizes", list, None, "sizes"),),
    form=grammar(
        "%source ~[ %offsets*:index ] sizes [ L(sizes) ] <? valid [ %valid_row:index , %valid_col:index ] ?> {} "
        ": T(source) R>=subview",
        misfits={"source": "SS-1"},
    ),
)
SET_VALIDSHAPE = _scalar_unit(
    "SET_VALIDSHAPE",
    "set_validshape",
    "Set both dynamic valid dimensions of a tile, in elements.",
    inout("tile"),
    agreed(index("valid_row")),
    agreed(index("valid_col")),
    form=grammar("%tile , %valid_row:index , %valid_col:index {} : T(tile)", misfits={"tile": "VS-1"}),
)
GET_VALIDSHAPE = _scalar_unit(
    "GET_VALIDSHAPE",
    "get_validshape",
    "The valid rows and columns of a tile.",
    src("source"),
    form=grammar("%source {} : T(source) R=index R=index"),
)
for _name, _what in (("rows", "rows"), ("cols", "columns")):
    _scalar_unit(
        f"TILE_VALID_{_name.upper()}",
        f"tile_valid_{_name}",
        f"The valid {_what} of a tile.",
        src("source"),
        form=grammar("%source {} : T(source) -> R"),
    )
TRESHAPE = _scalar_unit(
    "TRESHAPE",
    "treshape",
    "See the same bytes as a tile of another shape or layout.",
    src(),
    meaning=Shown("src"),
    form=grammar("%src {} : T(src) -> R:tile", spellings=("talias",), misfits={"src": "RS-1"}),
)
BITCAST = _scalar_unit(
    "BITCAST",
    "bitcast",
    "See the same bytes as another element type.",
    src(),
    meaning=Shown("src"),
    form=grammar("%src {} : T(src) -> R:tile", misfits={"src": "BC-1"}),
)
ADDPTR = _scalar_unit(
    "ADDPTR",
    "addptr",
    "Advance a pointer by elements.",
    ptr(),
    index("offset"),
    form=grammar("%ptr , %offset:index {} : T~(ptr) -> R~"),
)
CASTPTR = _scalar_unit(
    "CASTPTR",
    "castptr",
    "Make a pointer of a byte address or of another pointer.",
    address("value"),
    form=grammar("%value {} : T~(value) -> R~"),
)
PTRTOINT = _scalar_unit(
    "PTRTOINT",
    "ptrtoint",
    "Byte address of a pointer to global memory.",
    ptr(),
    form=grammar("%ptr {} : T(ptr) -> R"),
    decision="Arrays lie 2**40 bytes apart, the first argument at 2**40, so that addresses are the same in every run.",
)
INTTOPTR = _scalar_unit(
    "INTTOPTR",
    "inttoptr",
    "Pointer to global memory of a byte address.",
    scalar("addr", type="i64"),
    form=grammar("%addr {} : T(addr) -> R"),
)
LOAD_SCALAR = _scalar_unit(
    "LOAD_SCALAR",
    "load_scalar",
    "Read one element of memory.",
    ptr(),
    index("index"),
    form=grammar("%ptr ~[ %index:index ] {} : T~(ptr) -> R"),
)
STORE_SCALAR = _scalar_unit(
    "STORE_SCALAR",
    "store_scalar",
    "Write one element of memory.",
    scalar("value"),
    ptr(),
    index("index"),
    form=grammar("%value , %ptr ~[ %index:index ] {} : T~(ptr) , T(value)"),
)
_QUERY = ("{} R=i64",)
GET_BLOCK_IDX = _scalar_unit(
    "GET_BLOCK_IDX", "get_block_idx", "Index of the running block, as i64.", per_block=True, form=grammar(*_QUERY)
)
GET_BLOCK_NUM = _scalar_unit(
    "GET_BLOCK_NUM", "get_block_num", "Number of launched blocks, as i64.", form=grammar(*_QUERY)
)
GET_SUBBLOCK_IDX = _scalar_unit(
    "GET_SUBBLOCK_IDX",
    "get_subblock_idx",
    "Index of the vector sub-core in its cluster, as i64.",
    per_block=True,
    form=grammar(*_QUERY),
)
GET_SUBBLOCK_NUM = _scalar_unit(
    "GET_SUBBLOCK_NUM", "get_subblock_num", "Number of vector sub-cores in a cluster, as i64.", form=grammar(*_QUERY)
)


# Several tiles of one type, arrays and structs of the scalar unit, event ids among them (PTOAS 2026-08, PTOOps).


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


# Lowered forms of tiles of April 2026 (assembly 7.1): read, carried and printed, and not run.

RETIRED = "the reference has retired it and refuses it today; no public text has one, and tiles are !pto.tile_buf"


def retired(text: str, summary: str, *operands: Operand, **more: Any) -> Instr:
    """Put such an operation into the table."""
    more |= {"pipe": Pipe.S, "source": "assembly 7.1", "meaning": Unrun(RETIRED)}
    return instruction(Instr(text, text, summary, operands, **more))


BIND_TILE = retired(
    "bind_tile",
    "A memref with the layout of a tile.",
    src("source"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    form=grammar("%source <? , %valid_row:index , %valid_col:index ?> {} : T(source) -> R"),
)
POINTER_CAST = retired(
    "pointer_cast",
    "A memref at byte addresses.",
    scalars("addrs"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    form=grammar("~( %addrs*:i64 ) <? ( %valid_row:index , %valid_col:index ) ?> {} : R"),
)
DECLARE_TILE_MEMREF = retired("declare_tile_memref", "A memref without an address.", form=grammar("{} -> R"))
