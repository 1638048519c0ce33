"""Streams of unaligned loads and stores (vector-path 4.7, 4.8).

A device buffers the bytes that do not fill a block of 32 and writes them with the next access or the flush. Here every
byte is written at once: after the flush, which every stream needs, memory is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics import Rule, define
from ptokit.records import dataclass
from ptokit.types.dtypes import u32

from ...machine import Machine
from ...meaning.expressions import Held
from ...meaning.words import Advance, Keep, Lane, Write
from ...site import Site
from ...table import Attr, Role
from ..registers import VREG_BYTES, element
from ..words import SOURCE, align, at, micro, number, out_align, out_number, out_ptr, out_vreg, token, ub, vreg
from .load_store import UPDATED, known_token, posting, updated

BLOCK = 32


@dataclass(frozen=True, eq=False)
class LoadStream:
    """A primed stream: the block (first byte) it was primed for, and the address that continues it, if any."""

    block: Any
    following: Any = None


@dataclass(frozen=True, eq=False)
class StoreStream:
    """A stream of stores: the byte address after the last byte; None before the first store."""

    end: Any = None


define(
    "VEC-A5-12",
    "vldus follows a vldas of the same block of 32 bytes, or continues the vldus before it.",
    source="vector-path 4.7, 8",
    example="""
        // ptokit run
        %z = arith.constant 0 : i64
        %n = arith.constant 64 : index
        %p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
        pto.vecscope {
          %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
          %v = pto.vbr %x : f32 -> !pto.vreg<64xf32>
          %a = pto.vldas %p : !pto.ptr<f32, ub> -> !pto.align
          %q = pto.addptr %p, %n : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
          %w, %b = pto.vldus {%p|%q}, %a : !pto.ptr<f32, ub>, !pto.align -> !pto.vreg<64xf32>, !pto.align
        }
    """,
    evidence="device",
)
VEC_13 = define(
    "VEC-A5-13",
    "A stream of unaligned stores begins with init_align, hands its state from one store to the next, and ends in one "
    "flush, at its end.",
    source="vector-path 4.8, 8",
    example="""
        pto.vecscope {
        {|%a1 = pto.vstus %a0, %n3, %v, %w : !pto.align, i32, !pto.vreg<64xf32>, !pto.ptr<f32, ub> -> !pto.align
        }}
    """,
    evidence="device",
)
define(
    "VEC-A5-20",
    "vstur stores what a vsqz or vusqz before it has counted.",
    source=SOURCE,
    example="// ptokit run\n"
    "%z = arith.constant 0 : i64\n"
    "%n = arith.constant 64 : index\n"
    "%p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>\n"
    "pto.vecscope {\n"
    '  %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
    "  %v = pto.vbr %x : f32 -> !pto.vreg<64xf32>\n"
    "  %a = pto.init_align : !pto.align\n"
    "{  %s = pto.vsqz %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
    '|}  %b = pto.vstur %a, {%s|%v}, %p, "POST_UPDATE" : !pto.align, !pto.vreg<64xf32>, '
    "!pto.ptr<f32, ub> -> !pto.align\n"
    "  pto.vstar %b, %p : !pto.align, !pto.ptr<f32, ub>\n"
    "}",
    evidence="device",
)


def _same(a: Any, b: Any) -> bool:
    """True if two addresses are equal in all blocks."""
    return bool(np.all(np.equal(np.asarray(a), np.asarray(b))))


# --------------------------------------------------------------------- loads


def _prime(m: Machine, src: Any, *, types: Any) -> LoadStream:
    start = m.address(src)
    return LoadStream(start - start % BLOCK)


VLDAS = micro(
    "vldas", "Begin a stream of unaligned loads at a pointer.", (ub(),), (out_align("next"),), _prime, source="4.7"
)


def _load(
    m: Machine, src: Any, state: Any, increment: Any, *, types: Mapping[str, Any]
) -> tuple[np.ndarray, LoadStream, Any]:
    kind, start = types["dst"].dtype, m.address(src)
    if not isinstance(state, LoadStream):
        m.refuse("VEC-A5-12", "the align state is one of stores")
    chained = state.following is not None and _same(state.following, start)
    if not chained and not _same(state.block, start - start % BLOCK):
        m.refuse("VEC-A5-12", "the align state was made for another address", hint="begin with vldas of this pointer")
    found = m.load(src, None, VREG_BYTES, types["src"].dtype.size).view(element(kind))
    size = types["src"].dtype.size
    end = src.advance(VREG_BYTES // size if increment is None else increment)
    following = m.address(end)
    return found, LoadStream(following - following % BLOCK, following), end


VLDUS = micro(
    "vldus",
    "Load 256 bytes from any element's address; the third result is the pointer after them, or increment elements on.",
    (ub(), align(), number("increment", "index", optional=True)),
    (out_vreg(like="src"), out_align("next"), out_ptr("end", optional=True)),
    _load,
    source="4.7",
)

# -------------------------------------------------------------------- stores


def _init(m: Machine, *, types: Any) -> StoreStream:
    return StoreStream()


INIT_ALIGN = micro(
    "init_align", "The state of an empty stream of stores.", (), (out_align("next", stores=True),), _init, source="4.8"
)


def append(m: Machine, state: Any, pointer: Any, first: Any, lanes: np.ndarray, count: Any) -> StoreStream:
    """Store the first `count` of the elements ``lanes`` (blocks or 1, n, bytes) `first` bytes after the pointer."""
    if not isinstance(state, StoreStream):
        m.refuse("VEC-A5-13", "the align state is one of loads", hint="begin with init_align")
    number_of, size = lanes.shape[1:]
    places = np.atleast_2d(first) + np.arange(number_of) * size
    keep = np.arange(number_of) < np.atleast_2d(count)
    m.scatter(pointer, places, lanes, None if keep.all() else keep, 1)
    total = np.atleast_2d(m.address(pointer)).reshape(-1, 1) + np.atleast_2d(first) + np.atleast_2d(count) * size
    return StoreStream(total)


def _elements(value: np.ndarray) -> np.ndarray:
    return value.view(np.uint8).reshape(*value.shape, value.dtype.itemsize)


MODES = ("POST_UPDATE", "NO_POST_UPDATE")


_MODE = known_token(MODES, "mode")


def _store_counted(
    m: Machine, state: Any, count: Any, value: np.ndarray, base: Any, *, mode: str, types: Any
) -> tuple[StoreStream, Any]:
    return append(m, state, base, 0, _elements(value), count), base.advance(count if mode == "POST_UPDATE" else 0)


def mode_token(default: str) -> Attr:
    """POST_UPDATE or NO_POST_UPDATE."""
    return token("mode", default)


VSTUS = micro(
    "vstus",
    "Append the first elements of a register, as many as the count says, to a stream at a pointer.",
    (align(), number("count", "i32"), vreg("value"), ub("base", Role.OUT)),
    (out_align("next", stores=True), out_ptr("end", like="base", optional=True)),
    _store_counted,
    _MODE,
    attrs=(mode_token("POST_UPDATE"),),
    source="4.8",
)


def _store_squeezed(m: Machine, state: Any, value: np.ndarray, base: Any, *, mode: str, types: Any) -> StoreStream:
    nbytes = m.registers.get("SQZN")
    if nbytes is None:
        m.refuse("VEC-A5-20", "no vsqz or vusqz has counted lanes", hint="squeeze the register first")
    first = m.registers.get("AR", 0)
    if mode == "POST_UPDATE":
        m.registers["AR"] = first + nbytes
    return append(m, state, base, first, _elements(value), nbytes // value.dtype.itemsize)


VSTUR = micro(
    "vstur",
    "Append what the last vsqz has counted, at the pointer plus register AR, which POST_UPDATE advances.",
    (align(), vreg("value"), ub("base", Role.OUT)),
    (out_align("next", stores=True),),
    _store_squeezed,
    _MODE,
    attrs=(mode_token("POST_UPDATE"),),
    source="4.8",
)


def _store_whole(
    m: Machine, state: Any, offset: Any, value: np.ndarray, base: Any, *, mode: str, types: Mapping[str, Any]
) -> tuple[StoreStream, Any]:
    lanes = value.shape[1]
    done = append(m, state, base, offset * types["base"].dtype.size, _elements(value), lanes)
    return done, offset + (lanes if mode == "POST_UPDATE" else 0)


VSTU = micro(
    "vstu",
    "Append a whole register to a stream, at an offset in elements that POST_UPDATE advances.",
    (align(), number("offset", "index"), vreg("value"), ub("base", Role.OUT)),
    (out_align("next", stores=True), out_number("following", "index")),
    _store_whole,
    _MODE,
    attrs=(mode_token("POST_UPDATE"),),
    source="4.8",
)


def _flush_at(m: Machine, state: Any, dst: Any, offset: Any, *, types: Mapping[str, Any]) -> None:
    if not isinstance(state, StoreStream):
        m.refuse("VEC-A5-13", "the align state is one of loads")
    if state.end is None:
        return
    shift = 0 if offset is None else offset * types["dst"].dtype.size
    place = np.atleast_2d(m.address(dst)).reshape(-1, 1) + np.atleast_2d(shift)
    if not _same(place, state.end):
        ends = int(np.reshape(state.end, -1)[0])
        m.refuse("VEC-A5-13", f"the flush is for byte {int(place[0, 0]):#x}, the stream ends at {ends:#x}")


VSTAS = micro(
    "vstas",
    "End a stream of stores at a pointer plus a number of elements.",
    (align(), ub("dst", Role.OUT), number("count", "i32")),
    (updated("dst"),),
    posting(_flush_at, 1, 2),
    source="4.8",
)
VSTA = micro(
    "vsta",
    "End a stream of stores at a pointer plus an offset.",
    (align(), ub("dst", Role.OUT), at()),
    (),
    _flush_at,
    source="4.8",
)


def _flush(m: Machine, state: Any, dst: Any, *, types: Any) -> None:
    if not isinstance(state, StoreStream):
        m.refuse("VEC-A5-13", "the align state is one of loads")


VSTAR = micro(
    "vstar",
    "End a stream of stores that register AR has placed.",
    (align(), ub("dst", Role.OUT)),
    (),
    _flush,
    source="4.8",
)


SPRCLR = micro(
    "sprclr",
    "Set a special register to 0.",
    (),
    (),
    None,
    known_token(("AR",), "register"),
    meaning=lambda o: Keep(o.register, 0),
    attrs=(token("register", key="spr"),),
    source="4.8",
)


def _spr(text: str, summary: str, unit: int, *rules: Rule) -> None:
    """A store of a special register; its offset counts `unit` bytes."""

    def meaning(o: Site) -> Lane:
        moved = UPDATED in o.operands
        held = Held(o.register, u32)
        write = Write("dst", held, offset="" if moved else "offset", alignment=4, unit=unit)
        advances = (Advance(UPDATED, "dst", "offset", unit),) if moved else ()
        return Lane((write,), lanes=1, advances=advances)

    micro(
        text,
        summary,
        (ub("dst", Role.OUT), at(listed=True, type="i32")),
        (updated("dst"),),
        None,
        known_token(("AR",), "register"),
        *rules,
        meaning=meaning,
        attrs=(token("register", before="dst", key="spr"),),
        source="PTOAS e32488c9, micro-isa 3",
    )


_spr("sprsti", "Store a special register, at a constant offset in words of 4 bytes.", 4)
_spr("sprsts", "Store a special register, at an offset in bytes.", 1)
