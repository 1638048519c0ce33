"""PIPE-LAYOUT: tiles that are popped in another layout than the entries of a pipe have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field

from ptokit.diagnostics import Diagnostics, Note
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec

from .core import Op, Value
from .pipe_ends import End

THROUGH_MEMORY = ("gm", "gm_slot_buffer", "gm_slot_tensor")
"""Operands of pipes whose entries lie in global memory, as rows: they are stored and loaded."""


@dataclass
class _Entries:
    """What is pushed into a pipe in one direction, and popped from it."""

    pushed: list[Op] = field(default_factory=list)
    popped: list[Op] = field(default_factory=list)


def check_layouts(groups: Iterable[Sequence[End]], found: Diagnostics) -> None:
    """Report pops of a pipe, whose ends a group is, that take elements for others (PIPE-LAYOUT)."""
    for ends in groups:
        if any(end.op.get(name) is not None for end in ends for name in THROUGH_MEMORY):
            continue
        ways: dict[Hashable, _Entries] = defaultdict(_Entries)
        for end in ends:
            for op, direction, pushes in end.moved:
                entries = ways[direction]
                (entries.pushed if pushes else entries.popped).append(op)
        to_vectors, to_cube = ways[1], ways[2]
        if not any("acc_push_epilogue" in end.op.attrs for end in ends):  # it chooses a layout: FX-3
            for pop in to_vectors.popped:
                _compare(pop, None, found)
        for pop in to_cube.popped:
            for push in to_cube.pushed[:1]:
                _compare(pop, push, found)


def _compare(pop: Op, push: Op | None, found: Diagnostics) -> None:
    """``push``: what gives the entries their layout; None: the fix-pipe, which writes rows."""
    tile, source = _tile(pop), None if push is None else _tile(push)
    taken, given = tile.type, None if source is None else source.type
    if not isinstance(taken, TileSpec) or (source is not None and not isinstance(given, TileSpec)):
        return
    if 1 in (taken.rows, taken.cols) and not taken.boxed:
        return  # rows and columns are the same
    layout = given.layout_name if isinstance(given, TileSpec) else "ND"
    if taken.layout_name == layout:
        return
    message = f"{tile.shown} is {taken.layout_name}, and the entries of the pipe are {layout}: elements change places"
    notes = [Note(tile.described, tile.location)]
    hint = f"pop into a tile in {layout}"
    if push is not None and source is not None:
        notes.append(Note(f"pushed here: {source.described}", push.location))
        hint = f"push a tile in {taken.layout_name}: TMOV brings {source.shown} into one"
    found.broken("PIPE-LAYOUT", message, pop.location, hint=hint, notes=notes)


def _tile(op: Op) -> Value:
    return op.result if op.results else op["tile"]
