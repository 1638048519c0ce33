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
        m.refuse("TEXT-UNIMPLEMENTED", "pto.vmi.vload of blocks cannot be run yet")
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
    if block_stride is not None or dist_mode == "unpack":
        m.refuse("TEXT-UNIMPLEMENTED", "pto.vmi.vstore of blocks cannot be run yet")
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
vmi("deinterleave_load", "Load even and odd elements.", "source:p offset:o", "low:v high:v")
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
)
vmi(
    "stride_load",
    "Load blocks of 32 bytes that lie apart.",
    "source:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    "result:v",
)
vmi("masked_load", "Load the active lanes; passthru elsewhere.", "source:p offset:o mask:m passthru:v", "result:v")
vmi("expand_load", "Load elements into the active lanes.", "source:p offset:o mask:m passthru:v", "result:v")
vmi("store", "Store consecutive elements.", "value:v destination:p offset:o", run=_store)
vmi("interleave_store", "Store the lanes of two vectors by turns.", "low:v high:v destination:p offset:o")
vmi(
    "group_store",
    "Store groups that lie apart.",
    "value:v destination:p offset:o row_stride:x",
    "",
    GROUPS,
    run=_stored_groups,
)
vmi("masked_store", "Store the active lanes.", "value:v destination:p offset:o mask:m", run=_store)
vmi("compress_store", "Store the active lanes one behind the other.", "value:v destination:p offset:o mask:m")
vmi(
    "stride_store",
    "Store blocks of 32 bytes that lie apart.",
    "value:v destination:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
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
vmi("vsstb", "Store blocks that lie apart.", "value:v destination:p offset:o block_stride:y mask:m", "", PMODE)
vmi("vgather", "Load elements at offsets.", "source:p offsets:v mask:m", "result:v", PMODE, run=_gather)
vmi("vgatherb", "Load blocks of 32 bytes at offsets.", "source:p offsets:v mask:m", "result:v", PMODE)
vmi("vscatter", "Store elements at offsets.", "value:v destination:p offsets:v mask:m", "", PMODE, run=_scatter)
vmi("gather", "Load elements at indices.", "source:p indices:v mask:m passthru:v", "result:v", syntax="generic")
vmi("scatter", "Store elements at indices.", "value:v destination:p indices:v mask:m", "", syntax="generic")
