"""Memory and logical vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory_rules import MEMORY
from .values import Array
from .words import GROUP, GROUPS, PMODE, operations, text


def _bytes(lanes: Array) -> Array:
    """Lanes as bytes: (blocks or 1, lanes, bytes of one)."""
    return np.ascontiguousarray(lanes).view(np.uint8).reshape(*lanes.shape, lanes.dtype.itemsize)


def _places(lanes: int, number: int, stride: Any, size: int) -> Array:
    """First bytes of lanes whose groups lie `stride` elements apart."""
    within = np.tile(np.arange(lanes // number), number)[None]
    group = np.repeat(np.arange(number), lanes // number)[None]
    return size * (group * np.asarray(stride).reshape(-1, 1) + within)


def _plain(m: Any, source: Any, offset: Any, kind: Any, lanes: int, size: int) -> Array:
    return np.asarray(m.load(source, offset, lanes * size, size).view(kind))


def _load(m: Any, source: Any, offset: Any, *, types: Any) -> Array:
    to = types["result"]
    return _plain(m, source, offset, to.dtype.value or to.dtype.storage, to.lanes, to.dtype.size)


def _vload(
    m: Any,
    source: Any,
    offset: Any,
    stride: Any,
    block_stride: Any,
    repeat_stride: Any,
    *,
    dist_mode: str | None,
    group: int | None,
    pmode: str | None,
    types: Any,
) -> tuple[Array, Array | None]:
    to = types["result"]
    kind, lanes, size = to.dtype.value or to.dtype.storage, to.lanes, to.dtype.size
    if block_stride is not None:
        return _strided(m, source, offset, block_stride, repeat_stride, None, types=types), None
    if group:
        number, each = (group, lanes // group) if dist_mode != "brc" else (group, 1)
        found = m.gather(source, _places(number * each, number, stride, size), size, None, size, offset)
        out = found.reshape(len(found), -1).view(kind)
        return np.repeat(out, lanes // out.shape[1], axis=1), None
    if dist_mode == "brc":
        return np.repeat(_plain(m, source, offset, kind, 1, size), lanes, axis=1), None
    if dist_mode == "dintlv":
        both = _plain(m, source, offset, kind, 2 * lanes, size)
        return np.ascontiguousarray(both[:, ::2]), np.ascontiguousarray(both[:, 1::2])
    if dist_mode == "unpack":
        narrow = types["source"].dtype
        return _plain(m, source, offset, narrow.storage, lanes, narrow.size).astype(f"u{size}").view(kind), None
    return _plain(m, source, offset, kind, lanes, size), None


def _narrowed(value: Array, types: Any) -> Array:
    """Lanes as memory has them: where its elements are narrower, the low bits."""
    size, kept = value.dtype.itemsize, types["destination"].dtype.size
    codes = np.ascontiguousarray(value).view(f"u{size}")
    return codes.astype(f"u{kept}") if kept < size else codes


def _store(m: Any, value: Array, destination: Any, offset: Any, on: Array | None = None, *, types: Any) -> None:
    value = _narrowed(value, types)
    m.store(destination, offset, value, on, value.dtype.itemsize)


def _vstore(
    m: Any,
    value: Array,
    second: Array | None,
    destination: Any,
    offset: Any,
    stride: Any,
    block_stride: Any,
    repeat_stride: Any,
    on: Array | None,
    *,
    dist_mode: str | None,
    group: int | None,
    pmode: str | None,
    types: Any,
) -> None:
    if dist_mode == "unpack":
        m.refuse("TEXT-UNIMPLEMENTED", 'pto.vmi.vstore with dist_mode = "unpack" cannot be run yet')
    if block_stride is not None:
        _stride_stored(m, value, destination, offset, block_stride, repeat_stride, on, types=types)
        return
    if second is not None:
        value, second = np.broadcast_arrays(value, second)
        value = np.stack((value, second), axis=2).reshape(len(value), -1)
    if group:
        value = _narrowed(value, types)
        size = value.dtype.itemsize
        m.scatter(destination, _places(value.shape[1], group, stride, size), _bytes(value), None, size, offset)
        return
    _store(m, value, destination, offset, on, types=types)


def _gather(m: Any, source: Any, offsets: Array, on: Array, *, pmode: str | None, types: Any) -> Array:
    to = types["result"].dtype
    places = offsets.view(f"u{offsets.dtype.itemsize}").astype(np.int64) * to.size
    found = m.gather(source, places, to.size, on, to.size)
    return np.asarray(found.reshape(len(found), -1).view(to.value or to.storage))


def _scatter(
    m: Any, value: Array, destination: Any, offsets: Array, on: Array, *, pmode: str | None, types: Any
) -> None:
    places = offsets.view(f"u{offsets.dtype.itemsize}").astype(np.int64) * value.dtype.itemsize
    m.scatter(destination, places, _bytes(value), on, value.dtype.itemsize)


def _pair(m: Any, source: Any, offset: Any, *, types: Any) -> tuple[Array, Array]:
    to = types["low"]
    both = _plain(m, source, offset, to.dtype.value or to.dtype.storage, 2 * to.lanes, to.dtype.size)
    return np.ascontiguousarray(both[:, ::2]), np.ascontiguousarray(both[:, 1::2])


def _pair_stored(m: Any, low: Array, high: Array, destination: Any, offset: Any, *, types: Any) -> None:
    together = np.stack(np.broadcast_arrays(low, high), axis=2)
    _store(m, together.reshape(len(together), -1), destination, offset, types=types)


def _broadcast(m: Any, source: Any, offset: Any, stride: Any, *, num_groups: int, types: Any) -> Array:
    made = _vload(m, source, offset, stride, None, None, dist_mode="brc", group=num_groups, pmode=None, types=types)
    return made[0]


def _behind(on: Array) -> Array:
    """For each lane the number of active lanes before it."""
    return np.cumsum(on, axis=1) - on


def _elements(m: Any, source: Any, places: Array, on: Array, passthru: Array, to: Any, offset: Any) -> Array:
    """Elements at places in elements for active lanes, and those of a vector for the others."""
    size = to.dtype.size
    found = m.gather(source, places * size, size, on, size, offset)
    return np.where(on, found.reshape(len(found), -1).view(to.dtype.value or to.dtype.storage), passthru)


def _masked(m: Any, source: Any, offset: Any, on: Array, passthru: Array, *, types: Any) -> Array:
    return _elements(m, source, np.arange(on.shape[1])[None], on, passthru, types["result"], offset)


def _expanded(m: Any, source: Any, offset: Any, on: Array, passthru: Array, *, types: Any) -> Array:
    return _elements(m, source, _behind(on), on, passthru, types["result"], offset)


def _compressed(m: Any, value: Array, destination: Any, offset: Any, on: Array, *, types: Any) -> None:
    size = value.dtype.itemsize
    m.scatter(destination, _behind(on) * size, _bytes(value), on, size, offset)


def _indexed(m: Any, source: Any, indices: Array, on: Array, passthru: Array, *, types: Any) -> Array:
    places = indices.view(f"u{indices.dtype.itemsize}").astype(np.int64)
    return _elements(m, source, places, on, passthru, types["result"], None)


def _index_stored(m: Any, value: Array, destination: Any, indices: Array, on: Array, *, types: Any) -> None:
    _scatter(m, value, destination, indices, on, pmode=None, types=types)


_BLOCK = 32


def _blocks(lanes: int, size: int, block_stride: Any, repeat_stride: Any) -> Array:
    """First bytes of lanes whose blocks of 32 bytes lie apart; strides count blocks."""
    lane = np.arange(lanes)[None]
    each = _BLOCK // size
    stride, first = (np.asarray(0 if s is None else s).reshape(-1, 1) for s in (block_stride, repeat_stride))
    return _BLOCK * (first + lane // each * stride) + lane % each * size


def _of_blocks(on: Array | None, size: int) -> Array | None:
    """The first lane of a block decides for all of it."""
    if on is None:
        return None
    each = _BLOCK // size
    return np.repeat(on[:, ::each], each, axis=1)[:, : on.shape[1]]


def _strided(
    m: Any, source: Any, offset: Any, block_stride: Any, repeat_stride: Any, on: Array | None, *, types: Any
) -> Array:
    to = types["result"]
    size = to.dtype.size
    places = _blocks(to.lanes, size, block_stride, repeat_stride)
    found = m.gather(source, places, size, _of_blocks(on, size), size, offset)
    return np.asarray(found.reshape(len(found), -1).view(to.dtype.value or to.dtype.storage))


def _stride_stored(
    m: Any,
    value: Array,
    destination: Any,
    offset: Any,
    block_stride: Any,
    repeat_stride: Any,
    on: Array | None,
    *,
    types: Any,
) -> None:
    size = value.dtype.itemsize
    places = _blocks(value.shape[1], size, block_stride, repeat_stride)
    m.scatter(destination, places, _bytes(value), _of_blocks(on, size), size, offset)


def _block_stored(
    m: Any, value: Array, destination: Any, offset: Any, block_stride: Any, on: Array, *, types: Any, **_: Any
) -> None:
    _stride_stored(m, value, destination, offset, block_stride, None, on, types=types)


def _bytes_gathered(m: Any, source: Any, offsets: Array, on: Array, *, types: Any, **_: Any) -> Array:
    """Elements at byte offsets; with one offset for each 32 bytes of the result, blocks."""
    to = types["result"]
    size = to.dtype.size
    places = offsets.view(f"u{offsets.dtype.itemsize}").astype(np.int64)
    if places.shape[1] * _BLOCK == to.lanes * size and to.lanes != places.shape[1]:
        each = _BLOCK // size
        places = np.repeat(places, each, axis=1) + np.tile(np.arange(each) * size, places.shape[1])
    found = m.gather(source, places[:, : to.lanes], size, on, size)
    return np.asarray(found.reshape(len(found), -1).view(to.dtype.value or to.dtype.storage))


def _grouped(m: Any, source: Any, offset: Any, stride: Any, *, num_groups: int, types: Any) -> Array:
    made = _vload(m, source, offset, stride, None, None, dist_mode=None, group=num_groups, pmode=None, types=types)
    return made[0]


def _stored_groups(
    m: Any, value: Array, destination: Any, offset: Any, stride: Any, *, num_groups: int, types: Any
) -> None:
    size = value.dtype.itemsize
    m.scatter(destination, _places(value.shape[1], num_groups, stride, size), _bytes(value), None, size, offset)


_DIST = text("dist_mode", "continuous", "unpack", "dintlv", "brc")

vmi = operations(MEMORY)

vmi("load", "Load consecutive elements.", "source:p offset:o", "result:v", run=_load)
vmi("deinterleave_load", "Load even and odd elements.", "source:p offset:o", "low:v high:v", run=_pair)
vmi("group_load", "Load groups that lie apart.", "source:p offset:o row_stride:x", "result:v", GROUPS, run=_grouped)
vmi(
    "group_slot_load",
    "Load an element for each group.",
    "source:p offset:o group_stride:x",
    "result:v",
    GROUPS,
    run=_grouped,
)
vmi(
    "group_broadcast_load",
    "Load an element for each group, into all its lanes.",
    "source:p offset:o group_stride:x",
    "result:v",
    GROUPS,
    run=_broadcast,
)
vmi(
    "stride_load",
    "Load blocks of 32 bytes that lie apart.",
    "source:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    "result:v",
    run=_strided,
)
vmi(
    "masked_load",
    "Load the active lanes; passthru elsewhere.",
    "source:p offset:o mask:m passthru:v",
    "result:v",
    run=_masked,
)
vmi(
    "expand_load",
    "Load elements into the active lanes.",
    "source:p offset:o mask:m passthru:v",
    "result:v",
    run=_expanded,
)
vmi("store", "Store consecutive elements.", "value:v destination:p offset:o", run=_store)
vmi(
    "interleave_store",
    "Store the lanes of two vectors by turns.",
    "low:v high:v destination:p offset:o",
    run=_pair_stored,
)
vmi(
    "group_store",
    "Store groups that lie apart.",
    "value:v destination:p offset:o row_stride:x",
    "",
    GROUPS,
    run=_stored_groups,
)
vmi("masked_store", "Store the active lanes.", "value:v destination:p offset:o mask:m", run=_store)
vmi(
    "compress_store",
    "Store the active lanes one behind the other.",
    "value:v destination:p offset:o mask:m",
    run=_compressed,
)
vmi(
    "stride_store",
    "Store blocks of 32 bytes that lie apart.",
    "value:v destination:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    run=_stride_stored,
)
vmi(
    "vload",
    "Load one or two vectors: elements, groups or blocks.",
    "source:p offset:o stride:x? block_stride:y? repeat_stride:y?",
    "result:v second:v?",
    _DIST,
    GROUP,
    PMODE,
    run=_vload,
)
vmi(
    "vstore",
    "Store one or two vectors: elements, groups or blocks.",
    "value:v second:v? destination:p offset:o stride:x? block_stride:y? repeat_stride:y? mask:m?",
    "",
    _DIST,
    GROUP,
    PMODE,
    run=_vstore,
)
vmi(
    "vsstb",
    "Store blocks that lie apart.",
    "value:v destination:p offset:o block_stride:y mask:m",
    "",
    PMODE,
    run=_block_stored,
)
vmi("vgather", "Load elements at offsets.", "source:p offsets:v mask:m", "result:v", PMODE, run=_gather)
vmi(
    "vgatherb",
    "Load elements at offsets in bytes, or blocks where there is one offset for each 32 bytes.",
    "source:p offsets:v mask:m",
    "result:v",
    PMODE,
    run=_bytes_gathered,
)
vmi("vscatter", "Store elements at offsets.", "value:v destination:p offsets:v mask:m", "", PMODE, run=_scatter)
vmi(
    "gather",
    "Load elements at indices.",
    "source:p indices:v mask:m passthru:v",
    "result:v",
    syntax="generic",
    run=_indexed,
)
vmi(
    "scatter",
    "Store elements at indices.",
    "value:v destination:p indices:v mask:m",
    "",
    syntax="generic",
    run=_index_stored,
)
