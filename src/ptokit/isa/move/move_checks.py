"""Conditions that TMOV, TEXTRACT and TINSERT share (move-gather-scatter 5.4, 6.1, 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics.conditions import shared
from ptokit.types.dtypes import DType

from ..meaning.drains import column_block
from ..site import Site, TileInfo
from ..unknown import Size, known
from .move_facts import (
    EIGHT_BITS,
    SIXTY_FOUR_BITS,
    Acc,
    Scaling,
    form,
    moved_columns,
    up,
    word,
    words,
)

Message = str | tuple[str, str] | None
TypeTable = Mapping[str, Mapping[str, frozenset[DType]]]


def listed(names: Iterable[object]) -> str:
    """``a, b or c``, sorted."""
    *most, last = sorted(str(n) for n in names)
    return f"{', '.join(most)} or {last}" if most else last


def outside(at: tuple[Any, Any], size: tuple[Any, Any], extent: tuple[Any, Any]) -> Message:
    """A window of `size` at `at` against the `extent` it has to lie in; (rows, cols) each."""
    for what, first, count, limit in zip(("row", "column"), at, size, extent):
        if first + count > limit:
            return f"{what}s [{first}, {first + count}) leave the {limit} {what}s there are"
    return None


types_differ = shared(
    "A move without conversion.",
    "src.dtype is dst.dtype",
    "{src} has element type {src.dtype}, {dst} has {dst.dtype}; this move does not convert",
)


def parameter_tile(o: Site, fp: TileInfo) -> Message:
    """The tile of quantisation words."""
    if fp.loc is not Scaling:
        return f"{o:fp} is a {fp.loc.text} tile, not scaling"
    if fp.dtype not in SIXTY_FOUR_BITS and not (o.target.templates and fp.dtype.name == "f32"):
        return f"{o:fp} has element type {fp.dtype}; quantisation words have 64 bits"
    return None


def acc_types(o: Site, table: TypeTable) -> Message:
    """Element types of an accumulator move in the form it has (move-gather-scatter 5.4)."""
    allowed = table[form(o)].get(o.src.dtype.name)
    how = "moved" if form(o) == "cast" else "quantised"
    if allowed is None:
        return f"{o:src} has element type {o.src.dtype}, an accumulator has {listed(o.target.accumulators)}"
    if o.dst.dtype not in allowed:
        to = listed(allowed) if allowed else "nothing"
        return f"{o.src.dtype} to {o.dst.dtype} cannot be {how} on {o.target.name}; {o.src.dtype} goes to {to}"
    return None


def acc_layouts(o: Site, targets: tuple[str, ...]) -> Message:
    """Layouts of an accumulator move."""
    if o.src.layout_name != "Nz":
        return f"{o:src} has layout {o.src.layout_name}, an accumulator is Nz"
    if o.src.dtype.name not in o.target.accumulators:
        return f"{o:src} has element type {o.src.dtype}, an accumulator has {listed(o.target.accumulators)}"
    if o.dst.layout_name not in targets:
        return f"{o:dst} has layout {o.dst.layout_name}, not {listed(targets)}"
    return None


def columns_of_words(o: Site, cols: Size, first: Size = 0) -> Message:
    """Enough words for the columns [first, first + cols) of the source."""
    fp = words(o)
    if fp is None:
        return None
    need = first + moved_columns(o, cols)
    if fp.dtype not in SIXTY_FOUR_BITS and known(need):  # its bytes are the words, two elements in each
        room = fp.spec.nbytes // 8
        return None if need <= room else f"{o:fp} holds {room} words, {need} are needed"
    if fp.vc < need:
        return f"{o:fp} has {fp.vc} valid columns, {need} are needed for {cols} columns of {o.dst.dtype}"
    return None


def blocks_overflow(o: Site, cols: Size, col: Any = 0) -> Message:
    """Column blocks that the fix-pipe makes wider than the boxes of an Nz destination, against its columns (4.12)."""
    d = o.dst
    block = column_block(d, o.target)
    if o.src.loc is not Acc or not o.target.is_device or d.layout_name != "Nz" or block == d.box.cols:
        return None
    if up(col + cols, block) > d.cols:
        return f"{d.dtype} with fractal={d.fractal} comes in blocks of {block} columns, {o:dst} has {d.cols}"
    return None


def signedness(o: Site, cols: Size, first: Size = 0) -> Message:
    """Bit 46 of the words that are used, against the 8-bit type of the destination."""
    if o.dst.dtype not in EIGHT_BITS:
        return None
    wanted = o.dst.dtype.signed
    scalar = word(o)
    if scalar is not None:
        if isinstance(scalar.value, int) and bool(scalar.value >> 46 & 1) is not wanted:
            return f"word {scalar.value & (2**64 - 1):#x} has bit 46 {_state(not wanted)}; {_wanted(o, wanted)}"
        return None
    fp = words(o)
    if fp is None or fp.data is None or fp.dtype not in SIXTY_FOUR_BITS or not known(cols, first):
        return None
    used = np.asarray(fp.data.read(1, fp.vc)).view(np.uint64)[:, 0, first : first + cols]  # type: ignore[operator,misc]
    wrong = np.argwhere((used >> np.uint64(46) & np.uint64(1)).astype(bool) != wanted)
    if not len(wrong):
        return None
    block, col = wrong[0]
    value = int(used[block, col])
    return f"word {value:#x} of column {first + int(col)} has bit 46 {_state(not wanted)}; {_wanted(o, wanted)}"


def _state(bit: bool) -> str:
    return "set" if bit else "clear"


def _wanted(o: Site, bit: bool) -> str:
    return f"{o.dst.dtype} needs it {_state(bit)}"
