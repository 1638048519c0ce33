"""Operations that text can hold and no part of ptokit executes yet: they are read, carried and printed.

Arrays of event ids (assembly 8), core-to-core pipes and asynchronous transfers
(assembly 9), lowered forms of tiles (assembly 7.1). Their text forms are in `ptokit.asm`.
"""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Pipe

from .table import Attr, Instr, Kind, Operand, Role, inout, instruction, scalar, scalars, src, view


def _pending(text: str, summary: str, *operands: Operand, attrs: tuple[Attr, ...] = (), **more: Any) -> Instr:
    more.setdefault("syntax", text)
    more.setdefault("source", "assembly 8, 9")
    return instruction(Instr(text, text, summary, operands, attrs, implemented=False, **{"pipe": Pipe.S, **more}))


def _number(name: str, default: int | None = None) -> Attr:
    return Attr(name, int, default, name)


def _flag(name: str) -> Attr:
    return Attr(name, bool, None, name)


def _handle(name: str, *, optional: bool = False) -> Operand:
    """A value whose type ptokit only carries: a pipe, a session, an array of events."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, or_ptr=True)


# ------------------------------------------------------ events (8)

DECLARE_EVENTID_ARRAY = _pending("declare_eventid_array", "A local array of event ids.", results=1, ordering=True)
EVENTID_ARRAY_GET = _pending(
    "eventid_array_get", "Read an event id of an array.", _handle("array"), scalar("index"), results=1, ordering=True
)
EVENTID_ARRAY_SET = _pending(
    "eventid_array_set",
    "Write an event id of an array.",
    _handle("array"),
    scalar("index"),
    scalar("event"),
    ordering=True,
)
# ------------------------------------------------- core-to-core pipes (9)

_CONSUMERS = (
    Operand("gm_slot_buffer", Role.IN, Kind.PTR, optional=True),
    scalar("c2v_consumer_buf"),
    scalar("v2c_consumer_buf"),
)
_SLOTS = (_number("dir_mask"), _number("slot_size"), _flag("nosplit"))
_SPLIT = (_number("split"),)

for _core in ("aic", "aiv"):
    _pending(
        f"{_core}_initialize_pipe",
        "Set up the pipes between cube and vector cores.",
        *_CONSUMERS,
        attrs=_SLOTS,
        syntax="frontend_pipe",
    )
    _pending(f"tpush_to_{_core}", "Push a tile to the other core.", src("tile"), attrs=_SPLIT, syntax="frontend_push")
    _pending(
        f"tpop_from_{_core}",
        "Take the next tile from the other core.",
        scalar("valid_row", optional=True),
        scalar("valid_col", optional=True),
        attrs=_SPLIT,
        results=1,
        syntax="frontend_pop",
    )
    _pending(f"tfree_from_{_core}", "Free the slot of a popped tile.", attrs=_SPLIT, syntax="frontend_free")

RESERVE_BUFFER = _pending(
    "reserve_buffer",
    "Reserve bytes of a buffer for a pipe.",
    attrs=(
        Attr("name", str, None, "name"),
        _number("size"),
        Attr("location", str, None, "location", "address_space", dotted=True),
        _flag("auto"),
        _number("base"),
    ),
    results=1,
)
IMPORT_RESERVED_BUFFER = _pending(
    "import_reserved_buffer",
    "Address of the buffer the peer function reserved.",
    attrs=(Attr("name", str, None, "name"), Attr("peer_func", str, None, "peer_func")),
    results=1,
)
_PIPE_SLOTS = (*_SLOTS[:2], _number("slot_num"), _number("local_slot_num"), _number("flag_base"), _SLOTS[2])
INITIALIZE_L2G2L_PIPE = _pending(
    "initialize_l2g2l_pipe",
    "A pipe through global memory.",
    _handle("gm"),
    _handle("local"),
    _handle("peer", optional=True),
    attrs=_PIPE_SLOTS,
    results=1,
)
INITIALIZE_L2L_PIPE = _pending(
    "initialize_l2l_pipe",
    "A pipe between local buffers.",
    _handle("local"),
    _handle("peer", optional=True),
    attrs=_PIPE_SLOTS,
    results=1,
)
TPUSH = _pending("tpush", "Push a tile into a pipe.", src("tile"), _handle("pipe"), attrs=_SPLIT, syntax="pipe_move")
TPOP = _pending("tpop", "Take a tile from a pipe.", inout("tile"), _handle("pipe"), attrs=_SPLIT, syntax="pipe_move")
TFREE = _pending("tfree", "Free the slot of a popped tile.", _handle("pipe"), attrs=_SPLIT, syntax="pipe_free")

# ------------------------------------------- asynchronous transfers (9)

BUILD_ASYNC_SESSION = _pending(
    "build_async_session",
    "A session of transfers to another device.",
    src("scratch"),
    _handle("workspace"),
    kinds={"scratch": "AS-1", "workspace": "AS-1"},
    attrs=tuple(map(_number, "sync_id block_bytes comm_block_offset queue_num channel_group_idx".split())),
    results=1,
)
for _text, _summary in (("tput_async", "Send"), ("tget_async", "Fetch")):
    _pending(
        _text,
        f"{_summary} global memory without waiting.",
        view("dst", Role.OUT),
        view("src"),
        _handle("session"),
        kinds={"dst": "AS-1", "src": "AS-1"},
        results=1,
        syntax="async_transfer",
    )
for _text, _summary in (("wait_async_event", "Wait for a transfer."), ("test_async_event", "Ask for a transfer.")):
    _pending(_text, _summary, _handle("event"), _handle("session"), results=1, syntax="async_wait")

# --------------------------------------------------- lowered forms (7.1)

TILE_BUF_ADDR = _pending("tile_buf_addr", "Pointer to a tile's bytes.", src("tile"), results=1, source="assembly 7.1")
BIND_TILE = _pending(
    "bind_tile",
    "A memref with the layout of a tile.",
    src("source"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    results=1,
    source="assembly 7.1",
)
POINTER_CAST = _pending(
    "pointer_cast",
    "A memref at byte addresses.",
    scalars("addrs"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    results=1,
    source="assembly 7.1",
)
DECLARE_TILE_MEMREF = _pending("declare_tile_memref", "A memref without an address.", results=1, source="assembly 7.1")
