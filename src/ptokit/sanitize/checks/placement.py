"""Findings about places: unbound tiles, overlaps, reserved bytes, transfers that leave memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, lookup
from ptokit.ir.core import Module, Op
from ptokit.ir.facts import Facts, instr_of, shown_op
from ptokit.isa.site import TileInfo, known
from ptokit.isa.table import Engine
from ptokit.machine.global_memory import View
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from ..findings.addresses import sharing
from ..findings.folded import Draft
from ..findings.races import overlap
from ..memory.footprints import Region, Touch, meet
from ..memory.owners import Group, Loss
from .views import slice_of

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
    if in_place(write, read):
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
