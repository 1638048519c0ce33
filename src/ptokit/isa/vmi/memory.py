"""Memory and logical vectors."""

from __future__ import annotations

from typing import Any

from ptokit.types.dtypes import DType, dtype, i64

from ..meaning.expressions import (
    OWN,
    Before,
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Fetched,
    Index,
    Place,
    Scalar,
    Stored,
    Taken,
    divide,
    equal,
    fmod,
    lane,
    select,
    type_of,
)
from ..meaning.words import Lane, Python, Word, Write
from ..site import Site, VectorInfo
from .access_rules import MEMORY
from .words import GROUP, GROUPS, IN_GENERIC_FORM, PMODE, groups_of, operations, over, text, unsigned

_J = Place(i64)
_BLOCK = 32


def _result(value: Expr, o: Site) -> Lane:
    return over(value, lanes=o.result.lanes)


def _plain(of: DType, lanes: int, at: Index) -> Stored:
    """`lanes` elements side by side after the pointer and the offset; a lane takes the one at `at`."""
    return Stored("source", of, lanes * of.size, of.size, at)


def _load(o: Site) -> Lane:
    return _result(_plain(o.result.dtype, o.result.lanes, lane()), o)


def _pair(o: Site, low: str = "low", high: str = "high") -> Lane:
    """The even and the odd elements."""
    to = o.operands[low]
    assert isinstance(to, VectorInfo)
    both = (_plain(to.dtype, 2 * to.lanes, lane(2, first)) for first in (0, 1))
    return Lane(tuple(map(Write, (low, high), both)), lanes=to.lanes)


def _number(o: Site, name: str) -> Expr:
    """A number, 0 where it is absent."""
    return Const(0, _J) if o.operands.get(name) is None else Scalar(name, i64)


def _groups(o: Site, lanes: int, *, broadcast: bool = False) -> Expr:
    """Places of lanes whose groups lie apart; with `broadcast` all lanes of a group have one."""
    each = lanes // groups_of(o)
    stride = next(name for name in ("stride", "row_stride", "group_stride") if o.has_operand(name))
    first = divide(_J, each) * Scalar(stride, i64)
    return first if broadcast else first + fmod(_J, each)


def _grouped(o: Site, *, broadcast: bool = False) -> Lane:
    place = _groups(o, o.result.lanes, broadcast=broadcast)
    return _result(Fetched("source", o.result.dtype, place, offset="offset"), o)


def _vload(o: Site) -> Lane:
    to = o.result
    if o.operands.get("block_stride") is not None:
        return _strided(o)
    if o.group:
        return _grouped(o, broadcast=o.dist_mode == "brc")
    if o.dist_mode == "brc":
        return _result(_plain(to.dtype, 1, lane(0)), o)
    if o.dist_mode == "dintlv":
        return _pair(o, "result", "second")
    if o.dist_mode == "unpack":
        narrow, wide = (dtype(f"u{8 * d.size}") for d in (o.source.dtype, to.dtype))
        found = _plain(narrow, to.lanes, lane())
        return _result(found if narrow is wide else Convert(found, wide), o)
    return _load(o)


def _narrowed(o: Site, name: str = "value", at: Index = OWN) -> Expr:
    """Lanes as memory has them: where its elements are narrower, the low bits."""
    info = o.operands[name]
    assert isinstance(info, VectorInfo)
    size, kept = info.dtype.size, o.destination.dtype.size
    codes = Element(name, at, dtype(f"u{8 * size}"))
    return Convert(codes, dtype(f"u{8 * kept}")) if kept < size else codes


def _stored(value: Expr, lanes: int, mask: str = "", **more: Any) -> Lane:
    of = type_of(value, {})
    assert isinstance(of, DType)
    write = Write("destination", value, offset=more.pop("offset", "offset"), alignment=of.size, **more)
    return Lane((write,), lanes=lanes, mask=mask)


