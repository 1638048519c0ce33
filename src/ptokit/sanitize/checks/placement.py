"""Findings about places: unbound tiles, overlaps, transfers that leave memory, scatters that write twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any, cast

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Severity, lookup
from ptokit.ir.core import Module, Op
from ptokit.ir.facts import Facts, Packed, instr_of, shown_op
from ptokit.isa.meaning.moves import lines
from ptokit.isa.site import TileInfo, known
from ptokit.isa.table import Engine
from ptokit.machine.buffers import Chosen
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import Layout, ScatterAtomicOp, TileType
from ptokit.types.tensor import inner_channels
from ptokit.types.tile import TileSpec

from ..findings.addresses import sharing
from ..findings.races import Draft, overlap
from ..memory.gm import Place, Scattered, Strided
from ..memory.shadow import Group, Loss
from ..simulation.clocks import Region, Touch, meet
from .core import ObservedCore

# Views of global memory: where they leave it, which does not end the run, and what they cover.


Ints = tuple[int, ...]

_MANY, _FAR = 1 << 24, 1 << 62  # elements of a view outside of its argument, and numbers in it, that arrays can hold


@dataclass(slots=True)
class Slice:
    """What is kept of a view that was cut out of a tensor: where, and what of it leaves the tensor."""

    op: Op
    outside: str | None = None  # what of it leaves the tensor, in words


def slice_of(view: View) -> Slice | None:
    """How a view was cut out of its tensor; None for the whole tensor."""
    return getattr(view, "note", None)


def sliced(
    op: Op, tensor: View, offsets: tuple[Any, ...], sizes: tuple[int, ...], packed: Packed | None = None
) -> View:
    """As `View.partition`, which may leave the tensor; ``packed``: of scales in groups, as they lie."""
    start = tensor.offset
    before = slice_of(tensor)
    message = before.outside if before is not None else None
    for axis, (o, n, d, s) in enumerate(zip(offsets, sizes, tensor.dims, tensor.strides)):
        start += o * s
        if (o < 0 or n > d - o) and message is None:
            message = f"[{o}, {o + n}) leaves dimension {axis} of the tensor, which has {d} elements"
    view = View(tensor.buffer, start, sizes, tensor.strides, tensor.dtype, tensor.stated_layout)
    if packed is not None:
        view = View(tensor.buffer, start, packed.dims, packed.strides, tensor.dtype, packed.layout)
    view.note = Slice(op, message)
    return view


def leaves_memory(view: View) -> str | None:
    """Message of GM-OOB if a view leaves the memory of its argument."""
    if view.buffer is None:
        return None
    low, high = _reach(view.dims, view.strides, _inner(view))
    low, high = low + view.offset, high + view.offset
    if low >= 0 and high < view.buffer.nelem:
        return None
    known, whole = slice_of(view), f"argument {view.buffer.shown}, which has {view.buffer.nelem} elements"
    if known is not None and known.outside is not None:
        return f"{known.outside}, and {whole}"
    return f"elements [{low}, {high + 1}) of {whole}"


def visited(view: View, tile: Any, target: Target) -> View | None:
    """A view as a transfer follows it that moves a tile; None if nothing of the tile is valid."""
    if not isinstance(tile, Tile):
        return view
    if 0 in (tile.vr, tile.vc):
        return None
    try:
        found = cast(View, lines(cast(Any, view), cast(Any, tile), target)[0])
    except Fault:  # which the transfer raises itself
        return view
    if found is not view:
        found.note = slice_of(view)
    return found


def leaves_shape(view: View) -> str | None:
    """Message of GM-SLICE if a view leaves the declared shape of its tensor."""
    known = slice_of(view)
    return None if known is None else known.outside


def chosen(view: View) -> list[Chosen]:
    """What gathers and scatters of the running instruction have chosen of a view."""
    found = view.buffer.chosen if view.buffer is not None else None
    return [c for c in found or () if c.view is view]


def _inner(view: View) -> int:
    """Elements of the innermost axis that a layout adds to the dimensions."""
    return inner_channels(view.dtype, view.layout) if view.layout is Layout.NDC1HWC0 else 1


def _axes(dims: Ints, strides: Ints, inner: int) -> list[tuple[int, int]]:
    axes = list(zip(dims, strides))
    return [*axes, (inner, 1)] if inner > 1 else axes


@lru_cache(maxsize=4096)
def _reach(dims: Ints, strides: Ints, inner: int) -> tuple[int, int]:
    """Lowest and highest element, relative to the first."""
    axes = _axes(dims, strides, inner)
    low = sum((n - 1) * s for n, s in axes if s < 0)
    return low, sum((n - 1) * s for n, s in axes if s > 0)


@lru_cache(maxsize=4096)
def _scaled(dims: Ints, strides: Ints, inner: int, unit: int) -> tuple[tuple[int, int], ...]:
    """Axes in granules; an element has `unit` of them."""
    scaled = [(n, s * unit) for n, s in _axes(dims, strides, inner) if n > 1]
    if unit > 1:
        scaled.append((unit, 1))
    return tuple(scaled) or ((1, 1),)


def place(view: View, origin: int, granule: int) -> Place | None:
    """The granules of a memory that a view covers, of those inside its argument; None if there are none.

    None also for a view that leaves its argument, which is an error anyway, and has too many elements to look at.
    ``origin``: bytes from the start of the memory to the argument.
    """
    buffer = view.buffer
    assert buffer is not None
    if min(view.dims, default=1) <= 0:
        return None
    inner = _inner(view)
    low, high = _reach(view.dims, view.strides, inner)
    outside = low + view.offset < 0 or high + view.offset >= buffer.nelem
    if outside and (abs(view.offset) + high - low > _FAR or prod(view.dims) * inner > _MANY):
        return None
    if outside or view.dtype.packed:
        elements = Strided(view.offset, tuple(_axes(view.dims, view.strides, inner))).granules().reshape(-1)
        return scattered(elements[(elements >= 0) & (elements < buffer.nelem)], view, origin, granule)
    unit = view.dtype.size // granule
    return Strided(origin // granule + view.offset * unit, _scaled(view.dims, view.strides, inner, unit))


def scattered(elements: np.ndarray, view: View, origin: int, granule: int) -> Place | None:
    """Single elements of an argument as granules."""
    if not elements.size:
        return None
    if view.dtype.packed:
        return Scattered(np.unique(elements.reshape(-1) // 2) + origin)
    unit = view.dtype.size // granule
    where = np.unique(elements.reshape(-1)) * unit + origin // granule
    return Scattered((where[:, None] + np.arange(unit)).reshape(-1) if unit > 1 else where)


# Findings about places: unbound tiles, overlaps, reserved bytes, transfers that leave memory.


REPEAT = 256
"""Bytes that one repetition of a vector operation reads before it writes as many."""


def unbound(op: Op, name: str, tile: TileInfo, pops: Sequence[Op]) -> Draft:
    """UNBOUND-TILE; ``pops``: what gives the tile a slot of a pipe."""
    if pops:
        message = f"{name} uses {tile.name} before {shown_op(pops[0])} makes it a slot of a pipe"
        note = Note(f"{tile.name} becomes a slot here", pops[0].location)
        return Draft(message, op.location, "pop first, or use a tile that has an address", [note])
    message = f"{name} uses {tile.name}, which has no address, in a program that places its tiles"
    return Draft(message, op.location, f"TASSIGN({tile.name}, address) first")


def in_place(write: Touch, read: Touch) -> bool:
    """True if the two accesses see common bytes as the same elements."""
    a, b = write.region, read.region
    if a is None or b is None:
        return True
    same_type = a.spec.dtype.bits == b.spec.dtype.bits and (a.spec.rows, a.spec.cols) == (b.spec.rows, b.spec.cols)
    layout = (a.spec.blayout, a.spec.slayout, a.spec.fractal) == (b.spec.blayout, b.spec.slayout, b.spec.fractal)
    return a.start == b.start and same_type and layout and write.origin == read.origin


def allowed(write: Touch, read: Touch) -> bool:
    """True if an instruction may write these bytes and read those: no element lands where a later one is read."""
    if write.last or in_place(write, read):
        return True
    a, b = write.region, read.region
    if a is None or b is None or (a.rows, a.cols) != (b.rows, b.cols) or write.origin != read.origin:
        return False
    plain = not (a.spec.boxed or b.spec.boxed) and a.spec.row_major and b.spec.row_major
    narrower = a.spec.dtype.bits < b.spec.dtype.bits
    pitch = a.spec.cols * a.spec.dtype.bits <= b.spec.cols * b.spec.dtype.bits
    return plain and narrower and pitch and a.start <= b.start and write.origin == (0, 0)


def _rows(region: Region) -> np.ndarray:
    """The first byte of each row of a region of a plain tile whose rows lie in one piece."""
    size = region.spec.dtype.size
    return region.start + (np.arange(region.row, region.row + region.rows) * region.spec.cols + region.col) * size


def row_by_row(write: Touch, read: Touch) -> bool:
    """True if rows that one repetition of a vector operation handles are written after their bytes have been read.

    Each is written over itself, over rows that have been read before, or elsewhere.
    """
    a, b = write.region, read.region
    if a is None or b is None or (a.rows, a.cols) != (b.rows, b.cols) or a.spec.dtype.bits != b.spec.dtype.bits:
        return False
    if any(r.spec.boxed or not r.spec.row_major or r.spec.dtype.packed for r in (a, b)):
        return False
    width, pitch = a.cols * a.spec.dtype.size, b.spec.cols * b.spec.dtype.size
    if width > REPEAT or not (width == REPEAT or pitch > width or a.rows == 1):
        return False  # a row takes several repetitions, or one handles several rows
    to, of = _rows(a)[:, None], _rows(b)[None, :]
    meets = (to < of + width) & (of < to + width)
    np.fill_diagonal(meets, np.diagonal(meets & (to != of)))
    return not np.triu(meets).any()


def row_of_bits(write: Touch, read: Touch) -> bool:
    """True if the bits of each row, written over a wider source, land only where that row or one before it was read."""
    a, b = write.region, read.region
    if a is None or b is None or a.rows != b.rows or (write.origin, read.origin) != ((0, 0), (0, 0)):
        return False
    if any(r.spec.boxed or not r.spec.row_major for r in (a, b)):
        return False
    return a.start <= b.start and a.spec.cols * a.spec.dtype.bits <= b.spec.cols * b.spec.dtype.bits


def row_0(write: Touch, read: Touch) -> bool:
    """True if a fold of columns writes just the row that it begins with."""
    a, b = write.region, read.region
    if a is None or b is None or any(r.spec.boxed or not r.spec.row_major for r in (a, b)):
        return False
    return a.rows == 1 and a.spec.dtype is b.spec.dtype and _rows(a)[0] == _rows(b)[0]


def updates(write: Touch, read: Touch) -> bool:
    """True if an instruction writes a tile over the elements of another one that it reads."""
    same = write.space is read.space and write.region is not None and read.region is not None
    return same and meet(write.where, read.where) and in_place(write, read)


def race_self(op: Op, name: str, write: Touch, read: Touch) -> Draft:
    """RACE-SELF."""
    message = f"{name} writes {write.name} over part of its source {read.name}"
    hint = "move one of the tiles, or let both be the same tile"
    return Draft(message, op.location, hint, [Note(overlap(write, read))])


def lost(op: Op, loss: Loss, space: str) -> Draft:
    """UB-OVERLAP, in the buffer `space`."""
    message = f"{loss.by.name} shares bytes with {loss.group.name} and overwrites a value of it that is read again"
    notes = [
        Note(f"{loss.group.name} is allocated here", loss.group.op.location),
        Note(f"{loss.by.name} is written here", loss.write.location),
        Note(f"{loss.group.name} is read here", op.location),
    ]
    if loss.shared:
        shared = loss.shared.start, loss.shared.stop
        notes.append(Note(sharing(loss.group.name, loss.by.name, space, *shared)))
    return Draft(message, loss.by.op.location, "give the tiles different addresses, or read the value before", notes)


def stale(op: Op, group: Group, other: Group) -> Draft:
    """STALE-READ."""
    message = f"{group.name} is read where {other.name}, a tile of another type, wrote last"
    notes = [Note(other.op.result.described, other.op.location)]
    return Draft(message, op.location, "make one an alias of the other with treshape or bitcast", notes)


def null(op: Op, name: str, operand: str) -> Draft:
    """GM-NULL."""
    return Draft(f"{name}: {operand} has no memory: its pointer is null", op.location)


def outside(op: Op, name: str, view: View, message: str) -> Draft:
    """GM-OOB."""
    known = slice_of(view)
    notes = [] if known is None else [Note("the slice is taken here", known.op.location)]
    hint = "shorten the slice, and the tile's valid region, at the edge of the tensor"
    return Draft(f"{name}: the transfer leaves global memory: {message}", op.location, hint, notes)


def past_a_dimension(op: Op, name: str, view: View, message: str) -> Draft:
    """GM-SLICE."""
    known = slice_of(view)
    notes = [] if known is None else [Note("the slice is taken here", known.op.location)]
    hint = "shorten the slice, and the tile's valid region, or declare the tensor as it lies in memory"
    return Draft(f"{name}: {message}; it stays in its argument", op.location, hint, notes)


def reserved_bytes(module: Module, target: Target, found: Diagnostics) -> None:
    """UB-RESERVED, for tiles at known addresses."""
    for function in module.functions:
        if function.body is None:
            continue
        ops = list(function.body.walk())
        simt = any(instr is not None and Engine.SIMT in instr.engines.values() for instr in map(instr_of, ops))
        limit = target.library_ub or (target.simt_ub if simt else None)
        if limit is None:
            continue
        facts = Facts(function)
        for op in ops:
            if op.name not in ("pto.alloc_tile", "pto.tassign") or not op.results:
                continue
            spec, address = op.result.type, facts.size(op.get("addr"))
            if not isinstance(spec, TileSpec) or spec.loc is not TileType.Vec or not known(address):
                continue
            end = int(address) + spec.nbytes  # type: ignore[arg-type]
            if limit < end <= target.capacity[TileType.Vec]:
                why = "library code uses them as scratch" if target.library_ub else "SIMT instructions need them"
                message = f"{op.result.shown} ends at {end:#x}; bytes from {limit:#x} of UB are reserved: {why}"
                found.add(Diagnostic("UB-RESERVED", lookup("UB-RESERVED").severity, message, op.location))


# What instructions that handle views themselves do about them: what they touch, and whether they may.


def touched(o: ObservedCore, view: View, *, write: bool, kind: Any = None) -> list[Touch]:
    """The access to a view; none if it is empty. ``kind``: of an atomic update."""
    if view.buffer is None:
        return []
    memory, origin = o.memories[id(view.buffer.whole)]
    where = place(view, origin, memory.granule)
    return [] if where is None else [Touch(memory, write, where, view.buffer.shown, atomic=kind)]


def atomic_kind(atomic: Any, view: View) -> Any:
    """The kind of an atomic update, None of a plain store: those of one kind do not race."""
    return (atomic.name, view.dtype.name) if atomic else None


def stays_in_memory(o: ObservedCore, op: Op, name: str, operand: str, view: View) -> bool:
    """True if a view has memory and stays in it; else that is reported."""
    if view.buffer is None:
        o.report("GM-NULL", op, operand, partial(null, op, name, operand))
        return False
    message = leaves_memory(view)
    if message is not None:
        o.report("GM-OOB", op, operand, partial(outside, op, name, view, message))
    elif (shape := leaves_shape(view)) is not None:
        o.report("GM-SLICE", op, operand, partial(past_a_dimension, op, name, view, shape))
    return message is None


def whole(*views: View) -> None:
    """These are touched as a whole: which elements the instruction has chosen does not matter."""
    for view in views:
        if view.buffer is not None and view.buffer.chosen:
            view.buffer.chosen.clear()


# Scatters that write an element more than once: SCATTER-ALIAS (move-gather-scatter 11.3).


_HINT = "make the indices distinct, or use an atomic operation"


def run_scatter(o: ObservedCore, op: Op, name: str, views: Sequence[tuple[str, View]], run: Callable[[], Any]) -> Any:
    """Execute an instruction that may scatter; writers that meet are reported."""
    try:
        result = run()
    except Fault as fault:
        if fault.rule != "SCATTER-COM-05":
            raise
        o.report("SCATTER-ALIAS", op, name, partial(Draft, f"{name}: {fault.message}", op.location, fault.hint))
        return None
    plain = op.attrs.get("atomic") in (None, ScatterAtomicOp.NONE)
    for operand, view in views:
        written = [c.elements for c in chosen(view) if c.write]
        if plain and written and _meet(written):
            o.report("SCATTER-ALIAS", op, operand, partial(_note, op, name))
    return result


def _meet(written: list[np.ndarray]) -> bool:
    flat = np.concatenate([part.reshape(-1) for part in written])
    return np.unique(flat).size < flat.size


def _note(op: Op, name: str) -> Draft:
    message = f"{name} writes some elements more than once; of several writers the last one stays"
    return Draft(message, op.location, _HINT, severity=Severity.NOTE)