def _store(o: Site) -> Lane:
    return _stored(_narrowed(o), o.value.lanes, "mask" if o.has("mask") else "")


def _pair_stored(o: Site, low: str = "low", high: str = "high") -> Lane:
    """The lanes of two vectors, interleaved."""
    first, second = (_narrowed(o, name, lane(over=2)) for name in (low, high))
    info = o.operands[low]
    assert isinstance(info, VectorInfo)
    return _stored(select(equal(_J & 1, 1), second, first), 2 * info.lanes, "mask" if o.has("mask") else "")


def _vstore(o: Site) -> Word:
    if o.dist_mode == "unpack":
        return Python(_refused)
    if o.has("block_stride"):
        return _stride_stored(o)
    if o.has("second"):
        return _pair_stored(o, "value", "second")
    if o.group:
        return _stored(_narrowed(o), o.value.lanes, place=_groups(o, o.value.lanes))
    return _store(o)


def _refused(m: Any, *_: Any, **__: Any) -> None:
    m.refuse("TEXT-UNIMPLEMENTED", 'pto.vmi.vstore with dist_mode = "unpack" cannot be run yet')


def _whole(o: Site) -> Expr:
    """The bits of value."""
    return Element("value", dtype=dtype(f"u{8 * o.value.dtype.size}"))


def _gathered(o: Site, place: Expr, offset: str = "", unit: int = 0) -> Lane:
    """The active lanes from computed places; passthru, or 0, in the others."""
    found = Fetched("source", o.result.dtype, place, Bit("mask"), offset, unit)
    return _result(select(Bit("mask"), found, Element("passthru")) if o.has("passthru") else found, o)


def _scattered(o: Site, place: Expr, offset: str = "") -> Lane:
    """The active lanes to computed places."""
    return _stored(_whole(o), o.value.lanes, place=place, where=Bit("mask"), offset=offset)


def _blocks(o: Site, of: DType) -> tuple[Expr, Expr | None]:
    """First bytes of lanes whose blocks of 32 bytes lie apart, and which take part: the first lane of a block decides.

    Strides count blocks.
    """
    each = _BLOCK // of.size
    first = _number(o, "repeat_stride") + divide(_J, each) * _number(o, "block_stride")
    place = first * _BLOCK + fmod(_J, each) * of.size
    return place, Taken(Bit("mask"), _J - fmod(_J, each)) if o.has("mask") else None


def _strided(o: Site) -> Lane:
    place, where = _blocks(o, o.result.dtype)
    return _result(Fetched("source", o.result.dtype, place, where, "offset", 1), o)


def _stride_stored(o: Site) -> Lane:
    place, where = _blocks(o, o.value.dtype)
    return _stored(_whole(o), o.value.lanes, place=place, where=where, unit=1)


def _bytes_gathered(o: Site) -> Lane:
    """Elements at byte offsets; with one offset for each 32 bytes of the result, blocks."""
    to, count = o.result, o.offsets.lanes
    if count * _BLOCK == to.lanes * to.dtype.size and to.lanes != count:
        each = _BLOCK // to.dtype.size
        return _gathered(o, unsigned(o, "offsets", lane(over=each)) + fmod(_J, each) * to.dtype.size, unit=1)
    return _gathered(o, unsigned(o, "offsets", lane()), unit=1)


_DIST = text("dist_mode", "continuous", "unpack", "dintlv", "brc")

vmi = operations(MEMORY)

vmi("load", "Load consecutive elements.", "source:p offset:o", "result:v", meaning=_load)
vmi("deinterleave_load", "Load even and odd elements.", "source:p offset:o", "low:v high:v", meaning=_pair)
vmi("group_load", "Load groups that lie apart.", "source:p offset:o row_stride:x", "result:v", GROUPS, meaning=_grouped)
vmi(
    "group_slot_load",
    "Load an element for each group.",
    "source:p offset:o group_stride:x",
    "result:v",
    GROUPS,
    meaning=_grouped,
)
vmi(
    "group_broadcast_load",
    "Load an element for each group, into all its lanes.",
    "source:p offset:o group_stride:x",
    "result:v",
    GROUPS,
    meaning=lambda o: _grouped(o, broadcast=True),
)
vmi(
    "stride_load",
    "Load blocks of 32 bytes that lie apart.",
    "source:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    "result:v",
    meaning=_strided,
)
vmi(
    "masked_load",
    "Load the active lanes; passthru elsewhere.",
    "source:p offset:o mask:m passthru:v",
    "result:v",
    meaning=lambda o: _gathered(o, _J, "offset"),
)
vmi(
    "expand_load",
    "Load elements into the active lanes.",
    "source:p offset:o mask:m passthru:v",
    "result:v",
    meaning=lambda o: _gathered(o, Before(Bit("mask"), i64), "offset"),
)
vmi("store", "Store consecutive elements.", "value:v destination:p offset:o", meaning=_store)
vmi(
    "interleave_store",
    "Store the lanes of two vectors, interleaved.",
    "low:v high:v destination:p offset:o",
    meaning=_pair_stored,
)
vmi(
    "group_store",
    "Store groups that lie apart.",
    "value:v destination:p offset:o row_stride:x",
    "",
    GROUPS,
    meaning=lambda o: _stored(_whole(o), o.value.lanes, place=_groups(o, o.value.lanes)),
)
vmi("masked_store", "Store the active lanes.", "value:v destination:p offset:o mask:m", meaning=_store)
vmi(
    "compress_store",
    "Store the active lanes one after the other.",
    "value:v destination:p offset:o mask:m",
    meaning=lambda o: _scattered(o, Before(Bit("mask"), i64), "offset"),
)
vmi(
    "stride_store",
    "Store blocks of 32 bytes that lie apart.",
    "value:v destination:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    meaning=_stride_stored,
)
vmi(
    "vload",
    "Load one or two vectors: elements, groups or blocks.",
    "source:p offset:o stride:x? block_stride:y? repeat_stride:y?",
    "result:v second:v?",
    _DIST,
    GROUP,
    PMODE,
    meaning=_vload,
)
vmi(
    "vstore",
    "Store one or two vectors: elements, groups or blocks.",
    "value:v second:v? destination:p offset:o stride:x? block_stride:y? repeat_stride:y? mask:m?",
    "",
    _DIST,
    GROUP,
    PMODE,
    meaning=_vstore,
)
vmi(
    "vsstb",
    "Store blocks that lie apart.",
    "value:v destination:p offset:o block_stride:y mask:m",
    "",
    PMODE,
    meaning=_stride_stored,
)
vmi(
    "vgather",
    "Load elements at offsets.",
    "source:p offsets:v mask:m",
    "result:v",
    PMODE,
    meaning=lambda o: _gathered(o, unsigned(o, "offsets")),
)
vmi(
    "vgatherb",
    "Load elements at offsets in bytes, or blocks where there is one offset for each 32 bytes.",
    "source:p offsets:v mask:m",
    "result:v",
    PMODE,
    meaning=_bytes_gathered,
)
vmi(
    "vscatter",
    "Store elements at offsets.",
    "value:v destination:p offsets:v mask:m",
    "",
    PMODE,
    meaning=lambda o: _scattered(o, unsigned(o, "offsets")),
)
vmi(
    "gather",
    "Load elements at indices.",
    "source:p indices:v mask:m passthru:v",
    "result:v",
    form=IN_GENERIC_FORM,
    meaning=lambda o: _gathered(o, unsigned(o, "indices")),
)
vmi(
    "scatter",
    "Store elements at indices.",
    "value:v destination:p indices:v mask:m",
    "",
    form=IN_GENERIC_FORM,
    meaning=lambda o: _scattered(o, unsigned(o, "indices")),
)
